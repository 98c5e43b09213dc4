package journal

import (
	"errors"
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
	gone     error   // *DamageError: its file cannot be opened, all its ops are a hole, and Fill opens or makes it anew
	doomed   bool    // cut away or trimmed: close file with the last user
	dirty    bool    // holds writes that no sync covers
	lent     bool    // readers may have been given bytes of its file by reference, by this process or one before
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

// errMeanwhile says that the log was cut or trimmed while its lock was free: the caller looks again.
var errMeanwhile = errors.New("a cut or a trim went on meanwhile")

// pin loads s if need be. The lock is held at call and return, and left free while files are read; errMeanwhile
// is never returned to the write side, which alone cuts and trims. Damage that is met here is a hole when pin
// returns it: the next call finds what is left.
func (l *Log) pin(s *segment) (*segment, error) {
	s.refs++
	l.clock++
	s.used = l.clock
	err := s.gone
	if s.file == nil && err == nil {
		err = l.loadPinned(s)
	}
	if err != nil {
		l.unpin(s)
		return nil, err
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
