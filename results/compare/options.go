package compare

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Options are those of Compare.
type Options struct {
	A, B []Run // in the order in which they were made
	// LabelA and LabelB are how people call the sides; "" is the name of the side's first run.
	LabelA, LabelB string
	// Paired: run i of A belongs to run i of B; both sides are equally long then.
	Paired bool
	// Same are runs of one build for the noise floor, in the order in which they were made: the first two are compared, the next two, …
	// Without any, runs of the same side are taken two by two.
	Same []Run
	// SameCommand: one command line made all runs, so that a scenario's field which only one build knows is no mismatch.
	SameCommand bool
	// Force compares despite mismatches and runs that are no evidence; the comparison says so.
	Force  bool
	Bounds []Bound
	Now    time.Time
	// Warnings of the caller, such as runs it has left out.
	Warnings []string
}

// RefusedError says why runs are not compared. Force overrides what Forceable says.
type RefusedError struct {
	Reasons   []string
	Forceable bool
}

func (e *RefusedError) Error() string {
	text := "these runs are not compared"
	for _, r := range e.Reasons {
		text += "\n  " + r
	}
	return text
}

// check refuses what can not be compared at all, and what should not be unless forced.
func (o Options) check() (mismatches []Mismatch, facts []Fact, err error) {
	switch {
	case len(o.A) == 0 || len(o.B) == 0:
		return nil, nil, &RefusedError{Reasons: []string{"each side needs at least one run"}}
	case o.Paired && len(o.A) != len(o.B):
		return nil, nil, &RefusedError{Reasons: []string{fmt.Sprintf("pairs need as many runs of A as of B; there are %d and %d", len(o.A), len(o.B))}}
	case len(o.Same)%2 != 0:
		return nil, nil, &RefusedError{Reasons: []string{fmt.Sprintf("A/A runs come in pairs; there are %d", len(o.Same))}}
	}
	if len(o.A) == 1 && len(o.B) == 1 && o.A[0].is(o.B[0]) {
		return nil, nil, &RefusedError{Reasons: []string{fmt.Sprintf("both sides are the same run, %s (in %s and %s): name two runs", cmp.Or(o.A[0].Run.Name, o.A[0].Name), o.A[0].Dir, o.B[0].Dir)}}
	}
	if reasons := slices.Concat(repeated("A", o.A), repeated("B", o.B), repeated("the A/A runs", o.Same)); len(reasons) > 0 {
		return nil, nil, &RefusedError{Reasons: reasons}
	}
	facts, mismatches = compareFacts(o.all(), o.SameCommand)
	var reasons []string
	for _, m := range mismatches {
		reasons = append(reasons, m.String())
	}
	for _, r := range o.all() {
		if why := r.NoEvidence(); why != "" {
			reasons = append(reasons, fmt.Sprintf("run %s %s", r.Name, why))
		}
	}
	if len(reasons) > 0 && !o.Force {
		return nil, nil, &RefusedError{Reasons: reasons, Forceable: true}
	}
	return mismatches, facts, nil
}

// repeated says which runs a side names more than once. One run is one sample: named eight times it would pass for eight that agree.
func repeated(side string, runs []Run) (reasons []string) {
	for i, r := range runs {
		if first := slices.IndexFunc(runs, r.is); first < i {
			reasons = append(reasons, fmt.Sprintf("run %s stands twice in %s, as %s and as %s: name each run once", r.Run.Name, side, runs[first].Dir, r.Dir))
		}
	}
	return reasons
}

// all are the runs of both sides and those for the floor, each once.
func (o Options) all() []Run {
	var all []Run
	for _, r := range slices.Concat(o.A, o.B, o.Same) {
		if !slices.ContainsFunc(all, r.is) {
			all = append(all, r)
		}
	}
	return all
}

// primary are the names of the metrics that are judged: those of the scenario, and those the bounds name.
func (o Options) primary() map[string]bool {
	names := map[string]bool{}
	for _, name := range PrimaryMetrics(o.A[0].Overload(), o.A[0].kills()) {
		names[name] = true
	}
	for _, b := range o.Bounds {
		names[b.Metric] = true
	}
	return names
}
