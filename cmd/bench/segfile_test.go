package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rejoin/loadgen"
	"rejoin/results"
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

// writeSegments lays frames out in two segments of one partition, zero-filled at the end.
func writeSegments(t *testing.T, folder results.Folder, node int, frames [][]byte) (paths []string) {
	t.Helper()
	dir := filepath.Join(folder.DataDir(node), "bench", "0")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	half := len(frames) / 2
	for i, part := range [][][]byte{frames[:half], frames[half:]} {
		text := append(bytes.Join(part, nil), make([]byte, 3000)...)
		path := filepath.Join(dir, fmt.Sprintf("%020d.seg", 1+i*half))
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	if err := os.WriteFile(filepath.Join(dir, "next.seg"), make([]byte, 4096), 0o644); err != nil {
		t.Fatal(err)
	}
	return paths
}

func readAll(t *testing.T, folder results.Folder) ([]string, loadgen.ReadEnd, error) {
	t.Helper()
	source, err := offlineSource(folder, 1)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	end, err := source.ReadReplica(t.Context(), "n0", func(b loadgen.ReadBatch) error {
		for i, m := range b.Messages {
			texts = append(texts, fmt.Sprintf("%d %s", b.BaseOffset+uint64(i), m))
		}
		return nil
	})
	return texts, end, err
}

func TestOfflineReadsWhatTheServerWrites(t *testing.T) {
	folder := results.Folder{Dir: t.TempDir()}
	writeSegments(t, folder, 0, stamped(8))
	texts, end, err := readAll(t, folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(texts) != 14 || texts[0] != "0 op 2 message 0" || texts[13] != "13 op 8 message 1" || end.EndOffset != 14 {
		t.Errorf("end %+v, messages %q", end, texts)
	}
}

// TestOfflineFindsDamage plants faults in a copy of a data directory.
func TestOfflineFindsDamage(t *testing.T) {
	for _, test := range []struct {
		name    string
		segment int
		damage  func([]byte) []byte
		want    string // in the error; empty: read to a shorter end
	}{
		{"bit in a body of the first segment", 0, func(b []byte) []byte { b[128+200] ^= 1; return b }, "checksum does not match"},
		{"bit in a header of the first segment", 0, func(b []byte) []byte { b[70] ^= 1; return b }, "header's checksum"},
		{"hole of zeros in the first segment", 0, func(b []byte) []byte { clear(b[128:300]); return b }, "zeros, and later something else"},
		{"first segment cut in a frame", 0, func(b []byte) []byte { return b[:300] }, "the file ends in the body"},
		{"first segment cut between frames", 0, func(b []byte) []byte { return b[:128] }, "does not follow"},
		{"bit in a body of the last segment", 1, func(b []byte) []byte { b[150] ^= 1; return b }, "checksum does not match"},
		{"torn last segment", 1, func(b []byte) []byte { return b[:300] }, ""},
		{"leftover after the end", 1, func(b []byte) []byte { return append(bytes.TrimRight(b, "\x00"), stamped(3)[2]...) }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder := results.Folder{Dir: t.TempDir()}
			paths := writeSegments(t, folder, 0, stamped(8))
			text, err := os.ReadFile(paths[test.segment])
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(paths[test.segment], test.damage(text), 0o644); err != nil {
				t.Fatal(err)
			}
			_, end, err := readAll(t, folder)
			if test.want == "" {
				if err != nil || end.EndOffset > 14 {
					t.Errorf("end %+v, error %v", end, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestDumpSegment(t *testing.T) {
	folder := results.Folder{Dir: t.TempDir()}
	paths := writeSegments(t, folder, 0, stamped(4))
	code, out := bench(t, "dump", paths[0])
	if code != 0 || !strings.Contains(out, "op 1  register") || !strings.Contains(out, "op 2  batch") || !strings.Contains(out, "end of the frames") {
		t.Errorf("exit code %d\n%s", code, out)
	}
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
	for _, bad := range []string{"", "xyz", strings.Repeat("a", 33)} {
		if _, err := parseClient(bad); err == nil {
			t.Errorf("client id %q was taken", bad)
		}
	}
}
