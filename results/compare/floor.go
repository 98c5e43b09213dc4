package compare

import (
	"math"

	"rejoin/results/trend"
)

// floorPairsMin is how many comparisons of a build with itself a noise floor needs; fewer say nothing about how far the next may lie.
const floorPairsMin = 3

// noiseFloor is how far the median difference of pairs comparisons of a build with itself strays in 19 cases of 20, from what single ones
// did: same are differences (logarithms of ratios) of two runs of one build. nil with too few.
//
// The typical size of a single difference, trend.Median(|d|), estimates its deviation by the factor 1.4826; the median of n of them deviates by
// 1.2533/√n of that, and 1.96 deviations hold 95 %.
func noiseFloor(same []float64, pairs float64) *float64 {
	if len(same) < floorPairsMin || pairs <= 0 {
		return nil
	}
	sizes := make([]float64, len(same))
	for i, d := range same {
		sizes[i] = math.Abs(d)
	}
	return new(math.Expm1(1.96 * 1.2533 * 1.4826 * trend.Median(sizes) / math.Sqrt(pairs)))
}
