package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"rejoin/server/vsr"
)

func requestFrame(messages ...Message) []byte {
	frame := make([]byte, HeaderBytes)
	for _, m := range messages {
		frame = AppendMessage(frame, m)
	}
	SealRequest(frame, vsr.Client{Hi: 1, Lo: 2}, 3, 4, uint32(len(messages)))
	return frame
}

func TestBodyGoldenLayout(t *testing.T) {
	body := AppendMessage(nil, Message{TimestampDelta: 0x04030201, Key: []byte("key"), Headers: []byte("head"), Payload: []byte("pay")})
	body = AppendMessage(body, Message{})
	want := golden(t, `
		12000000 01020304 0300 0400 6b6579 68656164 706179
		08000000 00000000 0000 0000`)
	if !bytes.Equal(body, want) {
		t.Errorf("body\n got %x\nwant %x", body, want)
	}
}

func TestRequestRoundTrip(t *testing.T) {
	asked := []Message{{TimestampDelta: 1, Key: []byte("k"), Headers: []byte("hh"), Payload: []byte("ppp")}, {}}
	frame := requestFrame(asked...)
	h, err := CheckRequest(frame)
	if err != nil || h.Session != 3 || h.Request != 4 || h.MessageCount != 2 || int(h.BodyBytes) != len(frame)-HeaderBytes {
		t.Fatalf("%+v, %v", h, err)
	}
	rest := frame[HeaderBytes:]
	for _, want := range asked {
		var m Message
		if m, rest, err = NextMessage(rest); err != nil {
			t.Fatal(err)
		}
		if m.TimestampDelta != want.TimestampDelta || !bytes.Equal(m.Key, want.Key) || !bytes.Equal(m.Headers, want.Headers) || !bytes.Equal(m.Payload, want.Payload) {
			t.Errorf("got %+v, want %+v", m, want)
		}
	}
	if len(rest) != 0 {
		t.Errorf("%d bytes are left", len(rest))
	}
}

// A message's slices lie side by side in one shared buffer: appending to one must not write into
// the next.
func TestMessageSlicesDoNotReachIntoEachOther(t *testing.T) {
	body := AppendMessage(nil, Message{Key: []byte("k"), Headers: []byte("h"), Payload: []byte("p")})
	body = AppendMessage(body, Message{Key: []byte("next")})
	before := bytes.Clone(body)
	m, _, err := NextMessage(body)
	if err != nil {
		t.Fatal(err)
	}
	_, _, _ = append(m.Key, 'x'), append(m.Headers, 'x'), append(m.Payload, 'x')
	if !bytes.Equal(body, before) {
		t.Errorf("the body was written to\n got %x\nwant %x", body, before)
	}
}

func TestNextMessageRefuses(t *testing.T) {
	le := binary.LittleEndian
	cases := []struct {
		name string
		bend func(b []byte) []byte
	}{
		{"nothing", func(b []byte) []byte { return nil }},
		{"less than a prefix", func(b []byte) []byte { return b[:MessagePrefixBytes-1] }},
		{"one byte short", func(b []byte) []byte { return b[:len(b)-1] }},
		{"length below its own prefix", func(b []byte) []byte { le.PutUint32(b, 7); return b }},
		{"length 4 GiB", func(b []byte) []byte { le.PutUint32(b, math.MaxUint32); return b }},
		{"key beyond the message", func(b []byte) []byte { le.PutUint16(b[8:], 0xffff); return b }},
		{"headers beyond the message", func(b []byte) []byte { le.PutUint16(b[10:], 0xffff); return b }},
	}
	for _, c := range cases {
		b := AppendMessage(nil, Message{Key: []byte("k"), Payload: []byte("ppp")})
		if _, _, err := NextMessage(c.bend(b)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestCheckRequestRefuses(t *testing.T) {
	edit := func(change func(h *vsr.Header)) func([]byte) []byte {
		return func(b []byte) []byte {
			h, err := ParseHeader(b)
			if err != nil {
				t.Fatal(err)
			}
			change(&h)
			PutHeader(b, &h)
			return b
		}
	}
	cases := []struct {
		name string
		want error
		bend func(b []byte) []byte
	}{
		{"empty", ErrFormat, func(b []byte) []byte { return nil }},
		{"5 bytes", ErrFormat, func(b []byte) []byte { return b[:5] }},
		{"body cut", ErrFormat, func(b []byte) []byte { return b[:len(b)-1] }},
		{"body too long", ErrFormat, func(b []byte) []byte { return append(b, 0) }},
		{"body flipped", ErrSum, func(b []byte) []byte { b[len(b)-1] ^= 1; return b }},
		{"a message more than there is", ErrFormat, edit(func(h *vsr.Header) { h.MessageCount++ })},
		{"a message less than there is", ErrFormat, edit(func(h *vsr.Header) { h.MessageCount-- })},
		{"register", ErrFormat, edit(func(h *vsr.Header) { *h = vsr.Header{Kind: vsr.KindRegister, BodySum: Sum(nil)} })},
		{"sum", ErrFormat, edit(func(h *vsr.Header) { h.Sum = 1 })},
		{"parent", ErrFormat, edit(func(h *vsr.Header) { h.Parent = 1 })},
		{"cluster", ErrFormat, edit(func(h *vsr.Header) { h.Cluster = 1 })},
		{"group", ErrFormat, edit(func(h *vsr.Header) { h.Group = 1 })},
		{"view", ErrFormat, edit(func(h *vsr.Header) { h.View = 1 })},
		{"op", ErrFormat, edit(func(h *vsr.Header) { h.Op = 1 })},
		{"base offset", ErrFormat, edit(func(h *vsr.Header) { h.BaseOffset = 1 })},
		{"timestamp", ErrFormat, edit(func(h *vsr.Header) { h.Timestamp = 1 })},
	}
	for _, c := range cases {
		if _, err := CheckRequest(c.bend(requestFrame(Message{Payload: []byte("a")}, Message{Payload: []byte("b")}))); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// A register frame has an empty body, whose sum is that of no bytes and not zero: no sum is a sentinel.
func TestRegisterFramePasses(t *testing.T) {
	h := vsr.Header{Kind: vsr.KindRegister, BodySum: Sum(nil), Op: 1, View: 1}
	if err := CheckBody(&h, nil); err != nil {
		t.Error(err)
	}
	h.BodySum = 0
	if err := CheckBody(&h, nil); !errors.Is(err, ErrSum) {
		t.Errorf("a sum of zero passed: %v", err)
	}
}

func FuzzNextMessage(f *testing.F) {
	f.Add(AppendMessage(nil, Message{Key: []byte("k"), Headers: []byte("h"), Payload: []byte("p")}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, rest, err := NextMessage(b)
		if err != nil {
			return
		}
		if again := AppendMessage(nil, m); !bytes.Equal(again, b[:len(b)-len(rest)]) {
			t.Fatalf("parsed and drawn again\n%x\n%x", b, again)
		}
	})
}

func FuzzCheckRequest(f *testing.F) {
	f.Add(requestFrame(Message{Payload: []byte("a")}))
	f.Fuzz(func(t *testing.T, frame []byte) {
		if h, err := CheckRequest(frame); err == nil && len(frame) != HeaderBytes+int(h.BodyBytes) {
			t.Fatalf("believed %+v of a frame of %d bytes", h, len(frame))
		}
	})
}
