package profiles

import (
	"slices"

	"github.com/google/pprof/profile"
)

// Kind is what a profile measures.
type Kind string

const (
	CPU       Kind = "cpu"
	Heap      Kind = "heap" // allocs is the same file with another default
	Mutex     Kind = "mutex"
	Block     Kind = "block"
	Goroutine Kind = "goroutine"
	Clock     Kind = "clock" // wall clock, by fgprof
	// Contention is a mutex or a block profile that does not say which: their values have the same names.
	Contention Kind = "contention"
	Unknown    Kind = "unknown"
)

// valuesOf are the names of a kind's values, in the order of the file. The first counts samples or events.
func valuesOf(k Kind) []string {
	switch k {
	case CPU:
		return []string{"samples", "cpu"}
	case Heap:
		return []string{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"}
	case Mutex, Block, Contention:
		return []string{"contentions", "delay"}
	case Goroutine:
		return []string{"goroutine"}
	case Clock:
		return []string{"samples", "time"}
	}
	return nil
}

// defaultValue is what a kind is compared by.
func (k Kind) defaultValue() string {
	switch k {
	case CPU:
		return "cpu"
	case Heap:
		return "alloc_space"
	case Mutex, Block, Contention:
		return "delay"
	case Goroutine:
		return "goroutine"
	case Clock:
		return "time"
	}
	return ""
}

// snapshot tells whether a file of this kind is what a process holds or has counted since it began, rather than what happened in a
// window: two of one process must not be added.
func (k Kind) snapshot() bool {
	return slices.Contains([]Kind{Heap, Mutex, Block, Contention, Goroutine}, k)
}

// held tells whether a value is a level and not a count: what is there now. A difference of levels is no rate.
func held(value string) bool {
	return value == "inuse_objects" || value == "inuse_space" || value == "goroutine"
}

// kindOf reads the kind from the values' names.
func kindOf(p *profile.Profile) Kind {
	var names []string
	for _, t := range p.SampleType {
		names = append(names, t.Type)
	}
	for _, k := range []Kind{CPU, Heap, Contention, Goroutine, Clock} {
		if slices.Equal(names, valuesOf(k)) {
			return k
		}
	}
	return Unknown
}

// narrower is the more telling of two kinds that a profile can have at once; false if it cannot.
func narrower(a, b Kind) (Kind, bool) {
	contended := func(k Kind) bool { return k == Mutex || k == Block || k == Contention }
	switch {
	case a == b:
		return a, true
	case a == Contention && contended(b):
		return b, true
	case b == Contention && contended(a):
		return a, true
	}
	return Unknown, false
}
