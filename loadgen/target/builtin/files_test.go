package builtin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rejoin/loadgen"
	"rejoin/results"
	"rejoin/server/wire"
)

// writeSegments lays a stub's log out as a node's data directory, in segments of so many ops, each
// with zeros behind its frames.
func writeSegments(t *testing.T, log *stubLog, opsEach int) (dir string, segments []string) {
	t.Helper()
	dir = t.TempDir()
	partition := filepath.Join(dir, "topics", "orders", "0")
	if err := os.MkdirAll(partition, 0o755); err != nil {
		t.Fatal(err)
	}
	for first := 0; first < len(log.frames); first += opsEach {
		var bytes []byte
		for _, frame := range log.frames[first:min(first+opsEach, len(log.frames))] {
			bytes = append(bytes, frame...)
		}
		path := filepath.Join(partition, fmt.Sprintf("%020d.seg", first+1))
		if err := os.WriteFile(path, append(bytes, make([]byte, 4096)...), 0o600); err != nil {
			t.Fatal(err)
		}
		segments = append(segments, path)
	}
	for _, other := range []string{"next.seg", "00000000000000000001.idx", "mark", "table-00000000000000000009.tab"} {
		if err := os.WriteFile(filepath.Join(partition, other), []byte("not a segment"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, segments
}

func filesOf(t *testing.T, upTo *uint64, dirs ...string) *Files {
	t.Helper()
	o := FilesOptions{Topic: "orders", UpTo: upTo}
	for i, dir := range dirs {
		o.Replicas = append(o.Replicas, ReplicaDir{Name: results.NodeName(i), Dir: dir})
	}
	f, err := NewFiles(o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func edit(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(b), 0o600); err != nil {
		t.Fatal(err)
	}
}

// content is the length of the frames in a segment.
func content(b []byte) (size int, starts []int) {
	for {
		if _, err := wire.ParseSealed(b[size:]); err != nil {
			return size, starts
		}
		starts = append(starts, size)
		size += frameSize(b[size:])
	}
}

// overOld writes the frames of a segment but for the last ones over a file that held another, beginning in the middle of a frame, with a frame of
// an op that is missing far behind, if asked for.
func overOld(t *testing.T, old string, b []byte, missing int, later bool) []byte {
	t.Helper()
	held, err := os.ReadFile(old)
	if err != nil {
		t.Fatal(err)
	}
	n, starts := content(b)
	cut := n
	if missing > 0 {
		cut = starts[len(starts)-missing]
	}
	out := append(append([]byte(nil), b[:cut]...), make([]byte, 4096-cut%4096)...)
	out = append(out, held[100:]...)
	if later {
		out = append(append(out, make([]byte, 3<<20)...), b[starts[len(starts)-1]:n]...)
	}
	return out
}

func TestFilesRead(t *testing.T) {
	s := startStub(t)
	fill(t, s, 60) // 62 ops: two registrations
	for name, c := range map[string]struct {
		change  func(t *testing.T, segments []string)
		upTo    *uint64
		batches int
		end     uint64
		damaged int
		err     string
	}{
		"as it is":  {batches: 60, end: 120},
		"up to 0":   {upTo: new(uint64(0)), batches: 0, end: 0},
		"up to 100": {upTo: new(uint64(100)), batches: 50, end: 100},
		"no zeros behind the last frame": {batches: 60, end: 120, change: func(t *testing.T, s []string) {
			edit(t, s[3], func(b []byte) []byte { n, _ := content(b); return b[:n] })
		}},
		"cut inside the last frame": {batches: 59, end: 118, change: func(t *testing.T, s []string) {
			edit(t, s[3], func(b []byte) []byte { n, _ := content(b); return b[:n-1] })
		}},
		"last body torn": {batches: 59, end: 118, change: func(t *testing.T, s []string) {
			edit(t, s[3], func(b []byte) []byte { n, _ := content(b); b[n-1] ^= 1; return b })
		}},
		"older frames behind the end": {batches: 60, end: 120, change: func(t *testing.T, s []string) {
			edit(t, s[3], func(b []byte) []byte { n, starts := content(b); return append(b[:n], b[starts[1]:n]...) })
		}},
		"a payload in the middle": {batches: 60, end: 120, damaged: 1, change: func(t *testing.T, s []string) {
			edit(t, s[1], func(b []byte) []byte {
				_, starts := content(b)
				b[starts[5]+wire.HeaderBytes+wire.MessagePrefixBytes] ^= 1
				return b
			})
		}},
		"a header in the middle": {err: "the next segment begins with op 41", change: func(t *testing.T, s []string) {
			edit(t, s[1], func(b []byte) []byte { _, starts := content(b); b[starts[5]+60] ^= 1; return b })
		}},
		"a header zeroed": {err: "(zeros)", change: func(t *testing.T, s []string) {
			edit(t, s[1], func(b []byte) []byte { _, starts := content(b); clear(b[starts[5]:][:wire.HeaderBytes]); return b })
		}},
		"a segment missing": {err: "the next segment begins with op 41", change: func(t *testing.T, s []string) { os.Remove(s[1]) }},
		"a segment under another's name": {err: "its name says", change: func(t *testing.T, s []string) {
			b, _ := os.ReadFile(s[0])
			os.WriteFile(s[1], b, 0o600)
		}},
		"the first segment gone": {batches: 41, end: 120, change: func(t *testing.T, s []string) { os.Remove(s[0]) }},
		"a header zeroed in the last segment": {upTo: new(uint64(120)), err: "(zeros), below the acknowledged offset 119", change: func(t *testing.T, s []string) {
			edit(t, s[3], func(b []byte) []byte { _, starts := content(b); clear(b[starts[1]:][:wire.HeaderBytes]); return b })
		}},
		"a header damaged in the last segment": {upTo: new(uint64(120)), err: "below the acknowledged offset 119", change: func(t *testing.T, s []string) {
			edit(t, s[3], func(b []byte) []byte { _, starts := content(b); b[starts[1]+60] ^= 1; return b })
		}},
		"the end missing, zeros behind": {upTo: new(uint64(120)), batches: 58, end: 116, change: func(t *testing.T, s []string) {
			edit(t, s[3], func(b []byte) []byte { _, starts := content(b); clear(b[starts[len(starts)-2]:]); return b })
		}},
		"behind, in a recycled file": {upTo: new(uint64(120)), batches: 58, end: 116, change: func(t *testing.T, s []string) {
			edit(t, s[3], func(b []byte) []byte { return overOld(t, s[0], b, 2, false) })
		}},
		"damaged, in a recycled file": {upTo: new(uint64(120)), err: "below the acknowledged offset 119", change: func(t *testing.T, s []string) {
			edit(t, s[3], func(b []byte) []byte { return overOld(t, s[0], b, 2, true) })
		}},
		"a header damaged in a recycled file": {upTo: new(uint64(120)), err: "below the acknowledged offset 119", change: func(t *testing.T, s []string) {
			edit(t, s[3], func(b []byte) []byte {
				n, starts := content(b)
				b = overOld(t, s[0], b[:n], 0, false)
				b[starts[len(starts)-1]+60] ^= 1
				return b
			})
		}},
		"no segment": {err: "holds no segment", change: func(t *testing.T, s []string) {
			for _, path := range s {
				os.Remove(path)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, segments := writeSegments(t, s.log, 20)
			if len(segments) != 4 {
				t.Fatalf("%d segments", len(segments))
			}
			if c.change != nil {
				c.change(t, segments)
			}
			batches, damaged, end, err := readAll(t.Context(), filesOf(t, c.upTo, dir), "n0")
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("err %v, want one with %q", err, c.err)
				}
				var damage *DamageError
				if errors.As(err, &damage) && !slices.Contains(segments, damage.File) {
					t.Errorf("it names the file %q", damage.File)
				}
				return
			}
			if err != nil || batches != c.batches || damaged != c.damaged || end.EndOffset != c.end {
				t.Errorf("%d batches, %d damaged, end %d, err %v; want %d, %d, %d", batches, damaged, end.EndOffset, err, c.batches, c.damaged, c.end)
			}
		})
	}
}

// Trap 27, and the proof after a SIGKILL of all: a load, the data directories, and a fault planted in a copy.
func TestVerifyOfDataDirectories(t *testing.T) {
	s := startStub(t)
	outcome, err := loadgen.Run(t.Context(), loadgen.Options{Target: s, LedgerDir: t.TempDir(), Producers: 4, BatchMessages: 5,
		MessageBytes: 80, RatePerS: 2_000, Duration: 250 * time.Millisecond, Seed: 1, OvershootSamples: -1})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change  func(t *testing.T, segments []string) // of n1
		verdict loadgen.VerifyVerdict
		kind    loadgen.Kind
		names   string // in the reasons
	}{
		"none": {verdict: loadgen.VerifyPass},
		"a bit of a payload": {verdict: loadgen.VerifyFail, kind: loadgen.KindCorrupted, names: "n1", change: func(t *testing.T, s []string) {
			edit(t, s[1], func(b []byte) []byte {
				_, starts := content(b)
				b[starts[5]+wire.HeaderBytes+wire.MessagePrefixBytes+50] ^= 1
				return b
			})
		}},
		"a bit of a message's time": {verdict: loadgen.VerifyFail, kind: loadgen.KindDiverged, names: "n1", change: func(t *testing.T, s []string) {
			edit(t, s[1], func(b []byte) []byte { _, starts := content(b); b[starts[5]+wire.HeaderBytes+4] ^= 1; return b })
		}},
		"the last segment gone": {verdict: loadgen.VerifyInconclusive, names: "acknowledged batches are not readable there", change: func(t *testing.T, s []string) {
			os.Remove(s[len(s)-1])
		}},
		"a segment gone": {verdict: loadgen.VerifyInconclusive, names: "the next segment begins with op", change: func(t *testing.T, s []string) {
			os.Remove(s[1])
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var dirs []string
			var segments [][]string
			for range 3 {
				dir, files := writeSegments(t, s.log, 30)
				dirs, segments = append(dirs, dir), append(segments, files)
			}
			if c.change != nil {
				c.change(t, segments[1])
			}
			verifier, err := loadgen.NewVerifier(loadgen.VerifyOptions{Ledgers: outcome.Ledgers, AckedMin: 100})
			if err != nil {
				t.Fatal(err)
			}
			files := filesOf(t, new(verifier.AckedEnd()), dirs...)
			for _, replica := range files.Replicas() {
				verifier.Read(t.Context(), files, replica)
			}
			report := verifier.Finish()
			reasons := strings.Join(report.Reasons, "\n")
			if report.Verdict != c.verdict || !strings.Contains(reasons, c.names) {
				t.Errorf("verdict %s, want %s; reasons: %s", report.Verdict, c.verdict, reasons)
			}
			if c.kind != "" && report.Count(c.kind) == 0 {
				t.Errorf("no %s found: %s", c.kind, reasons)
			}
		})
	}
}

func TestReadEvents(t *testing.T) {
	whole := wire.Event{TimeMonoNs: 5_000, Node: 2, Topic: "orders", Partition: 1, Kind: wire.EventRepairEnd, OpFrom: 3, OpTo: 9,
		Bytes: 70, HasPeer: true, Peer: 0, DurationNs: 44, Reason: "gap"}
	var file []byte
	file = whole.AppendJSON(file)
	file = append(file, `{"t_mono_ns":6000,"node":2,"to`...) // killed here, and the next life appends
	file = whole.AppendJSON(file)
	file = append(file, strings.Repeat("z", 3*wire.EventLineBytesMax)+"\n"...)
	file = whole.AppendJSON(file)
	file = append(file, `{"t_mono_ns":7000`...)
	path := filepath.Join(t.TempDir(), "events.ndjson")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	var got []results.Event
	damaged, err := ReadEvents(path, 1_000, func(e results.Event) error {
		got = append(got, e)
		return nil
	})
	if err != nil || damaged != 3 || len(got) != 2 {
		t.Fatalf("%d events, %d damaged lines, err %v; want 2 and 3", len(got), damaged, err)
	}
	e := got[0]
	if e.TNs != 4_000 || e.TMonoNs != 5_000 || e.Source != "n2" || e.Kind != results.KindRepairEnd || e.Peer != "n0" ||
		*e.Partition != 1 || *e.OpFrom != 3 || *e.OpTo != 9 || *e.Bytes != 70 || *e.DurationNs != 44 || e.View != nil {
		t.Errorf("%+v", e)
	}
	if _, err := ReadEvents(path, 0, func(results.Event) error { return errEnough }); !errors.Is(err, errEnough) {
		t.Errorf("err %v, want the taker's", err)
	}
}
