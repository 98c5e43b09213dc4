package results

import (
	"cmp"
	"math"
	"slices"
)

// Bounds beyond which a steady phase was none.
const (
	// DriftChangeMax is how much a quantile may rise or fall over the phase, as a part of its median.
	DriftChangeMax = 0.25
	// DriftScoreMin is how sure the trend must be, in standard deviations of the Mann-Kendall statistic: 3 is one in 370 by chance.
	DriftScoreMin = 3.0

	driftGroupsMin = 8
	driftGroupsMax = 200
)

// Drift is whether a quantile rose or fell over a phase: its value group by group, in the order of due times, with equal numbers of batches
// in each group. Empty fields: too few groups to tell.
type Drift struct {
	Groups       int64 `json:"groups"`
	GroupSamples int64 `json:"group_samples"`
	// Change is the slope (Theil and Sen: the median of the slopes of all pairs) times the length, as a part of the median. 0.25 is a rise by
	// a quarter.
	Change *float64 `json:"change"`
	// Score is the Mann-Kendall statistic in standard deviations: how sure it is that there is a trend at all.
	Score *float64 `json:"score"`
}

// Found says whether the phase was not steady: a trend that is both sure and large.
func (d Drift) Found() bool {
	return d.Change != nil && d.Score != nil && math.Abs(*d.Change) > DriftChangeMax && math.Abs(*d.Score) > DriftScoreMin
}

// DriftOf looks for a trend of quantile q of the response time in the samples of a phase. A group holds as many as carry the quantile, or more
// where there would be more than 200 groups.
func DriftOf(samples []Sample, q float64) Drift {
	sorted := slices.Clone(samples)
	slices.SortFunc(sorted, func(a, b Sample) int { return cmp.Compare(a.DueNs, b.DueNs) })
	size := int(math.Ceil(quantileSamplesMin / (1 - q)))
	size = max(size, (len(sorted)+driftGroupsMax-1)/driftGroupsMax)
	groups := len(sorted) / size
	d := Drift{Groups: int64(groups), GroupSamples: int64(size)}
	if groups < driftGroupsMin {
		return d
	}
	values := make([]float64, groups)
	for g := range values {
		var took []int64
		for _, s := range sorted[g*size : (g+1)*size] {
			took = append(took, s.Of(DueToAck))
		}
		slices.Sort(took)
		values[g] = float64(took[min(int(q*float64(size)), size-1)])
	}
	d.Change, d.Score = trendOf(values)
	return d
}

// trendOf is slope times length by the median, and the Mann-Kendall score; nil where the median is 0.
func trendOf(values []float64) (change, score *float64) {
	n := len(values)
	var slopes []float64
	signs := 0
	for i := range n {
		for j := i + 1; j < n; j++ {
			slopes = append(slopes, (values[j]-values[i])/float64(j-i))
			signs += cmp.Compare(values[j], values[i])
		}
	}
	ties := map[float64]int{}
	for _, v := range values {
		ties[v]++
	}
	variance := kendallVariance(n)
	for _, t := range ties {
		variance -= kendallVariance(t)
	}
	z := 0.0
	if signs != 0 && variance > 0 { // one step towards 0: the statistic is discrete
		z = (float64(signs) - math.Copysign(1, float64(signs))) / math.Sqrt(variance)
	}
	median := medianOf(values)
	if median == 0 {
		return nil, &z
	}
	return new(medianOf(slopes) * float64(n-1) / median), &z
}

// kendallVariance is the variance of the sum of signs over n values without a trend, or what n equal ones take from it.
func kendallVariance(n int) float64 {
	f := float64(n)
	return f * (f - 1) * (2*f + 5) / 18
}

func medianOf(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[middle]
}
