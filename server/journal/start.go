package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
)

// The payload of the file start, little-endian, tells where the log begins: what was trimmed away, or came
// before a chain that was installed, is not missing. A first segment above it is a file that was lost.
//
//	 0  version  u32  1
//	 4  group    u32
//	 8  cluster  u64
//	16  op, sum, next_offset  u64 each, of the op before the first; the offset is a lower bound where the sum is not known
//	40  flags    u64  1 sum known
const (
	startVersion     = 1
	startBytes       = 48
	startSumKnownBit = 1
)

// before is what stands before a log's first op.
type before struct {
	Base
	known bool // the sum and the offset, too
}

func putStart(b []byte, cluster uint64, group uint32, s *before) {
	le := binary.LittleEndian
	le.PutUint32(b, startVersion)
	le.PutUint32(b[4:], group)
	le.PutUint64(b[8:], cluster)
	le.PutUint64(b[16:], s.ID.Op)
	le.PutUint64(b[24:], s.ID.Sum)
	le.PutUint64(b[32:], s.NextOffset)
	flags := uint64(0)
	if s.known {
		flags |= startSumKnownBit
	}
	le.PutUint64(b[40:], flags)
}

func parseStart(b []byte, cluster uint64, group uint32) (before, error) {
	le := binary.LittleEndian
	if len(b) != startBytes || le.Uint32(b) != startVersion {
		return before{}, fmt.Errorf("start of %d bytes: %w: unknown version", len(b), ErrUnreadable)
	}
	if c, g := le.Uint64(b[8:]), le.Uint32(b[4:]); c != cluster || g != group {
		return before{}, fmt.Errorf("%w: start is of cluster %016x group %d, not %016x group %d", ErrForeign, c, g, cluster, group)
	}
	s := before{known: le.Uint64(b[40:])&startSumKnownBit != 0}
	s.ID.Op, s.ID.Sum, s.NextOffset = le.Uint64(b[16:]), le.Uint64(b[24:]), le.Uint64(b[32:])
	return s, nil
}

// openStart reads the start. One that is missing or unreadable is made anew at the end of Open, from what
// is there: then nobody can tell any more whether a first file was lost.
func (l *Log) openStart(o *Options, blank bool) error {
	name := l.path("start")
	sf, payload, err := OpenStateFile(l.fs, name, startBytes)
	if err == nil {
		if l.start, err = parseStart(payload, l.cluster, l.group); err == nil {
			l.startFile = sf
			return sf.Save(payload) // see openState
		}
		sf.Close()
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrUnreadable) {
		return fmt.Errorf("%s: %w", name, err)
	}
	if !blank {
		return nil
	}
	l.start = before{o.Base, true}
	if o.Base.ID.Op == 0 {
		l.start.ID.Sum = l.root()
	}
	return l.saveStart()
}

// saveStart makes the start durable.
func (l *Log) saveStart() (err error) {
	var b [startBytes]byte
	putStart(b[:], l.cluster, l.group, &l.start)
	if l.startFile != nil {
		return l.startFile.Save(b[:])
	}
	l.startFile, err = CreateStateFile(l.fs, l.path("start"), startBytes, b[:])
	return err
}

// settleStart makes a start that could not be read anew.
func (l *Log) settleStart() error {
	if l.startFile != nil {
		return nil
	}
	l.start = l.segments[0].before()
	if err := l.saveStart(); err != nil && !isFull(err) {
		return err
	}
	return nil // with the next one, where there is no room now
}

func (s *segment) before() before {
	b := before{known: s.parentKnown}
	b.ID.Op, b.NextOffset = s.first-1, s.base
	if s.parentKnown {
		b.ID.Sum = s.parent
	}
	return b
}

// findFirst puts an empty file in the place of first segments that were lost: its ops are a hole, to be
// filled from peers, and not the start of a log that was trimmed.
func (rec *recovery) findFirst() error {
	l := rec.log
	if l.startFile == nil || len(rec.firsts) == 0 || rec.firsts[0] <= l.start.ID.Op+1 {
		return nil
	}
	first := l.start.ID.Op + 1
	name := l.segmentName(first)
	rec.r.find("ops %d..%d are damaged: %s is gone", first, rec.firsts[0]-1, name)
	if err := removeIfThere(l.fs, l.indexName(first)); err != nil { // it would vouch for what is gone
		return err
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		return fault(l.dir, "sync", err)
	}
	f, err := l.fs.Create(name)
	if err != nil {
		return fault(name, "create", err)
	}
	if err := f.Close(); err != nil {
		return fault(name, "close", err)
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		return fault(l.dir, "sync", err)
	}
	rec.firsts = append([]uint64{first}, rec.firsts...)
	return nil
}
