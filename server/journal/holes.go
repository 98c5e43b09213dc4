package journal

import (
	"sort"
)

// addHole merges a range into the holes. Callers hold mu.
func (l *Log) addHole(first, last uint64) {
	i := sort.Search(len(l.holes), func(i int) bool { return l.holes[i].Last+1 >= first })
	j := i
	for ; j < len(l.holes) && l.holes[j].First <= last+1; j++ {
		first, last = min(first, l.holes[j].First), max(last, l.holes[j].Last)
	}
	merged := append([]OpRange{}, l.holes[:i]...)
	merged = append(merged, OpRange{first, last})
	l.holes = append(merged, l.holes[j:]...)
}

// removeHole takes a range out of the holes. Callers hold mu.
func (l *Log) removeHole(first, last uint64) {
	var kept []OpRange
	for _, h := range l.holes {
		if h.First < first {
			kept = append(kept, OpRange{h.First, min(h.Last, first-1)})
		}
		if h.Last > last {
			kept = append(kept, OpRange{max(h.First, last+1), h.Last})
		}
		if h.First >= first && h.Last <= last {
			continue
		}
	}
	l.holes = kept
}

// inHole tells whether op is known to be damaged. Callers hold mu.
func (l *Log) inHole(op uint64) bool {
	i := sort.Search(len(l.holes), func(i int) bool { return l.holes[i].Last >= op })
	return i < len(l.holes) && l.holes[i].First <= op
}

// nextHole returns the first damaged op at or above op, or one above the end. Callers hold mu.
func (l *Log) nextHole(op uint64) uint64 {
	i := sort.Search(len(l.holes), func(i int) bool { return l.holes[i].Last >= op })
	if i == len(l.holes) {
		return l.written.Op + 1
	}
	return max(op, l.holes[i].First)
}

// Holes returns the damaged ops at or below Written, rising.
func (l *Log) Holes() []OpRange {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]OpRange(nil), l.holes...)
}
