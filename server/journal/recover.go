package journal

import (
	"errors"
	"fmt"
	"math"

	"rejoin/server/vsr"
)

// recovery finds out what the files of a log still hold. It decides in memory first (walk, verify);
// then settle makes what it found durable and removes the rest, in an order in which a crash at any
// step leads to the same decision.
type recovery struct {
	log    *Log
	r      *Recovered
	o      *Options
	firsts []uint64 // first ops of the segment files, rising

	floor   uint64 // damage at or below is a hole, above it the log ends
	ceiling uint64 // after a fence: nothing above counts
	ended   bool   // the log has ended; later files are leftovers

	segs    []*segment
	dropped []uint64 // first ops of files that do not belong to the log any more, rising
	stale   []uint64 // segments whose index says something else than the log
}

func (rec *recovery) run(names []string) error {
	l, r := rec.log, rec.r
	rec.floor, rec.ceiling = r.Mark.ID.Op, math.MaxUint64
	if r.MarkLost {
		rec.floor = math.MaxUint64
		r.find("the mark is unreadable: all damage counts as holes")
	}
	if r.WasFenced {
		rec.ceiling = r.Mark.ID.Op
	}
	if err := rec.raiseFloor(); err != nil {
		return err
	}
	if err := rec.findFirst(); err != nil {
		return err
	}
	if err := rec.walk(); err != nil {
		return err
	}
	if err := rec.dropOpenEnd(); err != nil {
		return err
	}
	if err := rec.publish(); err != nil {
		return err
	}
	if err := rec.verifyTail(); err != nil {
		return err
	}
	if err := rec.boundTop(); err != nil {
		return err
	}
	if err := rec.settle(names); err != nil {
		return err
	}
	if err := l.settleStart(); err != nil {
		return err
	}
	l.evict()
	return nil
}

// raiseFloor takes valid indexes for marks: each was written after its segment, and so everything
// below, was synced, while the newest copy of the mark may have rotted and left an older one.
func (rec *recovery) raiseFloor() error {
	for _, first := range rec.firsts {
		x, err := rec.log.readIndex(first)
		if err == nil {
			rec.floor = max(rec.floor, first+uint64(len(x.entries))-1)
		} else if !isDamage(err) {
			return fault(rec.log.indexName(first), "read", err)
		}
	}
	return nil
}

// walk goes through the segments in order and chains them.
func (rec *recovery) walk() error {
	for i, first := range rec.firsts {
		if rec.ended {
			rec.dropped = append(rec.dropped, first)
			continue
		}
		limit := uint64(math.MaxUint64)
		if i+1 < len(rec.firsts) {
			limit = rec.firsts[i+1] - 1
		}
		if err := rec.walkSegment(rec.begin(first), limit); err != nil {
			return err
		}
	}
	return nil
}

// walkSegment reads one segment: its index where that is good, the frames behind it where it is not
// whole.
func (rec *recovery) walkSegment(st scanState, limit uint64) error {
	l := rec.log
	s := &segment{first: st.op, last: st.op - 1, parent: st.parent, lastSum: st.parent, parentKnown: !st.free,
		base: st.base, nextOffset: st.base, lent: true}
	rec.segs = append(rec.segs, s)
	x, err := rec.usableIndex(&st, limit)
	if err != nil {
		return err
	}
	if x != nil {
		s.adopt(x)
		st = scanState{at: x.end, op: s.last + 1, parent: s.lastSum, base: s.nextOffset}
		if s.last == limit {
			s.indexed = true
			s.entries = nil // loaded again on demand
			return nil
		}
	}
	f, err := l.fs.Open(l.segmentName(s.first))
	if err != nil {
		return fault(l.segmentName(s.first), "open", err)
	}
	s.file = f
	cause := rec.scan(s, &st, min(limit, rec.ceiling))
	switch {
	case s.last == limit:
		return nil
	case !isDamage(cause): // it ends nothing
		return fault(l.segmentName(s.first), "read", cause)
	}
	return rec.endSegment(s, limit, cause)
}

// adopt takes over what an index says.
func (s *segment) adopt(x *index) {
	n := uint64(len(x.entries))
	s.parent, s.base, s.parentKnown = x.parent, x.entries[0].base, true
	s.last, s.lastSum, s.end, s.nextOffset = s.first+n-1, x.entries[n-1].sum, x.end, x.nextOffset
	s.placed, s.entries, s.indexOps = n, x.entries, n
}

// usableIndex returns the index of the segment at st if it is valid and fits the log, or nil.
func (rec *recovery) usableIndex(st *scanState, limit uint64) (*index, error) {
	x, err := rec.log.readIndex(st.op)
	if err == nil {
		last := x.first + uint64(len(x.entries)) - 1
		switch {
		case !st.free && (x.parent != st.parent || x.entries[0].base != st.base):
			err = fmt.Errorf("%w: index of another history", errLeftover)
		case last > limit || last > rec.ceiling:
			err = fmt.Errorf("%w: index up to op %d, the segment ends at %d", errLeftover, last, min(limit, rec.ceiling))
		default:
			return x, nil
		}
	} else if !isDamage(err) {
		return nil, fault(rec.log.indexName(st.op), "read", err)
	}
	rec.stale = append(rec.stale, st.op)
	return nil, nil
}

// scan takes valid frames up to op limit into the segment and returns why it stopped.
func (rec *recovery) scan(s *segment, st *scanState, limit uint64) error {
	sc := rec.log.scanner(s.file, rec.log.segmentName(s.first))
	for st.op <= limit {
		h, err := sc.next(st)
		if err != nil {
			return err
		}
		if s.placed == 0 {
			s.parent, s.base, s.parentKnown = h.Parent, h.BaseOffset, true
		}
		s.push(&h)
	}
	return errors.New("the log ends here")
}

// endSegment decides about a segment whose frames end before its files say: the end of the log, a
// group torn by a crash, or a hole.
func (rec *recovery) endSegment(s *segment, limit uint64, cause error) error {
	damaged := s.last + 1
	name := rec.log.segmentName(s.first)
	if limit == math.MaxUint64 {
		rec.ended = true
		return nil
	}
	if damaged > rec.ceiling || damaged > rec.floor || limit > rec.floor {
		rec.r.find("op %d in %s at byte %d: %v: the log ends, later files are dropped", damaged, name, s.end, cause)
		rec.ended = true
		return nil
	}
	rec.r.find("ops %d..%d in %s from byte %d are damaged: %v", damaged, limit, name, s.end, cause)
	s.last = limit // a hole without a place: placed stays
	return nil
}

// dropOpenEnd takes empty segments off the end that stand behind a hole without a place: nothing can
// be appended to a log whose last op is not known.
func (rec *recovery) dropOpenEnd() error {
	for len(rec.segs) > 0 {
		n := len(rec.segs)
		s := rec.segs[n-1]
		if s.placed > 0 || n == 1 || rec.segs[n-2].complete() {
			if !s.complete() {
				rec.r.Top = max(rec.r.Top, s.last)
				s.last = s.first + s.placed - 1
			}
			break
		}
		rec.r.Top = max(rec.r.Top, s.first-1)
		if s.file != nil {
			s.file.Close()
		}
		rec.segs = rec.segs[:n-1]
		rec.dropped = append([]uint64{s.first}, rec.dropped...)
	}
	if n := len(rec.segs); n > 0 && !rec.segs[0].parentKnown && (n == 1 || !rec.saysStart(rec.segs[0].first)) {
		return fmt.Errorf("nothing tells what comes before op %d: %w", rec.segs[0].first, ErrUnreadable)
	}
	return nil
}

// publish hands the segments to the log.
func (rec *recovery) publish() error {
	l := rec.log
	if len(rec.segs) == 0 {
		return rec.createFirst()
	}
	for _, s := range rec.segs {
		l.segments = append(l.segments, s)
		if !s.complete() {
			l.addHole(s.first+s.placed, s.last)
		}
	}
	last := l.lastSegment()
	last.indexed = false // it is open, whatever was behind it
	if last.file == nil {
		l.mu.Lock()
		_, err := l.pin(last)
		if err == nil {
			l.unpin(last)
		}
		l.mu.Unlock()
		if err != nil {
			return fault(l.segmentName(last.first), "read", err)
		}
	}
	l.written = vsr.ID{Op: last.last, Sum: last.lastSum}
	l.durable = l.written
	return nil
}

// createFirst makes the first segment of a log that has none. Who asks for more than the next one to be ready wants to find them in memory.
func (rec *recovery) createFirst() error {
	l, base := rec.log, rec.o.Base
	l.opening = l.segmentsReady <= 1
	err := l.prepareWhole(1)
	if l.opening = false; err != nil {
		return err
	}
	l.segments = []*segment{{first: base.ID.Op + 1, last: base.ID.Op, parent: base.ID.Sum, lastSum: base.ID.Sum, parentKnown: true,
		base: base.NextOffset, nextOffset: base.NextOffset}}
	l.written, l.durable = base.ID, base.ID
	f, err := l.takePrepared(base.ID.Op + 1)
	l.segments[0].file = f
	return err
}

// verifyTail reads in full what holds the last ops of the pipeline and was taken from an index.
func (rec *recovery) verifyTail() error {
	l := rec.log
	top := max(l.written.Op, rec.r.Mark.ID.Op)
	for i := len(rec.segs) - 1; i >= 0; i-- {
		s := rec.segs[i]
		if i < len(rec.segs)-1 && s.last+l.pipeline <= top {
			return nil
		}
		if s.indexOps > 0 {
			if err := rec.verify(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// verify checks each op that an index places; what does not fit is a hole.
func (rec *recovery) verify(s *segment) error {
	l := rec.log
	l.mu.Lock()
	_, err := l.pin(s)
	l.mu.Unlock()
	if err != nil && !errors.Is(err, ErrDamaged) {
		return fault(l.segmentName(s.first), "read", err)
	}
	if err != nil {
		rec.r.find("ops %d..%d are damaged: %v", s.first, s.first+s.indexOps-1, err)
		l.addHole(s.first, s.first+s.indexOps-1)
		return nil
	}
	defer l.release(s)
	sc := l.scanner(s.file, l.segmentName(s.first))
	parent := s.parent
	for i := range int(s.indexOps) {
		e := s.entries[i]
		st := scanState{at: e.at, op: s.first + uint64(i), parent: parent, base: e.base}
		h, err := sc.next(&st)
		if err == nil && (h.Sum != e.sum || st.at != s.entryEnd(i)) {
			err = fmt.Errorf("%w: sum %016x, the index says %016x", errLeftover, h.Sum, e.sum)
		}
		if err != nil && !isDamage(err) {
			return fault(sc.name, "read", err)
		}
		if err != nil {
			rec.r.find("op %d in %s at byte %d is damaged: %v", s.first+uint64(i), sc.name, e.at, err)
			l.addHole(s.first+uint64(i), s.first+uint64(i))
		}
		parent = e.sum
	}
	return nil
}

// boundTop tells how far the log may have reached. Without a mark, bytes behind its end are ops that
// nobody can count any more.
func (rec *recovery) boundTop() error {
	l, r := rec.log, rec.r
	l.top = max(l.written.Op, r.Top)
	if !r.MarkLost {
		l.top = max(l.top, r.Mark.ID.Op)
		return nil
	}
	last := l.lastSegment()
	rest, err := l.lookBehind(last)
	if err != nil {
		return err
	}
	if rest.ours(last.end) || len(rec.dropped) > 0 {
		r.TopUnknown = true // and not one above the end, which nobody may have stamped: what a pipeline below the top is counts as committed
		r.find("%s holds %d bytes behind op %d that are no frame, and no mark tells what they were", l.segmentName(last.first), rest.end-last.end, last.last)
	}
	return nil
}
