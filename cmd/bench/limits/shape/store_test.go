package shape

import (
	"hash/crc32"
	"testing"
)

func group(first uint64, count, bodyBytes int) []*batch {
	var all []*batch
	for i := range count {
		b := &batch{body: make([]byte, bodyBytes)}
		b.body[0] = byte(first) + byte(i)
		b.stamp(first+uint64(i), crc32.Checksum(b.body, castagnoli))
		all = append(all, b)
	}
	return all
}

// TestStoreIsUsedAgain: over many laps with groups that never fit evenly, what the file still holds ends at the last batch and has no hole.
func TestStoreIsUsedAgain(t *testing.T) {
	s, err := openStore(t.TempDir(), 10_000, true)
	if err != nil {
		t.Fatal(err)
	}
	defer s.file.Close()
	next, bytes := uint64(1), int64(0)
	for round := range 200 {
		g := group(next, 1+round%5, 100+round*7%400)
		if err := s.append(g); err != nil {
			t.Fatal(err)
		}
		next += uint64(len(g))
		r, err := s.readBack()
		if err != nil || r.Last != next-1 || r.Batches != int64(r.Last-r.First)+1 || r.Bytes > s.size {
			t.Fatalf("after round %d: %+v, error %v", round, r, err)
		}
		if bytes = max(bytes, r.Bytes); round > 100 && r.First == 1 {
			t.Fatal("the file never was full")
		}
	}
	if bytes < s.size/2 {
		t.Errorf("it held %d bytes at most", bytes)
	}
	if s.stored.Load() != int64(next-1) || s.syncs.Load() != 200 {
		t.Errorf("%d batches in %d syncs", s.stored.Load(), s.syncs.Load())
	}
}

func TestStoreRefusesAGroupThatIsLarger(t *testing.T) {
	s, err := openStore(t.TempDir(), 500, false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.file.Close()
	if s.append(group(1, 1, 1000)) == nil {
		t.Error("1,064 bytes went into 500")
	}
}

// TestReadBackFindsDamage: each planted fault is an error.
func TestReadBackFindsDamage(t *testing.T) {
	for name, at := range map[string]int64{"magic": 0, "length": 5, "sequence": 8, "checksum": 16, "body": headBytes + 50, "second batch": 2*headBytes + 150} {
		t.Run(name, func(t *testing.T) {
			s, err := openStore(t.TempDir(), 10_000, true)
			if err != nil {
				t.Fatal(err)
			}
			defer s.file.Close()
			if err := s.append(group(1, 3, 100)); err != nil {
				t.Fatal(err)
			}
			if _, err := s.readBack(); err != nil {
				t.Fatal(err)
			}
			var b [1]byte
			if _, err := s.file.ReadAt(b[:], at); err != nil {
				t.Fatal(err)
			}
			b[0] ^= 0x40
			if _, err := s.file.WriteAt(b[:], at); err != nil {
				t.Fatal(err)
			}
			if r, err := s.readBack(); err == nil {
				t.Errorf("damage passed: %+v", r)
			}
		})
	}
}

// TestMajority: a batch is answered when the second of three has synced it, whichever that is.
func TestMajority(t *testing.T) {
	p := &primary{synced: make([]uint64, 3)}
	var waiting []*batch
	for i := range 3 {
		b := &batch{answered: make(chan struct{}, 1)}
		b.sequence = uint64(i + 1)
		waiting = append(waiting, b)
	}
	p.waiting = append(p.waiting, waiting...)
	for _, step := range []struct {
		node              int
		synced, committed uint64
	}{{2, 2, 0}, {0, 1, 1}, {1, 3, 2}, {0, 3, 3}} {
		p.vouch(step.node, step.synced)
		answered := 0
		for _, b := range waiting {
			answered += len(b.answered)
		}
		if p.committed != step.committed || answered != int(step.committed) {
			t.Errorf("node %d has %d: committed %d, %d answered; want %d", step.node, step.synced, p.committed, answered, step.committed)
		}
	}
}
