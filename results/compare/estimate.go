package compare

import (
	"math"
	"math/rand/v2"
	"slices"

	"golang.org/x/perf/benchmath"

	"rejoin/results/trend"
)

// EstimateOf is the median of values with its interval.
func EstimateOf(values []float64) Estimate {
	var all []Value
	for _, v := range values {
		all = append(all, Value{Value: v})
	}
	return estimate(all)
}

// estimate is the median of values with its interval.
func estimate(values []Value) Estimate {
	e := Estimate{N: len(values), Values: values}
	if values == nil {
		e.Values = []Value{}
	}
	if len(values) == 0 {
		return e
	}
	raw := make([]float64, len(values))
	for i, v := range values {
		raw[i] = v.Value
	}
	center, lo, hi, confidence := medianInterval(raw)
	e.Median = &center
	if lo != nil {
		e.Lo, e.Hi, e.Confidence = lo, hi, confidence
	}
	return e
}

// medianInterval is the median with its order statistics' interval; lo and hi are nil where there are too few values (fewer than 6).
func medianInterval(values []float64) (center float64, lo, hi *float64, confidence float64) {
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds), Confidence)
	if math.IsInf(s.Lo, 0) || math.IsInf(s.Hi, 0) {
		return s.Center, nil, nil, 0
	}
	return s.Center, &s.Lo, &s.Hi, s.Confidence
}

// mannWhitney asks whether values of one side tend to be larger than those of the other, two-sided.
func mannWhitney(a, b []float64) Test {
	t := Test{P: 1, N: len(a), M: len(b), SmallestP: smallestMannWhitneyP(len(a), len(b))}
	if len(a) == 0 || len(b) == 0 {
		return t
	}
	sample := func(v []float64) *benchmath.Sample {
		return benchmath.NewSample(slices.Clone(v), &benchmath.DefaultThresholds)
	}
	t.P = benchmath.AssumeNothing.Compare(sample(a), sample(b)).P // 1 where all are equal
	return t
}

// smallestMannWhitneyP is reached when all values of one side lie beyond all of the other.
func smallestMannWhitneyP(n, m int) float64 {
	if n == 0 || m == 0 {
		return 1
	}
	orders := 1.0 // ways in which the n values can lie among the n+m
	for i := 1; i <= n; i++ {
		orders *= float64(m+i) / float64(i)
	}
	return min(1, 2/orders)
}

// bootstrapDraws is how often both sides are drawn again for the interval of a ratio of medians.
const bootstrapDraws = 2000

// ratioInterval is the interval of trend.Median(b)/trend.Median(a) by drawing runs again; nil with fewer than minRuns of a side, where drawing again
// pretends to know more than it does. The seed is fixed: the same runs have the same interval.
func ratioInterval(a, b []float64) (lo, hi *float64) {
	const minRuns = 6
	if len(a) < minRuns || len(b) < minRuns {
		return nil, nil
	}
	draw := rand.New(rand.NewPCG(1, 2))
	again := func(from []float64) float64 {
		drawn := make([]float64, len(from))
		for i := range drawn {
			drawn[i] = from[draw.IntN(len(from))]
		}
		return trend.Median(drawn)
	}
	ratios := make([]float64, bootstrapDraws)
	for i := range ratios {
		ratios[i] = again(b) / again(a)
	}
	slices.Sort(ratios)
	tail := int((1 - Confidence) / 2 * bootstrapDraws)
	return &ratios[tail], &ratios[bootstrapDraws-1-tail]
}
