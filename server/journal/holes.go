package journal

import (
	"slices"
	"sort"
)

// addHole merges a range into the holes. Callers hold mu.
func (l *Log) addHole(first, last uint64) {
	i := sort.Search(len(l.holes), func(i int) bool { return l.holes[i].Last+1 >= first })
	j := i
	for ; j < len(l.holes) && l.holes[j].First <= last+1; j++ {
		first, last = min(first, l.holes[j].First), max(last, l.holes[j].Last)
	}
	l.holes = slices.Replace(l.holes, i, j, OpRange{first, last})
}

// removeHole takes a range out of the holes. Callers hold mu.
func (l *Log) removeHole(first, last uint64) {
	i := sort.Search(len(l.holes), func(i int) bool { return l.holes[i].Last >= first })
	j := i
	var kept []OpRange
	for ; j < len(l.holes) && l.holes[j].First <= last; j++ {
		if h := l.holes[j]; h.First < first {
			kept = append(kept, OpRange{h.First, first - 1})
		}
		if h := l.holes[j]; h.Last > last {
			kept = append(kept, OpRange{last + 1, h.Last})
		}
	}
	l.holes = slices.Replace(l.holes, i, j, kept...)
}

// inHole tells whether op is known to be damaged. Callers hold mu.
func (l *Log) inHole(op uint64) bool {
	i := sort.Search(len(l.holes), func(i int) bool { return l.holes[i].Last >= op })
	return i < len(l.holes) && l.holes[i].First <= op
}

// holeAround returns the hole of op, which lies in one. Callers hold mu.
func (l *Log) holeAround(op uint64) OpRange {
	return l.holes[sort.Search(len(l.holes), func(i int) bool { return l.holes[i].Last >= op })]
}

// nextHole returns the first damaged op at or above op, or one above the end. Callers hold mu.
func (l *Log) nextHole(op uint64) uint64 {
	i := sort.Search(len(l.holes), func(i int) bool { return l.holes[i].Last >= op })
	if i == len(l.holes) {
		return l.written.Op + 1
	}
	return max(op, l.holes[i].First)
}

// Sound returns the first op at or above op that the log has and does not know to be damaged, or one above its
// end.
func (l *Log) Sound(op uint64) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	op = max(op, l.segments[0].first)
	i := sort.Search(len(l.holes), func(i int) bool { return l.holes[i].Last >= op })
	if i < len(l.holes) && l.holes[i].First <= op {
		return l.holes[i].Last + 1
	}
	return op
}

// Holes returns the damaged ops at or below Written, rising.
func (l *Log) Holes() []OpRange {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]OpRange(nil), l.holes...)
}
