package journal

import (
	"fmt"
	"io"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// scanAheadBytes is how much a scan reads at a time, at least.
const scanAheadBytes = 1 << 20

// scanState is the place of a scan, and what the record there must be.
type scanState struct {
	at     int64
	op     uint64
	parent uint64 // sum of op-1
	base   uint64 // message offset of op
	free   bool   // parent and base are not known: the record's own are taken
}

// scanner reads frames of one segment file one after the other.
type scanner struct {
	file    File
	name    string
	cluster uint64
	group   uint32
	ahead   int    // bytes to read at a time, at least
	buf     []byte // bytes of the file from bufAt on
	bufAt   int64
}

func (l *Log) scanner(f File, name string) *scanner {
	return &scanner{file: f, name: name, cluster: l.cluster, group: l.group, ahead: int(min(scanAheadBytes, l.segmentBytes))}
}

// window returns n bytes of the file at offset at, valid until the next call.
func (s *scanner) window(at int64, n int) ([]byte, error) {
	if at >= s.bufAt && at+int64(n) <= s.bufAt+int64(len(s.buf)) {
		return s.buf[at-s.bufAt:][:n], nil
	}
	want := max(n, s.ahead)
	if cap(s.buf) < want {
		s.buf = make([]byte, want)
	}
	s.buf, s.bufAt = s.buf[:want], at
	got, err := s.file.ReadAt(s.buf, at)
	s.buf = s.buf[:got]
	if got >= n {
		return s.buf[:n], nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if want > n { // the part read ahead may be the unreadable one
		small := make([]byte, n)
		if got, _ := s.file.ReadAt(small, at); got == n {
			s.buf = small
			return small, nil
		}
	}
	return nil, err
}

// next checks the frame at st in full and moves st behind it. The bytes of the frame are those of
// frame until the next call.
func (s *scanner) next(st *scanState) (vsr.Header, error) {
	b, err := s.window(st.at, wire.HeaderBytes)
	if err != nil {
		return vsr.Header{}, err
	}
	h, err := wire.ParseSealed(b)
	if err != nil {
		return h, err
	}
	if err := s.belongs(&h, st); err != nil {
		return h, err
	}
	b, err = s.window(st.at, wire.HeaderBytes+int(h.BodyBytes))
	if err != nil {
		return h, err
	}
	if sum := wire.Sum(b[wire.HeaderBytes:]); sum != h.BodySum {
		return h, fmt.Errorf("body %w: the header says %016x, its bytes give %016x", wire.ErrSum, h.BodySum, sum)
	}
	st.advance(&h)
	return h, nil
}

func (st *scanState) advance(h *vsr.Header) {
	st.at += wire.HeaderBytes + int64(h.BodyBytes)
	st.op, st.parent, st.base, st.free = h.Op+1, h.Sum, h.NextOffset(), false
}

// belongs tells whether a valid record is the one that stands here.
func (s *scanner) belongs(h *vsr.Header, st *scanState) error {
	switch {
	case h.Cluster != s.cluster || h.Group != s.group:
		return fmt.Errorf("%w: cluster %016x group %d", errLeftover, h.Cluster, h.Group)
	case h.Op != st.op:
		return fmt.Errorf("%w: op %d where %d belongs", errLeftover, h.Op, st.op)
	case !st.free && h.Parent != st.parent:
		return fmt.Errorf("%w: op %d has parent %016x, the log has %016x", errLeftover, h.Op, h.Parent, st.parent)
	case !st.free && h.BaseOffset != st.base:
		return fmt.Errorf("%w: op %d begins at message %d, the log is at %d", errLeftover, h.Op, h.BaseOffset, st.base)
	}
	return nil
}
