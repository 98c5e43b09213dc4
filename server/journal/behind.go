package journal

import (
	"errors"
	"io"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// behind is what a file holds beyond the last op of the log.
type behind struct {
	end int64 // of the bytes that are not zero; where the ops end when there are none

	recycled bool // the header of an op below the segment is among them: the file has held another one before
	later    bool // the header of an op above the end is
	begun    bool // where the next frame would begin, to the end of that page, are not only zeros, nor does the header of an older op stand there
}

// ours tells whether this log may have written some of it. In a recycled file that is so where the header of a later op is left, or where the next frame
// would stand: each append leaves zeros up to the end of its page, so that what is there otherwise is of a later one.
func (b *behind) ours(end int64) bool {
	if b.recycled {
		return b.later || b.begun
	}
	return b.end > end
}

// lookBehind reads what is behind the ops of s. Bytes that cannot be read count as not zero.
func (l *Log) lookBehind(s *segment) (b behind, err error) {
	name := l.segmentName(s.first)
	size, err := s.file.Size()
	if err != nil {
		return b, fault(name, "read", err)
	}
	b.end = s.end
	sc := l.scanner(s.file, name)
	for at := s.end; at < size; {
		n := int(min(size-at, int64(max(sc.ahead, 2*wire.HeaderBytes))))
		w, err := sc.window(at, n)
		if errors.Is(err, io.ErrUnexpectedEOF) { // it has become shorter
			break
		}
		if err != nil {
			return behind{end: size, later: true}, nil
		}
		if last := lastUsed(w); last >= 0 {
			b.end = max(b.end, at+int64(last)+1)
		}
		if at == s.end {
			b.begun = lastUsed(w[:min(nextPage(at)-at, int64(n))]) >= 0
		}
		b.find(l, s, w, at)
		if at += int64(n); at < size {
			at -= wire.HeaderBytes - 1 // where a header may have begun
		}
	}
	return b, nil
}

// find looks for whole headers of this log in the bytes w that stand at a place of the file.
func (b *behind) find(l *Log, s *segment, w []byte, at int64) {
	wire.FindSealed(w, func(in int, h *vsr.Header) {
		switch {
		case h.Cluster != l.cluster || h.Group != l.group:
		case h.Op < s.first:
			b.recycled = true
			if at+int64(in) == s.end {
				b.begun = false // frame stands on frame
			}
		case h.Op > s.last:
			b.later = true
		}
	})
}

// lastUsed returns the place of the last byte that is not zero, or -1.
func lastUsed(b []byte) int {
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] != 0 {
			return i
		}
	}
	return -1
}
