package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"rejoin/server/wire"
)

// The index of a segment, little-endian:
//
//	 0  magic        u32  "RJX1"
//	 4  version      u32  1
//	 8  sum          u64  XXH3-64 of the file with this field zero
//	16  cluster      u64
//	24  group        u32
//	28  count        u32  ops that follow
//	32  first        u64  first op
//	40  parent       u64  sum of op first-1
//	48  end          u64  bytes of the segment that the ops fill
//	56  next_offset  u64  message offset after the last op
//	64  per op: at u64 (offset in the segment), base_offset u64, sum u64 (of its header)
//
// It is written after the segment was synced, so a valid index proves that its ops were durable.
const (
	indexMagic       = uint32('R') | uint32('J')<<8 | uint32('X')<<16 | uint32('1')<<24
	indexVersion     = 1
	indexHeaderBytes = 64
	indexEntryBytes  = 24
	indexEntriesMax  = 1<<32/wire.HeaderBytes - 1 // a segment is smaller than 4 GiB
)

var errIndex = errors.New("not a valid index")

// entry places one op.
type entry struct {
	at   int64  // of its frame in the segment
	base uint64 // message offset of its first message
	sum  uint64 // its header's
}

// index is the decoded form of an index file.
type index struct {
	first, parent uint64
	end           int64
	nextOffset    uint64
	entries       []entry
}

func encodeIndex(cluster uint64, group uint32, x *index) []byte {
	le := binary.LittleEndian
	b := make([]byte, indexHeaderBytes, indexHeaderBytes+len(x.entries)*indexEntryBytes)
	le.PutUint32(b, indexMagic)
	le.PutUint32(b[4:], indexVersion)
	le.PutUint64(b[16:], cluster)
	le.PutUint32(b[24:], group)
	le.PutUint32(b[28:], uint32(len(x.entries)))
	le.PutUint64(b[32:], x.first)
	le.PutUint64(b[40:], x.parent)
	le.PutUint64(b[48:], uint64(x.end))
	le.PutUint64(b[56:], x.nextOffset)
	for _, e := range x.entries {
		b = le.AppendUint64(b, uint64(e.at))
		b = le.AppendUint64(b, e.base)
		b = le.AppendUint64(b, e.sum)
	}
	le.PutUint64(b[8:], wire.Sum(b))
	return b
}

func decodeIndex(b []byte, cluster uint64, group uint32) (*index, error) {
	le := binary.LittleEndian
	if len(b) < indexHeaderBytes || le.Uint32(b) != indexMagic || le.Uint32(b[4:]) != indexVersion {
		return nil, fmt.Errorf("%w: magic or version", errIndex)
	}
	count := int(le.Uint32(b[28:]))
	if count == 0 || len(b) != indexHeaderBytes+count*indexEntryBytes {
		return nil, fmt.Errorf("%w: %d bytes for %d ops", errIndex, len(b), count)
	}
	sum := le.Uint64(b[8:])
	le.PutUint64(b[8:], 0)
	got := wire.Sum(b)
	le.PutUint64(b[8:], sum)
	if got != sum {
		return nil, fmt.Errorf("%w: sum %016x, want %016x", errIndex, got, sum)
	}
	if le.Uint64(b[16:]) != cluster || le.Uint32(b[24:]) != group {
		return nil, fmt.Errorf("%w: of another cluster or group", errIndex)
	}
	x := &index{first: le.Uint64(b[32:]), parent: le.Uint64(b[40:]), end: int64(le.Uint64(b[48:])),
		nextOffset: le.Uint64(b[56:]), entries: make([]entry, count)}
	for i := range x.entries {
		e := b[indexHeaderBytes+i*indexEntryBytes:]
		x.entries[i] = entry{at: int64(le.Uint64(e)), base: le.Uint64(e[8:]), sum: le.Uint64(e[16:])}
	}
	return x, x.check()
}

// check holds a decoded index against what every index keeps: frames back to back from byte 0.
func (x *index) check() error {
	if x.first == 0 || x.first+uint64(len(x.entries)) < x.first || x.end < 0 || x.end >= 1<<32 {
		return fmt.Errorf("%w: first op %d, %d bytes", errIndex, x.first, x.end)
	}
	at, base := int64(0), x.entries[0].base
	for i, e := range x.entries {
		if e.base < base || (i == 0 && e.at != 0) || (i > 0 && e.at < at+wire.HeaderBytes) {
			return fmt.Errorf("%w: op %d is out of order", errIndex, x.first+uint64(i))
		}
		at, base = e.at, e.base
	}
	if x.end < at+wire.HeaderBytes || x.nextOffset < base {
		return fmt.Errorf("%w: ends before its last op", errIndex)
	}
	return nil
}

// readIndex reads and checks the index of the segment that begins with op first.
func (l *Log) readIndex(first uint64) (*index, error) {
	name := l.indexName(first)
	f, err := l.fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // opened to read
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size < indexHeaderBytes || size > indexHeaderBytes+indexEntriesMax*indexEntryBytes {
		return nil, fmt.Errorf("%s: %w: %d bytes", name, errIndex, size)
	}
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); n != len(b) {
		return nil, fmt.Errorf("%s: %w", name, err)
	} else if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	x, err := decodeIndex(b, l.cluster, l.group)
	if err == nil && x.first != first {
		err = fmt.Errorf("%w: of first op %d", errIndex, x.first)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return x, nil
}

// writeFile makes or replaces a whole small file atomically and durably. After ErrDiskFull, which a file
// system may tell at any of its steps, nothing has changed.
func (l *Log) writeFile(name string, bufs ...[]byte) error {
	tmp := name + ".tmp"
	if err := removeIfThere(l.fs, tmp); err != nil {
		return err
	}
	err := l.writeNew(tmp, bufs)
	if err == nil {
		err = fault(name, "rename", l.fs.Rename(tmp, name))
	}
	if isShort(err) {
		if err := removeIfThere(l.fs, tmp); err != nil {
			return err
		}
		return noRoom("write", name, err)
	}
	if err != nil {
		return err
	}
	return fault(l.dir, "sync", l.fs.SyncDir(l.dir))
}

// writeNew makes a file with all its content, and syncs that. Its name is not durable yet.
func (l *Log) writeNew(name string, bufs [][]byte) error {
	f, err := l.fs.Create(name)
	if err != nil {
		return fault(name, "create", err)
	}
	if err := f.Writev(bufs, 0); err != nil {
		f.Close()
		return fault(name, "write", err)
	}
	if err := f.Sync(); err != nil {
		f.Close()
		return fault(name, "sync", err)
	}
	return fault(name, "close", f.Close())
}

// writeIndex writes the index of a segment whose ops are all durable and have a place.
func (l *Log) writeIndex(s *segment) error {
	x := &index{first: s.first, parent: s.parent, end: s.end, nextOffset: s.nextOffset, entries: s.entries}
	return l.writeFile(l.indexName(s.first), encodeIndex(l.cluster, l.group, x))
}

// indexSealed writes the indexes of segments that were sealed and synced since the last call. A full
// disk is no failure: boot reads the segment instead, and the next call tries again.
func (l *Log) indexSealed() error {
	for len(l.sealed) > 0 {
		s := l.sealed[0]
		if s.dirty || !s.complete() {
			return nil
		}
		if err := l.writeIndex(s); err != nil {
			if errors.Is(err, ErrDiskFull) {
				return nil
			}
			return err
		}
		l.mu.Lock()
		s.indexed, s.indexOps = true, s.placed
		l.loaded = append(l.loaded, s)
		l.mu.Unlock()
		l.sealed = l.sealed[1:]
		l.evict()
	}
	return nil
}
