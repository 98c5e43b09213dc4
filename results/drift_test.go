package results

import (
	"math/rand/v2"
	"testing"
)

// latencies are samples 3 ms apart whose response time is a log-normal noise around a median that moves from 1 ms by a factor.
func latencies(n int, seed uint64, factor float64) []Sample {
	random := rand.New(rand.NewPCG(seed, 1))
	var all []Sample
	for i := range n {
		due := int64(i) * 3e6
		median := 1e6 * (1 + (factor-1)*float64(i)/float64(n))
		noise := 1 + 0.3*random.NormFloat64()
		all = append(all, Sample{DueNs: due, SentNs: due, AckNs: due + int64(median*max(noise, 0.1))})
	}
	return all
}

// Trap 13: a synthetic drift is no steady state, and noise around one level is.
func TestDriftIsNotSteady(t *testing.T) {
	if testing.Short() {
		t.Skip("much arithmetic and nothing at once: the race detector has nothing to find")
	}
	for _, q := range []float64{0.5, 0.99} {
		found := 0
		for seed := range uint64(12) {
			if DriftOf(latencies(16_000, seed, 1), q).Found() {
				found++
			}
			for _, factor := range []float64{2, 0.5} {
				d := DriftOf(latencies(16_000, seed, factor), q)
				if !d.Found() || (*d.Change > 0) != (factor > 1) {
					t.Errorf("q %v, seed %d: a drift to ×%v is %+v", q, seed, factor, d)
				}
			}
		}
		if found > 1 {
			t.Errorf("q %v: %d of 12 steady loads are called drifting", q, found)
		}
	}
	// A rise that is sure but small is not worth a word.
	if d := DriftOf(latencies(16_000, 7, 1.1), 0.5); d.Found() || *d.Score < DriftScoreMin {
		t.Errorf("a rise by a tenth: change %v, score %v", *d.Change, *d.Score)
	}
}

func TestDriftOfLittle(t *testing.T) {
	if d := DriftOf(latencies(7_999, 1, 4), 0.99); d.Found() || d.Change != nil || d.Groups != 7 {
		t.Errorf("seven groups tell %+v", d)
	}
	if d := DriftOf(nil, 0.5); d.Found() || d.Groups != 0 {
		t.Errorf("nothing tells %+v", d)
	}
	same := make([]Sample, 1000)
	if d := DriftOf(same, 0.5); d.Found() || d.Change != nil || *d.Score != 0 {
		t.Errorf("a thousand times zero: %+v", d)
	}
	// Eight groups of 20, whose medians are 1, 2, …, 8: slope 1 over 7 steps by a median of 4.5; 28 pairs rise; the variance without ties is
	// 8·7·21/18.
	var rising []Sample
	for i := range int64(160) {
		rising = append(rising, Sample{DueNs: i, SentNs: i, AckNs: i + i/20 + 1})
	}
	if d := DriftOf(rising, 0.5); *d.Change < 1.555 || *d.Change > 1.556 || *d.Score < 3.34 || *d.Score > 3.35 || !d.Found() {
		t.Errorf("change %v, score %v; want 7/4.5 and 27/8.083", *d.Change, *d.Score)
	}
}
