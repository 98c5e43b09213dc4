package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Reduction is what a run leaves out of what its seed draws. The choices that stay are drawn as they
// would be without it, so that a smaller run is often the same story, told shorter.
type Reduction struct {
	Faults  []uint64 // the numbers, rising, of the only faults that happen; nil: all; not nil and empty: none
	LoadNs  int64    // faults and load end no later than this; 0: as drawn
	Clients int      // at most so many; 0: as drawn
	Without []string // of Mishaps: those that never happen
}

// Mishaps are what goes wrong all the time rather than now and then, by the names that
// Reduction.Without takes.
func Mishaps() []string { return []string{"loss", "twice", "late", "slow-sync"} }

// Validate refuses what no run can leave out.
func (r *Reduction) Validate() error {
	for _, name := range r.Without {
		if !slices.Contains(Mishaps(), name) {
			return fmt.Errorf("nothing is called %q: a run can go without %s", name, strings.Join(Mishaps(), ", "))
		}
	}
	if r.LoadNs < 0 || r.Clients < 0 || !slices.IsSorted(r.Faults) {
		return fmt.Errorf("times and counts are not negative, and faults are named in rising order")
	}
	return nil
}

// keeps tells whether a fault happens.
func (r *Reduction) keeps(number uint64) bool {
	return r.Faults == nil || slices.Contains(r.Faults, number)
}

// apply leaves out what concerns the setup.
func (r *Reduction) apply(o *setup) {
	if r.LoadNs > 0 {
		o.faultNs = min(o.faultNs, r.LoadNs)
	}
	if r.Clients > 0 {
		o.clients = min(o.clients, r.Clients)
	}
	for _, name := range r.Without {
		switch name {
		case "loss":
			o.loss = 0
		case "twice":
			o.twice = 0
		case "late":
			o.late = 0
		case "slow-sync":
			o.slowSync = 0
		}
	}
}

// Flags are what bench sim takes for it, each with a space before it; nothing for a whole run.
func (r *Reduction) Flags() string {
	var b strings.Builder
	switch {
	case r.Faults == nil:
	case len(r.Faults) == 0:
		b.WriteString(" --faults none")
	default:
		b.WriteString(" --faults ")
		for i, n := range r.Faults {
			if i > 0 {
				b.WriteString(",")
			}
			fmt.Fprint(&b, n)
		}
	}
	if r.LoadNs > 0 {
		fmt.Fprintf(&b, " --load-for %v", time.Duration(r.LoadNs))
	}
	if r.Clients > 0 {
		fmt.Fprintf(&b, " --clients %d", r.Clients)
	}
	if len(r.Without) > 0 {
		fmt.Fprintf(&b, " --without %s", strings.Join(r.Without, ","))
	}
	return b.String()
}

// IsWhole tells whether nothing is left out.
func (r *Reduction) IsWhole() bool {
	return r.Faults == nil && r.LoadNs == 0 && r.Clients == 0 && len(r.Without) == 0
}
