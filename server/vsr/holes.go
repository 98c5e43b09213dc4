package vsr

import (
	"slices"
	"sort"
)

// holeFrom is the index of the first hole that reaches to op or above.
func (l *log) holeFrom(op uint64) int {
	return sort.Search(len(l.holes), func(i int) bool { return l.holes[i].To >= op })
}

// hole tells whether op is damaged below commit.
func (l *log) hole(op uint64) bool {
	i := l.holeFrom(op)
	return i < len(l.holes) && l.holes[i].From <= op
}

// addHole notes damaged committed ops, as part of the holes that they lie next to, if any; false if all are known
// already.
func (l *log) addHole(from, to uint64) bool {
	i := l.holeFrom(from - 1)
	j := i
	for ; j < len(l.holes) && l.holes[j].From <= to+1; j++ {
		if l.holes[j].From <= from && l.holes[j].To >= to {
			return false
		}
		from, to = min(from, l.holes[j].From), max(to, l.holes[j].To)
	}
	l.holes = slices.Replace(l.holes, i, j, OpRange{from, to})
	return true
}

// fillHole takes op out of the holes.
func (l *log) fillHole(op uint64) {
	if !l.hole(op) {
		return
	}
	i := l.holeFrom(op)
	switch hole := l.holes[i]; {
	case hole.From == hole.To:
		l.holes = slices.Delete(l.holes, i, i+1)
	case hole.From == op:
		l.holes[i].From++
	case hole.To == op:
		l.holes[i].To--
	default:
		l.holes[i].To = op - 1
		l.holes = slices.Insert(l.holes, i+1, OpRange{op + 1, hole.To})
	}
}

// dropHoles forgets the holes below start, where the log begins now.
func (l *log) dropHoles(start uint64) {
	l.holes = l.holes[l.holeFrom(start):]
	if len(l.holes) > 0 {
		l.holes[0].From = max(l.holes[0].From, start)
	}
}
