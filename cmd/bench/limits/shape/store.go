package shape

import (
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

const (
	fillBytes = 1 << 20 // of zeros in one write
	// vectorsMax is IOV_MAX of Linux.
	vectorsMax = 1024
)

// place is where one group of batches lies in the file.
type place struct {
	first    uint64 // sequence
	at, size int64
}

// store is the file of one node. append belongs to one goroutine; counters may be read by others.
type store struct {
	file    *os.File
	size    int64 // filled with zeros, and used again when full
	sync    bool
	at      int64
	groups  []place // those that the file holds, oldest first
	vectors [][]byte

	syncs, stored atomic.Int64
}

// openStore makes a file filled with zeros, synced, without a name: its memory goes with the process.
func openStore(dir string, size int64, sync bool) (*store, error) {
	file, err := os.CreateTemp(dir, ".bench-shape-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, err
	}
	zeros := make([]byte, fillBytes)
	for at := int64(0); at < size; at += fillBytes {
		if _, err := file.WriteAt(zeros, at); err != nil {
			return nil, fmt.Errorf("fill %d MiB with zeros: %w", size>>20, err)
		}
	}
	return &store{file: file, size: size, sync: sync}, file.Sync()
}

// append makes a group durable: one write, one sync.
func (s *store) append(group []*batch) error {
	s.vectors = vectors(s.vectors, group)
	size := int64(0)
	for _, v := range s.vectors {
		size += int64(len(v))
	}
	if err := s.placeGroup(group[0].sequence, size); err != nil {
		return err
	}
	if err := s.write(size); err != nil {
		return err
	}
	if s.sync {
		if err := unix.Fdatasync(int(s.file.Fd())); err != nil {
			return fmt.Errorf("sync: %w", err)
		}
	}
	s.syncs.Add(1)
	s.stored.Add(int64(len(group)))
	return nil
}

// placeGroup finds room for a group, from the beginning of the file if need be, and forgets the groups that it overwrites.
func (s *store) placeGroup(first uint64, size int64) error {
	if size > s.size {
		return fmt.Errorf("a group of %d bytes does not fit into a file of %d", size, s.size)
	}
	if s.at+size > s.size {
		for len(s.groups) > 0 && s.groups[0].at >= s.at { // what is left of the lap before this one
			s.groups = s.groups[1:]
		}
		s.at = 0
	}
	for len(s.groups) > 0 && s.groups[0].at >= s.at && s.groups[0].at < s.at+size {
		s.groups = s.groups[1:]
	}
	s.groups = append(s.groups, place{first, s.at, size})
	return nil
}

func (s *store) write(size int64) error {
	rest, end := s.vectors, s.at+size
	for len(rest) > 0 {
		some := rest[:min(len(rest), vectorsMax)]
		rest = rest[len(some):]
		want := 0
		for _, v := range some {
			want += len(v)
		}
		n, err := unix.Pwritev(int(s.file.Fd()), some, s.at)
		if err == nil && n != want {
			err = fmt.Errorf("%d of %d bytes were taken", n, want)
		}
		if err != nil {
			return fmt.Errorf("write: %w", err)
		}
		s.at += int64(n)
	}
	if s.at != end {
		panic(fmt.Sprintf("shape: a group ends at %d, not at %d", s.at, end))
	}
	return nil
}
