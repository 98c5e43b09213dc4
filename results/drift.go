package results

import (
	"cmp"
	"math"
	"slices"

	"rejoin/results/trend"
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
	d.Score = new(trend.Kendall(values).Score)
	if median := trend.Median(values); median != 0 {
		d.Change = new(trend.Slope(values) * float64(groups-1) / median)
	}
	return d
}
