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

// addHole notes a damaged committed op, as part of the hole that it lies next to, if any; false if it is known
// already.
func (l *log) addHole(op uint64) bool {
	if l.hole(op) {
		return false
	}
	i := l.holeFrom(op)
	below := i > 0 && l.holes[i-1].To == op-1
	above := i < len(l.holes) && l.holes[i].From == op+1
	switch {
	case below && above:
		l.holes[i-1].To = l.holes[i].To
		l.holes = slices.Delete(l.holes, i, i+1)
	case below:
		l.holes[i-1].To = op
	case above:
		l.holes[i].From = op
	default:
		l.holes = slices.Insert(l.holes, i, OpRange{op, op})
	}
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
