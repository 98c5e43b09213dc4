package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"

	"rejoin/server/vsr"
)

// Mark tells how far the log is known to have been durable. It may stand above the log, over ops that were
// damaged or cut: it tells nothing then of those that take their place, and Synced does.
type Mark struct {
	ID         vsr.ID  // last op that was durable, or is on record as if it had been
	Synced     uint64  // of what is held, ops up to here were synced; at most ID.Op
	SumKnown   bool    // false after a cut to an op that was itself damaged: ID.Sum means nothing
	NextOffset uint64  // message offset after that op; 0 when the sum is not known
	Commit     vsr.ID  // a hint: this op is committed
	Fenced     bool    // the disk has failed: what is above the mark is in doubt
	Filling    OpRange // a hole that is being filled: what stands in it may not have been synced; zero: none is
	TopUnknown bool    // an earlier mark was lost and the log ended in damage: ops above may have been acknowledged
}

// The payload of the file mark, little-endian:
//
//	 0  version  u32  3
//	 4  group    u32
//	 8  cluster  u64
//	16  op, sum, next_offset, commit op, commit sum  u64 each
//	56  flags    u64  1 fenced, 2 sum known, 4 top unknown
//	64  synced   u64
//	72  filling  first, last op  u64 each
//
// Version 1 ends before synced: how much of what is held was synced is not known. Version 2 ends before filling. Both are
// read, and never written.
const (
	markVersion     = 3
	markBytes       = 88
	markBytesSecond = 72 // of version 2
	markBytesFirst  = 64 // of version 1
	markFencedBit   = 1
	markSumKnownBit = 2
	markTopLostBit  = 4
)

func putMark(b []byte, cluster uint64, group uint32, m *Mark) {
	le := binary.LittleEndian
	le.PutUint32(b, markVersion)
	le.PutUint32(b[4:], group)
	le.PutUint64(b[8:], cluster)
	le.PutUint64(b[16:], m.ID.Op)
	le.PutUint64(b[24:], m.ID.Sum)
	le.PutUint64(b[32:], m.NextOffset)
	le.PutUint64(b[40:], m.Commit.Op)
	le.PutUint64(b[48:], m.Commit.Sum)
	flags := uint64(0)
	if m.Fenced {
		flags |= markFencedBit
	}
	if m.SumKnown {
		flags |= markSumKnownBit
	}
	if m.TopUnknown {
		flags |= markTopLostBit
	}
	le.PutUint64(b[56:], flags)
	le.PutUint64(b[64:], m.Synced)
	le.PutUint64(b[72:], m.Filling.First)
	le.PutUint64(b[80:], m.Filling.Last)
}

func parseMark(b []byte, cluster uint64, group uint32) (Mark, error) {
	le := binary.LittleEndian
	version := uint32(0)
	if len(b) >= markBytesFirst {
		version = le.Uint32(b)
	}
	if want := map[uint32]int{1: markBytesFirst, 2: markBytesSecond, markVersion: markBytes}[version]; want == 0 || len(b) != want {
		return Mark{}, fmt.Errorf("mark of %d bytes: %w: unknown version", len(b), ErrUnreadable)
	}
	if c, g := le.Uint64(b[8:]), le.Uint32(b[4:]); c != cluster || g != group {
		return Mark{}, fmt.Errorf("%w: mark is of cluster %016x group %d, not %016x group %d", ErrForeign, c, g, cluster, group)
	}
	flags := le.Uint64(b[56:])
	if flags&^(markFencedBit|markSumKnownBit|markTopLostBit) != 0 {
		return Mark{}, fmt.Errorf("mark with flags %x: %w", flags, ErrUnreadable)
	}
	m := Mark{ID: vsr.ID{Op: le.Uint64(b[16:]), Sum: le.Uint64(b[24:])}, NextOffset: le.Uint64(b[32:]),
		Commit: vsr.ID{Op: le.Uint64(b[40:]), Sum: le.Uint64(b[48:])},
		Fenced: flags&markFencedBit != 0, SumKnown: flags&markSumKnownBit != 0, TopUnknown: flags&markTopLostBit != 0}
	if version >= 2 {
		m.Synced = le.Uint64(b[64:])
	}
	if version >= 3 {
		m.Filling = OpRange{le.Uint64(b[72:]), le.Uint64(b[80:])}
	}
	if m.Synced > m.ID.Op || m.Filling.First > m.Filling.Last {
		return Mark{}, fmt.Errorf("mark at op %d, synced up to op %d, filling %v: %w", m.ID.Op, m.Synced, m.Filling, ErrUnreadable)
	}
	return m, nil
}

// NoteCommit remembers a committed op; it goes into the mark with the next write. An op that the log
// does not hold is not taken: the caller may know of a commit while the cut of what stands in its place
// still waits for the disk, and a start would take that for committed.
func (l *Log) NoteCommit(id vsr.ID) {
	if id.Op > l.mark.Commit.Op && l.holds(id) {
		l.mark.Commit = id
	}
}

// holds tells whether the log has this very op, damaged or not.
func (l *Log) holds(id vsr.ID) bool {
	if id.Op+1 < l.Start() || id.Op > l.Written().Op {
		return false
	}
	have, err := l.idAt(id.Op)
	return err == nil && have.known && have.ID == id
}

// putMarkFile writes the mark without a sync.
func (l *Log) putMarkFile() error {
	putMark(l.markBuf[:], l.cluster, l.group, &l.mark)
	l.markPut = l.mark
	return l.markFile.Put(l.markBuf[:])
}

// saveMarkFile writes both copies of the mark and syncs each: an older copy must not tell of a
// higher mark after a cut.
func (l *Log) saveMarkFile() error {
	putMark(l.markBuf[:], l.cluster, l.group, &l.mark)
	l.markPut = l.mark
	return l.markFile.Save(l.markBuf[:])
}

// SyncMark makes the mark durable and writes the index of segments sealed since, or whose index was found to be bad. The owner calls it
// once a second.
func (l *Log) SyncMark() error {
	if err := l.failed(); err != nil {
		return err
	}
	if l.mark != l.markPut { // a commit was noted and nothing appended since
		if err := l.fail(l.putMarkFile()); err != nil {
			return err
		}
	}
	if err := l.fail(l.markFile.Sync()); err != nil {
		return err
	}
	l.sealScanned()
	return l.fail(l.indexSealed())
}

// HasSealed tells whether SyncMark has indexes to write. It is for the write side.
func (l *Log) HasSealed() bool { return len(l.sealed) > 0 }

// Fence adds "fenced" to the mark, as well as the disk still allows: the next Open drops what is
// above the mark. Every later call of the write side fails with reason.
func (l *Log) Fence(reason error) {
	_ = l.fail(fmt.Errorf("log is fenced: %w", reason))
	l.mark.Fenced = true
	if l.putMarkFile() == nil {
		_ = l.markFile.Sync() // best effort: the caller stops in any case
	}
}

// Unfence takes "fenced" and "top unknown" off the mark. Call it when what Recovered.WasFenced and
// Recovered.TopUnknown mean for the replica is saved; until then every Open reports them again.
func (l *Log) Unfence() error {
	if err := l.failed(); err != nil {
		return err
	}
	if !l.mark.Fenced && !l.mark.TopUnknown {
		return nil
	}
	l.mark.Fenced, l.mark.TopUnknown = false, false
	return l.fail(l.saveMarkFile())
}

// openMark reads the mark. A missing or unreadable one is made anew at the end of Open.
func (l *Log) openMark(r *Recovered, isNew bool) error {
	name := l.path("mark")
	mf, payload, err := OpenStateFile(l.fs, name, markBytes)
	if err == nil {
		r.Mark, err = parseMark(payload, l.cluster, l.group)
		if err == nil {
			l.markFile, l.mark = mf, r.Mark
			r.WasFenced, r.TopUnknown = r.Mark.Fenced, r.Mark.TopUnknown
			return nil
		}
		mf.Close()
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrUnreadable) {
		r.MarkLost = !isNew
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}
