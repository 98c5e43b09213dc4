// Package trend tells whether values rise or fall over their order, without assuming how they are distributed: the test of Mann and Kendall
// says how sure it is, the slope of Theil and Sen how much.
package trend

import (
	"cmp"
	"math"
	"slices"
)

// exactMax is up to how many values without ties the distribution is computed exactly.
const exactMax = 60

// Test is the Mann-Kendall test of values for a rise or fall over their order.
type Test struct {
	// Tau is the share of pairs that rise less that of pairs that fall.
	Tau float64
	// Score is the same in standard deviations of values without a trend, with the corrections for ties and for continuity.
	Score float64
	// P is two-sided: exact for up to 60 values without ties, else that of Score.
	P float64
}

// Kendall tests values in their order. Fewer than three say nothing: P is 1.
func Kendall(values []float64) Test {
	n := len(values)
	if n < 3 {
		return Test{P: 1}
	}
	balance, pairs := 0, n*(n-1)/2 // pairs that rise less those that fall
	for i := range values {
		for j := i + 1; j < n; j++ {
			balance += cmp.Compare(values[j], values[i])
		}
	}
	ties := tiesOf(values)
	t := Test{Tau: float64(balance) / float64(pairs), Score: score(n, balance, ties)}
	t.P = min(1, math.Erfc(math.Abs(t.Score)/math.Sqrt2))
	if len(ties) == 0 && n <= exactMax {
		// Without ties the number of inversions is (pairs - balance) / 2, and that of discordant or concordant pairs is symmetric.
		t.P = min(1, 2*inversionsAtMost(n, (pairs-max(balance, -balance))/2))
	}
	return t
}

// score is one step nearer to 0 than the balance, which is discrete.
func score(n, balance int, ties []int) float64 {
	variance := varianceOf(n)
	for _, t := range ties {
		variance -= varianceOf(t)
	}
	if balance == 0 || variance <= 0 {
		return 0
	}
	return (float64(balance) - math.Copysign(1, float64(balance))) / math.Sqrt(variance)
}

// varianceOf is the variance of the balance of n values without a trend, or what n equal ones take from it.
func varianceOf(n int) float64 {
	f := float64(n)
	return f * (f - 1) * (2*f + 5) / 18
}

// tiesOf are the sizes of groups of equal values.
func tiesOf(values []float64) []int {
	sorted := slices.Sorted(slices.Values(values))
	var ties []int
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && sorted[j] == sorted[i] {
			j++
		}
		if j-i > 1 {
			ties = append(ties, j-i)
		}
		i = j
	}
	return ties
}

// inversionsAtMost is the share of the orders of n values that have at most limit inversions.
func inversionsAtMost(n, limit int) float64 {
	share := make([]float64, limit+1)
	share[0] = 1
	for k := 2; k <= n; k++ { // the k-th value brings 0 … k-1 inversions, each with the same chance
		next := make([]float64, limit+1)
		for s := range next {
			for add := 0; add < k && add <= s; add++ {
				next[s] += share[s-add] / float64(k)
			}
		}
		share = next
	}
	sum := 0.0
	for _, p := range share {
		sum += p
	}
	return sum
}

// Slope is Theil and Sen's: the median of the slopes between all pairs of values, per step of their order; 0 for fewer than two.
func Slope(values []float64) float64 {
	var slopes []float64
	for i := range values {
		for j := i + 1; j < len(values); j++ {
			slopes = append(slopes, (values[j]-values[i])/float64(j-i))
		}
	}
	if len(slopes) == 0 {
		return 0
	}
	return Median(slopes)
}

// Median is the middle value, or the mean of the two in the middle. There must be at least one value.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
