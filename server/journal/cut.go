package journal

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"rejoin/server/vsr"
)

// Cut drops everything above op, durably, before it returns. Op may lie above Written but not above
// Top: then ops that are only known as damaged are forgotten.
func (l *Log) Cut(op uint64) error {
	if err := l.failed(); err != nil {
		return err
	}
	l.mustNotCutBelowStart(op)
	if op >= l.top {
		return nil
	}
	m, err := l.markAt(op)
	if err != nil {
		return l.fail(err)
	}
	return l.cut(op, m)
}

// CutKeeping drops everything above op, as Cut does, but the ops from there up to top stay on record
// as damaged: this replica has held them, or is about to, and must not deny them.
func (l *Log) CutKeeping(op uint64, top vsr.ID) error {
	if err := l.failed(); err != nil {
		return err
	}
	if top.Op <= op {
		return l.Cut(op)
	}
	l.mustNotCutBelowStart(op)
	m := l.mark
	if top.Op != m.ID.Op || m.SumKnown {
		m.ID, m.SumKnown, m.NextOffset = top, true, 0
	}
	return l.cut(op, m)
}

func (l *Log) mustNotCutBelowStart(op uint64) {
	if op+1 < l.segments[0].first {
		panic(fmt.Sprintf("journal: cut to op %d, the log begins at %d", op, l.segments[0].first))
	}
}

// cut writes and syncs the new mark. Only then may a byte go: damage at or below the old mark would
// be taken for a hole. It is synced also where it is the old one: that may only be written yet, and what
// it keeps on record must outlast the bytes.
func (l *Log) cut(op uint64, m Mark) error {
	if m.Commit.Op > max(op, m.ID.Op) {
		m.Commit = vsr.ID{}
	}
	m.Synced = min(l.mark.Synced, op)
	l.mark = m
	if err := l.saveMarkFile(); err != nil {
		return l.fail(err)
	}
	l.mu.Lock()
	l.top = max(op, m.ID.Op)
	l.mu.Unlock()
	if op >= l.written.Op {
		return nil
	}
	dropped, err := l.dropAbove(op)
	if err != nil {
		return l.fail(err)
	}
	if l.written.Op < l.mark.Synced { // op is in a hole without a place: what is appended below it was never synced
		l.mark.Synced = l.written.Op
		if err := l.saveMarkFile(); err != nil {
			return l.fail(err)
		}
	}
	if err := l.removeSegments(dropped); err != nil {
		return l.fail(err)
	}
	return l.fail(l.truncateLast())
}

// markAt is the mark of a log that ends at op. It is never raised here.
func (l *Log) markAt(op uint64) (Mark, error) {
	if l.mark.ID.Op <= op {
		return l.mark, nil
	}
	m := Mark{ID: vsr.ID{Op: op}, Commit: l.mark.Commit, Fenced: l.mark.Fenced, TopUnknown: l.mark.TopUnknown}
	if op <= l.written.Op {
		id, err := l.idAt(op)
		if err != nil {
			return m, err
		}
		m.ID, m.SumKnown, m.NextOffset = id.ID, id.known, id.nextOffset
	}
	return m, nil
}

// endAt is the end of a log.
type endAt struct {
	vsr.ID
	known      bool
	nextOffset uint64
}

// idAt returns the identity of an op at or below Written from the index alone: the op may be a hole.
func (l *Log) idAt(op uint64) (endAt, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := sort.Search(len(l.segments), func(i int) bool { return l.segments[i].first > op })
	if next < len(l.segments) && l.segments[next].first == op+1 && l.segments[next].parentKnown { // it tells what comes before it, also where that is a hole
		return endAt{vsr.ID{Op: op, Sum: l.segments[next].parent}, true, l.segments[next].base}, nil
	}
	if op+1 == l.segments[0].first { // what came before is gone, and nothing tells it
		return endAt{ID: vsr.ID{Op: op}}, nil
	}
	s := l.find(op)
	if op == s.last && s.complete() {
		return endAt{vsr.ID{Op: op, Sum: s.lastSum}, true, s.nextOffset}, nil
	}
	pinned, err := l.pinLeft(s)
	if err != nil {
		return endAt{}, err
	}
	if pinned {
		defer l.unpin(s)
	}
	i := int(op - s.first)
	if i >= len(s.entries) {
		return endAt{ID: vsr.ID{Op: op}}, nil
	}
	return endAt{vsr.ID{Op: op, Sum: s.entries[i].sum}, true, s.nextBase(i)}, nil
}

// dropAbove takes everything above op out of memory, so that no reader finds it any more, and returns
// the segments that fell, newest first. What is left ends with an op that has a place, or with an empty
// segment that knows what comes before it: behind a hole without a place nothing else can be appended.
func (l *Log) dropAbove(op uint64) (dropped []*segment, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	keep, err := l.pinLast(op)
	if err != nil {
		return nil, err
	}
	last := l.segments[keep]
	defer l.unpin(last)
	for i := len(l.segments) - 1; i > keep; i-- {
		s := l.segments[i]
		dropped = append(dropped, s)
		s.doomed = true
		if s.refs == 0 {
			s.unload()
		}
	}
	l.segments = l.segments[:keep+1]
	last.shrink(min(op+1-last.first, last.placed))
	last.indexed = false // it is open again
	l.cuts++
	l.written = vsr.ID{Op: last.last, Sum: last.lastSum}
	if l.durable.Op > l.written.Op {
		l.durable = l.written
	}
	if l.written.Op < l.holesEnd() {
		l.removeHole(l.written.Op+1, l.holesEnd())
	}
	l.evictLocked() // takes the one that is open again off its list
	l.unsynced = l.keepListed(l.unsynced)
	l.sealed = l.keepListed(l.sealed)
	l.sealed = slices.DeleteFunc(l.sealed, func(s *segment) bool { return s == last }) // wherever: holes that were closed seal, too
	return dropped, nil
}

// pinLast pins the segment that is the last one of a log cut at op: it is always loaded, and has a file.
func (l *Log) pinLast(op uint64) (int, error) {
	for {
		i := len(l.segments) - 1
		for i > 0 && !l.mayEndIn(i, op) {
			i--
		}
		s := l.segments[i]
		pinned, err := l.pinLeft(s)
		if err == nil && !pinned {
			err = l.makeAnew(s)
		}
		if err != nil {
			return 0, fault(l.segmentName(s.first), "open", err)
		}
		if pinned && (i == 0 || l.mayEndIn(i, op)) {
			return i, nil
		}
		if pinned { // what was found damaged leaves it no place to end in
			l.unpin(s)
		}
	}
}

// mayEndIn tells whether the log can end at op in segment i.
func (l *Log) mayEndIn(i int, op uint64) bool {
	s, behind := l.segments[i], l.segments[i-1].complete()
	switch {
	case s.first <= op:
		return s.placed > 0 || behind
	case s.first == op+1: // in the one before, if that has a place for op
		return s.parentKnown && !behind
	}
	return false
}

// shrink leaves the first n placed ops of a loaded segment.
func (s *segment) shrink(n uint64) {
	if n < uint64(len(s.entries)) {
		s.end, s.nextOffset = s.entries[n].at, s.entries[n].base
	}
	s.entries = s.entries[:n:n] // a reader may still hold the rest
	s.placed, s.last, s.lastSum = n, s.first+n-1, s.parent
	if n > 0 {
		s.lastSum = s.entries[n-1].sum
	}
}

func (l *Log) holesEnd() uint64 {
	if len(l.holes) == 0 {
		return 0
	}
	return l.holes[len(l.holes)-1].Last
}

func (l *Log) keepListed(list []*segment) []*segment {
	kept := list[:0]
	for _, s := range list {
		if !s.doomed {
			kept = append(kept, s)
		}
	}
	return kept
}

// removeSegments deletes files from the newest down. The directory is synced after each, so that no
// crash leaves a newer file above a gap.
func (l *Log) removeSegments(newestFirst []*segment) error {
	for _, s := range newestFirst {
		if err := l.removeFiles(s.first); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) removeFiles(first uint64) error {
	if err := removeIfThere(l.fs, l.indexName(first)); err != nil {
		return err
	}
	if err := removeIfThere(l.fs, l.segmentName(first)); err != nil {
		return err
	}
	return fault(l.dir, "sync", l.fs.SyncDir(l.dir))
}

// truncateLast makes the last segment's file end where its ops do and preallocates it again. An
// index that says more goes first: it would raise the mark over what was cut.
func (l *Log) truncateLast() error {
	s := l.lastSegment()
	if s.indexOps > s.placed {
		if err := l.shortenIndex(s); err != nil {
			return err
		}
	}
	name := l.segmentName(s.first)
	if err := s.file.Truncate(s.end); err != nil {
		return fault(name, "truncate", err)
	}
	if err := l.refill(s.file, name, s.end); err != nil {
		return err
	}
	return fault(name, "sync", s.file.Sync())
}

// shortenIndex keeps the index of a segment that was sealed and is the last one now. It is worth
// having only where it places ops behind a hole.
func (l *Log) shortenIndex(s *segment) error {
	l.mu.Lock()
	damaged := l.nextHole(s.first) <= s.last
	l.mu.Unlock()
	if damaged {
		err := l.writeIndex(s)
		if err == nil {
			s.indexOps = s.placed
		}
		if !errors.Is(err, ErrDiskFull) {
			return err
		}
	}
	s.indexOps = 0
	if err := removeIfThere(l.fs, l.indexName(s.first)); err != nil {
		return err
	}
	return fault(l.dir, "sync", l.fs.SyncDir(l.dir))
}

// Trim takes whole segments below op away, oldest first, and returns how many. Op must be committed
// and covered by a saved table. Their files are removed, or written over by ops to come.
func (l *Log) Trim(op uint64) (segments int, err error) {
	for l.failed() == nil {
		l.mu.Lock()
		if len(l.segments) == 1 || l.segments[0].last >= op || l.segments[0].dirty {
			l.mu.Unlock()
			return segments, nil
		}
		s := l.segments[0]
		l.segments = append([]*segment(nil), l.segments[1:]...)
		s.doomed = true
		inUse, file := s.refs > 0, s.file
		if !inUse {
			s.file, s.entries = nil, nil
		}
		sound := l.nextHole(s.first) > s.last
		l.removeHole(s.first, s.last)
		l.sealed = l.keepListed(l.sealed)
		l.start = l.segments[0].before()
		l.mu.Unlock()
		err := l.saveStart() // before: a start must know that this file was not lost
		if l.startFile == nil && isFull(err) {
			err = nil // none is on record that would miss it
		}
		if err != nil {
			return segments, l.fail(err)
		}
		if inUse {
			err = l.removeFiles(s.first) // its readers close it
		} else {
			err = l.letGo(s, file, sound)
		}
		if err != nil {
			return segments, l.fail(err)
		}
		segments++
	}
	return segments, l.failed()
}

// Keep says what a trim must leave.
type Keep struct {
	Bytes      int64  // of what is committed, at least
	Committed  uint64 // the last op that counts towards Bytes: what is above may yet be cut
	From       uint64 // ops from here on: what a start or the pipeline needs
	Lease      uint64 // ops from here on, for a reader that is under way; 0: none
	LeaseBytes int64  // yet no lease holds more than so many bytes beyond Bytes
}

// Expendable returns the op up to which whole segments may go, as far as nothing in k asks to keep them:
// the first op that stays. It is 0 when all must stay. It keeps what a start replays that has to fall
// back on the older checkpoint; while there is only one, that is the log from its beginning.
func (l *Log) Expendable(k Keep) uint64 {
	older, ok := l.fallback(k.Committed)
	if !ok {
		return 0
	}
	k.From = min(k.From, older)
	from, total := uint64(0), int64(0)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.segments {
		total += s.bytesUpTo(k.Committed)
	}
	for _, s := range l.segments[:len(l.segments)-1] {
		leased := k.Lease > 0 && s.last >= k.Lease && total-s.end <= k.Bytes+k.LeaseBytes
		if total-s.end < k.Bytes || s.last >= k.From || leased || s.dirty {
			break
		}
		total -= s.end
		from = s.last + 1
	}
	return from
}
