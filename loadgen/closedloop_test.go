package loadgen_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rejoin/loadgen"
	"rejoin/loadgen/target/memory"
)

// TestClosedLoop: with an answer after 5 ms each producer sends 200 batches a second, one at a time, none late, none after the end.
func TestClosedLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay, length, producers = 5 * time.Millisecond, 2 * time.Second, 3
		target := newTarget(t, memory.Options{Delay: delay})
		o := fakeClockOptions(t, target)
		o.ClosedLoop, o.Duration, o.Producers, o.RatePerS = true, length, producers, 0
		o.Live = loadgen.NewLive(producers)
		outcome, m := mustRun(t, context.Background(), o)
		if want := int64(producers * length / delay); m.Counts.Due != want || m.Counts.OK != want {
			t.Errorf("%d due, %d acknowledged, want %d", m.Counts.Due, m.Counts.OK, want)
		}
		for _, s := range m.Samples {
			if s.SentNs != s.DueNs || s.AckNs-s.SentNs != int64(delay) || s.DueNs >= outcome.StopNs {
				t.Fatalf("sample %+v", s)
			}
		}
		if p := o.Live.NewObserver().Look(); p.Due != p.Sent || p.Due != m.Counts.Due {
			t.Errorf("seen from outside: %d due, %d sent", p.Due, p.Sent)
		}
	})
}

func TestClosedLoopRefusesATimetable(t *testing.T) {
	o := fakeClockOptions(t, newTarget(t, memory.Options{}))
	o.ClosedLoop, o.Steps = true, []loadgen.RateStep{{Length: time.Second, From: 10_000, To: 10_000}}
	if _, err := loadgen.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "closed loop") {
		t.Errorf("error %v", err)
	}
}
