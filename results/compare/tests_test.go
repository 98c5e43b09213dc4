package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"rejoin/results/trend"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }

// TestSignedRank holds the test against tables of its exact distribution.
func TestSignedRank(t *testing.T) {
	for name, test := range map[string]struct {
		d     []float64
		p     float64
		n     int
		least float64
	}{
		"all one way, 8":       {[]float64{1, 2, 3, 4, 5, 6, 7, 8}, 2.0 / 256, 8, 2.0 / 256},
		"the smallest against": {[]float64{-1, 2, 3, 4, 5, 6, 7, 8}, 4.0 / 256, 8, 2.0 / 256},
		"W = 2":                {[]float64{1, -2, 3, 4, 5, 6, 7, 8}, 6.0 / 256, 8, 2.0 / 256},
		"W = 3":                {[]float64{-1, -2, 3, 4, 5, 6, 7, 8}, 10.0 / 256, 8, 2.0 / 256},
		"zeros left out":       {[]float64{0, 0, 1, 2, 3}, 2.0 / 8, 3, 2.0 / 32},
		"all zero":             {[]float64{0, 0, 0}, 1, 0, 2.0 / 8},
		"none":                 {nil, 1, 0, 1},
		"ties, one against":    {[]float64{1, 1, 1, 1, 1, -1}, 2 * 7.0 / 64, 6, 2.0 / 64},
		"even":                 {[]float64{1, -1}, 1, 2, 0.5},
	} {
		got := signedRank(test.d)
		if !near(got.P, test.p) || got.N != test.n || !near(got.SmallestP, test.least) {
			t.Errorf("%s: %+v, want p = %v of %d pairs, at least %v", name, got, test.p, test.n, test.least)
		}
	}
}

// TestSignedRankApproximationAgrees: beyond the exact range p goes on where it was.
func TestSignedRankApproximationAgrees(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 1))
	var d []float64
	for range exactPairsMax {
		d = append(d, draw.NormFloat64()+0.2)
	}
	exact := signedRank(d)
	d = append(d, 1e-9) // the smallest of all moves little
	if approximate := signedRank(d); math.Abs(exact.P-approximate.P) > 0.1*exact.P {
		t.Errorf("exact p %v, normal p %v", exact.P, approximate.P)
	}
}

func TestHolm(t *testing.T) {
	for _, test := range []struct{ p, want []float64 }{
		{[]float64{0.01, 0.04, 0.03}, []float64{0.03, 0.06, 0.06}},
		{[]float64{0.5, 0.01}, []float64{0.5, 0.02}},
		{[]float64{0.9, 0.8}, []float64{1, 1}},
		{nil, nil},
	} {
		got := holm(test.p)
		for i := range test.want {
			if !near(got[i], test.want[i]) {
				t.Errorf("holm(%v) = %v, want %v", test.p, got, test.want)
			}
		}
	}
}

func TestMannWhitneySmallest(t *testing.T) {
	for n, want := range map[int]float64{1: 1, 2: 1.0 / 3, 3: 0.1, 4: 2.0 / 70, 8: 2.0 / 12870} {
		if got := smallestMannWhitneyP(n, n); !near(got, want) {
			t.Errorf("%d against %d: %v, want %v", n, n, got, want)
		}
	}
	if got := mannWhitney([]float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}); !near(got.P, got.SmallestP) {
		t.Errorf("parted samples: %+v, want the smallest p", got)
	}
	if got := mannWhitney([]float64{1, 1}, []float64{1, 1}); got.P != 1 {
		t.Errorf("equal samples: p %v", got.P)
	}
}

func TestRunsNeeded(t *testing.T) {
	for _, test := range []struct {
		family int
		paired bool
		want   int
	}{{1, true, 6}, {3, true, 7}, {5, true, 8}, {25, true, 10}, {3, false, 5}, {1, false, 4}} {
		if got := runsNeeded(test.family, test.paired); got != test.want {
			t.Errorf("family of %d, paired %v: %d, want %d", test.family, test.paired, got, test.want)
		}
	}
}

// TestFamilyError (trap 35): 25 metrics without any difference, 1,000 times: at most 5 % of the comparisons may find something, but for the
// chance of 1,000 draws.
func TestFamilyError(t *testing.T) {
	const (
		metrics, pairs, seeds = 25, 12, 1000
		bound                 = 70 // mean (50) and three deviations of a binomial of 1,000 at 5 %
	)
	families := 0
	for seed := range uint64(seeds) {
		draw := rand.New(rand.NewPCG(seed, 35))
		c := Comparison{Paired: true}
		for range metrics {
			d := make([]float64, pairs)
			for i := range d {
				d[i] = draw.NormFloat64()
			}
			c.Metrics = append(c.Metrics, Metric{Primary: true, SignedRank: new(signedRank(d)), Difference: &Difference{N: pairs, Absolute: trend.Median(d)}})
		}
		c.judge()
		if c.Verdict == CannotJudge {
			t.Fatal("12 pairs can judge 25 metrics")
		}
		if len(c.Findings()) > 0 {
			families++
		}
	}
	t.Logf("%d of %d families with a false finding", families, seeds)
	if families > bound {
		t.Errorf("%d of %d families have a false finding, at most %d may", families, seeds, bound)
	}
	if families == 0 {
		t.Error("no family has a false finding: a test that never rejects proves nothing")
	}
}
