package journal

import (
	"errors"
	"fmt"
	"io"
	"sort"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// place is where a reader finds an op. The segment is pinned until release.
type place struct {
	seg  *segment
	file File
	at   int64
	end  int64
	sum  uint64
	cuts uint64
}

// locate pins the segment of op and finds its frame.
func (l *Log) locate(op uint64) (place, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.locateLocked(op)
}

// locateLocked is locate for who holds mu, which is free meanwhile.
func (l *Log) locateLocked(op uint64) (place, error) {
	cause := errors.New("met before and not mended yet")
	for {
		if err := l.checkRange(op); err != nil {
			return place{}, err
		}
		if l.inHole(op) {
			return place{}, &DamageError{File: l.segmentName(l.find(op).first), Offset: -1, Op: op, Hole: l.holeAround(op), Err: cause}
		}
		s, err := l.pin(l.find(op))
		if err == nil && l.inHole(op) { // another reader has met it while the lock was free
			l.unpin(s)
			continue
		}
		if err == nil {
			i := int(op - s.first)
			return place{seg: s, file: s.file, at: s.entries[i].at, end: s.entryEnd(i), sum: s.entries[i].sum, cuts: l.cuts}, nil
		}
		if !looksAgain(err) {
			return place{}, err
		}
		if errors.Is(err, ErrDamaged) {
			cause = err // perhaps of op
		}
	}
}

// looksAgain tells that the log is another one than before pin, and op is to be looked for again.
func looksAgain(err error) bool { return errors.Is(err, errMeanwhile) || errors.Is(err, ErrDamaged) }

// damaged makes op a hole, unless the cause is no damage. Where a cut has changed the log since p was found, which tells
// nothing of op, it is errMeanwhile.
func (l *Log) damaged(op uint64, p place, cause error) error {
	if !isDamage(cause) {
		return fmt.Errorf("read op %d: %w", op, cause)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cuts != p.cuts || l.closed || p.seg.doomed {
		return errMeanwhile
	}
	l.addHole(op, op)
	return &DamageError{File: l.segmentName(p.seg.first), Offset: p.at, Op: op, Hole: l.holeAround(op), Err: cause}
}

// Header reads the header of op and checks it. The body is not read.
func (l *Log) Header(op uint64) (vsr.Header, error) {
	for {
		h, err := l.headerOf(op)
		if !errors.Is(err, errMeanwhile) {
			return h, err
		}
	}
}

func (l *Log) headerOf(op uint64) (vsr.Header, error) {
	p, err := l.locate(op)
	if err != nil {
		return vsr.Header{}, err
	}
	defer l.release(p.seg)
	var b [wire.HeaderBytes]byte
	if n, err := p.file.ReadAt(b[:], p.at); n != len(b) {
		return vsr.Header{}, l.damaged(op, p, err)
	}
	h, err := p.check(b[:])
	if err != nil {
		return h, l.damaged(op, p, err)
	}
	return h, nil
}

func (p *place) check(b []byte) (vsr.Header, error) {
	h, err := wire.ParseSealed(b)
	if err == nil && (h.Sum != p.sum || wire.HeaderBytes+int64(h.BodyBytes) != p.end-p.at) {
		err = fmt.Errorf("%w: op %d sum %016x of %d bytes, the index says %016x of %d",
			errLeftover, h.Op, h.Sum, wire.HeaderBytes+int64(h.BodyBytes), p.sum, p.end-p.at)
	}
	return h, err
}

// Headers reads the headers of ops from..to, rising, and hands each to yield until it returns an
// error, which is returned.
func (l *Log) Headers(from, to uint64, yield func(*vsr.Header) error) error {
	for op := from; op <= to; op++ {
		h, err := l.Header(op)
		if err != nil {
			return err
		}
		if err := yield(&h); err != nil {
			return err
		}
	}
	return nil
}

// ReadFrame reads op into buf, which is replaced when it is too small, and checks header and body.
// An op that turns out damaged becomes a hole.
func (l *Log) ReadFrame(op uint64, buf []byte) (vsr.Header, []byte, error) {
	for {
		h, frame, err := l.readFrame(op, buf)
		if !errors.Is(err, errMeanwhile) {
			return h, frame, err
		}
	}
}

func (l *Log) readFrame(op uint64, buf []byte) (vsr.Header, []byte, error) {
	p, err := l.locate(op)
	if err != nil {
		return vsr.Header{}, nil, err
	}
	defer l.release(p.seg)
	n := int(p.end - p.at)
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	if got, err := p.file.ReadAt(buf, p.at); got != n {
		return vsr.Header{}, nil, l.damaged(op, p, err)
	}
	h, err := p.check(buf)
	if err == nil {
		if sum := wire.Sum(buf[wire.HeaderBytes:]); sum != h.BodySum {
			err = fmt.Errorf("body %w: the header says %016x, its bytes give %016x", wire.ErrSum, h.BodySum, sum)
		}
	}
	if err != nil {
		return vsr.Header{}, nil, l.damaged(op, p, err)
	}
	return h, buf, nil
}

// Span is a run of whole frames within one segment. It keeps the file open until Release, even when
// the segment is cut or trimmed meanwhile. The bytes are not checked: who receives them checks. Only
// uncommitted ops are ever cut; a span of such ones may then come short or changed.
type Span struct {
	log         *Log
	seg         *segment
	file        File
	Offset      int64 // in the file
	Bytes       int64
	First, Last uint64 // ops
	NextOffset  uint64 // message offset after Last; 0 where a hole follows, whose beginning nobody vouches for
}

// Span returns whole frames from op from up to op to, at most maxBytes of them but at least one, all
// of one segment and none known as damaged.
func (l *Log) Span(from, to uint64, maxBytes int64) (Span, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, err := l.locateLocked(from)
	if err != nil {
		return Span{}, err
	}
	s := p.seg
	last := min(to, s.first+s.placed-1, l.nextHole(from)-1)
	i := int(from - s.first)
	n := sort.Search(int(last-from)+1, func(n int) bool { return s.entryEnd(i+n)-p.at > maxBytes })
	n = max(n, 1)
	s.lent = true
	span := Span{log: l, seg: s, file: p.file, Offset: p.at, Bytes: s.entryEnd(i+n-1) - p.at, First: from, Last: from + uint64(n) - 1}
	if span.Last == s.last || l.nextHole(from) != span.Last+1 {
		span.NextOffset = s.nextBase(i + n - 1)
	}
	return span, nil
}

// File returns the file that holds the span; OSFile makes an *os.File of it where it is one.
func (s *Span) File() File { return s.file }

// Reader reads the bytes of the span.
func (s *Span) Reader() io.Reader { return io.NewSectionReader(s.file, s.Offset, s.Bytes) }

// Release lets go of the file. Call it once.
func (s *Span) Release() {
	l := s.log
	s.log = nil
	l.release(s.seg)
}

// OpOf returns the first op that ends above a message offset: the batch that holds it.
// Register frames hold no messages and are never returned. Above the log: ErrNotHeld.
func (l *Log) OpOf(offset uint64) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if l.closed {
			return 0, ErrClosed
		}
		if base := l.segments[0].base; offset < base {
			return 0, fmt.Errorf("message %d: %w: the log begins at message %d", offset, ErrTrimmed, base)
		}
		if next := l.lastSegment().nextOffset; offset >= next {
			return 0, fmt.Errorf("message %d: %w: it ends at message %d", offset, ErrNotHeld, next)
		}
		s := l.segments[sort.Search(len(l.segments)-1, func(i int) bool { return l.segments[i+1].base > offset })]
		if s.gone != nil {
			return s.opOf(offset), nil
		}
		_, err := l.pin(s)
		if err == nil {
			defer l.unpin(s)
			return s.opOf(offset), nil
		}
		if !looksAgain(err) {
			return 0, err
		}
	}
}

// opOf is OpOf for a message of s.
func (s *segment) opOf(offset uint64) uint64 {
	n := sort.Search(len(s.entries), func(i int) bool { return s.nextBase(i) > offset })
	return s.first + uint64(n) // behind the last entry: the first op of a hole without a place
}
