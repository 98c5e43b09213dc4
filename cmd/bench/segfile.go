package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/zeebo/xxh3"
)

// The reader of segment files is written from the format's description, not with the server's code: a mistake that the server makes in
// writing and again in reading would otherwise stay hidden from the verification. See package wire for the picture of a frame.
const (
	segHeaderBytes  = 128
	segMagic        = 0x31464a52 // "RJF1", little-endian
	segBodyBytesMax = 1 << 20
	segKindBatch    = 1
)

// segFrame is one frame of a segment file. Body lies in the reader's buffer and is valid until the next call of next.
type segFrame struct {
	at                         int64 // offset in the file
	kind                       byte
	sum, bodySum, parent       uint64
	group, messages, bodyBytes uint32
	view, op, baseOffset       uint64
	timestampNs                int64
	clientHi, clientLo         uint64
	session, request           uint64
	body                       []byte
	bodyIntact                 bool
}

// segReader walks a segment file from its start.
type segReader struct {
	file *os.File
	in   *bufio.Reader
	at   int64
	buf  []byte
}

func openSegment(path string) (*segReader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &segReader{file: file, in: bufio.NewReaderSize(file, 1<<20), buf: make([]byte, segHeaderBytes+segBodyBytesMax)}, nil
}

func (r *segReader) close() error { return r.file.Close() }

// errSegment is a frame that cannot be one: what follows cannot be found.
var errSegment = errors.New("no frame")

// next returns the next frame, checked; io.EOF where the file ends or only zeros follow; errSegment where something else does.
func (r *segReader) next() (segFrame, error) {
	head := r.buf[:segHeaderBytes]
	n, err := io.ReadFull(r.in, head)
	if err != nil && err != io.ErrUnexpectedEOF {
		return segFrame{}, err
	}
	if allZero(head[:n]) {
		return segFrame{at: r.at}, r.tail()
	}
	if n < segHeaderBytes {
		return segFrame{at: r.at}, fmt.Errorf("%w at byte %d: the file ends in %d bytes", errSegment, r.at, n)
	}
	f := parseSegHeader(head)
	f.at = r.at
	if binary.LittleEndian.Uint32(head) != segMagic || f.bodyBytes > segBodyBytesMax {
		return f, fmt.Errorf("%w at byte %d: magic %08x, body of %d bytes", errSegment, r.at, binary.LittleEndian.Uint32(head), f.bodyBytes)
	}
	binary.LittleEndian.PutUint64(head[8:], 0)
	if xxh3.Hash(head) != f.sum {
		return f, fmt.Errorf("%w at byte %d: the header's checksum does not match", errSegment, r.at)
	}
	f.body = r.buf[segHeaderBytes : segHeaderBytes+int(f.bodyBytes)]
	if _, err := io.ReadFull(r.in, f.body); err != nil {
		return f, fmt.Errorf("%w at byte %d: the file ends in the body", errSegment, r.at)
	}
	f.bodyIntact = xxh3.Hash(f.body) == f.bodySum
	r.at += segHeaderBytes + int64(f.bodyBytes)
	return f, nil
}

// tail tells a zero-filled rest from bytes that stand behind a hole of zeros.
func (r *segReader) tail() error {
	buf := r.buf[segHeaderBytes:]
	for {
		n, err := r.in.Read(buf)
		if !allZero(buf[:n]) {
			return fmt.Errorf("%w at byte %d: zeros, and later something else", errSegment, r.at)
		}
		if err != nil {
			return err
		}
	}
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

func parseSegHeader(b []byte) segFrame {
	le := binary.LittleEndian
	return segFrame{kind: b[6], sum: le.Uint64(b[8:]), bodySum: le.Uint64(b[16:]), parent: le.Uint64(b[24:]), group: le.Uint32(b[40:]),
		messages: le.Uint32(b[44:]), bodyBytes: le.Uint32(b[48:]), view: le.Uint64(b[56:]), op: le.Uint64(b[64:]), baseOffset: le.Uint64(b[72:]),
		timestampNs: int64(le.Uint64(b[80:])), clientHi: le.Uint64(b[88:]), clientLo: le.Uint64(b[96:]), session: le.Uint64(b[104:]), request: le.Uint64(b[112:])}
}

// payloads cuts a body into the payloads of its messages: length u32, timestamp u32, key u16, headers u16, key, headers, payload.
func payloads(f *segFrame, into [][]byte) ([][]byte, error) {
	le := binary.LittleEndian
	rest := f.body
	into = into[:0]
	for i := range f.messages {
		if len(rest) < 12 {
			return nil, fmt.Errorf("op %d: message %d of %d begins beyond the body", f.op, i, f.messages)
		}
		end := 4 + uint64(le.Uint32(rest))
		begin := 12 + uint64(le.Uint16(rest[8:])) + uint64(le.Uint16(rest[10:]))
		if end > uint64(len(rest)) || begin > end {
			return nil, fmt.Errorf("op %d: message %d of %d is longer than the body", f.op, i, f.messages)
		}
		into = append(into, rest[begin:end:end])
		rest = rest[end:]
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("op %d: %d bytes follow its last message", f.op, len(rest))
	}
	return into, nil
}
