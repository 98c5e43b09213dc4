package journal

import "rejoin/server/vsr"

// What only tests ask of a log.

// ReportDamage tells that a reader found op damaged. The log looks for itself and, where it agrees,
// makes the op a hole. It returns whether the op is one.
func (l *Log) ReportDamage(op uint64) bool {
	l.mu.Lock()
	known := l.inHole(op)
	l.mu.Unlock()
	if known {
		return true
	}
	_, _, _ = l.ReadFrame(op, nil) // makes the hole
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inHole(op)
}

// Durable returns the last op that is synced.
func (l *Log) Durable() vsr.ID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.durable
}

// Top returns the highest op that the log may contain, damaged or not.
func (l *Log) Top() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.top
}

// NextOffset returns the message offset after the last op.
func (l *Log) NextOffset() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lastSegment().nextOffset
}
