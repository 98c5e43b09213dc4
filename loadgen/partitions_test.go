package loadgen_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rejoin/loadgen"
	"rejoin/loadgen/target/memory"
)

// partitioned is a topic of several memory targets.
type partitioned struct {
	*memory.Target // the first: addresses and names
	logs           []*memory.Target
}

func (p *partitioned) Partition(partition int) loadgen.Source { return p.logs[partition] }

func (p *partitioned) OpenProducer(ctx context.Context, o loadgen.ProducerOptions) (loadgen.Producer, error) {
	return p.logs[o.Partition].OpenProducer(ctx, o)
}

const testPartitions = 3

// ranPartitioned is such a topic that took a short load.
func ranPartitioned(t *testing.T) (*partitioned, loadgen.VerifyOptions) {
	t.Helper()
	topic := &partitioned{}
	for range testPartitions {
		topic.logs = append(topic.logs, newTarget(t, memory.Options{Delay: time.Millisecond}))
	}
	topic.Target = topic.logs[0]
	o := fakeClockOptions(t, topic)
	o.Duration, o.Producers, o.Partitions = time.Second, 7, testPartitions
	outcome, err := loadgen.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return topic, loadgen.VerifyOptions{Ledgers: outcome.Ledgers, Partitions: testPartitions, AckedMin: 50}
}

// TestPartitionsAreVerified: offsets begin anew in each partition, and together all batches are there.
func TestPartitionsAreVerified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, o := ranPartitioned(t)
		report := mustVerify(t, topic, o)
		if report.Verdict != loadgen.VerifyPass || report.Replicas[0].VerifiedBatches != report.AckedBatches {
			t.Errorf("%+v", report)
		}
		v, err := loadgen.NewVerifier(o)
		if err != nil {
			t.Fatal(err)
		}
		sum := uint64(0)
		for p, end := range v.AckedEnds() {
			if sum += end; end == 0 || end != topic.logs[p].EndOffset() {
				t.Errorf("partition %d: acknowledged to offset %d, it ends at %d", p, end, topic.logs[p].EndOffset())
			}
		}
		if v.AckedEnd() != sum || report.Replicas[0].ReadTo != sum {
			t.Errorf("the sum of %d is told as %d, read to %d", sum, v.AckedEnd(), report.Replicas[0].ReadTo)
		}
	})
}

// TestReachedInEachPartition: two replicas, each short in another partition, hold everything between them.
func TestReachedInEachPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, o := ranPartitioned(t)
		topic.logs[0].Plant(memory.FaultTruncated, "m0")
		topic.logs[1].Plant(memory.FaultTruncated, "m1")
		v, err := loadgen.NewVerifier(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, replica := range []string{"m0", "m1"} {
			v.Read(t.Context(), topic, replica)
		}
		v.Finish()
		ends := v.AckedEnds()
		if got := v.Reached(func(int) bool { return true }); !slices.Equal(got, ends) {
			t.Errorf("both reached %d of %d", got, ends)
		}
		for n := range 2 {
			if got := v.Reached(func(reading int) bool { return reading == n }); got[n] >= ends[n] || got[1-n] != ends[1-n] {
				t.Errorf("replica %d reached %d of %d, and is short in partition %d only", n, got, ends, n)
			}
		}
	})
}

// TestPartitionFaultsAreFound: what is wrong in one partition is found and names it, and so is a log that answers for another one.
func TestPartitionFaultsAreFound(t *testing.T) {
	for _, fault := range []memory.Fault{memory.FaultLost, memory.FaultDuplicated, memory.FaultReordered, memory.FaultGap, memory.FaultCorrupted, memory.FaultForeign} {
		synctest.Test(t, func(t *testing.T) {
			topic, o := ranPartitioned(t)
			topic.logs[1].Plant(fault, "")
			report := mustVerify(t, topic, o)
			if report.Verdict != loadgen.VerifyFail || !slices.ContainsFunc(report.Reasons, func(r string) bool { return strings.Contains(r, "partition 1: ") }) {
				t.Errorf("%v: %s %q", fault, report.Verdict, report.Reasons)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		topic, o := ranPartitioned(t)
		topic.logs[1].Plant(memory.FaultDiverged, "m2")
		if report := mustVerify(t, topic, o); !slices.Equal(report.DivergedReplicas, []string{"m2"}) {
			t.Errorf("%+v", report)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		topic, o := ranPartitioned(t)
		topic.logs[1], topic.logs[2] = topic.logs[2], topic.logs[1]
		o.AllowTornLedgers = true // that a ledger may lack its end excuses nothing in another partition
		report := mustVerify(t, topic, o)
		if report.Count(loadgen.KindForeign) == 0 || report.Count(loadgen.KindLost) == 0 {
			t.Errorf("two partitions changed places: %s %q", report.Verdict, report.Reasons)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		topic, o := ranPartitioned(t)
		if report := mustVerify(t, topic.Target, o); report.Verdict == loadgen.VerifyPass || report.Replicas[0].Unreadable == "" {
			t.Errorf("a source without partitions: %+v", report)
		}
	})
}

// TestPartitionsInterrupted: an interruption between two partitions is one of the whole reading, and takes nothing from what the first has shown.
func TestPartitionsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, o := ranPartitioned(t)
		v, err := loadgen.NewVerifier(o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		sources := loadgen.Partitions{topic.Partition(0), cancelledBy{topic.Partition(1), cancel}, topic.Partition(2)}
		v.Read(ctx, sources, topic.Replicas()[0])
		report := v.FinishEarly("interrupted")
		if r := report.Replicas[0]; !r.Interrupted || !strings.HasPrefix(r.Unreadable, "partition 1: ") || r.VerifiedBatches == 0 || len(r.Findings) > 0 {
			t.Errorf("%+v", r)
		}
	})
}

// cancelledBy is a source during whose reading somebody interrupts.
type cancelledBy struct {
	loadgen.Source
	cancel context.CancelFunc
}

func (c cancelledBy) ReadReplica(ctx context.Context, replica string, yield func(loadgen.ReadBatch) error) (loadgen.ReadEnd, error) {
	c.cancel()
	return c.Source.ReadReplica(ctx, replica, yield)
}

// TestPartitionsRefused: a target must tell its partitions apart.
func TestPartitionsRefused(t *testing.T) {
	o := loadgen.Options{Target: newTarget(t, memory.Options{}), LedgerDir: t.TempDir(), Partitions: 2, OvershootSamples: -1}
	if _, err := loadgen.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "partitions") {
		t.Errorf("error %v", err)
	}
}
