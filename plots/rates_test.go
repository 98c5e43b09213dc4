package plots

import (
	"strings"
	"testing"

	"rejoin/plots/axis"
	"rejoin/results"
)

func TestPartialSecondsAreScaledOrLeftOut(t *testing.T) {
	at := func(ns int64) *int64 { return &ns }
	counts := func(pairs ...[2]int64) (rates []results.Rate) {
		for i, p := range pairs {
			rates = append(rates, results.Rate{TNs: int64(i) * sec, OfferedBatches: p[0], AckedBatches: p[1]})
		}
		return rates
	}
	for _, c := range []struct {
		name  string
		rates []results.Rate
		t     results.Timeline
		want  string // offered/acknowledged by second
	}{
		{"whole seconds", counts([2]int64{300, 300}, [2]int64{300, 299}, [2]int64{0, 1}), results.Timeline{LoadStopNs: at(2 * sec)}, "300/300 300/299 –/–"},
		{"a little more", counts([2]int64{300, 300}, [2]int64{300, 299}, [2]int64{2, 3}), results.Timeline{LoadStopNs: at(2*sec + 5*ms)}, "300/300 300/299 –/–"},
		{"half a second more", counts([2]int64{300, 300}, [2]int64{150, 150}), results.Timeline{LoadStopNs: at(sec + 500*ms)}, "300/300 300/300"},
		{"late start", counts([2]int64{225, 225}, [2]int64{300, 300}, [2]int64{0, 0}), results.Timeline{LoadStartNs: 250 * ms, LoadStopNs: at(2 * sec)}, "300/300 300/300 –/–"},
		{"later start", counts([2]int64{30, 29}, [2]int64{300, 300}), results.Timeline{LoadStartNs: 900 * ms, LoadStopNs: at(2 * sec)}, "–/– 300/300"},
		{"overload drains", counts([2]int64{900, 300}, [2]int64{90, 300}, [2]int64{0, 300}, [2]int64{0, 7}), results.Timeline{LoadStopNs: at(sec + 100*ms)}, "900/300 –/300 –/300 –/–"},
		{"silence at the end is no partial second", counts([2]int64{300, 20}, [2]int64{300, 0}), results.Timeline{LoadStopNs: at(2 * sec)}, "300/20 300/0"},
		{"no end told", counts([2]int64{300, 300}, [2]int64{12, 12}), results.Timeline{}, "300/300 –/–"},
		{"nothing", nil, results.Timeline{}, ""},
	} {
		var got []string
		for _, p := range ratePoints(c.rates, &c.t) {
			got = append(got, axis.NumberText(p.OfferedPerS)+"/"+axis.NumberText(p.AckedPerS))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAxisShowsEveryAcknowledgement(t *testing.T) {
	stop := 30 * sec
	var rates []results.Rate
	for i := range int64(40) {
		rates = append(rates, results.Rate{TNs: i * sec, AckedBatches: max(37-i, 0)})
	}
	if got := endOf(results.Timeline{LoadStopNs: &stop}, 90*sec, rates); got != 37*sec {
		t.Errorf("axis ends at %d s, want 37: the last acknowledgements come in second 36", got/sec)
	}
}
