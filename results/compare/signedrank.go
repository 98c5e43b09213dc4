package compare

import (
	"cmp"
	"math"
	"slices"
)

// exactPairsMax is up to how many differing pairs the distribution is computed exactly; beyond, it is close to a normal one.
const exactPairsMax = 100

// signedRank is Wilcoxon's signed rank test, two-sided: are differences as likely above zero as below, and as far? Pairs without a difference
// say nothing and are left out; equal sizes share their ranks, and the distribution is that of the ranks as they are.
func signedRank(differences []float64) Test {
	var d []float64
	for _, v := range differences {
		if v != 0 && !math.IsNaN(v) {
			d = append(d, v)
		}
	}
	t := Test{P: 1, N: len(d), SmallestP: smallestSignedRankP(len(differences))}
	if len(d) == 0 {
		return t
	}
	slices.SortFunc(d, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	doubled := doubledRanks(d)
	positive, total := 0, 0
	for i, r := range doubled {
		total += r
		if d[i] > 0 {
			positive += r
		}
	}
	least := min(positive, total-positive)
	if len(d) <= exactPairsMax {
		t.P = min(1, 2*shareAtMost(doubled, least))
	} else {
		t.P = signedRankNormal(doubled, least, total)
	}
	return t
}

// smallestSignedRankP is reached when all n differences point the same way.
func smallestSignedRankP(n int) float64 { return min(1, math.Pow(2, 1-float64(n))) }

// doubledRanks are twice the ranks of values sorted by size: whole numbers also where sizes are equal and share the mean of their ranks.
func doubledRanks(sorted []float64) []int {
	ranks := make([]int, len(sorted))
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && math.Abs(sorted[j]) == math.Abs(sorted[i]) {
			j++
		}
		for k := i; k < j; k++ {
			ranks[k] = i + 1 + j // twice the mean of i+1 … j
		}
		i = j
	}
	return ranks
}

// shareAtMost is the share of all sign patterns whose positive ranks sum up to at most limit.
func shareAtMost(ranks []int, limit int) float64 {
	share := make([]float64, limit+1) // share[s]: of the patterns so far, those with sum s
	share[0] = 1
	for _, r := range ranks {
		for s := limit; s >= 0; s-- {
			below := 0.0
			if s >= r {
				below = share[s-r]
			}
			share[s] = (share[s] + below) / 2
		}
	}
	sum := 0.0
	for _, p := range share {
		sum += p
	}
	return sum
}

// signedRankNormal uses the mean and the variance that the ranks, ties included, have under equal chances.
func signedRankNormal(doubled []int, least, total int) float64 {
	variance := 0.0
	for _, r := range doubled {
		variance += float64(r) * float64(r) / 4
	}
	z := (float64(least) + 1 - float64(total)/2) / math.Sqrt(variance) // + 1: half a rank, doubled, for continuity
	return min(1, math.Erfc(-z/math.Sqrt2))
}
