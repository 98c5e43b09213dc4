package loadgen

import (
	"fmt"
	"sync"
	"time"

	"rejoin/results"
)

// PacerMode is how a producer waits for a due time.
type PacerMode string

// Pacer modes.
const (
	// PacerTimerfd waits on a timerfd by way of Go's netpoller: no thread is held and the kernel's
	// timer is exact.
	PacerTimerfd PacerMode = "timerfd"
	// PacerSleep is time.Sleep, which an idle Go process leaves up to a millisecond late. It is the
	// one that works under a fake clock.
	PacerSleep PacerMode = "sleep"
	// PacerSpin sleeps until shortly before and then spins: most exact, and it burns a core.
	PacerSpin PacerMode = "spin"
)

// spinBefore is how long before the due time PacerSpin begins to spin: more than time.Sleep is late.
const spinBefore = 1500 * time.Microsecond

// pacer waits for points in time. It belongs to one goroutine, but for interrupt.
type pacer interface {
	// until returns at a time, at once if it has passed, early if interrupted.
	until(at time.Time)
	// interrupt ends the present wait and all later ones. It may be called from any goroutine.
	interrupt()
	close() error
}

func newPacer(mode PacerMode) (pacer, error) {
	switch mode {
	case PacerTimerfd:
		return newTimerfdPacer()
	case PacerSleep:
		return newSleepPacer(0), nil
	case PacerSpin:
		return newSleepPacer(spinBefore), nil
	}
	return nil, fmt.Errorf("loadgen: pacer %q: pass %s, %s or %s", mode, PacerTimerfd, PacerSleep, PacerSpin)
}

// sleepPacer waits on a timer of the Go runtime and may spin for the rest.
type sleepPacer struct {
	spin time.Duration
	stop chan struct{}
	once sync.Once
}

func newSleepPacer(spin time.Duration) *sleepPacer {
	return &sleepPacer{spin: spin, stop: make(chan struct{})}
}

func (p *sleepPacer) until(at time.Time) {
	if wait := time.Until(at) - p.spin; wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-p.stop:
			return
		}
	}
	for p.spin > 0 && time.Until(at) > 0 {
	}
}

func (p *sleepPacer) interrupt()   { p.once.Do(func() { close(p.stop) }) }
func (p *sleepPacer) close() error { return nil }

// overshootPeriod lies between two waits of one producer when the overshoot is measured: short
// enough to take many samples, long enough that each wait is a real one.
const overshootPeriod = 2 * time.Millisecond

// measureOvershoot lets every pacer wait as the load will, in phases of its own, and returns how late
// the waits ended. It takes about samples / producers × 2 ms.
func measureOvershoot(pacers []pacer, samples int) *results.Histogram {
	each := (samples + len(pacers) - 1) / len(pacers)
	parts := make([]*results.Histogram, len(pacers))
	start := time.Now().Add(overshootPeriod)
	var wait sync.WaitGroup
	for i, p := range pacers {
		parts[i] = results.NewHistogram()
		first := start.Add(overshootPeriod * time.Duration(i) / time.Duration(len(pacers)))
		wait.Go(func() {
			for n := range each {
				at := first.Add(time.Duration(n) * overshootPeriod)
				if time.Until(at) <= 0 {
					continue // late already: this would measure the last wait once more
				}
				p.until(at)
				parts[i].Record(int64(time.Since(at)))
			}
		})
	}
	wait.Wait()
	all := results.NewHistogram()
	for _, part := range parts {
		all.Merge(part)
	}
	return all
}
