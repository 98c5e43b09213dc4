package profiles

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Side is one of the two things that are compared: a profile and what it is to be divided by.
type Side struct {
	Profile *Profile
	// DurationNs is how long the profiler ran (Profile.DurationNs says so of most files); required.
	DurationNs int64
	// AckedMessages is how many messages were acknowledged in that time; required.
	AckedMessages int64
	// Runs are what this side was added up from, one for each run. Only they tell how runs of the same thing differ from each other; with fewer
	// than RunsMin no function is called different.
	Runs []Side
}

// Change is one number of the base and the same of what is held against it.
type Change struct{ Base, New float64 }

// Difference is New - Base: above zero, the new one costs more.
func (c Change) Difference() float64 { return c.New - c.Base }

// Percent is the difference in percent of this number's base, never of a total; false if the base is zero and the new is not: there is no
// such percentage.
func (c Change) Percent() (float64, bool) {
	switch {
	case c.New == c.Base:
		return 0, true
	case c.Base == 0:
		return 0, false
	}
	return (c.New - c.Base) / c.Base * 100, true
}

// Costs is a value as it can be compared. Of a level (Diff.Held) only Now is set, of all others only the two rates are.
type Costs struct {
	PerSecond  Change // in Diff.Unit per second
	PerMessage Change // in Diff.Unit per acknowledged message
	Now        Change // in Diff.Unit
}

// FunctionCosts is one function, by name.
type FunctionCosts struct {
	Function string
	Flat     Costs // by itself
	Cum      Costs // with what it called
	// Samples are those in which it was innermost.
	Samples Change
	// Chance: two profiles of the same thing differ as much in Flat.PerMessage, with so few samples or, where that was judged, from run to run.
	Chance bool
}

// Diff holds the new profile against the base. Differences are new minus base: plus means that the new one costs more.
type Diff struct {
	Kind  Kind
	Value string // what is compared, as pprof names it
	Unit  string
	// Held: the value is a level (memory in use), which no time or work divides: both are shown as they are, and not subtracted.
	Held    bool
	Total   Costs
	Samples Change
	// Judged says that both sides have enough runs for their scatter to be known.
	Judged bool
	// Functions are those beyond chance first, then by the largest difference of Flat.PerMessage; of a level, by the largest new value.
	Functions []FunctionCosts
	Notes     []string // what a reader must know, in words
}

// Compare divides both profiles by their time and by their work and compares them function by function. value is a name of
// Profile.Values; "" is the kind's own (CPU time, allocated bytes, delay). It refuses, in words: no samples (ErrNoData), profiles that
// measure different things (ErrUnlike), differences (ErrSubtracted), missing time or work (ErrDenominator).
func Compare(base, changed Side, value string) (*Diff, error) {
	if err := checkSides(base, changed); err != nil {
		return nil, fmt.Errorf("compare profiles: %w", err)
	}
	i, err := base.Profile.valueIndex(value)
	if err != nil {
		return nil, fmt.Errorf("compare profiles: %w", err)
	}
	t := base.Profile.pb.SampleType[i]
	d := &Diff{Kind: base.Profile.Kind(), Value: t.Type, Unit: t.Unit, Held: held(t.Type), Judged: len(base.Runs) >= RunsMin && len(changed.Runs) >= RunsMin}
	apart := scatterOf(base.Runs, changed.Runs, i)
	costs := d.divider(base, changed)
	var totals [2]int64
	var byName [2]map[string]cost
	var samples [2]map[string]cost
	for n, side := range []Side{base, changed} {
		byName[n], totals[n] = functionCosts(side.Profile.pb, i)
		samples[n], _ = functionCosts(side.Profile.pb, 0)
	}
	d.Total = costs(totals[0], totals[1])
	d.Samples = Change{float64(base.Profile.Samples()), float64(changed.Profile.Samples())}
	names := maps.Clone(byName[0])
	maps.Copy(names, byName[1])
	for name := range names {
		a, b := byName[0][name], byName[1][name]
		f := FunctionCosts{Function: name, Flat: costs(a.flat, b.flat), Cum: costs(a.cum, b.cum),
			Samples: Change{float64(samples[0][name].flat), float64(samples[1][name].flat)}}
		f.Chance = d.Kind == CPU && chance(f.Samples, base.AckedMessages, changed.AckedMessages)
		if d.Judged && !f.Chance {
			f.Chance = apart.chance(name)
		}
		d.Functions = append(d.Functions, f)
	}
	slices.SortFunc(d.Functions, func(a, b FunctionCosts) int {
		return cmp.Or(boolOrder(a.Chance)-boolOrder(b.Chance), cmp.Compare(d.weight(b.Flat), d.weight(a.Flat)), cmp.Compare(d.weight(b.Cum), d.weight(a.Cum)),
			cmp.Compare(b.Samples.New, a.Samples.New), cmp.Compare(a.Function, b.Function))
	})
	d.Notes = notes(base, changed)
	return d, nil
}

// divider makes of two values what is compared.
func (d *Diff) divider(base, changed Side) func(a, b int64) Costs {
	return func(a, b int64) Costs {
		if d.Held {
			return Costs{Now: Change{float64(a), float64(b)}}
		}
		per := func(value, by int64) float64 { return float64(value) / float64(by) }
		return Costs{
			// Times 1e9 before the division: a value in nanoseconds over a time in nanoseconds keeps its digits.
			PerSecond:  Change{float64(a) * 1e9 / float64(base.DurationNs), float64(b) * 1e9 / float64(changed.DurationNs)},
			PerMessage: Change{per(a, base.AckedMessages), per(b, changed.AckedMessages)},
		}
	}
}

// RunsMin is how many runs of each side tell how much runs differ.
const RunsMin = 3

// chanceDeviations: a comparison holds hundreds of functions for each of some parts, and of ten thousand that do not differ one lies beyond.
const chanceDeviations = 4

// chance tells whether two counts of samples, each over its work, differ by no more than counts of that size do by themselves (Poisson).
func chance(samples Change, workA, workB int64) bool {
	a, b := float64(workA), float64(workB)
	deviation := math.Sqrt(samples.Base/(a*a) + samples.New/(b*b))
	return math.Abs(samples.New/b-samples.Base/a) <= chanceDeviations*deviation
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}

// BeyondChance says in words which functions differ by more than chance for a message, the largest difference first; at most so many.
func (d *Diff) BeyondChance(most int) string {
	if !d.Judged {
		return fmt.Sprintf("no function is called different: two runs of one build differ by more than the samples of one can tell, and how much these do is known from %d runs a side on (give compare more, or use bench ab)", RunsMin)
	}
	var parts []string
	for _, f := range d.Functions {
		if f.Chance || f.Flat.PerMessage.Difference() == 0 {
			continue
		}
		if len(parts) == most {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, fmt.Sprintf("%s %s %s/msg (%s)", oneLine(f.Function), signed(f.Flat.PerMessage.Difference()), d.Unit, f.Flat.PerMessage.percent()))
	}
	if len(parts) == 0 {
		return "no function differs by more than chance"
	}
	return "differ by more than chance: " + strings.Join(parts, ", ")
}

// weight is what functions are sorted by.
func (d *Diff) weight(c Costs) float64 {
	if d.Held {
		return c.Now.New
	}
	return math.Abs(c.PerMessage.Difference())
}

func checkSides(base, changed Side) error {
	for i, s := range []Side{base, changed} {
		if err := s.check(); err != nil {
			return fmt.Errorf("%s: %w", sideNames[i], err)
		}
	}
	if a, b := base.Profile.meta.Since, changed.Profile.meta.Since; a != b {
		return fmt.Errorf("%w: one counts since its process began, the other is the difference of two snapshots", ErrUnlike)
	}
	return fit(base.Profile, changed.Profile)
}

// sideNames are what people call the two.
var sideNames = [...]string{"A", "B"}

func (s Side) check() error {
	switch {
	case s.Profile == nil || s.Profile.empty():
		return fmt.Errorf("%w: it has no samples", ErrNoData)
	case s.Profile.subtracted():
		return ErrSubtracted
	case s.Profile.Kind() == Goroutine: // a level, which nothing divides
		return nil
	case s.DurationNs <= 0:
		return fmt.Errorf("%w: it does not say how long the profiler ran", ErrDenominator)
	case s.AckedMessages <= 0:
		return fmt.Errorf("%w: it does not say how many messages were acknowledged meanwhile", ErrDenominator)
	}
	return nil
}

// empty: nothing was seen at all.
func (p *Profile) empty() bool {
	return !slices.ContainsFunc(p.pb.Sample, func(s *profile.Sample) bool {
		return slices.ContainsFunc(s.Value, func(v int64) bool { return v != 0 })
	})
}

func notes(base, changed Side) []string {
	var all []string
	for i, s := range []Side{base, changed} {
		if n := s.Profile.Samples(); n < samplesMinDefault {
			all = append(all, fmt.Sprintf("%s has only %d samples: most differences are chance", sideNames[i], n))
		}
	}
	a, b := base.Profile.meta, changed.Profile.meta
	if a.Go != "" && b.Go != "" && a.Go != b.Go {
		all = append(all, fmt.Sprintf("A was built by %s, B by %s", a.Go, b.Go))
	}
	if a.Phase != b.Phase {
		all = append(all, fmt.Sprintf("A is of phase %q, B of phase %q", a.Phase, b.Phase))
	}
	return all
}
