package compare

import (
	"math"
	"slices"
)

// kendallExactMax is up to how many values without ties the distribution is computed exactly.
const kendallExactMax = 60

// kendall is the Mann-Kendall test, two-sided, for a rise or fall of values over their order.
func kendall(values []float64) (tau, p float64) {
	n := len(values)
	if n < 3 {
		return 0, 1
	}
	score, pairs := 0, n*(n-1)/2
	for i := range values {
		for j := i + 1; j < n; j++ {
			switch {
			case values[j] > values[i]:
				score++
			case values[j] < values[i]:
				score--
			}
		}
	}
	tau = float64(score) / float64(pairs)
	if ties := tiesOf(values); len(ties) > 0 || n > kendallExactMax {
		return tau, kendallNormal(n, score, ties)
	}
	// Without ties the number of inversions is (pairs - score) / 2, and that of discordant or concordant pairs is symmetric.
	return tau, min(1, 2*inversionsAtMost(n, (pairs-abs(score))/2))
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

// kendallNormal is the usual approximation with a correction for ties and continuity.
func kendallNormal(n, score int, ties []int) float64 {
	weight := func(t int) float64 { return float64(t) * float64(t-1) * float64(2*t+5) }
	variance := weight(n)
	for _, t := range ties {
		variance -= weight(t)
	}
	if variance <= 0 || score == 0 {
		return 1
	}
	z := (float64(abs(score)) - 1) / math.Sqrt(variance/18)
	return min(1, math.Erfc(z/math.Sqrt2))
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

// theilSen is the median of the slopes between all pairs of values, per step of their order.
func theilSen(values []float64) float64 {
	var slopes []float64
	for i := range values {
		for j := i + 1; j < len(values); j++ {
			slopes = append(slopes, (values[j]-values[i])/float64(j-i))
		}
	}
	if len(slopes) == 0 {
		return 0
	}
	return median(slopes)
}

func abs(v int) int {
	if v < 0 {
		return -v
	}
	return v
}
