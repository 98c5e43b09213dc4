package profiles

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rejoin/results"
)

// second is one of the run's time axis.
const second = int64(1e9)

// putWindow writes a window of so many samples.
func putWindow(t *testing.T, dir, node string, from, to int64, samples int64) string {
	t.Helper()
	pb := synthetic(CPU, stacks{"main;work": samples})
	pb.DurationNanos = to - from
	p, err := stamp(encoded(t, pb), node, CPU, "go1.26.8", Window{FromNs: from, ToNs: to, Role: "backup"})
	if err != nil {
		t.Fatal(err)
	}
	path := windowPath(dir, node, CPU, from)
	if err := writeWindow(path, p); err != nil {
		t.Fatal(err)
	}
	return path
}

// tenTwenty is warmup to 10 s, steady to 20 s, outage to 30 s.
func tenTwenty() PhaseOf {
	at := func(s int64) *int64 { return new(s * second) }
	return PhaseOfSpans([]results.Span{{Phase: results.Warmup, FromNs: 0, ToNs: at(10)}, {Phase: results.Steady, FromNs: 10 * second, ToNs: at(20)},
		{Phase: results.Outage, FromNs: 20 * second, ToNs: at(30)}})
}

func TestWindowsAreMergedByNodeAndPhase(t *testing.T) {
	dir := t.TempDir()
	for s := int64(1); s < 29; s += 2 { // [9,11) and [19,21) lie across a border
		putWindow(t, dir, "n0", s*second, (s+2)*second, 60)
	}
	putWindow(t, dir, "n1", 10*second, 20*second, 99) // touches both borders from inside
	putWindow(t, dir, "n2", -2*second, 0, 500)        // before the run
	got, err := MergeWindows(MergeOptions{Dir: dir, PhaseOf: tenTwenty()})
	if err != nil {
		t.Fatal(err)
	}
	path := func(phase string) string { return filepath.Join(dir, "n0-cpu-"+phase+".pb.gz") }
	want := []Merged{
		{Node: "n0", Phase: results.Warmup, Windows: 4, Samples: 240, DurationNs: 8 * second, Path: path("warmup")},
		{Node: "n0", Phase: results.Steady, Windows: 4, Samples: 240, DurationNs: 8 * second, Path: path("steady")},
		{Node: "n0", Phase: results.Outage, Windows: 4, Samples: 240, DurationNs: 8 * second, Path: path("outage")},
		{Node: "n1", Phase: results.Steady, Windows: 1, Samples: 99, DurationNs: 10 * second, NoData: "no data: 99 samples, and 100 are the least that say anything"},
	}
	if !slices.Equal(got.Merged, want) || got.Split != 3 || len(got.Refused) != 0 {
		t.Errorf("got %+v", got)
	}
	p, err := ReadFile(path("steady"))
	if err != nil {
		t.Fatal(err)
	}
	m := p.Meta()
	if m.Node != "n0" || m.Phase != results.Steady || len(m.Windows) != 4 || m.Windows[0].FromNs != 11*second || len(p.pb.Sample) != 1 {
		t.Errorf("%+v", m)
	}
	if s := p.pb.Sample[0]; !s.HasLabel(LabelNode, "n0") || !s.HasLabel(LabelPhase, "steady") || !s.HasLabel(LabelRole, "backup") {
		t.Errorf("labels %v", s.Label)
	}
}

func TestMergingAgainGivesTheSame(t *testing.T) {
	dir := t.TempDir()
	for s := range int64(40) { // more than are held at once
		putWindow(t, dir, "n0", 10*second+s, 10*second+s+1, 3)
	}
	o := MergeOptions{Dir: dir, PhaseOf: tenTwenty()}
	var files [2][]byte
	for i := range files {
		got, err := MergeWindows(o)
		if err != nil || len(got.Merged) != 1 || got.Merged[0].Windows != 40 || got.Merged[0].Samples != 120 {
			t.Fatalf("%+v, %v", got, err)
		}
		if files[i], err = os.ReadFile(got.Merged[0].Path); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(files[0], files[1]) {
		t.Error("the second file differs")
	}
	p := parsed(t, files[0])
	if w := p.Meta().Windows; len(w) != 40 || !slices.IsSortedFunc(w, func(a, b Window) int { return int(a.FromNs - b.FromNs) }) {
		t.Errorf("windows %+v", w)
	}
	o.SamplesMin = 121
	got, err := MergeWindows(o)
	if err != nil || got.Merged[0].NoData == "" {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "n0-cpu-steady.pb.gz")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file of no data stayed: %v", err)
	}
}

func TestWindowsThatDoNotFitAreNamed(t *testing.T) {
	dir := t.TempDir()
	putWindow(t, dir, "n0", 11*second, 13*second, 200)
	empty, cut, alien, period := windowPath(dir, "n0", CPU, 12), windowPath(dir, "n0", CPU, 13), windowPath(dir, "n0", CPU, 14), windowPath(dir, "n0", CPU, 15)
	other := synthetic(CPU, stacks{"main": 9})
	other.Period = 5
	p, err := stamp(encoded(t, other), "n0", CPU, "", Window{FromNs: 14 * second, ToNs: 15 * second})
	if err != nil {
		t.Fatal(err)
	}
	whole := encoded(t, p.pb)
	for path, data := range map[string][]byte{empty: nil, cut: whole[:len(whole)-9], alien: encoded(t, synthetic(CPU, stacks{"main": 1})), period: whole} {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := MergeWindows(MergeOptions{Dir: dir, PhaseOf: tenTwenty()})
	if err != nil || len(got.Merged) != 1 || len(got.Refused) != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	// The files come by start: the one with another period is the first of its phase, so the other one does not fit it.
	for _, words := range []string{"0 bytes", "cut off", "does not say of which node", "sampling period of 5"} {
		if !slices.ContainsFunc(got.Refused, func(r Refused) bool { return strings.Contains(r.Reason, words) }) {
			t.Errorf("nothing says %q: %+v", words, got.Refused)
		}
	}
}

func TestMergeWindowsWithoutWindows(t *testing.T) {
	if got, err := MergeWindows(MergeOptions{Dir: t.TempDir(), PhaseOf: tenTwenty()}); err != nil || len(got.Merged) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := MergeWindows(MergeOptions{Dir: t.TempDir()}); err == nil {
		t.Error("no phases, and no error")
	}
	if _, err := MergeWindows(MergeOptions{Dir: "missing", PhaseOf: tenTwenty()}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestWindowFilesAreInOrderOfTime(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"n0-cpu-10.pb.gz", "n0-cpu-9.pb.gz", "n0-heap-1.pb.gz", "n0-cpu-steady.pb.gz", "generator-cpu-5.pb.gz", ".window-3", "x.pb.gz"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	paths, err := windowFiles(dir)
	var names []string
	for _, p := range paths {
		names = append(names, filepath.Base(p))
	}
	if want := []string{"generator-cpu-5.pb.gz", "n0-cpu-9.pb.gz", "n0-cpu-10.pb.gz", "n0-heap-1.pb.gz"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%v, %v", names, err)
	}
}
