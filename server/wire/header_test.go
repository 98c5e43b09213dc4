package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"rejoin/server/vsr"
)

func TestHeaderGoldenLayout(t *testing.T) {
	h := vsr.Header{Kind: vsr.KindBatch, Client: vsr.Client{Hi: 0x2827262524232221, Lo: 0x3837363534333231}, Session: 11, Request: 12,
		MessageCount: 100, BodyBytes: 0x01020, BodySum: 0x4847464544434241, Parent: 0x5857565554535251, Cluster: 0x6867666564636261,
		Group: 0x74737271, View: 13, Op: 14, BaseOffset: 15, Timestamp: -2}
	Seal(&h)
	want := golden(t, `
		524a4631 0100 01 00 6a2a6d8e4d3233b8
		4142434445464748 5152535455565758 6162636465666768
		71727374 64000000 20100000 00000000
		0d00000000000000 0e00000000000000 0f00000000000000 feffffffffffffff
		2122232425262728 3132333435363738 0b00000000000000 0c00000000000000 0000000000000000`)
	got := bytes.Repeat([]byte{0xff}, HeaderBytes+1)
	PutHeader(got, &h)
	if !bytes.Equal(got[:HeaderBytes], want) || got[HeaderBytes] != 0xff {
		t.Errorf("header\n got %x\nwant %x", got, want)
	}
	if parsed, err := ParseSealed(want); err != nil || parsed != h {
		t.Errorf("parsed %+v, %v; want %+v", parsed, err, h)
	}
}

// The root's value is written into every log's first op: it may never change.
func TestRootSumIsFixed(t *testing.T) {
	const want = 0x982213f85df8abfe
	if got := RootSum(0x0102030405060708, 9); got != want {
		t.Errorf("root sum %#x, want %#x", got, uint64(want))
	}
	if RootSum(1, 2) == RootSum(2, 1) || RootSum(1, 2) == RootSum(1, 3) {
		t.Error("two groups share a root")
	}
}

func TestParseHeaderRefuses(t *testing.T) {
	le := binary.LittleEndian
	register := func(b []byte) {
		PutHeader(b, &vsr.Header{Kind: vsr.KindRegister, BodySum: Sum(nil)})
	}
	cases := []struct {
		name string
		want error
		bend func(b []byte)
	}{
		{"magic", ErrMagic, func(b []byte) { b[3] = '2' }},
		{"version", ErrVersion, func(b []byte) { b[4] = 2 }},
		{"kind 0", ErrFormat, func(b []byte) { b[6] = 0 }},
		{"kind 3", ErrFormat, func(b []byte) { b[6] = 3 }},
		{"reserved byte", ErrFormat, func(b []byte) { b[7] = 1 }},
		{"reserved word", ErrFormat, func(b []byte) { b[55] = 1 }},
		{"reserved tail", ErrFormat, func(b []byte) { b[127] = 1 }},
		{"4 GiB body", ErrFormat, func(b []byte) { le.PutUint32(b[48:], math.MaxUint32) }},
		{"body one byte too long", ErrFormat, func(b []byte) { le.PutUint32(b[48:], BodyBytesMax+1) }},
		{"a message too many", ErrFormat, func(b []byte) { le.PutUint32(b[44:], MessagesMax+1) }},
		{"batch without messages", ErrFormat, func(b []byte) { le.PutUint32(b[44:], 0) }},
		{"batch without session", ErrFormat, func(b []byte) { le.PutUint64(b[104:], 0) }},
		{"register with messages", ErrFormat, func(b []byte) { register(b); b[44] = 1 }},
		{"register with a body", ErrFormat, func(b []byte) { register(b); b[48] = 1 }},
		{"register with a session", ErrFormat, func(b []byte) { register(b); b[104] = 1 }},
		{"register with a request", ErrFormat, func(b []byte) { register(b); b[112] = 1 }},
	}
	h := sealedHeader(1, 2)
	var b [HeaderBytes]byte
	for _, c := range cases {
		PutHeader(b[:], &h)
		c.bend(b[:])
		if _, err := ParseHeader(b[:]); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := ParseHeader(b[:HeaderBytes-1]); !errors.Is(err, ErrFormat) {
		t.Errorf("short: %v", err)
	}
}

func TestParseSealedSeesEveryFlippedBit(t *testing.T) {
	h := sealedHeader(1, 2)
	var b [HeaderBytes]byte
	PutHeader(b[:], &h)
	for bit := range HeaderBytes * 8 {
		b[bit/8] ^= 1 << (bit % 8)
		if _, err := ParseSealed(b[:]); err == nil {
			t.Fatalf("bit %d of byte %d flipped and believed", bit%8, bit/8)
		}
		b[bit/8] ^= 1 << (bit % 8)
	}
}

func TestHeaderPathDoesNotAllocate(t *testing.T) {
	h := sealedHeader(1, 2)
	var b [HeaderBytes]byte
	allocs := testing.AllocsPerRun(100, func() {
		Seal(&h)
		PutHeader(b[:], &h)
		if _, err := ParseSealed(b[:]); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("seal, draw and parse allocate %v times", allocs)
	}
}

func FuzzParseHeader(f *testing.F) {
	h := sealedHeader(1, 2)
	var seed [HeaderBytes]byte
	PutHeader(seed[:], &h)
	f.Add(seed[:])
	PutHeader(seed[:], &vsr.Header{Kind: vsr.KindRegister, BodySum: Sum(nil)})
	f.Add(seed[:])
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ParseHeader(b)
		if err != nil {
			return
		}
		if h.BodyBytes > BodyBytesMax || h.MessageCount > MessagesMax {
			t.Fatalf("believed %+v", h)
		}
		var again [HeaderBytes]byte
		PutHeader(again[:], &h)
		if !bytes.Equal(again[:], b[:HeaderBytes]) {
			t.Fatalf("parsed and drawn again\n%x\n%x", b, again)
		}
	})
}
