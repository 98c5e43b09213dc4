package kafka

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rejoin/loadgen"
)

// Trap 11: a connection that the broker closed while it was idle costs one try, or none; no request is
// sent twice.
func TestOneTryIsOneRequest(t *testing.T) {
	f := startFake(t)
	p := openRegistered(t, f)
	if r := p.Try(f.attempt(1)); r.Outcome != loadgen.TryAcked {
		t.Fatal(r.Err)
	}
	sent := f.count()
	acked := 0
	for request := uint64(2); acked < 5; request++ {
		f.gates[f.leader()].cut()
		for tries := 0; ; tries++ {
			before := sent.Load()
			r := p.Try(f.attempt(request))
			if n := sent.Load() - before; n > 1 {
				t.Fatalf("the cluster saw %d requests for one try", n)
			}
			if r.Outcome == loadgen.TryAcked {
				break
			}
			if tries > 0 {
				t.Fatalf("request %d, try %d: %v %v: %v", request, tries+1, r.Outcome, r.Cause, r.Err)
			}
		}
		acked++
	}
}

// C3, C4: the answer is lost after the append. The outcome is unknown, a repetition gets the offset of
// the first, and the log holds one copy.
func TestLostAnswer(t *testing.T) {
	f := startFake(t)
	p := openRegistered(t, f)
	first := p.Try(f.attempt(1))
	if first.Outcome != loadgen.TryAcked {
		t.Fatal(first.Err)
	}
	f.gates[f.leader()].frozen.Store(true)
	a := f.attempt(2)
	a.Deadline = time.Now().Add(200 * time.Millisecond)
	if r := p.Try(a); r.Outcome != loadgen.TryUnknown || r.Cause != loadgen.CauseTimeout {
		t.Fatalf("%v %v: %v, want a timeout with unknown outcome", r.Outcome, r.Cause, r.Err)
	}
	f.gates[f.leader()].frozen.Store(false)
	if r := p.Try(f.attempt(2)); r.Outcome != loadgen.TryAcked || r.Offset != first.Offset+2 {
		t.Fatalf("%v at offset %d: %v, want acked at %d", r.Outcome, r.Offset, r.Err, first.Offset+2)
	}
	if r := p.Try(f.attempt(3)); r.Outcome != loadgen.TryAcked || r.Offset != first.Offset+4 {
		t.Fatalf("%v at offset %d: %v, want acked at %d", r.Outcome, r.Offset, r.Err, first.Offset+4)
	}
}

// C6: a batch that was given up with its outcome open leaves the sequence open; the next one goes out
// under the next epoch, and the producer needs no help. Had it taken the same numbers, the broker
// would answer it with the offset of the one given up.
func TestGivenUpBatchRaisesTheEpoch(t *testing.T) {
	f := startFake(t)
	p := openRegistered(t, f)
	f.ControlKey(int16(kmsg.Produce), func(request kmsg.Request) (kmsg.Response, error, bool) {
		return answerWith(request, kerr.RequestTimedOut, 0, 0), nil, true
	})
	if r := p.Try(f.attempt(1)); r.Outcome != loadgen.TryUnknown || r.Cause != loadgen.CauseAnswer {
		t.Fatalf("%v %v: %v, want an answer that leaves the outcome open", r.Outcome, r.Cause, r.Err)
	}
	epoch := p.epoch
	if r := p.Try(f.attempt(2)); r.Outcome != loadgen.TryAcked {
		t.Fatalf("the next batch: %v: %v", r.Outcome, r.Err)
	}
	if p.epoch != epoch+1 || p.sequence != 2 {
		t.Errorf("epoch %d, next sequence %d; want %d and 2", p.epoch, p.sequence, epoch+1)
	}
	if r := p.Try(f.attempt(1)); r.Outcome != loadgen.TryUnknown || !r.Final {
		t.Errorf("the batch given up: %v final=%v", r.Outcome, r.Final)
	}
}

// A batch that certainly stands nowhere has used no sequence number.
func TestRefusedBatchLeavesTheSequence(t *testing.T) {
	f := startFake(t)
	p := openRegistered(t, f)
	f.ControlKey(int16(kmsg.Produce), func(request kmsg.Request) (kmsg.Response, error, bool) {
		return answerWith(request, kerr.NotEnoughReplicas, -1, -1), nil, true
	})
	if r := p.Try(f.attempt(1)); r.Outcome != loadgen.TryNotAppended || r.Final {
		t.Fatalf("%v final=%v: %v, want not appended and another try", r.Outcome, r.Final, r.Err)
	}
	epoch := p.epoch
	if r := p.Try(f.attempt(2)); r.Outcome != loadgen.TryAcked || r.Offset != 0 {
		t.Fatalf("the next batch: %v at %d: %v", r.Outcome, r.Offset, r.Err)
	}
	if p.epoch != epoch {
		t.Errorf("epoch %d, want still %d", p.epoch, epoch)
	}
}

func TestLastEpoch(t *testing.T) {
	p := &producer{id: 1, epoch: math.MaxInt16, request: 1, open: true}
	r := p.Try(loadgen.Attempt{Request: 2, Batch: testBatch})
	if !r.Unregistered || r.Outcome != loadgen.TryNotAppended {
		t.Errorf("%v unregistered=%v, want a new registration", r.Outcome, r.Unregistered)
	}
}

func TestSequenceWraps(t *testing.T) {
	if got := sequenceAfter(math.MaxInt32-1, 3); got != 1 {
		t.Errorf("sequence %d, want 1: after 2147483646 and 2147483647 comes 0", got)
	}
}

// A follower names the leader, so that a producer need not ask around.
func TestHintNamesTheLeader(t *testing.T) {
	f := startFake(t)
	p := openRegistered(t, f)
	for address := range f.Addresses() {
		a := f.attempt(1)
		a.Address = address
		r := p.Try(a)
		if address == f.leader() {
			continue
		}
		if r.Outcome != loadgen.TryNotAppended || r.Hint != f.leader() {
			t.Errorf("address %d: %v with hint %d, want not appended and %d", address, r.Outcome, r.Hint, f.leader())
		}
	}
}

// What an error of a broker leaves open, by Kafka's own rules (ReplicaManager, DelayedProduce).
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		err          error
		appended     bool
		outcome      loadgen.TryOutcome
		final, stale bool
	}{
		{kerr.NotLeaderForPartition, false, loadgen.TryNotAppended, false, false},
		{kerr.NotLeaderForPartition, true, loadgen.TryUnknown, false, false}, // appended, then deposed
		{kerr.NotEnoughReplicas, false, loadgen.TryNotAppended, false, false},
		{kerr.NotEnoughReplicasAfterAppend, true, loadgen.TryUnknown, false, false},
		{kerr.RequestTimedOut, true, loadgen.TryUnknown, false, false},
		{kerr.KafkaStorageError, false, loadgen.TryUnknown, false, false},
		{kerr.UnknownTopicOrPartition, false, loadgen.TryNotAppended, false, false},
		{kerr.MessageTooLarge, false, loadgen.TryNotAppended, true, false},
		{kerr.DuplicateSequenceNumber, false, loadgen.TryUnknown, true, false},
		{kerr.OutOfOrderSequenceNumber, false, loadgen.TryNotAppended, true, true},
		{kerr.InvalidProducerEpoch, false, loadgen.TryNotAppended, true, true},
		{kerr.UnknownProducerID, false, loadgen.TryNotAppended, true, true},
	} {
		r := refusal(c.err, c.appended)
		if r.Outcome != c.outcome || r.Final != c.final || r.Unregistered != c.stale || !errors.Is(r.Err, c.err) {
			t.Errorf("%v, appended=%v: %v final=%v unregistered=%v, want %v %v %v", c.err, c.appended, r.Outcome, r.Final, r.Unregistered, c.outcome, c.final, c.stale)
		}
	}
}

// answerWith answers a produce request with an error for its partition.
func answerWith(request kmsg.Request, err *kerr.Error, base, start int64) kmsg.Response {
	produce := request.(*kmsg.ProduceRequest)
	response := request.ResponseKind().(*kmsg.ProduceResponse)
	topic := kmsg.NewProduceResponseTopic()
	topic.Topic = produce.Topics[0].Topic
	part := kmsg.NewProduceResponseTopicPartition()
	part.Partition, part.ErrorCode, part.BaseOffset, part.LogStartOffset = produce.Topics[0].Partitions[0].Partition, err.Code, base, start
	topic.Partitions = append(topic.Partitions, part)
	response.Topics = append(response.Topics, topic)
	return response
}
