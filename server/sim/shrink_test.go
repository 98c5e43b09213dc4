package sim

import (
	"errors"
	"slices"
	"testing"
)

func failureOf(t *testing.T, seed uint64, o Options) *Failure {
	t.Helper()
	_, err := Run(seed, o)
	var f *Failure
	if !errors.As(err, &f) {
		t.Fatalf("seed %d: %v, want a failure", seed, err)
	}
	return f
}

// TestShrinkFindsTheOneFault: a failure that needs one fault of many shrinks to that fault alone, and to one
// client, in fewer runs than there are subsets of a handful of faults; and what is found can be repeated.
func TestShrinkFindsTheOneFault(t *testing.T) {
	const seed, culprit, runsMax = 28, 5, 40
	o := Options{atEnd: func(w *world) {
		if w.nemesis.number >= culprit && w.reduced.keeps(culprit) {
			w.fail("planted", "fault %d has struck", culprit)
		}
	}}
	failed := failureOf(t, seed, o)
	if failed.Property != "planted" || failed.Faults < 2*culprit {
		t.Fatalf("%s after %d faults, want the planted failure after many", failed.Property, failed.Faults)
	}
	asked := 0
	smallest, runs := Shrink(failed, o, func() bool { asked++; return asked > 3*runsMax })
	r := smallest.Reduced
	if !slices.Equal(r.Faults, []uint64{culprit}) || r.Clients != 1 || len(r.Without) != len(Mishaps()) || runs > runsMax {
		t.Errorf("after %d runs: %s, want fault %d alone, one client and no mishaps, in %d runs", runs, r.Flags(), culprit, runsMax)
	}
	o.Reduced = r
	if f := failureOf(t, seed, o); f.Property != "planted" || f.Step != smallest.Step {
		t.Errorf("repeated: %s at step %d, want what was found at step %d", f.Property, f.Step, smallest.Step)
	}
}

// TestShrinkKeepsThePromise: a smaller run that breaks another promise is another story.
func TestShrinkKeepsThePromise(t *testing.T) {
	const seed = 28
	o := Options{atEnd: func(w *world) {
		if w.reduced.IsWhole() {
			w.fail("planted", "only as a whole")
		}
		w.fail("other", "something is left out")
	}}
	failed := failureOf(t, seed, o)
	tried := 0
	smallest, runs := Shrink(failed, o, func() bool { tried++; return tried > 40 })
	if smallest != failed || runs == 0 {
		t.Errorf("after %d runs: %s, want the whole run", runs, smallest.Summary())
	}
}
