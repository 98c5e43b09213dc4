package journal

import (
	"rejoin/server/vsr"
)

// Border returns the op at which the log begins once Divide and Trim have been called for op: that of a
// segment, or op itself where it lies in a hole without a place.
func (l *Log) Border(op uint64) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := l.segments[0].first
	for i, s := range l.segments[:len(l.segments)-1] {
		if l.divides(i, op) {
			return op
		}
		if s.last >= op || s.dirty {
			break
		}
		from = s.last + 1
	}
	return from
}

// divides tells whether op lies within segment i and behind all that has a place there: where several files
// next to one another are gone, the segment before them has all their ops, and nothing tells where one of them
// began. Callers hold mu.
func (l *Log) divides(i int, op uint64) bool {
	s := l.segments[i]
	return i+1 < len(l.segments) && s.first < op && op <= s.last && s.first+s.placed <= op
}

// Divide makes op, which lies in a hole without a place, the first op of a segment of its own, durably, so that
// the log can begin there; anywhere else it does nothing. The hole stays what it is. After ErrDiskFull nothing
// has changed.
func (l *Log) Divide(op uint64) error {
	if err := l.failed(); err != nil {
		return err
	}
	i := l.divided(op)
	if i < 0 {
		return nil
	}
	name := l.segmentName(op)
	f, err := l.fs.Create(name)
	if isShort(err) {
		return noRoom("create", name, err)
	}
	if err != nil {
		return l.fail(fault(name, "create", err))
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		f.Close()
		return l.fail(fault(name, "create", err))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.segments[i]
	rest := &segment{first: op, last: s.last, base: s.nextOffset, nextOffset: s.nextOffset, file: f}
	s.last = op - 1
	if s.complete() { // only where the hole begins at op
		s.lastSum = s.entries[s.placed-1].sum
		rest.parent, rest.parentKnown = s.lastSum, true
		l.sealed = append(l.sealed, s)
	}
	segments := append([]*segment(nil), l.segments[:i+1]...)
	segments = append(segments, rest)
	l.segments = append(segments, l.segments[i+1:]...)
	return nil
}

// divided returns the index of the segment that Divide would divide, or -1.
func (l *Log) divided(op uint64) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.segments {
		if l.divides(i, op) {
			return i
		}
	}
	return -1
}

// begin returns where the chain stands when the segment of op first begins.
func (rec *recovery) begin(first uint64) scanState {
	st := scanState{op: first, free: true}
	if n := len(rec.segs); n > 0 {
		prev := rec.segs[n-1]
		if prev.complete() {
			return scanState{op: first, parent: prev.lastSum, base: prev.nextOffset}
		}
		st.base = prev.nextOffset // no more than a lower bound
		return st
	}
	known := []Base{rec.o.Base, {vsr.ID{Op: 0, Sum: rec.log.root()}, 0}}
	if s := rec.log.start; rec.log.startFile != nil && s.known {
		known = append(known, s.Base)
	}
	for _, t := range rec.r.Tables {
		known = append(known, Base{t.ID, t.NextOffset})
	}
	if m := rec.r.Mark; m.SumKnown {
		known = append(known, Base{m.ID, m.NextOffset})
	}
	for _, b := range known {
		if b.ID.Op == first-1 {
			return scanState{op: first, parent: b.ID.Sum, base: b.NextOffset}
		}
	}
	if rec.saysStart(first) {
		st.base = rec.log.start.NextOffset
	}
	return st
}

// saysStart tells whether the log is on record as beginning at this op, by an op whose sum nobody knew: then
// what comes before it is not missing.
func (rec *recovery) saysStart(first uint64) bool {
	return rec.log.startFile != nil && rec.log.start.ID.Op+1 == first
}
