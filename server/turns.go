package server

import (
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"
)

// diskTurns lets a few partitions of a node at a time write to the disk and sync. The others gather meanwhile, and who gets
// a turn makes durable with one sync all that it has gathered, as a lone partition does with what came during its last one. Each sync costs CPU
// time and a place in the disk's queue, however little it covers; without turns as many are under way as there are
// partitions, and each covers next to nothing.
//
// Who has nothing to gather does not wait (see gathering). A turn is worth waiting for, not standing still for: where those
// who have one keep it for long, because the disk is slow, a write is stuck or a job is large, the others go to the disk
// without, and the node says so.
type diskTurns struct {
	free     chan struct{} // one for each turn that nobody has; who waits is served in order
	patience time.Duration // the longest wait
	log      *slog.Logger
	missed   atomic.Uint64 // waits that ended without a turn
	toldNs   atomic.Int64  // when that was last told of, since start
	start    time.Time
}

const (
	// turnPatience is far longer than the queue for a disk that works, and far shorter than what a replica bears
	// to be silent for: votes stand in this queue too.
	turnPatience = 50 * time.Millisecond

	// turnTellEvery is how often a slow disk is told of.
	turnTellEvery = 10 * time.Second
)

// flushesAtOnce is what the limits say, or twice as many as there are processors: with fewer the processors wait for the disk, with more each sync
// covers too little to be worth its CPU time.
func flushesAtOnce(l *Limits) int {
	if l.FlushesAtOnce > 0 {
		return l.FlushesAtOnce
	}
	return 2 * runtime.NumCPU()
}

func newDiskTurns(atOnce int, patience time.Duration, log *slog.Logger) *diskTurns {
	d := &diskTurns{free: make(chan struct{}, atOnce), patience: patience, log: log, start: time.Now()}
	d.toldNs.Store(-int64(turnTellEvery))
	for range atOnce {
		d.free <- struct{}{}
	}
	return d
}

// take waits for a turn, until patience ends or stop is closed, and tells whether the caller has one, to be given back. timer
// is the caller's, and stopped. While a turn is free it does not wait.
func (d *diskTurns) take(stop <-chan struct{}, timer *time.Timer) bool {
	if d.takeFree() {
		return true
	}
	timer.Reset(d.patience)
	defer timer.Stop()
	select {
	case <-d.free:
		return true
	case <-timer.C:
		d.miss()
		return false
	case <-stop:
		return false
	}
}

// takeFree takes a turn if one is free.
func (d *diskTurns) takeFree() bool {
	select {
	case <-d.free:
		return true
	default:
		return false
	}
}

// giveBack ends a turn.
func (d *diskTurns) giveBack() { d.free <- struct{}{} }

// miss counts a wait that was too long, and tells of it now and then.
func (d *diskTurns) miss() {
	d.missed.Add(1)
	now, told := int64(time.Since(d.start)), d.toldNs.Load()
	if now-told >= int64(turnTellEvery) && d.toldNs.CompareAndSwap(told, now) {
		d.log.Warn("the disk is slow: partitions wait longer for one another's syncs than they should, and go on side by side", "waited_ms", d.patience.Milliseconds(), "missed_turns", d.missed.Load())
	}
}
