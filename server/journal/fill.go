package journal

import (
	"errors"
	"fmt"
	"sort"

	"rejoin/server/wire"
)

// Fill writes committed frames, fetched from a peer, into their places in holes and makes them durable, with one
// sync for each segment. An op that is no hole (any more) is left as it is, without an error. The ops of a hole
// without a place (the segment has no index) must be filled from the lowest up. It returns for each frame, in
// order, nil or why it does not fit: ErrNoPlace says that a lower one is missing, ErrMismatch that this is not the
// frame that was here, a *DamageError that the hole was just found to be larger. Fewer than all come with an error, of
// the first that is left out; after ErrDiskFull that one and those behind it are as they were.
func (l *Log) Fill(frames []Frame) (misfits []error, err error) {
	if err := l.failed(); err != nil {
		return nil, err
	}
	var filled []fill
	defer func() {
		for _, w := range filled {
			l.release(w.seg)
		}
	}()
	for i := range frames {
		w, misfit, e := l.fillOne(&frames[i], len(filled) > 0)
		if err = e; err != nil {
			break
		}
		if w.seg != nil {
			filled = append(filled, w)
		}
		misfits = append(misfits, misfit)
	}
	if e := l.settleFills(filled); e != nil {
		return nil, e
	}
	return misfits, err
}

// fill is a frame that is written and not yet durable.
type fill struct {
	seg *segment // pinned; nil where nothing was written
	op  uint64
}

// fillOne writes a frame into its hole, behind others that may not be durable yet.
func (l *Log) fillOne(f *Frame, behind bool) (w fill, misfit, err error) {
	op := f.Header.Op
	l.mu.Lock()
	err = l.checkRange(op)
	hole := err == nil && l.inHole(op)
	l.mu.Unlock()
	switch {
	case errors.Is(err, ErrTrimmed):
		return w, nil, nil // the hole went with its segment
	case errors.Is(err, ErrNotHeld):
		return w, fmt.Errorf("fill op %d: %w: %w", op, ErrMismatch, err), nil
	case err != nil || !hole:
		return w, nil, err
	}
	if misfit := l.mustBeWhole(f); misfit != nil {
		return w, misfit, nil
	}
	s, err := l.pinToFill(op)
	switch {
	case errors.Is(err, ErrDamaged):
		l.mu.Lock()
		defer l.mu.Unlock()
		return w, &DamageError{File: l.segmentName(l.find(op).first), Offset: -1, Op: op, Hole: l.holeAround(op), Err: err}, nil
	case errors.Is(err, ErrDiskFull):
		return w, nil, err
	case isShort(err):
		return w, nil, noRoom("open", l.segmentName(l.find(op).first), err)
	case err != nil:
		return w, nil, l.fail(fault(l.dir, "read", err))
	}
	if misfit = l.checkFill(s, f); misfit != nil {
		misfit = fmt.Errorf("fill op %d: %w", op, misfit)
	} else if err = l.failUnlessFull(l.writeFill(s, f, behind)); err == nil {
		return fill{s, op}, nil, nil
	}
	l.release(s)
	return w, misfit, err
}

// mustBeWhole checks what a peer sent: the caller has parsed the header, nothing else is believed.
func (l *Log) mustBeWhole(f *Frame) error {
	h, err := wire.ParseSealed(f.Bytes)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrMismatch, err)
	case h != f.Header || len(f.Bytes) != wire.HeaderBytes+int(h.BodyBytes) || h.Cluster != l.cluster || h.Group != l.group:
		return ErrMismatch
	case wire.Sum(f.Bytes[wire.HeaderBytes:]) != h.BodySum:
		return fmt.Errorf("%w: %w of the body", ErrMismatch, wire.ErrSum)
	}
	return nil
}

// checkFill holds a frame against its neighbours and the index.
func (l *Log) checkFill(s *segment, f *Frame) error {
	h := &f.Header
	i := int(h.Op - s.first)
	switch {
	case i > len(s.entries):
		return fmt.Errorf("%w: op %d is the next one", ErrNoPlace, s.first+uint64(len(s.entries)))
	case i < len(s.entries):
		if e := s.entries[i]; e.sum != h.Sum || s.entryEnd(i)-e.at != int64(len(f.Bytes)) {
			return fmt.Errorf("%w: sum %016x of %d bytes, the index says %016x of %d", ErrMismatch, h.Sum, len(f.Bytes), e.sum, s.entryEnd(i)-e.at)
		}
		return nil
	}
	parent, base := s.parent, s.base
	if i > 0 {
		parent, base = s.entries[i-1].sum, s.nextOffset
	}
	if (i > 0 || s.parentKnown) && (h.Parent != parent || h.BaseOffset != base) {
		return fmt.Errorf("%w: parent %016x offset %d do not continue %016x offset %d", ErrMismatch, h.Parent, h.BaseOffset, parent, base)
	}
	if h.Op == s.last {
		if next := l.find(h.Op + 1); next != nil && next.parentKnown && (next.parent != h.Sum || next.base != h.NextOffset()) {
			return fmt.Errorf("%w: op %d has another parent", ErrMismatch, h.Op+1)
		}
	}
	return nil
}

// writeFill writes the frame. It stays part of the hole until it is durable.
func (l *Log) writeFill(s *segment, f *Frame, behind bool) error {
	if err := l.noteFilling(f.Header.Op, behind); err != nil {
		return err
	}
	i, at := int(f.Header.Op-s.first), s.end
	if i < len(s.entries) {
		at = s.entries[i].at
	}
	err := s.file.Writev([][]byte{f.Bytes}, at)
	if isFull(err) { // a file of ops that was lost is made anew: it has no room of its own yet
		return fmt.Errorf("fill op %d: %w", f.Header.Op, ErrDiskFull)
	}
	if err != nil {
		return fault(l.segmentName(s.first), "write", err)
	}
	if i == len(s.entries) {
		l.mu.Lock()
		l.place(s, f)
		l.mu.Unlock()
	}
	return nil
}

// settleFills makes what was written durable, and only then takes it out of the holes.
func (l *Log) settleFills(filled []fill) error {
	for i, w := range filled {
		if i > 0 && filled[i-1].seg == w.seg {
			continue
		}
		if err := w.seg.file.Sync(); err != nil {
			return l.fail(fault(l.segmentName(w.seg.first), "sync", err))
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range filled {
		l.removeHole(w.op, w.op)
	}
	if l.nextHole(l.mark.Filling.First) > l.mark.Filling.Last {
		l.mark.Filling = OpRange{} // with the next write of the mark
	}
	return nil
}

// noteFilling puts the hole of op on record, durably, before anything is written there: a start that finds a whole
// frame in it could not tell else that it was never synced, for the mark stands above it, and perhaps an index tells
// of it. The hole that is on record already stays so only while what was written there may not be durable.
func (l *Log) noteFilling(op uint64, behind bool) error {
	was := l.mark.Filling
	if was.First <= op && op <= was.Last {
		return nil
	}
	l.mu.Lock()
	hole := l.holes[sort.Search(len(l.holes), func(i int) bool { return l.holes[i].Last >= op })]
	l.mu.Unlock()
	if behind && was.First > 0 {
		hole = OpRange{min(hole.First, was.First), max(hole.Last, was.Last)}
	}
	l.mark.Filling = hole
	err := l.saveMarkFile()
	if err != nil {
		l.mark.Filling = was // the next frame must not take it for recorded
	}
	return err
}

// place gives the lowest op of a hole without a place its entry. Callers hold mu.
func (l *Log) place(s *segment, f *Frame) {
	h := &f.Header
	if s.placed == 0 {
		s.parent, s.base, s.parentKnown = h.Parent, h.BaseOffset, true
	}
	s.entries = append(s.entries, entry{at: s.end, base: h.BaseOffset, sum: h.Sum})
	s.placed++
	s.end += int64(len(f.Bytes))
	s.nextOffset = h.NextOffset()
	if s.complete() {
		s.lastSum = h.Sum
		l.sealed = append(l.sealed, s) // its index is written with the next SyncMark
	}
}
