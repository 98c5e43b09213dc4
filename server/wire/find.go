package wire

import (
	"bytes"
	"encoding/binary"

	"rejoin/server/vsr"
)

var frameMagic = binary.LittleEndian.AppendUint32(nil, FrameMagic)

// FindSealed calls found for each whole header with a right checksum anywhere in b, rising, and with its place. It is for bytes of which nothing
// tells where a frame begins; what it finds may be part of a payload.
func FindSealed(b []byte, found func(at int, h *vsr.Header)) {
	for at := 0; ; at++ {
		next := bytes.Index(b[at:], frameMagic)
		if next < 0 {
			return
		}
		at += next
		if h, err := ParseSealed(b[at:]); err == nil {
			found(at, &h)
		}
	}
}
