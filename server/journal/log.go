package journal

import (
	"fmt"
	"sync"
	"sync/atomic"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// Log is an open log. The package comment says which methods may run where.
type Log struct {
	fs            FS
	dir           string
	cluster       uint64
	group         uint32
	segmentBytes  int64
	segmentsReady int
	zerosOnDisk   bool
	pipeline      uint64

	state     *StateFile
	markFile  *StateFile
	startFile *StateFile
	start     before // as it is in the file
	mark      Mark   // as it is in the file, or will be with the next write
	markPut   Mark   // as it was written last
	markBuf   [markBytes]byte

	// Of the write side alone.
	unsynced []*segment // dirty segments, oldest first
	sealed   []*segment // sealed segments without an index, oldest first
	dirDirty bool       // a segment got its name since the directory was synced
	tables   []uint64   // ops of the readable checkpoints, rising; tablesKept at most once one was saved
	iov      [][]byte

	// prepareMu serialises the making of files ahead of use.
	prepareMu sync.Mutex
	prepared  []preparedFile // whole ones
	preparing *preparedFile  // nil, or the one that Prepare has begun
	opening   bool           // the first segment is made, and need not lie in memory: see zeroFill
	zeroed    atomic.Int64   // bytes of zeros written since Open
	recycled  atomic.Int64   // files of trimmed segments that were kept, since Open

	// mu guards what follows and the segments. It is never held over a write or a sync.
	mu       sync.Mutex
	fault    error      // first failure, also of Prepare; every later write returns it
	segments []*segment // rising by first op, never empty
	written  vsr.ID     // end of the log
	durable  vsr.ID     // of written, what is synced
	top      uint64     // max(written.Op, what the mark tells was here)
	holes    []OpRange  // damaged ops at or below written, rising, apart
	loaded   []*segment // sealed segments with an index whose file is open, any order, each once
	scanned  []*segment // loaded without their index, which is bad: it is written anew with the next SyncMark
	cuts     uint64     // counts cuts, so that a reader can tell that one ran meanwhile
	clock    uint64
	closed   bool
}

// fail remembers the first failure.
func (l *Log) fail(err error) error {
	if err == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault == nil {
		l.fault = err
	}
	return err
}

// failed returns the first failure.
func (l *Log) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault
}

// root is the parent of op 1.
func (l *Log) root() uint64 { return wire.RootSum(l.cluster, l.group) }

// Start returns the first op of the log, held or not yet there.
func (l *Log) Start() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.segments[0].first
}

// Written returns the end of the log.
func (l *Log) Written() vsr.ID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written
}

// EarliestOffset returns the message offset at which the log begins.
func (l *Log) EarliestOffset() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.segments[0].base
}

// checkRange tells whether op is in the log at all. Callers hold mu.
func (l *Log) checkRange(op uint64) error {
	switch {
	case l.closed:
		return ErrClosed
	case op < l.segments[0].first:
		return fmt.Errorf("op %d: %w: the log begins at %d", op, ErrTrimmed, l.segments[0].first)
	case op > l.written.Op:
		return fmt.Errorf("op %d: %w: it ends at %d", op, ErrNotHeld, l.written.Op)
	}
	return nil
}

func (l *Log) closePrepared() {
	for _, p := range l.prepared {
		p.file.Close()
	}
	if l.preparing != nil {
		l.preparing.file.Close()
	}
	l.prepared, l.preparing = nil, nil
}

// Close closes every file. What was not synced is not made durable.
func (l *Log) Close() error {
	l.prepareMu.Lock()
	defer l.prepareMu.Unlock()
	l.mu.Lock()
	l.closed = true
	for _, s := range l.segments {
		s.doomed = true
		if s.refs == 0 {
			s.unload()
		}
	}
	l.mu.Unlock()
	l.closePrepared()
	_ = l.fail(ErrClosed)
	err := l.markFile.Close()
	if e := l.state.Close(); err == nil {
		err = e
	}
	if l.startFile != nil {
		if e := l.startFile.Close(); err == nil {
			err = e
		}
	}
	return err
}
