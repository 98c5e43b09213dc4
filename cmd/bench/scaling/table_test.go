package scaling

import (
	"slices"
	"strings"
	"testing"
	"time"

	"rejoin/cmd/bench/goals"
	"rejoin/results"
)

// TestBend: the place behind which twice as much never brings a quarter more again, with what was full there, and each fall.
func TestBend(t *testing.T) {
	at := func(x float64, rate float64, busy float64) Measured {
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

// TestGrowth: the length of a log is what was acknowledged until then; windows beside the measured load are no points; a p99 that leaps is named.
func TestGrowth(t *testing.T) {
	const perWindow = 1 << 20 // batches of 1 KiB: 1 GiB in 10 s
	sample := goals.Sample{LoadStart: 3 * time.Second, Summary: results.Summary{Verdict: results.Pass, FrameBytes: 1 << 10, MeasuredNs: 55e9}}
	for i, p99 := range []int64{9e9, 2e6, 2e6, 2e6, 2e6, 3e6, 9e9} { // the first has the warm-up, the last outlives the load
		w := results.Window{FromNs: int64(i) * 10e9, ToNs: int64(i+1) * 10e9, Count: perWindow, QuantileNs: []*int64{new(int64(1e6 + 1e5*int64(i))), new(p99)}}
		sample.Windows = append(sample.Windows, w)
	}
	d, bounded := Dimensions()[len(Dimensions())-1], []goals.Sample(nil)
	table := func(all ...goals.Sample) Table {
		got, err := TableOf(d, func(series string) ([]goals.Sample, error) {
			if series == d.Growth.Bounded.Name {
				return bounded, nil
			}
			return all, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := table(sample)
	if len(got.Points) != 5 || got.Points[0].X != 2 || got.Points[4].X != 6 || *got.Points[0].BatchesPerS != perWindow/10.0 || *got.Points[0].P50Ns != 1.1e6 || *got.Points[4].P99Ns != 3e6 {
		t.Errorf("%+v", got.Points)
	}
	if want := "It does not bend. From the first third to the last p50 by ×1.36 and p99 by ×1.50. p50 was least, 1.10 ms, at 2.0 GiB, and most, 1.50 ms, at 6.0 GiB."; got.Says != want {
		t.Errorf("%q, want %q", got.Says, want)
	}
	if text := Markdown("a machine", "a build", []Table{got}); !strings.Contains(text, "| GiB written | batches/s |") || !strings.Contains(text, "| 6 | 104858 | 1.50 | 3.00 | – | – |") || !strings.Contains(text, d.Name+"-latency.png") {
		t.Error(text)
	}
	beside := sample
	beside.Windows = slices.Clone(sample.Windows)
	beside.Windows[4].QuantileNs = []*int64{new(int64(6e6)), new(int64(2e6))}
	beside.Windows[5].QuantileNs = []*int64{new(int64(8e6)), nil}
	bounded = []goals.Sample{beside}
	got = table(sample)
	if want := " The same load into a log that keeps 1 GiB: It bends at 5.0 GiB: p50 was 1.20 ms before and 7.00 ms from there on. From the first third to the last p50 by ×7.27 and p99 by no data. p50 was least, 1.10 ms, at 2.0 GiB, and most, 8.00 ms, at 6.0 GiB."; !strings.Contains(got.Says, want) {
		t.Errorf("%q lacks %q", got.Says, want)
	}
	if text := Markdown("a machine", "a build", []Table{got}); !strings.Contains(text, "| 6 | 104858 | 1.50 | 3.00 | 8.00 | – |") {
		t.Error(text)
	}
	*sample.Windows[3].QuantileNs[1] = 7e6
	if got := table(sample); !strings.Contains(got.Says, "1 of 5 windows of 10 s had more than 2 times the usual p99, the highest 7.0 ms at 4.0 GiB") {
		t.Error(got.Says)
	}
	sample.Windows[3].QuantileNs = nil
	sample.Windows[4].QuantileNs[1] = nil
	if got := table(sample); len(got.Points) != 4 || got.Points[1].X != 3 || got.Points[2].X != 5 || got.Points[2].P99Ns != nil {
		t.Errorf("%+v", got.Points)
	}
	sample.Summary.Verdict, bounded = results.Invalid, nil
	if got := table(sample); len(got.Points) != 0 || !strings.HasPrefix(got.Says, "Not measured yet. 1 of 1 samples") {
		t.Errorf("%+v", got)
	}
	d.Missing = "there is no room"
	if got := table(); got.Says != "Not measured: there is no room." {
		t.Error(got.Says)
	}
	if got := table(sample); strings.Contains(got.Says, "no room") {
		t.Error(got.Says)
	}
}
