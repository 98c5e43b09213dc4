package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"

	"rejoin/server/wire"
)

// A state file is two copies of one payload in different 4 KiB blocks, each, little-endian:
//
//	 0  magic     u32  "RJS1"
//	 4  length    u32  bytes of the payload
//	 8  sequence  u64  the higher one is the newer one
//	16  sum       u64  XXH3-64 of header and payload with this field zero
//	24  payload
//
// The file is preallocated, so that a full disk cannot stop a vote.
const (
	copyMagic       = uint32('R') | uint32('J')<<8 | uint32('S')<<16 | uint32('1')<<24
	copyHeaderBytes = 24
	blockBytes      = 4096
	copies          = 2
)

// StateFile is a small payload that is replaced as a whole and survives a crash at any step.
type StateFile struct {
	fs       FS
	name     string
	file     File
	stride   int // bytes of one copy, whole blocks
	sequence uint64
	newest   int    // copy that holds sequence
	buf      []byte // one copy
	iov      [1][]byte
	fault    error // first failure; nothing is tried after it
}

// CreateStateFile makes or replaces the file atomically, with payload in both copies.
func CreateStateFile(fsys FS, name string, payloadBytesMax int, payload []byte) (*StateFile, error) {
	s := newStateFile(fsys, name, payloadBytesMax)
	tmp := name + ".tmp"
	if err := removeIfThere(fsys, tmp); err != nil {
		return nil, err
	}
	f, err := fsys.Create(tmp)
	if err != nil {
		return nil, fault(tmp, "create", err)
	}
	s.file, s.sequence = f, 1
	if err := s.fill(payload); err != nil {
		f.Close()
		return nil, err
	}
	if err := fsys.Rename(tmp, name); err != nil {
		f.Close()
		return nil, fault(name, "rename", err)
	}
	if err := fsys.SyncDir(dirOf(name)); err != nil {
		f.Close()
		return nil, fault(dirOf(name), "sync", err)
	}
	return s, nil
}

// OpenStateFile reads the newest valid copy. The error Is fs.ErrNotExist when there is no file, and
// ErrUnreadable when there is one without a valid copy: never take that for a blank one. Where the operating
// system did not give the bytes this time it is a *FaultError: they may be whole. What was read
// may stand in one copy alone, or in a page whose sync has failed: Save before anything rests on it.
func OpenStateFile(fsys FS, name string, payloadBytesMax int) (*StateFile, []byte, error) {
	s := newStateFile(fsys, name, payloadBytesMax)
	f, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("open %s: %w", name, err)
	}
	if err != nil {
		return nil, nil, fault(name, "open", err)
	}
	s.file = f
	var payload []byte
	for i := range copies {
		n, err := f.ReadAt(s.buf, int64(i*s.stride))
		if err != nil && !isDamage(err) { // this copy may be whole, and the newest
			f.Close()
			return nil, nil, fault(name, "read", err)
		}
		p, sequence, err := parseCopy(s.buf[:n])
		if err == nil && sequence > s.sequence {
			s.sequence, s.newest, payload = sequence, i, append([]byte{}, p...)
		}
	}
	if payload == nil {
		f.Close()
		return nil, nil, fmt.Errorf("%s: %w", name, ErrUnreadable)
	}
	return s, payload, nil
}

func newStateFile(fsys FS, name string, payloadBytesMax int) *StateFile {
	stride := (copyHeaderBytes + payloadBytesMax + blockBytes - 1) / blockBytes * blockBytes
	return &StateFile{fs: fsys, name: name, stride: stride, buf: make([]byte, stride)}
}

// fill gives a new file its full size.
func (s *StateFile) fill(payload []byte) error {
	for i := range copies {
		if err := s.write(i, s.sequence, payload, s.stride); err != nil {
			return err
		}
	}
	s.newest = copies - 1
	return fault(s.name, "sync", s.file.Sync())
}

// Save replaces the payload in both copies, each written and synced before the next. The copy that
// is not the newest goes first, so that there is a valid one at any step.
func (s *StateFile) Save(payload []byte) error {
	for range copies {
		if err := s.Put(payload); err != nil {
			return err
		}
		if err := s.Sync(); err != nil {
			return err
		}
	}
	return nil
}

// Put writes the payload to the older copy and does not sync.
func (s *StateFile) Put(payload []byte) error {
	if s.fault != nil {
		return s.fault
	}
	to := 1 - s.newest
	if err := s.write(to, s.sequence+1, payload, 0); err != nil {
		s.fault = err
		return err
	}
	s.sequence++
	s.newest = to
	return nil
}

// Sync makes what was put durable.
func (s *StateFile) Sync() error {
	if s.fault == nil {
		s.fault = fault(s.name, "sync", s.file.Sync())
	}
	return s.fault
}

// Close closes the file.
func (s *StateFile) Close() error { return fault(s.name, "close", s.file.Close()) }

func (s *StateFile) write(i int, sequence uint64, payload []byte, padTo int) error {
	if copyHeaderBytes+len(payload) > s.stride {
		panic(fmt.Sprintf("journal: payload of %d bytes does not fit state file %s", len(payload), s.name))
	}
	clear(s.buf)
	n := putCopy(s.buf, sequence, payload)
	s.iov[0] = s.buf[:max(n, padTo)]
	err := s.file.Writev(s.iov[:], int64(i*s.stride))
	return fault(s.name, "write", err)
}

func putCopy(b []byte, sequence uint64, payload []byte) int {
	le := binary.LittleEndian
	n := copyHeaderBytes + copy(b[copyHeaderBytes:], payload)
	le.PutUint32(b, copyMagic)
	le.PutUint32(b[4:], uint32(len(payload)))
	le.PutUint64(b[8:], sequence)
	le.PutUint64(b[16:], 0)
	le.PutUint64(b[16:], wire.Sum(b[:n]))
	return n
}

// parseCopy may change the sum field of b while it computes.
func parseCopy(b []byte) (payload []byte, sequence uint64, err error) {
	le := binary.LittleEndian
	if len(b) < copyHeaderBytes || le.Uint32(b) != copyMagic {
		return nil, 0, fmt.Errorf("copy of a state file: %w", ErrUnreadable)
	}
	n := uint64(copyHeaderBytes) + uint64(le.Uint32(b[4:]))
	if n > uint64(len(b)) {
		return nil, 0, fmt.Errorf("copy of a state file: length %d: %w", n, ErrUnreadable)
	}
	sum := le.Uint64(b[16:])
	le.PutUint64(b[16:], 0)
	got := wire.Sum(b[:n])
	le.PutUint64(b[16:], sum)
	if got != sum || le.Uint64(b[8:]) == 0 {
		return nil, 0, fmt.Errorf("copy of a state file: sum %016x, want %016x: %w", got, sum, ErrUnreadable)
	}
	return b[copyHeaderBytes:n], le.Uint64(b[8:]), nil
}
