package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"

	"rejoin/server/vsr"
)

// A frame header, little-endian:
//
//	  0  magic          u32  "RJF1"
//	  4  version        u16  1
//	  6  kind           u8   1 batch, 2 register
//	  7  zero           u8
//	  8  sum            u64  XXH3-64 of these 128 bytes with this field zero
//	 16  body_sum       u64  XXH3-64 of the body            *
//	 24  parent         u64  sum of the previous op
//	 32  cluster        u64
//	 40  group          u32
//	 44  message_count  u32                                 *
//	 48  body_bytes     u32                                 *
//	 52  zero           u32
//	 56  view           u64  first prepared in
//	 64  op             u64
//	 72  base_offset    u64
//	 80  timestamp      i64  ns since the Unix epoch
//	 88  client         u64 hi, u64 lo                      *
//	104  session        u64                                 *
//	112  request        u64                                 *
//	120  zero           u64
//
// The client fills magic, version, kind and the fields marked *; all others are zero until the
// primary stamps them.
const (
	HeaderBytes   = 128
	FrameMagic    = uint32('R') | uint32('J')<<8 | uint32('F')<<16 | uint32('1')<<24
	FrameVersion  = 1
	BodyBytesMax  = 1 << 20 // bytes of one body
	FrameBytesMax = HeaderBytes + BodyBytesMax
	MessagesMax   = 10_000 // messages of one batch
)

// What can be wrong with a frame. Errors returned wrap one of these.
var (
	ErrMagic   = errors.New("not a frame")
	ErrVersion = errors.New("unknown frame version")
	ErrFormat  = errors.New("malformed frame")
	ErrSum     = errors.New("checksum does not match")
)

// Sum is the checksum of every header and body.
func Sum(b []byte) uint64 { return xxh3.Hash(b) }

// RootSum is the parent of op 1 and stands for the commit of an empty log.
func RootSum(cluster uint64, group uint32) uint64 {
	var b [12]byte
	binary.LittleEndian.PutUint64(b[:], cluster)
	binary.LittleEndian.PutUint32(b[8:], group)
	return Sum(b[:])
}

// PutHeader draws h, as it is, into the first 128 bytes of b.
func PutHeader(b []byte, h *vsr.Header) {
	b = b[:HeaderBytes]
	le := binary.LittleEndian
	le.PutUint32(b[0:], FrameMagic)
	le.PutUint16(b[4:], FrameVersion)
	b[6], b[7] = byte(h.Kind), 0
	le.PutUint64(b[8:], h.Sum)
	le.PutUint64(b[16:], h.BodySum)
	le.PutUint64(b[24:], h.Parent)
	le.PutUint64(b[32:], h.Cluster)
	le.PutUint32(b[40:], h.Group)
	le.PutUint32(b[44:], h.MessageCount)
	le.PutUint32(b[48:], h.BodyBytes)
	le.PutUint32(b[52:], 0)
	le.PutUint64(b[56:], h.View)
	le.PutUint64(b[64:], h.Op)
	le.PutUint64(b[72:], h.BaseOffset)
	le.PutUint64(b[80:], uint64(h.Timestamp))
	le.PutUint64(b[88:], h.Client.Hi)
	le.PutUint64(b[96:], h.Client.Lo)
	le.PutUint64(b[104:], h.Session)
	le.PutUint64(b[112:], h.Request)
	le.PutUint64(b[120:], 0)
}

// Seal sets the checksum of a header whose other fields are final.
func Seal(h *vsr.Header) {
	var b [HeaderBytes]byte
	h.Sum = 0
	PutHeader(b[:], h)
	h.Sum = Sum(b[:])
}

// ParseHeader decodes the first 128 bytes of b and checks form and limits, not the checksum: a
// client's header has none yet.
func ParseHeader(b []byte) (vsr.Header, error) {
	if len(b) < HeaderBytes {
		return vsr.Header{}, fmt.Errorf("%w: %d bytes are less than a header", ErrFormat, len(b))
	}
	le := binary.LittleEndian
	if m := le.Uint32(b); m != FrameMagic {
		return vsr.Header{}, fmt.Errorf("%w: magic %08x", ErrMagic, m)
	}
	if v := le.Uint16(b[4:]); v != FrameVersion {
		return vsr.Header{}, fmt.Errorf("%w %d, this build knows %d", ErrVersion, v, FrameVersion)
	}
	if b[7] != 0 || le.Uint32(b[52:]) != 0 || le.Uint64(b[120:]) != 0 {
		return vsr.Header{}, fmt.Errorf("%w: reserved bytes are not zero", ErrFormat)
	}
	h := vsr.Header{
		Kind: vsr.Kind(b[6]), Sum: le.Uint64(b[8:]), BodySum: le.Uint64(b[16:]), Parent: le.Uint64(b[24:]),
		Cluster: le.Uint64(b[32:]), Group: le.Uint32(b[40:]), MessageCount: le.Uint32(b[44:]), BodyBytes: le.Uint32(b[48:]),
		View: le.Uint64(b[56:]), Op: le.Uint64(b[64:]), BaseOffset: le.Uint64(b[72:]), Timestamp: int64(le.Uint64(b[80:])),
		Client:  vsr.Client{Hi: le.Uint64(b[88:]), Lo: le.Uint64(b[96:])},
		Session: le.Uint64(b[104:]), Request: le.Uint64(b[112:]),
	}
	return h, checkLimits(&h)
}

func checkLimits(h *vsr.Header) error {
	switch {
	case h.Kind != vsr.KindBatch && h.Kind != vsr.KindRegister:
		return fmt.Errorf("%w: kind %d", ErrFormat, h.Kind)
	case h.BodyBytes > BodyBytesMax:
		return fmt.Errorf("%w: body of %d bytes, the limit is %d", ErrFormat, h.BodyBytes, BodyBytesMax)
	case h.MessageCount > MessagesMax:
		return fmt.Errorf("%w: %d messages, the limit is %d", ErrFormat, h.MessageCount, MessagesMax)
	case h.Kind == vsr.KindRegister && (h.BodyBytes != 0 || h.MessageCount != 0 || h.Session != 0 || h.Request != 0):
		return fmt.Errorf("%w: a register frame carries no messages, session or request", ErrFormat)
	case h.Kind == vsr.KindBatch && (h.MessageCount == 0 || h.Session == 0):
		return fmt.Errorf("%w: a batch needs messages and a session", ErrFormat)
	}
	return nil
}

// ParseSealed decodes a stamped header and checks its checksum too.
func ParseSealed(b []byte) (vsr.Header, error) {
	h, err := ParseHeader(b)
	if err != nil {
		return h, err
	}
	sealed := h
	Seal(&sealed)
	if sealed.Sum != h.Sum {
		return h, fmt.Errorf("header %w: op %d says %016x, its bytes give %016x", ErrSum, h.Op, h.Sum, sealed.Sum)
	}
	return h, nil
}
