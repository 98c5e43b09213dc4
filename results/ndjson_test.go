package results

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
)

// countingWriter counts calls and checks that each is one whole line.
type countingWriter struct {
	t     *testing.T
	lines int
}

func (w *countingWriter) Write(b []byte) (int, error) {
	if n := strings.Count(string(b), "\n"); n != 1 || b[len(b)-1] != '\n' {
		w.t.Errorf("one write holds %d line ends: %q", n, b)
	}
	w.lines++
	return len(b), nil
}

func TestOneWriteALine(t *testing.T) {
	out := &countingWriter{t: t}
	w := NewLineWriter[Event](out)
	for i := range 5 {
		if err := w.Write(Event{TNs: int64(i), Detail: "two\nlines & <tags>"}); err != nil {
			t.Fatal(err)
		}
	}
	if out.lines != 5 {
		t.Errorf("%d writes for 5 events", out.lines)
	}
}

func TestConcurrentWritersLoseNothing(t *testing.T) {
	f := newRun(t, t.TempDir(), "quick", testNow)
	w, err := f.AppendEvents()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for i := range 200 {
				if err := w.Write(Event{TNs: int64(i), Source: NodeName(n), Kind: KindGC, Detail: strings.Repeat("x", i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	events, err := f.ReadEvents()
	if err != nil || len(events) != 1600 {
		t.Fatalf("read %d events, %v; want 1600", len(events), err)
	}
	next := map[string]int64{}
	for _, e := range events {
		if e.TNs != next[e.Source] {
			t.Fatalf("%s: event %d where %d was due", e.Source, e.TNs, next[e.Source])
		}
		next[e.Source]++
	}
}

func TestEventKeepsZeroAndAbsentApart(t *testing.T) {
	f := newRun(t, t.TempDir(), "quick", testNow)
	w, _ := f.AppendEvents()
	if err := errors.Join(w.Write(Event{Kind: KindExit, WaitStatus: new(int64(9)), OpFrom: new(int64(0)), Signal: "killed"}), w.Close()); err != nil {
		t.Fatal(err)
	}
	events, err := f.ReadEvents()
	if err != nil || len(events) != 1 {
		t.Fatal(events, err)
	}
	if e := events[0]; e.OpFrom == nil || *e.OpFrom != 0 || e.OpTo != nil || *e.WaitStatus != 9 {
		t.Errorf("read back %+v", e)
	}
}

func TestReaderTolerance(t *testing.T) {
	const good = `{"t_ns":1,"kind":"kill"}` + "\n"
	long := `{"t_ns":2,"detail":"` + strings.Repeat("x", 3*lineBytesMax) + `"}` + "\n"
	for _, c := range []struct {
		name   string
		in     string
		values int
		torn   bool
		damage string
	}{
		{"empty", "", 0, false, ""},
		{"whole", good + good, 2, false, ""},
		{"last line without its end but whole", good + `{"t_ns":2}`, 2, false, ""},
		{"torn", good + `{"t_ns":2,"ki`, 1, true, ""},
		{"unknown kind and field", `{"t_ns":1,"kind":"solar_flare","colour":[1]}` + "\n", 1, false, ""},
		{"blank lines", "\n" + good + "\r\n\n", 1, false, ""},
		{"damage in the middle", good + "garbage\n" + good, 2, false, "line 2"},
		{"wrong type", good + `{"t_ns":"soon"}` + "\n" + good, 2, false, "line 2"},
		{"overlong in the middle", good + long + good, 2, false, "line 2: line too long"},
		{"overlong and torn", good + long[:2*lineBytesMax], 1, false, "line 2: line too long"},
		{"nul bytes", good + "\x00\x00\x00", 1, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := NewLineReader[Event](strings.NewReader(c.in))
			all, err := r.ReadAll()
			if len(all) != c.values || r.Torn() != c.torn {
				t.Errorf("%d values, torn %v; want %d, %v", len(all), r.Torn(), c.values, c.torn)
			}
			if (err == nil) != (c.damage == "") || err != nil && !strings.Contains(err.Error(), c.damage) {
				t.Errorf("error %v, want %q", err, c.damage)
			}
		})
	}
}

func TestDamageReportIsBounded(t *testing.T) {
	_, err := NewLineReader[Event](strings.NewReader(strings.Repeat("x\n", 100_000))).ReadAll()
	if n := strings.Count(fmt.Sprint(err), "line "); n != damageMax {
		t.Errorf("error names %d lines, want %d", n, damageMax)
	}
}

func TestWriterRefusesALineNoReaderTakes(t *testing.T) {
	var b strings.Builder
	if err := NewLineWriter[Event](&b).Write(Event{Detail: strings.Repeat("x", lineBytesMax)}); !errors.Is(err, ErrLineTooLong) || b.Len() > 0 {
		t.Errorf("error %v, %d bytes written", err, b.Len())
	}
}

func TestReadFailureIsNotTheEnd(t *testing.T) {
	broken := errors.New("broken disk")
	r := NewLineReader[Event](io.MultiReader(strings.NewReader(`{"t_ns":1}`+"\n"), failingReader{broken}))
	if all, err := r.ReadAll(); len(all) != 1 || !errors.Is(err, broken) {
		t.Errorf("%d values, %v; want 1 and %v", len(all), err, broken)
	}
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

func TestStatusNulls(t *testing.T) {
	f := newRun(t, t.TempDir(), "quick", testNow)
	w, _ := f.AppendStatus()
	if err := errors.Join(w.Write(Status{TNs: 1, Node: "n0"}), w.Write(Status{TNs: 2, Node: "n0", Up: true, CommitOp: new(int64(0))}), w.Close()); err != nil {
		t.Fatal(err)
	}
	b, _ := os.ReadFile(f.StatusSamples())
	if !strings.Contains(string(b), `"commit":null`) {
		t.Errorf("a down node's commit is not null: %s", b)
	}
	r, err := f.OpenStatus()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all, err := r.ReadAll()
	if err != nil || len(all) != 2 || all[0].CommitOp != nil || all[1].CommitOp == nil {
		t.Errorf("read back %+v, %v", all, err)
	}
}

func FuzzReadHlogAndEvents(f *testing.F) {
	f.Add([]byte(`{"t_ns":1}` + "\n"))
	f.Add([]byte("#[Exact: Tag=a.b count=1 min_ns=1 max_ns=1 overflow=0 negative=0 lost=0]\nTag=a.b,0.0,1.0,1.0,HISTF\n"))
	f.Fuzz(func(_ *testing.T, in []byte) {
		_, _ = NewLineReader[Event](strings.NewReader(string(in))).ReadAll()
		_ = ReadHlog(strings.NewReader(string(in)), func(Interval) error { return nil })
	})
}

// TestGatheredLines come in whole lines, not one write each, and all of them by Close.
func TestGatheredLines(t *testing.T) {
	f := newRun(t, t.TempDir(), "quick", testNow)
	w, err := f.AppendStatus()
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[int64]bool{}
	const lines = 500
	for i := range lines {
		if err := w.Write(Status{TNs: int64(i), Node: "n0"}); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(f.StatusSamples())
		if err != nil {
			t.Fatal(err)
		}
		sizes[info.Size()] = true
	}
	if n := len(sizes); n < 3 || n > lines/50 {
		t.Errorf("%d lines were written in %d writes", lines, n-1)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := f.OpenStatus()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all, err := r.ReadAll()
	if err != nil || len(all) != lines {
		t.Fatalf("%d lines came back of %d: %v", len(all), lines, err)
	}
	for i, s := range all {
		if s.TNs != int64(i) {
			t.Fatalf("line %d is that of %d", i, s.TNs)
		}
	}
}

// TestRefusedLineLeavesTheOthers: a line that is too long takes nothing with it of what was gathered before.
func TestRefusedLineLeavesTheOthers(t *testing.T) {
	var b strings.Builder
	w := NewLineWriter[Event](&b)
	w.gather = 1 << 20
	if err := w.Write(Event{Detail: "first"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(Event{Detail: strings.Repeat("x", lineBytesMax)}); !errors.Is(err, ErrLineTooLong) {
		t.Errorf("error %v", err)
	}
	if err := errors.Join(w.Write(Event{Detail: "second"}), w.Close()); err != nil {
		t.Fatal(err)
	}
	all, err := NewLineReader[Event](strings.NewReader(b.String())).ReadAll()
	if err != nil || len(all) != 2 || all[0].Detail != "first" || all[1].Detail != "second" {
		t.Errorf("%v, %v", all, err)
	}
}
