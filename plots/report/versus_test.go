package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rejoin/plots/report/sample"
	"rejoin/results/compare"
)

func versusOf(t *testing.T, v VersusPage) string {
	t.Helper()
	dir := t.TempDir()
	if err := WriteVersus(dir, v); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, VersusFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// sampleSystems are two systems of two runs each, the second three times as slow, and one that is not there.
func sampleSystems(t *testing.T, name string) compare.Versus {
	t.Helper()
	v, err := sample.Systems(t.TempDir(), name, [3]string{"builtin", "kafka", "nats"}, "no nats-server")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVersusPage(t *testing.T) {
	v := sampleSystems(t, "")
	page := versusOf(t, VersusPage{Versus: v, Arguments: []string{"versus", "quick", "--targets", "builtin,kafka,nats"}})
	for _, want := range []string{"builtin", "kafka", "nats was not run: no nats-server", "no data", "bench versus quick --targets builtin,kafka,nats", "mark dot", "mark median", ", n=2</div>", "Latency in phase steady"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	// Beside every figure stands its promise: in the table's head, in each drawing's rows, in the legend of each curve.
	promise := v.Contenders[1].Promise()
	if n, least := strings.Count(page, promise), 2+len(spreadMetrics)+2; n < least {
		t.Errorf("the promise of kafka stands %d times on the page, want at least %d", n, least)
	}
}

// TestPageOfFullSystems: the page of a load that is more than a system carries draws no latency.
func TestPageOfFullSystems(t *testing.T) {
	v := sampleSystems(t, "")
	v.Overload = true
	page := versusOf(t, VersusPage{Versus: v})
	for _, bad := range []string{"Latency in phase", "Median latency by second", "steady p99", "Latency in steady state", "#latency"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page says %q", bad)
		}
	}
	for _, want := range []string{"is a latency at no rate", "acknowledged batches", "bytes to the device"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestVersusPageTakesForeignText(t *testing.T) {
	page := versusOf(t, VersusPage{Versus: sampleSystems(t, hostile), Arguments: []string{hostile}})
	for _, bad := range []string{"<script>window", "<img", "NaN", "Inf", "%!"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
}

func TestVersusPageOfNothing(t *testing.T) {
	v, err := compare.CompareSystems("quick", 1, []compare.Entry{{Target: "a", NotRun: "not here"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	page := versusOf(t, VersusPage{Versus: v})
	for _, want := range []string{"guarantee unknown", "no data", "not run"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestZeroHasNoPlaceOnALogScale: what is not drawn is said.
func TestZeroHasNoPlaceOnALogScale(t *testing.T) {
	m := compare.RepeatedMetric{Definition: compare.Definition{Unit: compare.Bytes}, Estimate: compare.EstimateOf([]float64{0, 10, 30})}
	var r spreadRow
	r.fill(&m, 10, 100)
	if r.Spread != "n = 3, 1 of 0 not drawn" || len(r.Marks) != 3 { // two dots and the median
		t.Errorf("%q with %d marks", r.Spread, len(r.Marks))
	}
}

func TestSpreadsStayInTheirTrack(t *testing.T) {
	for _, s := range spreadsOf(new(sampleSystems(t, ""))) {
		for _, r := range s.Rows {
			for _, m := range r.Marks {
				if m.Left < 0 || m.Left > 100 {
					t.Errorf("%s, %s: a mark at %v %%", s.Title, r.Target, m.Left)
				}
			}
		}
	}
}
