package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// stamped makes frames as a primary would: op 1 is a register, then batches of two messages.
func stamped(ops int) [][]byte {
	var frames [][]byte
	parent, offset := uint64(99), uint64(0)
	for op := 1; op <= ops; op++ {
		frame := make([]byte, wire.HeaderBytes)
		h := vsr.Header{Kind: vsr.KindRegister, Client: vsr.Client{Lo: 7}}
		if op > 1 {
			for m := range 2 {
				frame = wire.AppendMessage(frame, wire.Message{Key: []byte("k"), Payload: fmt.Appendf(nil, "op %d message %d", op, m)})
			}
			h = vsr.Header{Kind: vsr.KindBatch, Client: vsr.Client{Lo: 7}, Session: 1, Request: uint64(op), MessageCount: 2}
		}
		body := frame[wire.HeaderBytes:]
		h.BodyBytes, h.BodySum, h.Parent, h.Op, h.BaseOffset, h.View = uint32(len(body)), wire.Sum(body), parent, uint64(op), offset, 1
		wire.Seal(&h)
		wire.PutHeader(frame, &h)
		parent, offset = h.Sum, h.NextOffset()
		frames = append(frames, frame)
	}
	return frames
}

func TestDumpSegment(t *testing.T) {
	frames := stamped(4)
	text := bytes.Join(frames, nil)
	path := filepath.Join(t.TempDir(), "00000000000000000001.seg")
	for _, test := range []struct {
		name string
		text []byte
		want []string
	}{
		{"whole, zero-filled", append(bytes.Clone(text), make([]byte, 3000)...), []string{"op 1  register", "op 4  batch", "end of the frames"}},
		{"cut", text[:len(text)-3], []string{"op 3  batch", "ends inside its body"}},
		{"bit in a body", flip(text, 128+150), []string{"op 2  batch", "DAMAGED", "op 4  batch"}},
		{"recycled", append(bytes.Clone(text), bytes.Join(frames[1:], nil)...), []string{"op 1  register", "op 4  batch", "op 2 comes after op 4"}},
		{"recycled, nothing written", bytes.Join(frames[2:], nil), []string{"byte 0: ", "op 3, and the name says that op 1 begins here"}},
		{"bit in a header", flip(text, 70), []string{"byte 0: ", "checksum does not match"}},
	} {
		if err := os.WriteFile(path, test.text, 0o644); err != nil {
			t.Fatal(err)
		}
		code, out := bench(t, "dump", path)
		for _, want := range test.want {
			if code != 0 || !strings.Contains(out, want) {
				t.Errorf("%s: exit code %d, want %q in\n%s", test.name, code, want, out)
			}
		}
	}
}

func flip(text []byte, at int) []byte {
	text = bytes.Clone(text)
	text[at] ^= 1
	return text
}

func TestFrameOf(t *testing.T) {
	client, err := parseClient("0123456789abcdef00000000000000ff")
	if err != nil {
		t.Fatal(err)
	}
	frame, err := frameOf(strings.NewReader("hello\nworld\n"), client, 5, 9)
	if err != nil {
		t.Fatal(err)
	}
	h, err := wire.CheckRequest(frame)
	if err != nil {
		t.Fatal(err)
	}
	if h.Client != (vsr.Client{Hi: 0x0123456789abcdef, Lo: 0xff}) || h.Session != 5 || h.Request != 9 || h.MessageCount != 2 {
		t.Errorf("header is %+v", h)
	}
	if _, err := frameOf(strings.NewReader(""), client, 5, 9); err == nil {
		t.Error("an empty batch was made")
	}
	if _, err := frameOf(strings.NewReader("short\n"+strings.Repeat("x", wire.BodyBytesMax+1)), client, 5, 9); err == nil || !strings.Contains(err.Error(), "line 2 alone is longer than a batch may be") {
		t.Errorf("a line longer than a batch: %v", err)
	}
	if code, out := bench(t, "frame", "--session", "0"); code != 2 || !strings.Contains(out, "no session has this number") {
		t.Errorf("session 0: exit code %d\n%s", code, out)
	}
	for _, bad := range []string{"", "xyz", strings.Repeat("a", 33)} {
		if _, err := parseClient(bad); err == nil {
			t.Errorf("client id %q was taken", bad)
		}
	}
}
