package journal

import (
	"errors"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// settle makes the decision durable: indexes that lie go first; then what is kept is synced, then the
// mark says so, and only then is the rest removed.
func (rec *recovery) settle(names []string) error {
	l := rec.log
	if err := rec.removeStale(names); err != nil {
		return err
	}
	for _, s := range rec.segs {
		if err := rec.syncFound(s); err != nil {
			return err
		}
		if err := rec.syncFilled(s); err != nil {
			return err
		}
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		return fault(l.dir, "sync", err)
	}
	if err := rec.settleMark(); err != nil {
		return err
	}
	if err := rec.cutRest(); err != nil {
		return err
	}
	return rec.rebuildIndexes()
}

// removeStale removes indexes that do not describe their segment, or have none.
func (rec *recovery) removeStale(names []string) error {
	l := rec.log
	has := map[uint64]bool{}
	for _, f := range rec.firsts {
		has[f] = true
	}
	removed := false
	for _, n := range names { // names are sorted
		first, ok := parseOpName(n, "", indexSuffix)
		if !ok || has[first] && !rec.isStale(first) {
			continue
		}
		if err := removeIfThere(l.fs, l.path(n)); err != nil {
			return err
		}
		if has[first] {
			rec.r.find("%s is not the index of its segment and is made anew", n)
		}
		removed = true
	}
	if !removed {
		return nil
	}
	return fault(l.dir, "sync", l.fs.SyncDir(l.dir))
}

func (rec *recovery) isStale(first uint64) bool {
	for _, f := range rec.stale {
		if f == first {
			return true
		}
	}
	return false
}

// syncFound makes the frames durable of which the mark does not tell that they are. After a crash of the
// process alone they may be pages whose sync has failed, which look clean: they are written again first.
func (rec *recovery) syncFound(s *segment) error {
	l := rec.log
	from := max(rec.r.Mark.Synced, s.first+s.indexOps-1) // up to here it was synced
	if s.file == nil || from >= s.first+s.placed-1 {
		return nil
	}
	name := l.segmentName(s.first)
	if rec.o.SameBoot {
		if err := rec.rewrite(s, s.bytesAbove(from)); err != nil {
			return err
		}
		rec.r.RewrittenOps += s.first + s.placed - 1 - max(from, s.first-1)
	}
	return fault(name, "sync", s.file.Sync())
}

// syncFilled does so for a hole that was being filled when the process died. Only what is whole there is written
// again: the rest is still a hole.
func (rec *recovery) syncFilled(s *segment) error {
	l, filling := rec.log, rec.r.Mark.Filling
	first, last := max(filling.First, s.first), min(filling.Last, s.first+s.placed-1)
	if filling.First == 0 || first > last || !rec.o.SameBoot {
		return nil
	}
	l.mu.Lock()
	pinned, err := l.pinLeft(s)
	l.mu.Unlock()
	if !pinned {
		return err
	}
	defer l.release(s)
	name := l.segmentName(s.first)
	for op := first; op <= min(last, s.first+s.placed-1); op++ {
		_, frame, err := l.ReadFrame(op, nil)
		if errors.Is(err, ErrDamaged) {
			continue
		}
		if err != nil {
			return fault(name, "read", err)
		}
		if err := s.file.Writev([][]byte{frame}, s.entries[op-s.first].at); err != nil {
			return fault(name, "write", err)
		}
		rec.r.RewrittenOps++
	}
	return fault(name, "sync", s.file.Sync())
}

// bytesAbove returns the place of the first frame above op in s, or its end.
func (s *segment) bytesAbove(op uint64) int64 {
	switch {
	case op < s.first:
		return 0
	case op-s.first+1 >= uint64(len(s.entries)):
		return s.end
	}
	return s.entries[op-s.first+1].at
}

// rewriteBytes is how much of a segment is read and written again at a time.
const rewriteBytes = wire.FrameBytesMax

// rewrite writes the frames of a segment from a byte on once more, as they are.
func (rec *recovery) rewrite(s *segment, from int64) error {
	name := rec.log.segmentName(s.first)
	buf := make([]byte, min(rewriteBytes, s.end-from))
	for at := from; at < s.end; {
		b := buf[:min(int64(len(buf)), s.end-at)]
		if n, err := s.file.ReadAt(b, at); n != len(b) {
			return fault(name, "read", err)
		}
		if err := s.file.Writev([][]byte{b}, at); err != nil {
			return fault(name, "write", err)
		}
		at += int64(len(b))
	}
	return nil
}

// settleMark raises the mark to what is durable now. Where it names ops above that, which are
// damaged, it stays: a crash must not forget them.
func (rec *recovery) settleMark() error {
	l, r := rec.log, rec.r
	last := l.lastSegment()
	held := Mark{ID: l.written, SumKnown: true, NextOffset: last.nextOffset, Commit: l.mark.Commit, Fenced: r.WasFenced, TopUnknown: r.TopUnknown}
	switch {
	case l.top <= l.written.Op:
		l.mark = held
	case r.MarkLost || l.mark.ID.Op < l.top:
		held.ID, held.SumKnown, held.NextOffset = vsr.ID{Op: l.top}, false, 0
		l.mark = held
	}
	l.mark.Synced, l.mark.Filling = l.written.Op, OpRange{}
	if l.markFile == nil {
		return l.createMarkFile()
	}
	return l.saveMarkFile()
}

// cutRest removes the files and bytes behind the end of the log, the newest first.
func (rec *recovery) cutRest() error {
	l := rec.log
	for i := len(rec.dropped) - 1; i >= 0; i-- {
		rec.r.find("segment %d is behind the end of the log and is removed", rec.dropped[i])
		if err := l.removeFiles(rec.dropped[i]); err != nil {
			return err
		}
	}
	last := l.lastSegment()
	rest, err := l.lookBehind(last)
	if err != nil {
		return err
	}
	name := l.segmentName(last.first)
	size, err := last.file.Size()
	if err != nil {
		return fault(name, "read", err)
	}
	isOurs := rest.ours(last.end)
	if isOurs || rec.r.WasFenced { // zeros, too, may be pages whose sync has failed
		size = last.end
		if err := last.file.Truncate(size); err != nil {
			return fault(name, "truncate", err)
		}
	}
	if isOurs {
		rec.r.CutBytes = rest.end - last.end
		rec.r.find("%d bytes behind op %d in %s are cut", rec.r.CutBytes, last.last, name)
	}
	if size < l.segmentBytes {
		if err := l.refill(last.file, name, max(size, last.end)); err != nil {
			return err
		}
	}
	// Always: a cut that was killed before its sync may have truncated in the page cache alone, and
	// what this Open does not report must not be back after a power cut.
	return fault(name, "sync", last.file.Sync())
}

// rebuildIndexes writes the missing indexes of sealed segments.
func (rec *recovery) rebuildIndexes() error {
	l := rec.log
	for _, s := range l.segments[:len(l.segments)-1] {
		if s.indexed {
			continue
		}
		if s.complete() {
			if err := l.writeIndex(s); errors.Is(err, ErrDiskFull) {
				l.sealed = append(l.sealed, s)
				continue
			} else if err != nil {
				return err
			}
			s.indexed, s.indexOps = true, s.placed
			l.loaded = append(l.loaded, s)
		}
	}
	return nil
}
