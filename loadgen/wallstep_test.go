package loadgen_test

import (
	"testing"
	"time"
	"unsafe"

	"rejoin/loadgen"
	"rejoin/loadgen/target/memory"
	"rejoin/results"
)

// stepped is a point in time whose wall clock was another one: what a base looks like that was read before somebody set the clock. The runtime
// keeps whole seconds of the wall clock above 30 bits of nanoseconds and below the bit that says that a monotonic reading is there.
func stepped(t *testing.T, at time.Time, step time.Duration) time.Time {
	t.Helper()
	const nanosecondBits = 30
	*(*uint64)(unsafe.Pointer(&at)) += uint64(int64(step/time.Second)) << nanosecondBits
	return at
}

// Trap 12: somebody sets the wall clock by an hour while a run goes on. No due time, no latency and no second of the record moves.
func TestWallClockStepMovesNothing(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		now := time.Now()
		base := stepped(t, now, step)
		if moved := base.Unix() - now.Unix(); moved != int64(step/time.Second) || base.Sub(now) != 0 {
			t.Fatalf("the fake is none: its wall clock differs by %d s, its monotonic one by %v", moved, base.Sub(now))
		}
		target := newTarget(t, memory.Options{Delay: time.Millisecond})
		o := loadgen.Options{Target: target, LedgerDir: t.TempDir(), OvershootSamples: -1, Duration: time.Second, MessageBytes: 64, BatchMessages: 10, RatePerS: 3_000, Seed: 5,
			Base: base}
		outcome, m := mustRun(t, t.Context(), o)
		took := int64(time.Since(now))
		if outcome.StartNs < 0 || outcome.StopNs-outcome.StartNs != int64(time.Second) || outcome.StopNs > took+int64(time.Second) || m.Counts.OK != m.Counts.Due || m.Counts.Due != 300 {
			t.Fatalf("a step of %v: load from %d to %d ns of %d, %d of %d batches acknowledged", step, outcome.StartNs, outcome.StopNs, took, m.Counts.OK, m.Counts.Due)
		}
		for _, s := range m.Samples {
			if s.DueNs < outcome.StartNs || s.SentNs < s.DueNs || s.AckNs < s.SentNs || s.AckNs > took {
				t.Fatalf("a step of %v: due %d, sent %d, acknowledged %d ns of %d", step, s.DueNs, s.SentNs, s.AckNs, took)
			}
		}
		if health := latencySet(m).Get(results.DueToAck, results.Steady).Health(); health.Err() != nil {
			t.Errorf("a step of %v: %v", step, health.Err())
		}
		if n := int64(len(m.Rates())); n > took/int64(time.Second)+1 {
			t.Errorf("a step of %v: the record has %d seconds of a run of %v", step, n, time.Duration(took))
		}
	}
}
