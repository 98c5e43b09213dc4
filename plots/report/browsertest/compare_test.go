//go:build browser

package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rejoin/plots/report"
	"rejoin/plots/report/sample"
	"rejoin/results/compare"
)

// comparison makes eight pairs of runs, B slower, and their page.
func comparison(t *testing.T) (compare.Comparison, string) {
	t.Helper()
	dir := t.TempDir()
	o, err := sample.Pairs(dir, 8, 1.3)
	if err != nil {
		t.Fatal(err)
	}
	c, err := compare.Compare(o)
	if err != nil {
		t.Fatal(err)
	}
	flame := filepath.Join(dir, "cpu.html")
	if err := os.WriteFile(flame, flameOfThisProcess(t), 0o644); err != nil {
		t.Fatal(err)
	}
	profile := report.ProfileDifference{Title: "cpu, steady, primary", Unit: "nanoseconds", Total: report.FunctionDifference{MessageA: 8000, MessageB: 10_400, SecondA: 24e7, SecondB: 31e7, CumMessageA: 8000, CumMessageB: 10_400},
		Flames: []report.FlameFile{{Title: "difference per message", Path: flame}, {Title: "A", Path: flame}}, Commands: []string{"go tool pprof -http=: -diff_base a.pb.gz b.pb.gz"}}
	for i := range 9 {
		profile.Functions = append(profile.Functions, report.FunctionDifference{Function: fmt.Sprintf("rejoin/server/journal.(*Log).step%d", i), MessageA: 900 - float64(90*i), MessageB: 1900 - float64(200*i),
			SecondA: 1e7, SecondB: 2e7, CumMessageA: 1000, CumMessageB: 2000, Chance: i > 5})
	}
	err = report.WriteComparison(dir, report.Compared{Comparison: c, Profiles: []report.ProfileDifference{profile}, ProfileNotes: []string{"not compared: cpu, outage, backup: too few samples"}, Arguments: []string{"compare", "a", "b"}})
	if err != nil {
		t.Fatal(err)
	}
	return c, filepath.Join(dir, report.ComparisonFile)
}

func TestComparison(t *testing.T) {
	b := Browser(t)
	c, file := comparison(t)
	for _, s := range Screens {
		tb := open(t, b, file, s)
		if wide := Eval[int64](t, tb, "document.documentElement.scrollWidth"); wide > s.Width {
			t.Errorf("%s: the page is %d px wide on a screen of %d", s.Name, wide, s.Width)
		}
		tb.Quiet(t)
		tb.Shoot(t, "comparison-"+s.Name)
	}
	testPhoneTables(t, b, "comparison", file)
	tb := open(t, b, file, Screens[0])
	rows := cells(t, tb, "metrics-primary")[1:]
	if len(rows) != len(c.Primary) {
		t.Errorf("%d primary metrics are shown, want %d", len(rows), len(c.Primary))
	}
	i := 0
	for _, m := range c.Metrics {
		if !m.Primary {
			continue
		}
		if row := rows[i]; row[0] != m.Label || row[1] != m.Difference.Words || !strings.Contains(row[len(row)-1], m.Note) {
			t.Errorf("metric %s is shown as %q", m.Name, row)
		}
		i++
	}
	dots := Eval[[]float64](t, tb, `[...document.querySelectorAll("#metrics-primary .dot")].map((d) => parseFloat(d.style.left))`)
	for _, at := range dots {
		if at <= 50 { // B is slower in every metric
			t.Errorf("a dot lies at %v %%, left of no difference", at)
		}
	}
	Eval[*int](t, tb, `document.querySelector("#stage-order .drawing").dispatchEvent(new KeyboardEvent("keydown", {key: "Home", bubbles: true})), null`)
	if said := Eval[string](t, tb, `document.querySelector("#stage-order .cursor-time").textContent`); !strings.HasPrefix(said, "at run 1: A ") {
		t.Errorf("the cursor over the first run says %q", said)
	}
	Eval[*int](t, tb, `document.querySelector("button[data-flame]").click(), null`)
	waitForColours(t, tb, "iframe", 4)
	tb.Quiet(t)
	tb.Shoot(t, "comparison-flame")
}
