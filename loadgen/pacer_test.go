package loadgen

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestPacersNeverReturnEarly(t *testing.T) {
	for _, mode := range []PacerMode{PacerTimerfd, PacerSleep, PacerSpin} {
		p, err := newPacer(mode)
		if err != nil {
			t.Fatal(err)
		}
		for _, wait := range []time.Duration{-time.Second, 0, time.Nanosecond, 50 * time.Microsecond, 3 * time.Millisecond} {
			at := time.Now().Add(wait)
			p.until(at)
			if early := time.Until(at); early > 0 {
				t.Errorf("%s: %v early after a wait of %v", mode, early, wait)
			}
		}
		if err := p.close(); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
	}
	if _, err := newPacer("hourglass"); err == nil {
		t.Error("an unknown pacer was made")
	}
}

// An interrupted wait ends; if it did not, the test would run into its time limit.
func TestPacersAreInterrupted(t *testing.T) {
	for _, mode := range []PacerMode{PacerTimerfd, PacerSleep} {
		p, err := newPacer(mode)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.until(time.Now().Add(time.Hour))
			p.until(time.Now().Add(time.Hour)) // later waits do not begin
		}()
		p.interrupt()
		p.interrupt()
		<-done
		p.close()
	}
}

func TestTimerfdPacerAllocatesNothing(t *testing.T) {
	p, err := newTimerfdPacer()
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	if n := testing.AllocsPerRun(50, func() { p.until(time.Now().Add(20 * time.Microsecond)) }); n != 0 {
		t.Errorf("%.0f allocations a wait, want 0", n)
	}
}

func TestOvershootIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pacers := []pacer{newSleepPacer(0), newSleepPacer(0), newSleepPacer(0)}
		h := measureOvershoot(pacers, 90)
		if h.Count() != 90 || *h.MaxNs() != 0 {
			t.Errorf("%d samples up to %d ns under a perfect clock, want 90 of 0", h.Count(), *h.MaxNs())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		h := measureOvershoot([]pacer{latePacer{newSleepPacer(0)}}, 10)
		if got := *h.MinNs(); got != int64(300*time.Microsecond) {
			t.Errorf("a pacer that is 300µs late is said to be %v late", time.Duration(got))
		}
	})
}

type latePacer struct{ pacer }

func (p latePacer) until(at time.Time) { p.pacer.until(at.Add(300 * time.Microsecond)) }

// Trap 3: the pacer that is used without asking wakes in time. Where a thread that does nothing but look at the clock is itself held up
// for longer, the machine is what is measured.
func TestOvershootOfTheDefaultPacer(t *testing.T) {
	const limit = 2 * time.Millisecond
	p, err := newPacer(Options{}.WithDefaults().Pacer)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	for range 3 {
		h := measureOvershoot([]pacer{p}, 200)
		p90 := h.QuantileNs(0.9)
		if p90 == nil {
			t.Skipf("only %d of 200 waits began in time: the machine is too busy to tell", h.Count())
		}
		if *p90 <= int64(limit) {
			return
		}
	}
	if gap := longestGap(300 * time.Millisecond); gap > limit {
		t.Skipf("a thread that only reads the clock is held up for %v here: the machine is too busy to tell", gap)
	}
	t.Errorf("nine in ten waits end more than %v late on a machine at rest", limit)
}

// longestGap is the longest time between two readings of the clock.
func longestGap(during time.Duration) time.Duration {
	longest, began := time.Duration(0), time.Now()
	for last := began; last.Sub(began) < during; {
		now := time.Now()
		longest, last = max(longest, now.Sub(last)), now
	}
	return longest
}
