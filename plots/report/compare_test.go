package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rejoin/plots/report/sample"
	"rejoin/results/compare"
)

// compared makes pairs of runs, B slower by a factor, and compares them.
func compared(t *testing.T, pairs int, factor float64) compare.Comparison {
	t.Helper()
	o, err := sample.Pairs(t.TempDir(), pairs, factor)
	if err != nil {
		t.Fatal(err)
	}
	c, err := compare.Compare(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func comparisonPage(t *testing.T, of Compared) string {
	t.Helper()
	dir := t.TempDir()
	if err := WriteComparison(dir, of); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, ComparisonFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestComparisonSaysTheDifference(t *testing.T) {
	c := compared(t, 8, 1.4)
	page := comparisonPage(t, Compared{Comparison: c, Arguments: []string{"compare", "a", "b"}, Profiles: []ProfileDifference{{Title: "cpu, steady, primary", Unit: "nanoseconds",
		Total: FunctionDifference{MessageA: 100, MessageB: 140, SecondA: 3e6, SecondB: 4.2e6}, Functions: []FunctionDifference{{Function: "journal.(*Log).Flush", MessageA: 10, MessageB: 45}, {Function: "new.one", MessageB: 5, Chance: true}},
		Commands: []string{"go tool pprof -diff_base a b"}}}})
	for _, want := range []string{"B is worse", c.Metrics[0].Label, c.Metrics[0].Difference.Words, "A: main · B: change", "journal.(*Log).Flush", "&#43;350 %", "~ new.one", "go tool pprof -diff_base a b",
		"Batch weight: one batch is one sample", "bench compare a b", "Holm"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	var data pageData
	_, rest, _ := strings.Cut(page, `id="data">`)
	text, _, _ := strings.Cut(rest, "</script>")
	if err := json.Unmarshal([]byte(text), &data); err != nil {
		t.Fatal(err)
	}
	if len(data.Stages[0].Series) < 4 || len(data.Stages[0].Series[0].Data) != 8 {
		t.Errorf("the drawing of the order lacks runs: %+v", data.Stages[0].Series)
	}
}

func TestTooFewRunsAreNotJudged(t *testing.T) {
	page := comparisonPage(t, Compared{Comparison: compared(t, 1, 1.4)})
	for _, want := range []string{"cannot judge", "no data: no profiles were compared", "no interval, n = 1"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestComparisonOfNothing(t *testing.T) {
	page := comparisonPage(t, Compared{Comparison: compare.Comparison{A: compare.Side{Label: hostile, Runs: []compare.Ref{{Name: hostile, Dir: "/nowhere/" + hostile}}}, Sentences: []string{hostile}, Warnings: []string{hostile}},
		Profiles: []ProfileDifference{{Title: hostile, Functions: []FunctionDifference{{Function: hostile}}, Flames: []FlameFile{{hostile, "/nowhere"}}}}})
	for _, bad := range []string{"<script>window", "<img", "NaN", "Inf", "%!"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if !strings.Contains(page, "What could not be read") {
		t.Error("the page does not name the runs it could not read")
	}
}

func TestWhiskersStayInTheirTrack(t *testing.T) {
	m := compare.Metric{Difference: &compare.Difference{Fraction: new(5.0), FracLo: new(-3.0), FracHi: new(900.0)}, FloorFraction: new(0.05)}
	w := whiskerOf(m, 0.2)
	if w.Dot != 100 || w.Left != 0 || w.Width != 100 || w.FloorLeft != 37.5 || w.FloorWidth != 25 {
		t.Errorf("whisker %+v", w)
	}
}
