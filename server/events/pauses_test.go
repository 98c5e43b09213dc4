package events

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"rejoin/server/wire"
)

func TestPausesAreSeenOnce(t *testing.T) {
	p := NewPauses()
	before := wire.MonoNow()
	runtime.GC()
	got, ok := p.Next()
	if !ok || got.Cycles < 1 || got.Longest <= 0 || got.AtMonoNs < before || got.AtMonoNs > wire.MonoNow() {
		t.Errorf("%+v, %t after a collection", got, ok)
	}
	p.stats.NumGC = p.seen
	if again, ok := p.take(time.Now(), wire.MonoNow()); ok {
		t.Errorf("%+v without one", again)
	}
}

// The longest pause counts, and a wall clock that was set does not move it out of the span between the readings.
func TestPausesArePlacedBetweenReadings(t *testing.T) {
	now := time.Now()
	stats := func(ends ...time.Time) *Pauses {
		return &Pauses{seen: 5, lastNs: 1_000_000_000, stats: debug.GCStats{NumGC: 5 + int64(len(ends)),
			Pause: []time.Duration{1000, 3000, 2000}[:len(ends)], PauseEnd: ends}}
	}
	p := stats(now.Add(-100*time.Millisecond), now.Add(-300*time.Millisecond), now.Add(-700*time.Millisecond))
	if got, ok := p.take(now, 2_000_000_000); !ok || got != (Pause{AtMonoNs: 1_700_000_000, Longest: 3000, Cycles: 3}) {
		t.Errorf("%+v, %t; want the pause of 3 µs at 1.7 s of 3", got, ok)
	}
	p = stats(now.Add(time.Hour))
	if got, _ := p.take(now, 2_000_000_000); got.AtMonoNs != 2_000_000_000 {
		t.Errorf("a clock set back an hour puts the pause at %d", got.AtMonoNs)
	}
	p = stats(now.Add(-time.Hour))
	if got, _ := p.take(now, 2_000_000_000); got.AtMonoNs != 1_000_000_000 {
		t.Errorf("a clock set forward an hour puts the pause at %d", got.AtMonoNs)
	}
	p = stats(now)
	p.stats.NumGC += 1000
	if got, _ := p.take(now, 2_000_000_000); got.Cycles != 1001 || !got.Forgotten {
		t.Errorf("%+v, want 1,001 cycles, most of them forgotten", got)
	}
}
