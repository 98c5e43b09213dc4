package journal

import (
	"fmt"
	"sort"
)

// loadedSegmentsMax bounds the sealed segments whose file is open and whose index is in memory
// without a user: a reader that walks the log needs one, a few may walk at the same time.
const loadedSegmentsMax = 8

// OpenFilesMax is how many files a log has open at most, beside those that readers pin and those that were sealed since
// SyncMark: of each kind of state one, the sealed segments that are kept loaded, the last one, those that are made ahead of use, a small file
// that is being made, and a directory that is synced.
func OpenFilesMax(segmentsReady int) int {
	const state, last, preparing, small, directory = 3, 1, 1, 1, 1
	return state + loadedSegmentsMax + last + max(segmentsReady, 1) + preparing + small + directory
}

// segment is one file of the log. All fields are guarded by Log.mu, except that the write side, which
// alone changes them (but for the loading of sealed ones), may read them without.
type segment struct {
	first      uint64
	last       uint64 // last op that belongs here, held or damaged; first-1 when empty
	parent     uint64 // sum of op first-1, meaningful when parentKnown
	lastSum    uint64 // sum of op last, meaningful when complete
	base       uint64 // message offset of op first
	nextOffset uint64 // message offset after op last, meaningful when complete
	end        int64  // bytes of the ops that have a place
	placed     uint64 // ops first..first+placed-1 have an entry; the rest up to last is a hole without a place

	// parentKnown: false only where the log has a hole on both sides of the border, or has begun in one. Parent
	// means nothing then, and base is a lower bound.
	parentKnown bool

	file     File    // nil while not loaded
	entries  []entry // one for each placed op; nil while not loaded
	refs     int     // users of file and entries
	doomed   bool    // cut away or trimmed: close file with the last user
	dirty    bool    // holds writes that no sync covers
	indexed  bool    // an index file describes it whole, and it is sealed: it may be unloaded
	indexOps uint64  // ops that its index file tells of, 0 without one
	used     uint64  // clock of the last use, for eviction
}

// complete tells that every op has a place.
func (s *segment) complete() bool { return s.first+s.placed == s.last+1 }

// entryEnd is the end in bytes of the i-th placed op.
func (s *segment) entryEnd(i int) int64 {
	if i+1 < len(s.entries) {
		return s.entries[i+1].at
	}
	return s.end
}

// bytesUpTo counts the bytes of the ops up to op, or fewer: those of a segment that reaches beyond op and is
// not loaded do not count.
func (s *segment) bytesUpTo(op uint64) int64 {
	switch {
	case op >= s.last:
		return s.end
	case op < s.first || len(s.entries) == 0:
		return 0
	}
	return s.entryEnd(int(min(op-s.first+1, s.placed)) - 1)
}

// nextBase is the message offset after the i-th placed op.
func (s *segment) nextBase(i int) uint64 {
	if i+1 < len(s.entries) {
		return s.entries[i+1].base
	}
	return s.nextOffset
}

// find returns the segment that op belongs to. Callers hold mu or are the write side.
func (l *Log) find(op uint64) *segment {
	i := sort.Search(len(l.segments), func(i int) bool { return l.segments[i].first > op })
	if i == 0 || l.segments[i-1].last < op {
		return nil
	}
	return l.segments[i-1]
}

func (l *Log) lastSegment() *segment { return l.segments[len(l.segments)-1] }

// pin loads s if need be. The lock is held at call and return, and left free while files are read.
func (l *Log) pin(s *segment) (*segment, error) {
	s.refs++
	l.clock++
	s.used = l.clock
	if s.file != nil {
		return s, nil
	}
	l.mu.Unlock()
	f, entries, err := l.load(s)
	l.mu.Lock()
	switch {
	case err != nil:
		l.unpin(s)
		return nil, err
	case s.file != nil: // another reader was faster
		f.Close()
	default:
		s.file, s.entries = f, entries
		l.loaded = append(l.loaded, s)
	}
	return s, nil
}

func (l *Log) release(s *segment) {
	l.mu.Lock()
	l.unpin(s)
	l.evictLocked()
	l.mu.Unlock()
}

func (l *Log) unpin(s *segment) {
	s.refs--
	if s.refs < 0 {
		panic(fmt.Sprintf("journal: segment %d released too often", s.first))
	}
	if s.refs == 0 && s.doomed {
		s.unload()
	}
}

// unload closes the file. Nothing un-synced is in it that still counts, so the result of close says
// nothing about the log.
func (s *segment) unload() {
	if s.file != nil {
		s.file.Close()
		s.file, s.entries = nil, nil
	}
}

func (l *Log) evict() {
	l.mu.Lock()
	l.evictLocked()
	l.mu.Unlock()
}

// evictLocked unloads the least recently used sealed segments beyond loadedSegmentsMax.
func (l *Log) evictLocked() {
	kept := l.loaded[:0]
	for _, s := range l.loaded {
		if s.file != nil && s.indexed {
			kept = append(kept, s)
		}
	}
	clear(l.loaded[len(kept):])
	l.loaded = kept
	for len(l.loaded) > loadedSegmentsMax {
		oldest := -1
		for i, s := range l.loaded {
			if s.refs == 0 && (oldest < 0 || s.used < l.loaded[oldest].used) {
				oldest = i
			}
		}
		if oldest < 0 {
			return // all in use: the next release looks again
		}
		l.loaded[oldest].unload()
		l.loaded = append(l.loaded[:oldest], l.loaded[oldest+1:]...)
	}
}

// load opens the file of a sealed segment and reads its index, or the segment where that is bad. Only a
// *DamageError says that there is something to repair.
func (l *Log) load(s *segment) (File, []entry, error) {
	name := l.segmentName(s.first)
	f, err := l.fs.Open(name)
	if err != nil {
		return nil, nil, damageOr("open", &DamageError{File: name, Offset: -1, Op: s.first, Err: err})
	}
	if x, err := l.readIndex(s.first); err == nil && x.parent == s.parent && uint64(len(x.entries)) == s.placed {
		return f, x.entries, nil
	}
	sc := l.scanner(f, name)
	entries := make([]entry, 0, s.placed)
	st := scanState{op: s.first, parent: s.parent, base: s.base}
	for uint64(len(entries)) < s.placed {
		at := st.at
		h, err := sc.next(&st)
		if err != nil {
			f.Close()
			return nil, nil, damageOr("read", &DamageError{File: name, Offset: at, Op: st.op, Err: fmt.Errorf("the index is unreadable, and so is the segment: %w", err)})
		}
		entries = append(entries, entry{at: at, base: h.BaseOffset, sum: h.Sum})
	}
	return f, entries, nil
}
