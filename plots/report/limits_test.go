package report

import (
	"strings"
	"testing"

	"rejoin/plots/report/sample"
	"rejoin/results"
)

// TestLimitsOnThePage: a run that measured the machine shows each figure beside its limit; another says how to.
func TestLimitsOnThePage(t *testing.T) {
	f, page := written(t, sample.Options{Seconds: 60})
	if !strings.Contains(page, "bench run --limits does") || !strings.Contains(page, `<a href="#cost">`) {
		t.Error("the page does not say how to measure limits")
	}
	run, err := f.ReadRun()
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.ReadSummary()
	if err != nil {
		t.Fatal(err)
	}
	p50 := *s.LatencyNs["steady"].P50
	limit := results.Limits{Moment: results.MomentBefore, Shapes: []results.ShapeLimit{{Producers: run.Asked.Producers, AskedBatchesPerS: run.Asked.BatchesPerS,
		LatencyNs: results.Quantiles{P50: new(p50 / 2)}}}}
	if err := results.WriteLimits(f.Limits(), []results.Limits{limit}); err != nil {
		t.Fatal(err)
	}
	page = pageOf(t, f)
	for _, want := range []string{"latency, steady, p50", "the shape, at the same rate", ">2</td>", ">at least 1</td>", nsText(&p50)} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestClosedLoopInWords: a run without a timetable has no rate of 0.
func TestClosedLoopInWords(t *testing.T) {
	if got := loadText(results.Asked{Producers: 12, BatchMessages: 100, PayloadBytes: 256}); !strings.Contains(got, "closed loop") || strings.Contains(got, "batches/s") {
		t.Errorf("%q", got)
	}
	if got := loadText(results.Asked{}); got != noData {
		t.Errorf("%q", got)
	}
}
