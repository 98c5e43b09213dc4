package journal

import (
	"errors"
	"fmt"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// Append writes frames at the end of the log, one Writev for each segment touched, without a sync.
// Their ops must go on at Written().Op+1 and chain by parent; anything else is a programmer's error
// and panics. The slices go to the file system as they are and are not kept. After ErrDiskFull there was
// no room for those above Written; the others are appended.
func (l *Log) Append(frames []Frame) error {
	if err := l.failed(); err != nil {
		return err
	}
	if len(frames) == 0 {
		return nil
	}
	l.mustChain(frames)
	if err := l.prepareRolls(frames); err != nil {
		return l.failUnlessFull(err)
	}
	for done := 0; done < len(frames); {
		n := l.fitting(frames[done:])
		if n == 0 {
			if err := l.roll(); isFull(err) {
				return noRoom("append to", l.segmentName(frames[done].Header.Op), err)
			} else if err != nil {
				return l.fail(err)
			}
			continue
		}
		err := l.write(frames[done : done+n])
		if isFull(err) {
			return noRoom("append to", l.segmentName(l.lastSegment().first), err)
		}
		if err != nil {
			return l.fail(fault(l.segmentName(l.lastSegment().first), "write", err))
		}
		done += n
	}
	return nil
}

func (l *Log) failUnlessFull(err error) error {
	if errors.Is(err, ErrDiskFull) {
		return err
	}
	return l.fail(err)
}

// mustChain panics unless the frames continue the log.
func (l *Log) mustChain(frames []Frame) {
	prev, base := l.written, l.lastSegment().nextOffset
	for i := range frames {
		h := &frames[i].Header
		if h.Op != prev.Op+1 || h.Parent != prev.Sum || h.BaseOffset != base || h.Cluster != l.cluster || h.Group != l.group {
			panic(fmt.Sprintf("journal: append of op %d parent %016x offset %d does not continue op %d sum %016x offset %d in %s",
				h.Op, h.Parent, h.BaseOffset, prev.Op, prev.Sum, base, l.dir))
		}
		if len(frames[i].Bytes) != wire.HeaderBytes+int(h.BodyBytes) {
			panic(fmt.Sprintf("journal: append of op %d with %d bytes, its header says a body of %d", h.Op, len(frames[i].Bytes), h.BodyBytes))
		}
		prev, base = h.ID(), h.NextOffset()
	}
}

// rolls tells whether a frame of n bytes goes to a new segment when the last one holds end bytes. A
// frame larger than a segment has one to itself.
func (l *Log) rolls(end int64, n int) bool { return end > 0 && end+int64(n) > l.segmentBytes }

// fitting counts the leading frames that go to the last segment.
func (l *Log) fitting(frames []Frame) int {
	end := l.lastSegment().end
	for i := range frames {
		if l.rolls(end, len(frames[i].Bytes)) {
			return i
		}
		end += int64(len(frames[i].Bytes))
	}
	return len(frames)
}

// write puts frames into the last segment and then publishes them. It fills up the page in which they end: a page of which a part is written
// would have to be read first, since what stands there may be on the disk alone. A start rests on it, too: see behind.
func (l *Log) write(frames []Frame) error {
	s := l.lastSegment()
	l.iov = l.iov[:0]
	for i := range frames {
		l.iov = append(l.iov, frames[i].Bytes)
	}
	end := s.end + bytesOf(l.iov)
	if pad := min(nextPage(end), l.segmentBytes) - end; pad > 0 { // nothing that counts is there, but not in memory
		l.iov = append(l.iov, zeros[:pad])
	}
	if !s.dirty {
		s.dirty = true
		l.unsynced = append(l.unsynced, s)
	}
	err := s.file.Writev(l.iov, s.end)
	clear(l.iov) // lent for the call only
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range frames {
		s.push(&frames[i].Header)
	}
	l.written = frames[len(frames)-1].Header.ID()
	l.top = max(l.top, l.written.Op)
	return nil
}

func bytesOf(bufs [][]byte) (n int64) {
	for _, b := range bufs {
		n += int64(len(b))
	}
	return n
}

// push adds the op that follows the last one.
func (s *segment) push(h *vsr.Header) {
	s.entries = append(s.entries, entry{at: s.end, base: h.BaseOffset, sum: h.Sum})
	s.end += wire.HeaderBytes + int64(h.BodyBytes)
	s.last, s.lastSum, s.nextOffset = h.Op, h.Sum, h.NextOffset()
	s.placed++
}

// roll makes a prepared file the last segment. Its name is durable with the next Sync.
func (l *Log) roll() error {
	old := l.lastSegment()
	f, err := l.takePrepared(old.last + 1)
	if err != nil {
		return err
	}
	s := &segment{first: old.last + 1, last: old.last, parent: l.written.Sum, lastSum: l.written.Sum, parentKnown: true,
		base: old.nextOffset, nextOffset: old.nextOffset, file: f}
	l.dirDirty = true
	l.mu.Lock()
	l.segments = append(l.segments, s)
	indexed := old.indexed
	l.mu.Unlock()
	if !indexed {
		l.sealed = append(l.sealed, old)
	}
	return nil
}

// Sync makes durable what was appended before it began and then writes the mark. It returns the
// last durable op; an acknowledgement may rest on it.
func (l *Log) Sync() (vsr.ID, error) {
	if err := l.failed(); err != nil {
		return l.durable, err
	}
	if len(l.unsynced) == 0 && !l.dirDirty {
		return l.durable, nil
	}
	for _, s := range l.unsynced {
		if err := s.file.Sync(); err != nil {
			return l.durable, l.fail(fault(l.segmentName(s.first), "sync", err))
		}
		l.mu.Lock()
		s.dirty = false
		l.mu.Unlock()
	}
	l.unsynced = l.unsynced[:0]
	if l.dirDirty {
		if err := l.fs.SyncDir(l.dir); err != nil {
			return l.durable, l.fail(fault(l.dir, "sync", err))
		}
		l.dirDirty = false
	}
	return l.durable, l.markDurable()
}

// markDurable notes that all of the log is synced. The mark never moves back here: ops that the mark
// names and that were found damaged stay known as damaged until they are held again.
func (l *Log) markDurable() error {
	if l.written.Op >= l.mark.ID.Op {
		l.mark.ID, l.mark.SumKnown, l.mark.NextOffset = l.written, true, l.lastSegment().nextOffset
	}
	l.mark.Synced = l.written.Op
	if err := l.putMarkFile(); err != nil {
		return l.fail(err)
	}
	l.mu.Lock()
	l.durable = l.written
	l.mu.Unlock()
	return nil
}
