package journal

import (
	"errors"
	"fmt"

	"rejoin/server/wire"
)

// Fill writes a committed frame, fetched from a peer, into its place in a hole and syncs it. An op that
// is no hole (any more) is left as it is, without an error. The ops of a hole without a place (the
// segment has no index) must be filled from the lowest up: ErrNoPlace says that a lower one is missing.
// ErrMismatch: this is not the frame that was here. After ErrDiskFull it is as it was.
func (l *Log) Fill(f Frame) error {
	if err := l.failed(); err != nil {
		return err
	}
	op := f.Header.Op
	l.mu.Lock()
	err := l.checkRange(op)
	hole := err == nil && l.inHole(op)
	l.mu.Unlock()
	switch {
	case errors.Is(err, ErrTrimmed):
		return nil // the hole went with its segment
	case errors.Is(err, ErrNotHeld):
		return fmt.Errorf("fill op %d: %w: %w", op, ErrMismatch, err)
	case err != nil || !hole:
		return err
	}
	if err := l.mustBeWhole(&f); err != nil {
		return err
	}
	l.mu.Lock()
	s, err := l.pin(l.find(op))
	l.mu.Unlock()
	if err != nil {
		return l.fail(fault(l.dir, "read", err))
	}
	defer l.release(s)
	if err := l.checkFill(s, &f); err != nil {
		return fmt.Errorf("fill op %d: %w", op, err)
	}
	return l.failUnlessFull(l.fill(s, &f))
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

// fill writes the frame and takes it out of the hole once it is durable.
func (l *Log) fill(s *segment, f *Frame) error {
	i, at := int(f.Header.Op-s.first), s.end
	if i < len(s.entries) {
		at = s.entries[i].at
	}
	name := l.segmentName(s.first)
	err := s.file.Writev([][]byte{f.Bytes}, at)
	if isFull(err) { // a file of ops that was lost is made anew: it has no room of its own yet
		return fmt.Errorf("fill op %d: %w", f.Header.Op, ErrDiskFull)
	}
	if err != nil {
		return fault(name, "write", err)
	}
	if err := s.file.Sync(); err != nil {
		return fault(name, "sync", err)
	}
	l.mu.Lock()
	if i == len(s.entries) {
		l.place(s, f)
	}
	l.removeHole(f.Header.Op, f.Header.Op)
	l.mu.Unlock()
	return nil
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
