package loadgen_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"rejoin/loadgen"
	"rejoin/loadgen/target/memory"
	"rejoin/results"
)

// fakeClockOptions is a run that works under synctest: a timerfd would wait in real time.
func fakeClockOptions(t *testing.T, target loadgen.Target) loadgen.Options {
	return loadgen.Options{Target: target, LedgerDir: t.TempDir(), Pacer: loadgen.PacerSleep, OvershootSamples: -1,
		Duration: 10 * time.Second, MessageBytes: 64, BatchMessages: 10, RatePerS: 3_000, Seed: 5}
}

func mustRun(t *testing.T, ctx context.Context, o loadgen.Options) (loadgen.RunOutcome, *loadgen.Measurement) {
	t.Helper()
	outcome, err := loadgen.Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	m, err := loadgen.Measure(outcome.Ledgers)
	if err != nil {
		t.Fatal(err)
	}
	return outcome, m
}

// newTarget makes a target that waits for its late appends before the test's clock stops.
func newTarget(t *testing.T, options memory.Options) *memory.Target {
	target := memory.New(options)
	t.Cleanup(func() { target.Close() })
	return target
}

// latencySet sorts samples into histograms, with one phase for all.
func latencySet(m *loadgen.Measurement) *results.LatencySet {
	set := results.NewLatencySet()
	for _, s := range m.Samples {
		set.Record(results.Steady, s)
	}
	return set
}

// Trap 1: a target that stalls for 1.000 s must show a ramp of 25 samples a producer, 40 ms apart,
// and the exact p99 that follows from it; the service time alone must not.
func TestStallIsInThePercentiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// 3.0005 s lies between two due times, so that no two things happen at once.
		const delay, stallAt, stall = time.Millisecond, 3*time.Second + 500*time.Microsecond, time.Second
		target := newTarget(t, memory.Options{Delay: delay})
		o := fakeClockOptions(t, target)
		o.OnStart = func(int64) { time.AfterFunc(stallAt+10*time.Millisecond, func() { target.Stall(stall) }) }
		outcome, m := mustRun(t, t.Context(), o)

		want := stallRamp(outcome.StartNs, delay, stallAt, stall)
		var got []int64
		for _, s := range m.Samples {
			got = append(got, s.Of(results.DueToAck))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("%d latencies differ from the %d computed ones; longest %v, want %v", len(got), len(want),
				time.Duration(got[len(got)-1]), time.Duration(want[len(want)-1]))
		}

		set := latencySet(m)
		p99, exact := *set.Get(results.DueToAck, results.Steady).QuantileNs(0.99), want[int(0.99*float64(len(want)))-1]
		if diff := p99 - exact; diff < -exact/1000 || diff > exact/1000+1 {
			t.Errorf("p99 %v, want %v within one bucket", time.Duration(p99), time.Duration(exact))
		}
		if service := *set.Get(results.SentToAck, results.Steady).QuantileNs(0.99); service > 2*int64(delay) {
			t.Errorf("p99 of the service time %v: it should not see the stall, so it cannot be what is reported", time.Duration(service))
		}
		// The wait in the queue is the target's doing: the generator itself was never late.
		timeline := &results.Timeline{}
		if late := m.OwnLate(timeline); *late.MaxNs() != 0 {
			t.Errorf("own lateness up to %v under a perfect clock, want 0", time.Duration(*late.MaxNs()))
		}
	})
}

// stallRamp computes the latencies of the default 12 producers from the definition of the load: a
// batch begins when it is due and the one before it is done, and nothing ends within the stall.
func stallRamp(startNs int64, delay, stallAt, stall time.Duration) []int64 {
	const producers, period, duration = 12, 40 * time.Millisecond, 10 * time.Second
	var latencies []int64
	for p := range producers {
		free := time.Duration(0)
		for i := 0; ; i++ {
			due := time.Duration(i*producers+p) * period / producers
			if due >= duration {
				break
			}
			begin := max(due, free)
			if begin >= stallAt && begin < stallAt+stall {
				begin = stallAt + stall
			}
			free = begin + delay
			latencies = append(latencies, int64(free-due))
		}
	}
	slices.Sort(latencies)
	return latencies
}

// Trap 18: nothing is skipped and the timetable is never reset.
func TestScheduleDebtIsPaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := newTarget(t, memory.Options{})
		o := fakeClockOptions(t, target)
		o.OnStart = func(int64) { time.AfterFunc(2*time.Second, func() { target.Stall(time.Second) }) }
		_, m := mustRun(t, t.Context(), o)
		if m.Counts.Due != 3_000 || m.Counts.OK != 3_000 {
			t.Fatalf("due %d, ok %d, want 3,000 of both", m.Counts.Due, m.Counts.OK)
		}
		var offered, sent, acked int64
		for _, r := range m.Rates() {
			offered, sent, acked = offered+r.OfferedBatches, sent+r.SentBatches, acked+r.AckedBatches
		}
		if offered != 3_000 || sent != 3_000 || acked != 3_000 {
			t.Fatalf("rates add up to offered %d, sent %d, acked %d", offered, sent, acked)
		}
		if second := m.Rates()[2]; second.OfferedBatches != 300 || second.AckedBatches > 20 {
			t.Fatalf("second 2 (stalled) shows offered %d acked %d, want 300 and next to none", second.OfferedBatches, second.AckedBatches)
		}
	})
}

// Trap 9: a target that stops answering before the end leaves no batch out of the books.
func TestInFlightAtTheEndIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := newTarget(t, memory.Options{})
		o := fakeClockOptions(t, target)
		var stopAddressesAt time.Time
		o.OnStart = func(int64) {
			stopAddressesAt = time.Now().Add(8*time.Second + 11*time.Millisecond)
			time.AfterFunc(time.Until(stopAddressesAt), func() {
				for address := range 3 {
					target.SetAddress(address, memory.AddressHangs)
				}
			})
		}
		began := time.Now()
		_, m := mustRun(t, t.Context(), o)
		if took := time.Since(began); took > 21*time.Second {
			t.Errorf("the run took %v: the drain is over 10 s after the load", took)
		}
		c := m.Counts
		if c.Due != 3_000 || c.OK+c.Failed+c.Unknown != c.Due {
			t.Fatalf("counts do not add up: %+v", c)
		}
		// One batch of each producer is in flight to the end; a second one may still begin if that
		// one's last try ended a moment before the deadline.
		if c.Unknown < 12 || c.Unknown > 24 {
			t.Errorf("%d unknown, want the 12 to 24 that were in flight", c.Unknown)
		}
		if c.Failed != c.Unsent || c.Failed+c.Unknown != 599 {
			t.Errorf("%d failed, %d of them never sent, want the rest of the 599 that were due meanwhile", c.Failed, c.Unsent)
		}
		outcomes := m.ByPhase(&results.Timeline{})[results.Steady]
		if outcomes.Due != c.Due || outcomes.GaveUp == nil || outcomes.GaveUp.Count() != c.Unknown+c.Failed {
			t.Errorf("by phase: %+v; every batch without an acknowledgement needs its time", outcomes)
		}
	})
}

// Trap 10: the target commits and cuts the connection; the same request tried again gets the offset.
func TestCutAfterCommitIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := newTarget(t, memory.Options{})
		o := fakeClockOptions(t, target)
		o.OnStart = func(int64) { target.CutAfterCommit(40) }
		outcome, m := mustRun(t, t.Context(), o)
		if m.Counts.OK != 3_000 || m.Counts.Retried == 0 {
			t.Fatalf("%+v, want all ok and some retried", m.Counts)
		}
		if end := target.EndOffset(); end != 30_000 {
			t.Errorf("the log holds %d messages, want 30,000: a retry was appended again", end)
		}
		// Trap 11: every request that arrived was a try that we counted.
		if got := int64(target.Requests()); got != m.Counts.Tries+outcome.RegisterTries {
			t.Errorf("%d requests arrived, we counted %d tries and %d registrations", got, m.Counts.Tries, outcome.RegisterTries)
		}
		if outcome.FirstErr == nil {
			t.Error("no word about the first try that broke")
		}
	})
}

// A batch of which a try was cut and the rest refused is unknown, not failed; one that was always
// refused is failed.
func TestUnknownIsNotFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := newTarget(t, memory.Options{})
		o := fakeClockOptions(t, target)
		o.Producers, o.RatePerS, o.Duration, o.Budget = 1, 10, 3*time.Second, 500*time.Millisecond
		o.OnStart = func(int64) {
			time.AfterFunc(100*time.Millisecond, func() {
				target.CutBeforeCommit(1)
				time.AfterFunc(1400*time.Millisecond, func() {
					for address := range 3 {
						target.SetAddress(address, memory.AddressRefuses)
					}
				})
			})
		}
		_, m := mustRun(t, t.Context(), o)
		// Batch 0 lands; batch 1 is cut, and tried again with success; batch 2 at 2 s is refused.
		if c := m.Counts; c.Due != 3 || c.OK != 2 || c.Failed != 1 || c.Unknown != 0 {
			t.Fatalf("%+v, want 2 ok and 1 failed", c)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		target := newTarget(t, memory.Options{})
		o := fakeClockOptions(t, target)
		o.Producers, o.RatePerS, o.Duration, o.Budget = 1, 10, 2*time.Second, 500*time.Millisecond
		o.OnStart = func(int64) {
			time.AfterFunc(100*time.Millisecond, func() {
				target.CutBeforeCommit(1)
				time.AfterFunc(915*time.Millisecond, func() {
					for address := range 3 {
						target.SetAddress(address, memory.AddressRefuses)
					}
				})
			})
		}
		_, m := mustRun(t, t.Context(), o)
		// Batch 1 at 1.010 s is cut; by its second try every address refuses.
		if c := m.Counts; c.OK != 1 || c.Failed != 0 || c.Unknown != 1 {
			t.Fatalf("%+v, want 1 ok and 1 unknown", c)
		}
	})
}

// An answer that comes after the budget does not count.
func TestBudgetEndsABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := newTarget(t, memory.Options{Delay: 300 * time.Millisecond})
		o := fakeClockOptions(t, target)
		o.Producers, o.RatePerS, o.Duration, o.Budget = 1, 10, 5*time.Second, 200*time.Millisecond
		_, m := mustRun(t, t.Context(), o)
		if c := m.Counts; c.Due != 5 || c.Unknown != 5 {
			t.Fatalf("%+v, want 5 unknown", c)
		}
		target.Close()
		if target.EndOffset() != 50 {
			t.Errorf("the target holds %d messages, want 50: unknown may well be there", target.EndOffset())
		}
	})
}

// Trap 17, D7: half the capacity: what was offered, acknowledged and not is all in print.
func TestTargetAtHalfCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := newTarget(t, memory.Options{ServiceTime: time.Second / 150})
		o := fakeClockOptions(t, target)
		o.DrainBudget = time.Second
		_, m := mustRun(t, t.Context(), o)
		c := m.Counts
		if c.Due != 3_000 || c.OK < 1_600 || c.OK > 1_660 || c.OK+c.Failed+c.Unknown != 3_000 {
			t.Fatalf("%+v, want 3,000 due and about 1,650 ok", c)
		}
		if late := m.OwnLate(&results.Timeline{}); *late.MaxNs() != 0 {
			t.Errorf("own lateness %v: the target's slowness was booked to the generator", time.Duration(*late.MaxNs()))
		}
	})
}

// Time that a client spends inside its try is the target's, not the generator's lateness.
func TestTimeInsideATryIsNoLateness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := fakeClockOptions(t, slowClient{newTarget(t, memory.Options{}), 7 * time.Millisecond})
		o.Producers, o.RatePerS, o.Duration = 1, 10, 3*time.Second
		_, m := mustRun(t, t.Context(), o)
		if c := m.Counts; c.OK != 3 {
			t.Fatalf("%+v", c)
		}
		if late := m.OwnLate(&results.Timeline{}); *late.MaxNs() != 0 {
			t.Fatalf("time inside a try was booked as lateness: %v", time.Duration(*late.MaxNs()))
		}
	})
}

// slowClient is a target whose client takes its time.
type slowClient struct {
	*memory.Target
	by time.Duration
}

type slowProducer struct {
	loadgen.Producer
	by time.Duration
}

func (s slowClient) OpenProducer(ctx context.Context, o loadgen.ProducerOptions) (loadgen.Producer, error) {
	p, err := s.Target.OpenProducer(ctx, o)
	return slowProducer{p, s.by}, err
}

func (s slowProducer) Try(a loadgen.Attempt) loadgen.TryResult {
	time.Sleep(s.by)
	return s.Producer.Try(a)
}

func TestInterruptStopsTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := newTarget(t, memory.Options{Delay: time.Millisecond})
		o := fakeClockOptions(t, target)
		ctx, cancel := context.WithCancel(t.Context())
		o.OnStart = func(int64) { time.AfterFunc(2*time.Second+10*time.Millisecond, cancel) }
		outcome, m := mustRun(t, ctx, o)
		if !outcome.Interrupted || outcome.StopNs-outcome.StartNs > int64(2100*time.Millisecond) {
			t.Errorf("interrupted %v, load of %v", outcome.Interrupted, time.Duration(outcome.StopNs-outcome.StartNs))
		}
		if c := m.Counts; c.Due < 595 || c.Due > 605 || c.OK < 590 {
			t.Errorf("%+v, want about 600 due and ok", c)
		}
	})
}

func TestRunNeedsARegistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := newTarget(t, memory.Options{})
		for address := range 3 {
			target.SetAddress(address, memory.AddressRefuses)
		}
		_, err := loadgen.Run(t.Context(), fakeClockOptions(t, target))
		if !errors.Is(err, loadgen.ErrNotStarted) {
			t.Fatalf("err %v, want ErrNotStarted", err)
		}
	})
}

// An evicted producer registers again; the batch that met the eviction stays unknown.
func TestEvictedProducersRegisterAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := newTarget(t, memory.Options{})
		o := fakeClockOptions(t, target)
		o.OnStart = func(int64) { time.AfterFunc(2*time.Second, target.EvictAll) }
		outcome, m := mustRun(t, t.Context(), o)
		if c := m.Counts; c.Unknown != 12 || c.OK != 3_000-12 {
			t.Fatalf("%+v, want 12 unknown and the rest ok", c)
		}
		if outcome.RegisterTries != 24 {
			t.Errorf("%d registrations, want 2 for each of 12", outcome.RegisterTries)
		}
	})
}

// C2: the first address accepts and never answers, in each place of the roster.
func TestFrozenAddressCostsLittle(t *testing.T) {
	for frozen := range 3 {
		synctest.Test(t, func(t *testing.T) {
			target := newTarget(t, memory.Options{Delay: time.Millisecond})
			target.SetPrimary((frozen + 1) % 3)
			target.SetAddress(frozen, memory.AddressHangs)
			o := fakeClockOptions(t, target)
			o.FirstAddress = frozen
			o.Duration = 30 * time.Second
			_, m := mustRun(t, t.Context(), o)
			if m.Counts.OK != m.Counts.Due {
				t.Fatalf("frozen address %d: %+v", frozen, m.Counts)
			}
			longest := *latencySet(m).Get(results.DueToAck, results.Steady).MaxNs()
			if longest > int64(500*time.Millisecond) {
				t.Errorf("frozen address %d: a batch waited %v", frozen, time.Duration(longest))
			}
		})
	}
}

// The primary moves: producers follow the hint, or find it without one.
func TestProducersFollowThePrimary(t *testing.T) {
	for _, hints := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			target := newTarget(t, memory.Options{Delay: time.Millisecond})
			target.SetHints(hints)
			o := fakeClockOptions(t, target)
			o.OnStart = func(int64) {
				time.AfterFunc(2*time.Second, func() {
					target.SetAddress(0, memory.AddressRefuses)
					target.SetPrimary(2)
				})
			}
			_, m := mustRun(t, t.Context(), o)
			if m.Counts.OK != m.Counts.Due {
				t.Fatalf("hints %v: %+v", hints, m.Counts)
			}
			if longest := *latencySet(m).Get(results.DueToAck, results.Steady).MaxNs(); longest > int64(100*time.Millisecond) {
				t.Errorf("hints %v: a batch waited %v for two hops", hints, time.Duration(longest))
			}
		})
	}
}

// A second run into the same folder would mix two ledgers.
func TestRunRefusesAFolderWithLedgers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := fakeClockOptions(t, newTarget(t, memory.Options{}))
		o.Duration = 100 * time.Millisecond
		mustRun(t, t.Context(), o)
		if _, err := loadgen.Run(t.Context(), o); !errors.Is(err, os.ErrExist) || !errors.Is(err, loadgen.ErrNotStarted) {
			t.Fatalf("err %v, want ErrExist before the start", err)
		}
	})
}

func TestOptionsAreChecked(t *testing.T) {
	good := loadgen.Options{Target: memory.New(memory.Options{}), LedgerDir: "unused"}
	for name, change := range map[string]func(*loadgen.Options){
		"no target":       func(o *loadgen.Options) { o.Target = nil },
		"no ledger":       func(o *loadgen.Options) { o.LedgerDir = "" },
		"address":         func(o *loadgen.Options) { o.FirstAddress = 3 },
		"negative budget": func(o *loadgen.Options) { o.Budget = -1 },
		"negative rate":   func(o *loadgen.Options) { o.RatePerS = -1 },
		"tiny message":    func(o *loadgen.Options) { o.MessageBytes = 8 },
		"arrival":         func(o *loadgen.Options) { o.Arrival = "odd" },
		"another live":    func(o *loadgen.Options) { o.Live = loadgen.NewLive(3) },
		"wall clock base": func(o *loadgen.Options) { o.Base = time.Now().Round(0) },
		"pacer":           func(o *loadgen.Options) { o.Pacer, o.LedgerDir = "hourglass", t.TempDir() },
	} {
		bad := good
		change(&bad)
		if _, err := loadgen.Run(t.Context(), bad); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// C6: an outage longer than the budget fails batches for good; the numbers they used up do not stand
// in the way of later ones, and the log that comes out is whole.
func TestOutageLongerThanTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := newTarget(t, memory.Options{Delay: time.Millisecond})
		o := fakeClockOptions(t, target)
		o.Duration, o.Budget = 20*time.Second, 2*time.Second
		set := func(mode memory.AddressMode) {
			for address := range 3 {
				target.SetAddress(address, mode)
			}
		}
		o.OnStart = func(int64) {
			time.AfterFunc(5*time.Second, func() { set(memory.AddressRefuses) })
			time.AfterFunc(15*time.Second, func() { set(memory.AddressOpen) })
		}
		outcome, m := mustRun(t, t.Context(), o)
		// Due from 5 s to 13 s: over before the target was back. The rest waited for it.
		if c := m.Counts; c.Due != 6_000 || c.Failed < 2_380 || c.Failed > 2_420 || c.OK != c.Due-c.Failed {
			t.Errorf("%+v, want about 2,400 failed and the rest ok", c)
		}
		report := mustVerify(t, target, loadgen.VerifyOptions{Ledgers: outcome.Ledgers})
		if report.Verdict != loadgen.VerifyPass {
			t.Errorf("verdict %s: %q", report.Verdict, report.Reasons)
		}
	})
}
