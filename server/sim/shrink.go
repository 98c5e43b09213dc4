package sim

import (
	"errors"
	"slices"
)

// Shrink looks for a smaller run of a failed seed that breaks the same property: with fewer faults,
// fewer clients, a shorter load, fewer mishaps. It returns the smallest failure found, which is
// failed itself where nothing can be left out, and how many runs that took. It stops when enough says
// so, which it asks before each run. Of o it takes what a run needs beside its Reduction; memory is
// not shared, for a run that fails leaves it in disorder.
func Shrink(failed *Failure, o Options, enough func() bool) (smallest *Failure, runs int) {
	o.Trace, o.Arena = nil, nil
	s := &shrinker{smallest: failed, options: o, enough: enough}
	for before := (*Failure)(nil); before != s.smallest && !enough(); {
		before = s.smallest
		s.fewerFaults()
		s.fewerMishaps()
		s.fewerClients()
		s.shorterLoad()
	}
	return s.smallest, s.runs
}

type shrinker struct {
	smallest *Failure
	options  Options
	enough   func() bool
	runs     int
}

// try plays the run with a further reduction, and keeps it if it fails as the first one did.
func (s *shrinker) try(change func(r *Reduction)) bool {
	if s.enough() {
		return false
	}
	o := s.options
	o.Reduced = s.smallest.Reduced
	change(&o.Reduced)
	s.runs++
	_, err := Run(s.smallest.Seed, o)
	var f *Failure
	if !errors.As(err, &f) || f.Property != s.smallest.Property {
		return false
	}
	s.smallest = f
	return true
}

// fewerFaults leaves out faults: all, then halves, then quarters, down to single ones.
func (s *shrinker) fewerFaults() {
	if len(s.faults()) == 0 || s.try(func(r *Reduction) { r.Faults = []uint64{} }) {
		return
	}
	for size := (len(s.faults()) + 1) / 2; size > 0; size /= 2 {
		for from := 0; from < len(s.faults()) && !s.enough(); {
			all := s.faults()
			rest := append(append([]uint64{}, all[:from]...), all[min(from+size, len(all)):]...) // never nil, which stands for all
			if !s.try(func(r *Reduction) { r.Faults = rest }) {
				from += size
			}
		}
	}
}

// faults are those that happened before the smallest failure.
func (s *shrinker) faults() []uint64 {
	all := []uint64{}
	for n := uint64(1); n <= s.smallest.Faults; n++ {
		if s.smallest.Reduced.keeps(n) {
			all = append(all, n)
		}
	}
	return all
}

func (s *shrinker) fewerMishaps() {
	for _, name := range Mishaps() {
		if !slices.Contains(s.smallest.Reduced.Without, name) {
			s.try(func(r *Reduction) { r.Without = append(slices.Clone(r.Without), name) })
		}
	}
}

func (s *shrinker) fewerClients() {
	most := s.smallest.Reduced.Clients
	if most == 0 {
		most = s.drawn().clients
	}
	for n := 1; n < most; n *= 2 {
		if s.try(func(r *Reduction) { r.Clients = n }) {
			return
		}
	}
}

// shorterLoad lets the load and the faults end earlier. A run that fails while faults last ends there
// anyway: what could be shorter is what comes before a failure at rest.
func (s *shrinker) shorterLoad() {
	most := s.smallest.Reduced.LoadNs
	if most == 0 {
		most = s.drawn().faultNs
	}
	if s.smallest.AtNs < most {
		return
	}
	for part := int64(8); part > 1; part /= 2 {
		if s.try(func(r *Reduction) { r.LoadNs = max(most/part/tickNs, 1) * tickNs }) {
			return
		}
	}
}

func (s *shrinker) drawn() *setup {
	o := draw(s.smallest.Seed)
	return &o
}
