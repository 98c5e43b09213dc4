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
	return putFile(t, dir, node, Window{FromNs: from, ToNs: to, Role: "backup"}, encoded(t, pb))
}

func putFile(t *testing.T, dir, node string, w Window, data []byte) string {
	t.Helper()
	if err := makeWindowsDir(dir); err != nil {
		t.Fatal(err)
	}
	path := windowPath(dir, node, CPU, w)
	if err := writeWindow(path, data); err != nil {
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
	acked := func(from, to int64) (int64, int64) { return (to - from) / second, 100 * (to - from) / second }
	got, err := MergeWindows(MergeOptions{Dir: dir, PhaseOf: tenTwenty(), Acked: acked})
	if err != nil {
		t.Fatal(err)
	}
	path := func(phase string) string { return filepath.Join(dir, "n0-cpu-"+phase+".pb.gz") }
	want := []Merged{
		{Node: "n0", Kind: CPU, Phase: results.Warmup, Role: "backup", Windows: 4, Samples: 240, DurationNs: 8 * second, AckedBatches: 8, AckedMessages: 800, Path: path("warmup")},
		{Node: "n0", Kind: CPU, Phase: results.Steady, Role: "backup", Windows: 4, Samples: 240, DurationNs: 8 * second, AckedBatches: 8, AckedMessages: 800, Path: path("steady")},
		{Node: "n0", Kind: CPU, Phase: results.Outage, Role: "backup", Windows: 4, Samples: 240, DurationNs: 8 * second, AckedBatches: 8, AckedMessages: 800, Path: path("outage")},
		{Node: "n1", Kind: CPU, Phase: results.Steady, Role: "backup", Windows: 1, Samples: 99, DurationNs: 10 * second, AckedBatches: 10, AckedMessages: 1000,
			NoData: "no data: 99 samples, at least 100 are needed"},
	}
	if !slices.Equal(got.Merged, want) || got.Split != 3 || len(got.Refused) != 0 {
		t.Errorf("got %+v", got)
	}
	p, err := ReadFile(path("steady"))
	if err != nil {
		t.Fatal(err)
	}
	m := p.Meta()
	if m.Node != "n0" || m.Phase != results.Steady || len(m.Windows) != 4 || m.Windows[0].FromNs != 11*second || m.Windows[0].AckedMessages != 200 || len(p.pb.Sample) != 1 {
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
	whole := encoded(t, synthetic(CPU, stacks{"main": 9}))
	other := synthetic(CPU, stacks{"main": 9})
	other.Period = 5
	for i, data := range [][]byte{nil, whole[:len(whole)-9], encoded(t, synthetic(Heap, stacks{"main": 1})), encoded(t, other)} {
		at := 14*second + int64(i)
		putFile(t, dir, "n0", Window{FromNs: at, ToNs: at + second, Role: "backup"}, data)
	}
	got, err := MergeWindows(MergeOptions{Dir: dir, PhaseOf: tenTwenty()})
	if err != nil || len(got.Merged) != 1 || len(got.Refused) != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, words := range []string{"0 bytes", "cut off", "asked for kind cpu, got heap", "sampling period of"} {
		if !slices.ContainsFunc(got.Refused, func(r Refused) bool { return strings.Contains(r.Reason, words) }) {
			t.Errorf("nothing says %q: %+v", words, got.Refused)
		}
	}
}

func TestMergeWindowsWithoutWindows(t *testing.T) {
	dir := t.TempDir()
	if err := makeWindowsDir(dir); err != nil {
		t.Fatal(err)
	}
	if got, err := MergeWindows(MergeOptions{Dir: dir, PhaseOf: tenTwenty()}); err != nil || len(got.Merged) != 0 {
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
	if err := makeWindowsDir(dir); err != nil {
		t.Fatal(err)
	}
	const end = "-20-backup.pb.gz"
	for _, name := range []string{"n0-cpu-10" + end, "n0-cpu-9" + end, "n0-cpu--3" + end, "n0-heap-1" + end, "n0-cpu-steady.pb.gz", "n0-cpu-30" + end,
		"n0-cpu-9999999999999999999" + end, "generator-cpu-5-9-generator.pb.gz", ".window-3", "x.pb.gz"} {
		if err := os.WriteFile(filepath.Join(dir, windowsDir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := windowFiles(dir)
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f.path), end))
	}
	if want := []string{"generator-cpu-5-9-generator.pb.gz", "n0-cpu--3", "n0-cpu-9", "n0-cpu-10", "n0-heap-1"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%v, %v", names, err)
	}
}

func TestNineTenthsInside(t *testing.T) {
	phaseOf := tenTwenty()
	for _, c := range []struct {
		fromMs, toMs int64
		want         results.Phase
	}{
		{18_000, 20_100, results.Steady}, {18_000, 20_500, ""}, {19_950, 21_950, results.Outage}, {20_000, 20_000, results.Outage}, {29_000, 31_000, ""},
		{28_100, 30_100, results.Outage}, {31_000, 32_000, ""},
	} {
		if got, ok := phaseOf(c.fromMs*1e6, c.toMs*1e6); got != c.want || ok != (c.want != "") {
			t.Errorf("[%d, %d) ms: %q, want %q", c.fromMs, c.toMs, got, c.want)
		}
	}
}
