package shape

import (
	"fmt"
	"hash/crc32"

	"golang.org/x/sys/unix"
)

// ReadBack is what a node's file held after a load. The oldest batches are missing where the file has been used again.
type ReadBack struct {
	First   uint64 `json:"first"` // sequence
	Last    uint64 `json:"last"`
	Batches int64  `json:"batches"`
	Bytes   int64  `json:"bytes"`
}

// readBack reads every group from the device and checks each batch. Nothing is appended meanwhile.
func (s *store) readBack() (ReadBack, error) {
	if err := unix.Fadvise(int(s.file.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		return ReadBack{}, fmt.Errorf("drop the page cache: %w", err)
	}
	var r ReadBack
	var memory []byte
	for i, g := range s.groups {
		if i == 0 {
			r.First, r.Last = g.first, g.first-1
		}
		if int64(cap(memory)) < g.size {
			memory = make([]byte, g.size)
		}
		if _, err := s.file.ReadAt(memory[:g.size], g.at); err != nil {
			return r, fmt.Errorf("read back: %w", err)
		}
		if err := r.check(memory[:g.size]); err != nil {
			return r, fmt.Errorf("group at %d: %w", g.at, err)
		}
	}
	return r, nil
}

// check walks the batches of a group, which must go on where the one before ended.
func (r *ReadBack) check(group []byte) error {
	for len(group) > 0 {
		if len(group) < headBytes {
			return fmt.Errorf("%d bytes are left behind batch %d", len(group), r.Last)
		}
		bodyBytes, sequence, sum, err := parseHead(group)
		if err != nil {
			return err
		}
		if sequence != r.Last+1 || len(group) < headBytes+bodyBytes {
			return fmt.Errorf("batch %d of %d bytes behind batch %d, %d bytes are left", sequence, bodyBytes, r.Last, len(group))
		}
		if crc32.Checksum(group[headBytes:headBytes+bodyBytes], castagnoli) != sum {
			return fmt.Errorf("batch %d has another checksum than when it was written", sequence)
		}
		group = group[headBytes+bodyBytes:]
		r.Last, r.Batches, r.Bytes = sequence, r.Batches+1, r.Bytes+int64(headBytes+bodyBytes)
	}
	return nil
}
