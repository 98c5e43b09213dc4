package profiles

import (
	"fmt"
	"go/version"
	"slices"

	"github.com/google/pprof/profile"
)

// fit tells in words why two profiles do not measure the same thing in the same way; nil: they do. What a file does not say fits.
func fit(a, b *Profile) error {
	kind, ok := narrower(a.Kind(), b.Kind())
	if !ok {
		return fmt.Errorf("%w: one is of kind %s, the other of kind %s", ErrUnlike, a.Kind(), b.Kind())
	}
	if !slices.EqualFunc(a.pb.SampleType, b.pb.SampleType, sameType) {
		return fmt.Errorf("%w: one counts %s, the other %s", ErrUnlike, spellTypes(a.pb), spellTypes(b.pb))
	}
	at, bt := a.pb.PeriodType, b.pb.PeriodType
	if hasType(at) && hasType(bt) && !sameType(at, bt) {
		return fmt.Errorf("%w: one is sampled by %s in %s, the other by %s in %s", ErrUnlike, at.Type, at.Unit, bt.Type, bt.Unit)
	}
	if ap, bp := a.pb.Period, b.pb.Period; ap != 0 && bp != 0 && ap != bp {
		return fmt.Errorf("%w: one has a sampling period of %d, the other of %d; take both with the same", ErrUnlike, ap, bp)
	}
	if ar, br := a.meta.Rate, b.meta.Rate; ar != 0 && br != 0 && ar != br {
		return fmt.Errorf("%w: one was taken at rate %d, the other at rate %d; take both at the same", ErrUnlike, ar, br)
	}
	if al, bl := version.Lang(a.meta.Go), version.Lang(b.meta.Go); waits(kind) && al != "" && bl != "" && al != bl {
		return fmt.Errorf("%w: what a %s profile counts changed between Go releases, and one is from %s, the other from %s", ErrUnlike, kind, a.meta.Go, b.meta.Go)
	}
	return nil
}

// waits: the runtime scales the numbers of these in ways that changed (golang/go#44192, #61015).
func waits(k Kind) bool { return k == Mutex || k == Block || k == Contention }

func hasType(t *profile.ValueType) bool { return t != nil && (t.Type != "" || t.Unit != "") }

func sameType(a, b *profile.ValueType) bool { return a.Type == b.Type && a.Unit == b.Unit }

func spellTypes(p *profile.Profile) []string {
	var names []string
	for _, t := range p.SampleType {
		names = append(names, t.Type+" in "+t.Unit)
	}
	return names
}

// aligned returns copies whose headers are equal, as profile.Merge demands: what one of them does not say is taken from the first that does.
func aligned(all []*Profile) []*profile.Profile {
	var head profile.Profile
	for _, p := range all {
		if !hasType(head.PeriodType) && hasType(p.pb.PeriodType) {
			head.PeriodType = p.pb.PeriodType
		}
		if head.Period == 0 {
			head.Period = p.pb.Period
		}
	}
	if head.PeriodType == nil {
		head.PeriodType = &profile.ValueType{}
	}
	var copies []*profile.Profile
	for _, p := range all {
		c := p.pb.Copy()
		c.PeriodType, c.Period = &profile.ValueType{Type: head.PeriodType.Type, Unit: head.PeriodType.Unit}, head.Period
		copies = append(copies, c)
	}
	return copies
}
