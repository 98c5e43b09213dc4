package profiles

import "math"

// scatter is what functions cost for a message in each run of both sides.
type scatter struct{ sides [2][]runCosts }

type runCosts struct {
	flat  map[string]cost
	acked float64
}

func scatterOf(base, changed []Side, value int) (s scatter) {
	for n, runs := range [][]Side{base, changed} {
		for _, run := range runs {
			flat, _ := functionCosts(run.Profile.pb, value)
			s.sides[n] = append(s.sides[n], runCosts{flat, float64(run.AckedMessages)})
		}
	}
	return s
}

// chance tells whether the means of both sides are no further apart than those of as many runs of the same thing are by themselves: within a run
// samples scatter as counts do, from run to run much more, with the machine, the layout of memory and what the runs happened to meet.
func (s *scatter) chance(function string) bool {
	var means [2]float64
	var squares, inverse float64
	freedom := -2
	for n, runs := range s.sides {
		for _, r := range runs {
			means[n] += float64(r.flat[function].flat) / r.acked / float64(len(runs))
		}
		for _, r := range runs {
			d := float64(r.flat[function].flat)/r.acked - means[n]
			squares += d * d
		}
		freedom += len(runs)
		inverse += 1 / float64(len(runs))
	}
	if s.separate(function) {
		return false
	}
	deviation := math.Sqrt(squares / float64(freedom) * inverse)
	return math.Abs(means[1]-means[0]) <= deviations(float64(freedom))*deviation
}

// separateMin is how many runs a side must have for it to mean something that all of one lie above all of the other: with seven, six in ten
// thousand functions that do not differ do.
const separateMin = 7

// separate tells whether every run of one side cost more than every run of the other. That finds what deviations hide: where batches come at
// even intervals and the kernel's profiling clock ticks at a multiple of them, a run sees the same function at every tick or at none, by
// its phase, and the runs of one build scatter as much as they cost.
func (s *scatter) separate(function string) bool {
	var least, most [2]float64
	for n, runs := range s.sides {
		if len(runs) < separateMin {
			return false
		}
		least[n] = math.Inf(1)
		for _, r := range runs {
			c := float64(r.flat[function].flat) / r.acked
			least[n], most[n] = min(least[n], c), max(most[n], c)
		}
	}
	return least[0] > most[1] || least[1] > most[0]
}

// deviations is as far out in Student's distribution as chanceDeviations is in the normal one: of few runs even the scatter is not well known.
// The series in 1/freedom (Abramowitz and Stegun 26.7.5) is within a tenth from 4 on.
func deviations(freedom float64) float64 {
	const z = float64(chanceDeviations)
	z3, z5, z7 := math.Pow(z, 3), math.Pow(z, 5), math.Pow(z, 7)
	return z + (z3+z)/(4*freedom) + (5*z5+16*z3+3*z)/(96*freedom*freedom) + (3*z7+19*z5+17*z3-15*z)/(384*freedom*freedom*freedom)
}
