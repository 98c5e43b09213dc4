package scaling

import (
	"strings"
	"testing"

	"rejoin/cmd/bench/goals"
	"rejoin/results"
)

// TestBend: the place behind which twice as much never brings a quarter more again, with what was full there, and each fall.
func TestBend(t *testing.T) {
	at := func(x int, rate float64, busy float64) Measured {
		return Measured{X: x, MessagesPerS: &rate, BytesPerS: new(1.0), BusyShare: &busy, BatchesPerSync: new(4.0)}
	}
	for _, test := range []struct {
		points []Measured
		want   []string
		not    string
	}{
		{[]Measured{at(1, 100, 0.2), at(2, 190, 0.3), at(4, 360, 0.5)}, []string{"does not bend"}, "falls"},
		{[]Measured{at(1, 100, 0.2), at(4, 390, 0.5), at(16, 450, 0.97), at(64, 460, 0.98)}, []string{"It bends at 4: 16 bring 1.15 times the messages a second of 4.", "All cores were busy (97 %), 4.0 batches share a sync"}, "falls"},
		{[]Measured{at(1, 100, 0.2), at(2, 105, 0.4), at(4, 190, 0.5), at(16, 200, 0.9)}, []string{"It bends at 4: 16 bring 1.05"}, "at 1"}, // a flat step on the way up
		{[]Measured{at(1, 100, 0.2), at(2, 105, 0.4), at(4, 50, 0.5)}, []string{"It bends at 1", "40 % busy", "it waited for disk", "It falls from 2 to 4, to 0.48."}, "does not bend"},
	} {
		got := bend(test.points, Messages)
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("%q lacks %q", got, want)
			}
		}
		if strings.Contains(got, test.not) {
			t.Errorf("%q says %q", got, test.not)
		}
	}
}

// TestNoEvidence: a run that proves nothing is no point of a curve, nor part of one, and the table says so.
func TestNoEvidence(t *testing.T) {
	d := Dimensions()[0]
	run := func(verdict results.Verdict, rate float64) goals.Sample {
		return goals.Sample{Summary: results.Summary{Verdict: verdict, Reasons: []string{"the disk was full"}, BatchesPerS: rate, FrameBytes: 100, MeasuredNs: 1e9,
			Cost: results.Cost{AckedMessages: int64(rate) * 100}}}
	}
	samples := map[string][]goals.Sample{
		"producers-1": {run(results.Pass, 100)}, "producers-2": {run(results.Invalid, 3)}, "producers-4": {run(results.Fail, 390), run(results.Interrupted, 5)},
		"producers-12": {run("splendid", 4)}, "producers-48": {run(results.Pass, 4000)},
	}
	read := func(series string) ([]goals.Sample, error) { return samples[series], nil }
	got, err := TableOf(d, read)
	if err != nil || len(got.Points) != 3 || got.Points[1].X != 4 || got.Points[1].N != 1 || *got.Points[1].BatchesPerS != 390 {
		t.Errorf("%+v, error %v", got, err)
	}
	if want := "It does not bend within these points. 3 of 6 samples do not count, the first of them is invalid: the disk was full; --again producers measures anew."; got.Says != want {
		t.Errorf("%q, want %q", got.Says, want)
	}
	unmeasured := run(results.Pass, 0)
	unmeasured.Summary.MeasuredNs = 0
	samples = map[string][]goals.Sample{"producers-1": {unmeasured}, "producers-2": {run(results.Invalid, 3)}}
	got, err = TableOf(d, read)
	if err != nil || len(got.Points) != 1 || got.Points[0].BatchesPerS != nil || got.Points[0].BytesPerS != nil || !strings.HasPrefix(got.Says, "Not measured yet. 1 of 2 samples") {
		t.Errorf("a rate that was not measured: %+v, error %v", got, err)
	}
	if text := Markdown("a machine", "a build", []Table{got}); !strings.Contains(text, "| 1 | – | – | – | – |") {
		t.Error(text)
	}
}
