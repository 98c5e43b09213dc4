package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// loaded is what the files of a sealed segment bring.
type loaded struct {
	file       File  // nil: it cannot be opened
	damage     error // *DamageError: why there is no file, or not an entry for each op
	scanned    bool  // its index is bad
	entries    []entry
	end        int64  // of the ops that have an entry
	nextOffset uint64 // after them
}

func (x *loaded) close() {
	if x.file != nil {
		x.file.Close() // opened to read
	}
}

// loadPinned loads s, which the caller holds. The lock is held at call and return.
func (l *Log) loadPinned(s *segment) error {
	was, cuts := *s, l.cuts
	l.mu.Unlock()
	x, err := l.load(&was)
	l.mu.Lock()
	switch {
	case err != nil:
		return err
	case s.doomed || l.cuts != cuts:
		x.close()
		return errMeanwhile
	case s.file != nil || s.gone != nil: // another reader was faster
		x.close()
		return s.gone
	}
	s.file = x.file
	s.entries = x.entries
	if x.damage != nil {
		l.lose(s, &x)
		return x.damage
	}
	if x.scanned {
		s.indexed = false
		l.scanned = append(l.scanned, s)
	} else {
		l.loaded = append(l.loaded, s)
	}
	return nil
}

// lose makes of a sealed segment that cannot be loaded whole what a start would: the ops behind those that were found
// are a hole without a place. Where the file alone is gone their places are known. Callers hold mu.
func (l *Log) lose(s *segment, x *loaded) {
	s.placed, s.end, s.nextOffset, s.indexed = uint64(len(x.entries)), x.end, x.nextOffset, false
	if x.file == nil {
		s.gone = x.damage
		l.addHole(s.first, s.last)
		return
	}
	l.addHole(s.first+s.placed, s.last)
}

// load opens the file of a sealed segment and reads its index, or the segment where that is bad. An error says
// nothing about what is there.
func (l *Log) load(s *segment) (x loaded, err error) {
	name := l.segmentName(s.first)
	x.nextOffset = s.base
	x.file, err = l.fs.Open(name)
	if err != nil {
		x.file, x.damage = nil, &DamageError{File: name, Offset: -1, Op: s.first, Err: err}
		if !isDamage(err) {
			return x, damageOr("open", &DamageError{File: name, Op: s.first, Err: err})
		}
	}
	i, err := l.readIndex(s.first)
	switch {
	case err == nil && i.parent == s.parent && uint64(len(i.entries)) == s.placed:
		x.entries, x.end, x.nextOffset = i.entries, i.end, i.nextOffset
		return x, nil
	case err != nil && !isDamage(err):
		x.close()
		return x, fmt.Errorf("read the index of op %d: %w", s.first, err)
	case x.file == nil:
		return x, nil
	}
	x.scanned = true
	return x, l.scanWhole(s, &x)
}

// scanWhole reads a sealed segment up to where it is damaged.
func (l *Log) scanWhole(s *segment, x *loaded) error {
	sc := l.scanner(x.file, l.segmentName(s.first))
	st := scanState{op: s.first, parent: s.parent, base: s.base, free: !s.parentKnown}
	x.entries = make([]entry, 0, s.placed)
	for uint64(len(x.entries)) < s.placed {
		at := st.at
		h, err := sc.next(&st)
		if err != nil {
			damage := &DamageError{File: sc.name, Offset: at, Op: st.op, Err: fmt.Errorf("the index is unreadable, and so is the segment: %w", err)}
			if !isDamage(err) {
				x.close()
				return damageOr("read", damage)
			}
			x.damage = damage
			return nil
		}
		x.entries = append(x.entries, entry{at: at, base: h.BaseOffset, sum: h.Sum})
		x.end, x.nextOffset = st.at, st.base
	}
	return nil
}

// sealScanned lets the indexes be written again that were found to be bad.
func (l *Log) sealScanned() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.scanned {
		if !s.doomed && s != l.lastSegment() && !slices.Contains(l.sealed, s) {
			l.sealed = append(l.sealed, s)
		}
	}
	clear(l.scanned)
	l.scanned = l.scanned[:0]
}

// pinToFill pins the segment of op with a file to write to, which is made anew where it is gone. Only the write side
// calls it.
func (l *Log) pinToFill(op uint64) (*segment, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.find(op)
	if s.gone == nil {
		return l.pin(s)
	}
	if err := l.makeAnew(s); err != nil {
		return nil, err
	}
	return l.pin(s)
}

// pinLeft pins s as far as its file can be read; what cannot be is a hole by then. False: it has no file. Only the write
// side calls it, and holds mu.
func (l *Log) pinLeft(s *segment) (bool, error) {
	for {
		_, err := l.pin(s)
		switch {
		case err == nil:
			return true, nil
		case s.gone != nil:
			return false, nil
		case !looksAgain(err):
			return false, fault(l.segmentName(s.first), "read", err)
		}
	}
}

// makeAnew gives a segment whose file is gone one to write to. Only the write side calls it, and holds mu, which is
// free meanwhile.
func (l *Log) makeAnew(s *segment) error {
	l.mu.Unlock()
	f, err := l.openAnew(s)
	l.mu.Lock()
	if err != nil {
		return err
	}
	s.file, s.gone = f, nil
	if s.complete() { // its places are known: it can be unloaded again behind an index, which is perhaps gone, too
		l.sealed = append(l.sealed, s)
	}
	return nil
}

// openAnew opens the file of a segment that could not be opened, or makes an empty one where it is gone, durably. What
// cannot be opened stays damage, and the file stays: it may have good copies.
func (l *Log) openAnew(s *segment) (File, error) {
	name := l.segmentName(s.first)
	f, err := l.fs.Open(name)
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, fs.ErrNotExist):
	case isDamage(err):
		return nil, &DamageError{File: name, Offset: -1, Op: s.first, Err: err}
	default:
		return nil, fault(name, "open", err)
	}
	f, err = l.fs.Create(name)
	if isShort(err) {
		return nil, noRoom("create", name, err)
	}
	if err != nil {
		return nil, fault(name, "create", err)
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		f.Close() // nothing is in it
		return nil, fault(l.dir, "sync", err)
	}
	return f, nil
}
