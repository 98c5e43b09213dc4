package trend

import (
	"math"
	"math/rand/v2"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestKendall(t *testing.T) {
	for name, test := range map[string]struct {
		values        []float64
		tau, score, p float64
	}{
		"rising, 5":   {[]float64{1, 2, 3, 4, 5}, 1, 9 / math.Sqrt(50.0/3), 2.0 / 120},
		"falling, 5":  {[]float64{5, 4, 3, 2, 1}, -1, -9 / math.Sqrt(50.0/3), 2.0 / 120},
		"one swapped": {[]float64{1, 2, 3, 5, 4}, 0.8, 7 / math.Sqrt(50.0/3), 2 * 5.0 / 120},
		"flat":        {[]float64{1, 1, 1, 1}, 0, 0, 1},
		"two":         {[]float64{1, 2}, 0, 0, 1},
		"none":        {nil, 0, 0, 1},
		// 5 pairs rise and one is a tie; the variance is (4·3·13 - 2·1·9)/18 = 23/3.
		"a tie": {[]float64{1, 2, 2, 3}, 5.0 / 6, 4 / math.Sqrt(23.0/3), math.Erfc(4 / math.Sqrt(46.0/3))},
	} {
		got := Kendall(test.values)
		if !near(got.Tau, test.tau) || !near(got.Score, test.score) || !near(got.P, test.p) {
			t.Errorf("%s: %+v, want tau %v, score %v, p %v", name, got, test.tau, test.score, test.p)
		}
	}
}

// The exact distribution and the approximation tell nearly the same where one follows the other.
func TestExactMeetsApproximation(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		values := make([]float64, exactMax)
		for i := range values {
			values[i] = random.NormFloat64() + 0.02*float64(i)
		}
		got := Kendall(values)
		if normal := math.Erfc(math.Abs(got.Score) / math.Sqrt2); math.Abs(got.P-normal) > 0.01 {
			t.Errorf("exact p %v, by the score %v", got.P, normal)
		}
	}
}

func TestSlope(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0}, {[]float64{7}, 0}, {[]float64{1, 3, 5, 7}, 2},
		{[]float64{1, 3, 5, 7, 9, 11, 1000}, 2}, // one outlier moves no median
	} {
		if got := Slope(test.values); !near(got, test.want) {
			t.Errorf("%v: %v, want %v", test.values, got, test.want)
		}
	}
}

func TestMedian(t *testing.T) {
	if got := Median([]float64{9, 1, 5}); got != 5 {
		t.Errorf("of three: %v", got)
	}
	if got := Median([]float64{9, 1, 5, 2}); got != 3.5 {
		t.Errorf("of four: %v", got)
	}
}
