package events

import (
	"runtime/debug"
	"time"

	"rejoin/server/wire"
)

// Pauses finds out when the garbage collector stopped this process. It is asked now and then, about once a second: a reading costs some
// microseconds and stops nothing. It belongs to one goroutine.
type Pauses struct {
	stats  debug.GCStats // kept for its memory
	seen   int64         // cycles up to the last reading
	lastNs int64         // CLOCK_MONOTONIC of the last reading
}

// Pause is what happened between two readings.
type Pause struct {
	AtMonoNs  int64         // end of the longest pause, raw CLOCK_MONOTONIC
	Longest   time.Duration // all stops of one cycle together
	Cycles    uint64
	Forgotten bool // more cycles than the runtime remembers: a longer one may be among them
}

// NewPauses counts from now on.
func NewPauses() *Pauses {
	p := &Pauses{lastNs: wire.MonoNow()}
	debug.ReadGCStats(&p.stats)
	p.seen = p.stats.NumGC
	return p
}

// Next is what happened since the last reading; false if nothing did.
func (p *Pauses) Next() (Pause, bool) {
	debug.ReadGCStats(&p.stats)
	return p.take(time.Now(), wire.MonoNow())
}

func (p *Pauses) take(now time.Time, nowNs int64) (Pause, bool) {
	cycles, fromNs := p.stats.NumGC-p.seen, p.lastNs
	p.seen, p.lastNs = p.stats.NumGC, nowNs
	if cycles <= 0 {
		return Pause{}, false
	}
	known := min(int(cycles), len(p.stats.Pause), len(p.stats.PauseEnd)) // newest first
	out := Pause{AtMonoNs: nowNs, Longest: -1, Cycles: uint64(cycles), Forgotten: int64(known) < cycles}
	for i := range known {
		if d := p.stats.Pause[i]; d > out.Longest {
			// The runtime tells the end by the wall clock. Between two readings it places the pause; a clock that was set meanwhile
			// cannot move it beyond them.
			end := nowNs - int64(now.Sub(p.stats.PauseEnd[i]))
			out.Longest, out.AtMonoNs = d, min(max(end, fromNs), nowNs)
		}
	}
	return out, true
}
