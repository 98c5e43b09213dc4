package compare

import (
	"fmt"
	"math"

	"rejoin/results/trend"
)

// Compare holds B against A. The error is a *RefusedError where the runs must not be compared.
func Compare(o Options) (Comparison, error) {
	mismatches, facts, err := o.check()
	if err != nil {
		return Comparison{}, err
	}
	c := Comparison{SchemaVersion: SchemaVersion, CreatedAt: o.Now, Scenario: o.A[0].Run.Asked.ScenarioName, Target: o.A[0].Run.Asked.Target,
		A: sideOf(o.A, o.LabelA), B: sideOf(o.B, o.LabelB), Paired: o.Paired, Alpha: Alpha, DecidingTest: "Mann-Whitney",
		Facts: facts, Mismatches: orEmpty(mismatches), Forced: o.Force, Warnings: []string{}, Primary: []string{}, Bounds: []BoundResult{}}
	if o.Paired {
		c.DecidingTest = "signed rank"
	}
	primary := o.primary()
	floors := o.sameBuildPairs()
	c.FloorSource = floors.source
	for _, s := range sources() {
		m, ok := o.measure(s, floors.pairs)
		if !ok && !primary[s.Name] {
			continue
		}
		m.Primary = primary[s.Name]
		c.Metrics = append(c.Metrics, m)
		if m.Primary {
			c.Primary = append(c.Primary, m.Name)
		}
	}
	c.judge()
	c.Order = orderOf(o)
	c.Trends = o.trends(c.Primary)
	c.judgeBounds(o.Bounds)
	c.Warnings = append(c.Warnings, o.warnings(&c)...)
	c.Sentences = c.sentences()
	return c, nil
}

func sideOf(runs []Run, label string) Side {
	s := Side{Label: label, Commit: runs[0].Run.Found.Commit, Dirty: runs[0].Run.Found.Dirty}
	if label == "" {
		s.Label = runs[0].Name
	}
	for _, r := range runs {
		s.Runs = append(s.Runs, r.ref())
	}
	return s
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// measure makes a metric's line, without judgement; false if no run of either side has it.
func (o Options) measure(s source, same [][2]Run) (Metric, bool) {
	a, b := collect(s, o.A), collect(s, o.B)
	m := Metric{Definition: s.Definition, A: estimate(a), B: estimate(b)}
	if len(a) == 0 && len(b) == 0 {
		return m, false
	}
	if len(a) > 0 && len(b) > 0 {
		m.MannWhitney = new(mannWhitney(raw(a), raw(b)))
	}
	sets := pairsOf(a, b)
	pairs := float64(2*len(a)*len(b)) / float64(max(len(a)+len(b), 1)) // as many pairs would tell as much
	if o.Paired {
		m.Difference = pairedDifference(s.Definition, sets)
		pairs = float64(len(sets))
		m.SignedRank = new(signedRank(logRatios(sets)))
	} else {
		m.Difference = unpairedDifference(s.Definition, raw(a), raw(b))
	}
	m.FloorFraction = noiseFloor(sameBuildRatios(s, same), pairs)
	return m, true
}

// collect reads a metric of all runs of a side.
func collect(s source, runs []Run) []Value {
	var all []Value
	for i, r := range runs {
		for _, v := range s.read(r) {
			v.Run = i
			all = append(all, v)
		}
	}
	return all
}

func raw(values []Value) []float64 {
	all := make([]float64, len(values))
	for i, v := range values {
		all[i] = v.Value
	}
	return all
}

// pair is one value of A and the one of B that belongs to it: of the same pair of runs, and of the same kill in them.
type pair struct{ a, b float64 }

func pairsOf(a, b []Value) []pair {
	var pairs []pair
	for _, x := range a {
		for _, y := range b {
			if x.Run == y.Run && x.Kill == y.Kill {
				pairs = append(pairs, pair{x.Value, y.Value})
			}
		}
	}
	return pairs
}

// logRatios are ln(b/a), which weighs a doubling and a halving alike; where a value is not above 0, plain differences of all.
func logRatios(pairs []pair) []float64 {
	all := make([]float64, len(pairs))
	for i, p := range pairs {
		if p.a <= 0 || p.b <= 0 {
			return plainDifferences(pairs)
		}
		all[i] = math.Log(p.b / p.a)
	}
	return all
}

func plainDifferences(pairs []pair) []float64 {
	all := make([]float64, len(pairs))
	for i, p := range pairs {
		all[i] = p.b - p.a
	}
	return all
}

func positiveAll(pairs []pair) bool {
	for _, p := range pairs {
		if p.a <= 0 || p.b <= 0 {
			return false
		}
	}
	return true
}

func pairedDifference(d Definition, pairs []pair) *Difference {
	if len(pairs) == 0 {
		return nil
	}
	diff := &Difference{N: len(pairs), Absolute: trend.Median(plainDifferences(pairs))}
	if positiveAll(pairs) {
		center, lo, hi, _ := medianInterval(logRatios(pairs))
		diff.Fraction = new(math.Expm1(center))
		if lo != nil {
			diff.FracLo, diff.FracHi = new(math.Expm1(*lo)), new(math.Expm1(*hi))
		}
	}
	diff.Words = d.words(*diff)
	return diff
}

func unpairedDifference(d Definition, a, b []float64) *Difference {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	from, to := trend.Median(a), trend.Median(b)
	diff := &Difference{Absolute: to - from}
	if from > 0 && to > 0 {
		diff.Fraction = new(to/from - 1)
		if lo, hi := ratioInterval(a, b); lo != nil && !math.IsInf(*hi, 0) && !math.IsNaN(*hi) {
			diff.FracLo, diff.FracHi = new(*lo-1), new(*hi-1)
		}
	}
	diff.Words = d.words(*diff)
	return diff
}

// words says a difference: "12.3 % slower", "equal".
func (d Definition) words(diff Difference) string {
	word := d.More
	if diff.Absolute < 0 {
		word = d.Less
	}
	switch {
	case diff.Fraction == nil && diff.Absolute == 0:
		return "equal"
	case diff.Fraction == nil:
		return fmt.Sprintf("%s %s", d.Unit.text(math.Abs(diff.Absolute)), word)
	}
	f := *diff.Fraction
	word = d.More
	if f < 0 {
		word = d.Less
	}
	switch {
	case f == 0:
		return "equal"
	case math.Abs(f) < 0.0005:
		return "under 0.1 % " + word
	case f >= 1:
		return fmt.Sprintf("%.2f times as %s", 1+f, d.timesWord())
	}
	return fmt.Sprintf("%.1f %% %s", 100*math.Abs(f), word)
}

// timesWord fits behind "2.00 times as".
func (d Definition) timesWord() string {
	switch d.More {
	case "slower":
		return "slow"
	case "longer":
		return "long"
	}
	return "much"
}

// buildPairs are pairs of runs of one build.
type buildPairs struct {
	pairs  [][2]Run
	source string
}

// sameBuildPairs takes the A/A runs, or else runs of the same side two by two; none if they are too few for a floor.
func (o Options) sameBuildPairs() buildPairs {
	two := func(runs []Run) (pairs [][2]Run) {
		for i := 0; i+1 < len(runs); i += 2 {
			pairs = append(pairs, [2]Run{runs[i], runs[i+1]})
		}
		return pairs
	}
	if len(o.Same) > 0 {
		pairs := two(o.Same)
		if len(pairs) < floorPairsMin {
			return buildPairs{}
		}
		return buildPairs{pairs, fmt.Sprintf("%d A/A pairs", len(pairs))}
	}
	pairs := append(two(o.A), two(o.B)...)
	if len(pairs) < floorPairsMin {
		return buildPairs{}
	}
	return buildPairs{pairs, fmt.Sprintf("runs of the same side, two by two in their order: %d pairs", len(pairs))}
}

// sameBuildRatios are ln ratios of a metric between two runs of one build.
func sameBuildRatios(s source, same [][2]Run) []float64 {
	var all []pair
	for _, p := range same {
		all = append(all, pairsOf(collect(s, p[:1]), collect(s, p[1:]))...)
	}
	if !positiveAll(all) {
		return nil
	}
	return logRatios(all)
}
