package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"syscall"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// Table is a checkpoint of the client table as of one committed op.
type Table struct {
	ID         vsr.ID
	NextOffset uint64 // message offset after that op
	Bytes      []byte // opaque here
}

// A table file, little-endian:
//
//	 0  magic        u32  "RJT1"
//	 4  version      u32  1
//	 8  sum          u64  XXH3-64 of these 64 bytes with this field zero, followed by the XXH3-64 of the bytes
//	16  cluster      u64
//	24  group        u32
//	28  bytes        u32  that follow the header
//	32  op, op sum, next_offset  u64 each
//	56  zero         u64
//	64  bytes
const (
	tableMagic       = uint32('R') | uint32('J')<<8 | uint32('T')<<16 | uint32('1')<<24
	tableVersion     = 1
	tableHeaderBytes = 64
	tableBytesMax    = 64 << 20 // 65,536 sessions of 160 bytes are 10 MiB
	tablesKept       = 2
)

var errTable = errors.New("not a valid table")

func encodeTableHeader(cluster uint64, group uint32, t *Table) []byte {
	le := binary.LittleEndian
	b := make([]byte, tableHeaderBytes)
	le.PutUint32(b, tableMagic)
	le.PutUint32(b[4:], tableVersion)
	le.PutUint64(b[16:], cluster)
	le.PutUint32(b[24:], group)
	le.PutUint32(b[28:], uint32(len(t.Bytes)))
	le.PutUint64(b[32:], t.ID.Op)
	le.PutUint64(b[40:], t.ID.Sum)
	le.PutUint64(b[48:], t.NextOffset)
	le.PutUint64(b[8:], tableSum(b, t.Bytes))
	return b
}

// tableSum binds header and payload: the payload's sum is hashed behind the header.
func tableSum(header, payload []byte) uint64 {
	var b [tableHeaderBytes + 8]byte
	copy(b[:], header)
	clear(b[8:16])
	binary.LittleEndian.PutUint64(b[tableHeaderBytes:], wire.Sum(payload))
	return wire.Sum(b[:])
}

func decodeTable(b []byte, cluster uint64, group uint32) (*Table, error) {
	le := binary.LittleEndian
	if len(b) < tableHeaderBytes || le.Uint32(b) != tableMagic || le.Uint32(b[4:]) != tableVersion {
		return nil, fmt.Errorf("%w: magic or version", errTable)
	}
	header, payload := b[:tableHeaderBytes], b[tableHeaderBytes:]
	if uint64(le.Uint32(b[28:])) != uint64(len(payload)) || le.Uint64(b[56:]) != 0 {
		return nil, fmt.Errorf("%w: %d bytes", errTable, len(b))
	}
	if le.Uint64(b[8:]) != tableSum(header, payload) {
		return nil, fmt.Errorf("%w: checksum", errTable)
	}
	if le.Uint64(b[16:]) != cluster || le.Uint32(b[24:]) != group {
		return nil, fmt.Errorf("%w: of another cluster or group", errTable)
	}
	return &Table{ID: vsr.ID{Op: le.Uint64(b[32:]), Sum: le.Uint64(b[40:])}, NextOffset: le.Uint64(b[48:]), Bytes: payload}, nil
}

// SaveTable makes a checkpoint durable and removes all but it and the one before: a start falls back
// on that when this one has rotted, or the log is damaged below it. After ErrDiskFull nothing was
// changed.
func (l *Log) SaveTable(t Table) error {
	if err := l.failed(); err != nil {
		return err
	}
	if len(t.Bytes) > tableBytesMax {
		panic(fmt.Sprintf("journal: table of %d bytes, the limit is %d", len(t.Bytes), tableBytesMax))
	}
	err := l.writeFile(l.tableName(t.ID.Op), encodeTableHeader(l.cluster, l.group, &t), t.Bytes)
	if err != nil {
		return l.failUnlessFull(err)
	}
	names, err := l.fs.List(l.dir)
	if err != nil {
		return l.fail(fault(l.dir, "read", err))
	}
	l.keepTables(t.ID.Op)
	for _, op := range tableOps(names) {
		if slices.Contains(l.tables, op) {
			continue
		}
		if err := removeIfThere(l.fs, l.tableName(op)); err != nil {
			return l.fail(err)
		}
	}
	return nil
}

// keepTables notes that a checkpoint was saved, and which others are worth keeping: what cannot be read
// is not, nor is one of an op that the log has lost.
func (l *Log) keepTables(op uint64) {
	below, _ := slices.BinarySearch(l.tables, op)
	l.tables = append(l.tables[max(0, below-tablesKept+1):below:below], op)
}

// fallback returns the op of the checkpoint that a start needs when the newest up to an op is of no use; false
// while there is none. A start may find more than are kept, and some above the end of a log that damage has cut.
func (l *Log) fallback(upTo uint64) (op uint64, ok bool) {
	usable := sort.Search(len(l.tables), func(i int) bool { return l.tables[i] > upTo })
	if usable < tablesKept {
		return 0, false
	}
	return l.tables[usable-tablesKept], true
}

// tableOps returns the ops of the checkpoints among names, rising.
func tableOps(names []string) []uint64 {
	var ops []uint64
	for _, n := range names {
		if op, ok := parseOpName(n, tablePrefix, tableSuffix); ok {
			ops = append(ops, op)
		}
	}
	slices.Sort(ops)
	return ops
}

// readTables reads the checkpoints that are valid.
func (l *Log) readTables(names []string, r *Recovered) {
	for _, op := range tableOps(names) {
		name := l.tableName(op)
		t, err := l.readTable(name)
		if err != nil || t.ID.Op != op {
			r.find("%s is skipped: %v", name, err)
			if !isDamage(err) || errors.Is(err, syscall.EIO) {
				r.Unread = append(r.Unread, Unread{Op: op, Err: fault(name, "read", err)})
			}
			continue
		}
		r.Tables, l.tables = append(r.Tables, *t), append(l.tables, op)
	}
}

// Unread is a checkpoint of which the operating system gave no bytes. They may be whole: the next try may find them,
// also after an EIO. Where that lasts somebody must look at the disk.
type Unread struct {
	Op  uint64
	Err error
}

// UnreadTable returns the checkpoint that would be newer than Table could it be read, or nil. What cannot be told
// without it must not be given up as lost.
func (r *Recovered) UnreadTable() *Unread {
	for i := len(r.Unread) - 1; i >= 0; i-- {
		if u := &r.Unread[i]; u.Op <= r.Held.Op {
			if t := r.Table(); t == nil || t.ID.Op < u.Op {
				return u
			}
			return nil
		}
	}
	return nil
}

// Table returns the newest checkpoint of an op that is held, or nil. One above Held is of no use before
// the log has grown there again.
func (r *Recovered) Table() *Table {
	for i := len(r.Tables) - 1; i >= 0; i-- {
		if r.Tables[i].ID.Op <= r.Held.Op {
			return &r.Tables[i]
		}
	}
	return nil
}

func (l *Log) readTable(name string) (*Table, error) {
	f, err := l.fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // opened to read
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size < tableHeaderBytes || size > tableHeaderBytes+tableBytesMax {
		return nil, fmt.Errorf("%w: %d bytes", errTable, size)
	}
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); n != len(b) && err != io.EOF {
		return nil, err
	}
	return decodeTable(b, l.cluster, l.group)
}
