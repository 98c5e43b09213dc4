package results

import (
	"cmp"
	"slices"
)

// Stretch is a half-open stretch of time, ns since run start.
type Stretch struct{ FromNs, ToNs int64 }

// WithoutQuorum are the stretches, up to endNs, in which more of so many nodes were dead or stopped than a majority allows: nobody can
// acknowledge anything then, and nobody is asked to.
func (t *Timeline) WithoutQuorum(nodes int, endNs int64) []Stretch {
	type change struct {
		atNs int64
		by   int
	}
	var changes []change
	down := func(from int64, to *int64) {
		if to != nil && *to <= from {
			return
		}
		changes = append(changes, change{from, +1})
		if to != nil {
			changes = append(changes, change{*to, -1})
		}
	}
	for _, k := range t.Kills {
		down(k.AtNs, k.RestartNs)
	}
	for _, s := range t.Stops {
		down(s.AtNs, t.stopEndNs(s))
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.atNs, b.atNs), cmp.Compare(a.by, b.by)) })
	var all []Stretch
	downNow, mayBeDown, since := 0, (nodes-1)/2, int64(-1)
	begun := false
	for _, c := range changes {
		downNow += c.by
		switch without := downNow > mayBeDown; {
		case without && !begun:
			begun, since = true, c.atNs
		case !without && begun:
			begun = false
			all = appendStretch(all, since, min(c.atNs, endNs))
		}
	}
	if begun {
		all = appendStretch(all, since, endNs)
	}
	return all
}

func appendStretch(all []Stretch, fromNs, toNs int64) []Stretch {
	if toNs <= fromNs {
		return all
	}
	return append(all, Stretch{fromNs, toNs})
}

// stopEndNs is when a stopped process went on, or was killed and counts as that.
func (t *Timeline) stopEndNs(s Stop) *int64 {
	end := s.ResumeNs
	for _, k := range t.Kills {
		if k.Node == s.Node && k.AtNs >= s.AtNs && (end == nil || k.AtNs < *end) {
			end = new(k.AtNs)
		}
	}
	return end
}

// Overlap is how much of [fromNs, toNs) lies in the stretches, which do not touch each other.
func Overlap(stretches []Stretch, fromNs, toNs int64) int64 {
	sum := int64(0)
	for _, s := range stretches {
		sum += max(min(s.ToNs, toNs)-max(s.FromNs, fromNs), 0)
	}
	return sum
}
