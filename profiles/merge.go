package profiles

import (
	"fmt"

	"github.com/google/pprof/profile"
)

// Merge adds profiles. Samples keep their labels, windows are put in order, durations are added. It refuses profiles that measure
// different things or at different rates, differences, and two snapshots of one process, which would count most of it twice.
func Merge(all ...*Profile) (*Profile, error) {
	if len(all) == 0 {
		return nil, fmt.Errorf("merge profiles: %w: there are none", ErrNoData)
	}
	meta := all[0].Meta()
	meta.Windows = nil
	for i, p := range all {
		if p.subtracted() {
			return nil, fmt.Errorf("merge profiles: number %d: %w", i+1, ErrSubtracted)
		}
		for j, other := range all[:i] {
			if err := fit(other, p); err != nil {
				return nil, fmt.Errorf("merge profiles: numbers %d and %d: %w", j+1, i+1, err)
			}
			if p.Kind().snapshot() && !p.meta.Since && p.meta.Node != "" && p.meta.Node == other.meta.Node {
				return nil, fmt.Errorf("merge profiles: %w: numbers %d and %d are both of kind %s of %s, which counts since the process began; use the difference of the two",
					ErrUnlike, j+1, i+1, p.Kind(), p.meta.Node)
			}
		}
		meta = common(meta, p.meta)
		meta.Windows = append(meta.Windows, p.meta.Windows...)
	}
	sortWindows(meta.Windows)
	pb, err := profile.Merge(aligned(all))
	if err != nil {
		return nil, fmt.Errorf("merge profiles: %w: %w", ErrUnlike, err)
	}
	return newProfile(pb, meta), nil
}

// common keeps what is true of both. The windows are a's.
func common(a, b Meta) Meta {
	if a.Node != b.Node {
		a.Node = ""
	}
	if a.Phase != b.Phase {
		a.Phase = ""
	}
	if a.Go != b.Go {
		a.Go = ""
	}
	if k, ok := narrower(a.Kind, b.Kind); ok {
		a.Kind = k
	}
	a.Rate = max(a.Rate, b.Rate) // equal, or one is not known
	a.Since = a.Since || b.Since
	return a
}

// subtracted tells a difference of two profiles: only that has negative values, or pprof's own mark.
func (p *Profile) subtracted() bool {
	for _, s := range p.pb.Sample {
		if s.DiffBaseSample() {
			return true
		}
		for _, v := range s.Value {
			if v < 0 {
				return true
			}
		}
	}
	return false
}
