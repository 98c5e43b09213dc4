package loadgen

import (
	"testing"
	"testing/synctest"
	"time"
)

// Trap 2: a producer that its own pacer wakes late is late by its own fault; a
// producer that waited for the target is not, however long after the due time it sends.
func TestOwnLatenessHasOneCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		p := &producerLoop{roster: newRoster(1, 0, 1), live: &NewLive(1).producers[0], base: start, start: start,
			stop: start.Add(time.Hour), budget: time.Hour, drain: time.Hour, registered: true, free: start,
			client: fixedClient{50 * time.Millisecond}, pacer: newSleepPacer(0)}
		due := start.Add(10 * time.Millisecond)
		time.Sleep(12 * time.Millisecond) // the pacer's fault: 2 ms
		first := p.send(t.Context(), &Batch{}, due)
		if got := time.Duration(first.OwnLateNs); got != 2*time.Millisecond {
			t.Errorf("own lateness %v, want 2ms", got)
		}
		// The next one was due 30 ms ago, while the first was in flight; it is sent 1 ms after that.
		time.Sleep(time.Millisecond)
		second := p.send(t.Context(), &Batch{Sequence: 1}, due.Add(22*time.Millisecond))
		if own, all := time.Duration(second.OwnLateNs), time.Duration(second.SentNs-second.DueNs); own != time.Millisecond || all != 31*time.Millisecond {
			t.Errorf("own lateness %v of %v, want 1ms of 31ms", own, all)
		}
	})
}

// fixedClient acknowledges everything after a while.
type fixedClient struct{ takes time.Duration }

func (c fixedClient) Register(int, time.Time) TryResult { return Acked(0) }
func (c fixedClient) Close() error                      { return nil }
func (c fixedClient) Try(Attempt) TryResult {
	time.Sleep(c.takes)
	return Acked(1)
}

// A late acknowledgement does not count, and its offset is kept.
func TestAcknowledgementAfterTheBudgetIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		p := &producerLoop{roster: newRoster(1, 0, 1), live: &NewLive(1).producers[0], base: start, start: start,
			stop: start.Add(time.Hour), budget: 20 * time.Millisecond, drain: time.Hour, registered: true, free: start,
			client: fixedClient{21 * time.Millisecond}, pacer: newSleepPacer(0)}
		r := p.send(t.Context(), &Batch{}, start)
		if r.Outcome != OutcomeUnknown || !r.Late || r.Offset != 1 {
			t.Errorf("%+v, want unknown, late, with its offset", r)
		}
	})
}
