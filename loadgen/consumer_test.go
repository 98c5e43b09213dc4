package loadgen_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rejoin/loadgen"
	"rejoin/loadgen/target/memory"
	"rejoin/results"
)

// Three consumers see every batch once, each a little after its acknowledgement, on the ledger's clock.
func TestConsumersReadEveryBatchOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := newTarget(t, memory.Options{Delay: 3 * time.Millisecond})
		o := fakeClockOptions(t, target)
		o.Consumers = []int{0, 1, 1}
		o.Live = loadgen.NewLive(0)
		observer := o.Live.NewObserver()
		outcome, m := mustRun(t, t.Context(), o)
		acked := map[int64]int64{}
		for _, s := range m.Samples {
			acked[s.DueNs] = s.AckNs
		}
		if len(acked) != 3000 || len(outcome.Consumers) != 3 {
			t.Fatalf("%d batches, %d consumers", len(acked), len(outcome.Consumers))
		}
		for i, c := range outcome.Consumers {
			seen := map[int64]bool{}
			for _, r := range c.Reads {
				ack, known := acked[r.DueNs]
				if after := r.ReadNs - ack; !known || seen[r.DueNs] || after < -int64(4*time.Millisecond) || after > int64(3*time.Millisecond) {
					t.Fatalf("consumer %d: batch due at %d read at %d, acknowledged at %d (%v)", i, r.DueNs, r.ReadNs, ack, known)
				}
				seen[r.DueNs] = true
			}
			if len(c.Reads) != 3000 || c.Errors != 0 || c.Strange != 0 {
				t.Errorf("consumer %d of %s: %d reads, %d errors (%v), %d strange", i, c.Replica, len(c.Reads), c.Errors, c.FirstErr, c.Strange)
			}
		}
		look := observer.Look()
		if look.Read != 9000 || look.ReadP50Ns == nil || *look.ReadP50Ns > int64(6*time.Millisecond) {
			t.Errorf("an observer sees %+v", look)
		}
	})
}

// A replica that stops for a second shows up in what its consumer waited, in nothing else.
func TestConsumerWaitsForItsReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := newTarget(t, memory.Options{})
		o := fakeClockOptions(t, target)
		o.Consumers = []int{1}
		o.OnStart = func(int64) {
			time.AfterFunc(3*time.Second, func() { target.SetAddress(1, memory.AddressRefuses) })
			time.AfterFunc(4*time.Second, func() { target.SetAddress(1, memory.AddressOpen) })
		}
		outcome, m := mustRun(t, t.Context(), o)
		longest := int64(0)
		for _, r := range outcome.Consumers[0].Reads {
			longest = max(longest, r.ReadNs-r.DueNs)
		}
		if len(outcome.Consumers[0].Reads) != 3000 || longest < int64(950*time.Millisecond) || longest > int64(1100*time.Millisecond) || outcome.Consumers[0].Errors == 0 {
			t.Errorf("%d reads, the longest after %v, %d errors", len(outcome.Consumers[0].Reads), time.Duration(longest), outcome.Consumers[0].Errors)
		}
		if p := *latencySet(m).Get(results.DueToAck, results.Steady).MaxNs(); p > int64(5*time.Millisecond) {
			t.Errorf("a batch took %v to its acknowledgement", time.Duration(p))
		}
	})
}

// stuckTails is a target whose replicas never answer a consumer.
type stuckTails struct{ *memory.Target }

type stuckTail struct{}

func (stuckTails) OpenTail(string) (loadgen.Tail, error) { return stuckTail{}, nil }

func (stuckTail) Close() error { return nil }

func (stuckTail) Next(ctx context.Context, deadline time.Time, _ func(loadgen.ReadBatch) error) error {
	<-ctx.Done()
	return ctx.Err()
}

// Consumers never slow producers, and a run ends without them when they must be given up: here its context ends them.
func TestConsumersNeverSlowProducers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := newTarget(t, memory.Options{})
		o := fakeClockOptions(t, stuckTails{target})
		o.Consumers = []int{0, 1, 2}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		outcome, err := loadgen.Run(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		m, err := loadgen.Measure(outcome.Ledgers)
		if err != nil || m.Counts.OK != 3000 || len(outcome.Consumers[0].Reads) != 0 {
			t.Errorf("%v, counts %+v", err, m.Counts)
		}
		if p := *latencySet(m).Get(results.DueToAck, results.Steady).MaxNs(); p > int64(5*time.Millisecond) {
			t.Errorf("a batch took %v", time.Duration(p))
		}
	})
}

func TestConsumersAreRefused(t *testing.T) {
	target := newTarget(t, memory.Options{})
	for want, o := range map[string]loadgen.Options{
		"replicas 0 to 2": {Consumers: []int{3}}, "at most 64": {Consumers: make([]int, 65)},
	} {
		o.Target, o.LedgerDir = target, t.TempDir()
		if _, err := loadgen.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	o := loadgen.Options{Target: struct{ loadgen.Target }{target}, LedgerDir: t.TempDir(), Consumers: []int{0}}
	if _, err := loadgen.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "leave consumers out") {
		t.Errorf("a target without tails: %v", err)
	}
}
