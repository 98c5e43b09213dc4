package profiles

import (
	"fmt"

	"github.com/google/pprof/profile"
)

// Since is what a process did between two of its snapshots: counters (alloc_space, contentions, delay …) are the difference, levels
// (inuse_space, inuse_objects) are those of after, because memory that was freed is no negative allocation. It refuses snapshots that are
// not of one process in this order, which is seen by a counter that falls.
func Since(before, after *Profile) (*Profile, error) {
	if err := fit(before, after); err != nil {
		return nil, fmt.Errorf("difference of snapshots: %w", err)
	}
	if k := after.Kind(); !k.snapshot() || k == Goroutine {
		return nil, fmt.Errorf("difference of snapshots: %w: a %s profile does not count since the process began", ErrUnlike, k)
	}
	if a, b := before.meta.Node, after.meta.Node; a != "" && b != "" && a != b {
		return nil, fmt.Errorf("difference of snapshots: %w: one is of %s, the other of %s", ErrUnlike, a, b)
	}
	if before.subtracted() || after.subtracted() || before.meta.Since || after.meta.Since {
		return nil, fmt.Errorf("difference of snapshots: %w", ErrSubtracted)
	}
	both := aligned([]*Profile{before, after})
	for _, pb := range both {
		pb.RemoveLabel(LabelRole) // of the moment of a snapshot: a stack whose node changed its role is the same stack
	}
	var factors []float64
	for _, name := range before.Values() {
		if held(name) {
			factors = append(factors, 0)
		} else {
			factors = append(factors, -1)
		}
	}
	if err := both[0].ScaleN(factors); err != nil {
		return nil, fmt.Errorf("difference of snapshots: %w", err)
	}
	pb, err := profile.Merge([]*profile.Profile{both[1], both[0]})
	if err != nil {
		return nil, fmt.Errorf("difference of snapshots: %w: %w", ErrUnlike, err)
	}
	meta := common(before.Meta(), after.Meta())
	meta.Since, meta.Windows, pb.DurationNanos = true, nil, 0
	if from, to := before.meta.Windows, after.meta.Windows; len(from) == 1 && len(to) == 1 && from[0].FromNs <= to[0].FromNs {
		w := Window{FromNs: from[0].FromNs, ToNs: to[0].ToNs, DurationNs: to[0].FromNs - from[0].FromNs, Role: to[0].Role}
		if from[0].Role != w.Role {
			w.Role = RoleMixed
		}
		meta.Windows, pb.DurationNanos = []Window{w}, w.DurationNs
		pb.SetLabel(LabelRole, []string{w.Role})
	}
	p := newProfile(pb, meta)
	if p.subtracted() {
		return nil, fmt.Errorf("difference of snapshots: %w: a counter fell, so the second is the earlier one, or the process was restarted between them", ErrUnlike)
	}
	return p, nil
}
