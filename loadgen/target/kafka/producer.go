package kafka

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/zeebo/xxh3"

	"rejoin/loadgen"
)

const noProducerID = -1

// answerMargin is how long before a try's deadline the broker is asked to give up waiting for its
// followers, so that its answer comes in time and the connection lives on.
const answerMargin = 50 * time.Millisecond

// producer is one idempotent producer with one outstanding request.
type producer struct {
	target *Target
	links  []*link // by address

	id       int64 // producer id, or noProducerID
	epoch    int16
	sequence int32 // for the next batch

	// The request in hand: what a repetition sends again, byte for byte.
	request uint64 // 0: none yet
	digest  uint64 // of its messages
	batch   []byte
	records int32
	acked   bool
	open    bool // a try of it may have appended it, or may still
}

// Close implements loadgen.Producer.
func (p *producer) Close() error {
	for _, l := range p.links {
		l.close()
	}
	return nil
}

// Register implements loadgen.Producer: any broker hands out producer ids.
func (p *producer) Register(address int, deadline time.Time) loadgen.TryResult {
	request := kmsg.NewPtrInitProducerIDRequest()
	request.TransactionTimeoutMillis = math.MaxInt32 // means nothing without a transactional id
	answer, failed := p.links[address].do(context.Background(), request, deadline)
	if failed != nil {
		return failed.result()
	}
	response := answer.(*kmsg.InitProducerIDResponse)
	if err := kerr.ErrorForCode(response.ErrorCode); err != nil {
		return refusal(err, false)
	}
	p.begin(response.ProducerID, response.ProducerEpoch)
	return loadgen.Acked(0)
}

// begin starts an epoch of sequence numbers.
func (p *producer) begin(id int64, epoch int16) {
	p.id, p.epoch, p.sequence = id, epoch, 0
	p.request, p.acked, p.open = 0, false, false
}

var (
	errNoProducerID = errors.New("the producer has no id: register first")
	errSuperseded   = errors.New("a later request was sent already")
	errDiffers      = errors.New("other messages were sent under this request")
	errEpochs       = errors.New("the producer id has no epochs left")
)

// Try implements loadgen.Producer.
func (p *producer) Try(a loadgen.Attempt) loadgen.TryResult {
	if p.id == noProducerID {
		return forgotten(loadgen.NotAcked(loadgen.TryNotAppended, loadgen.CauseAnswer, errNoProducerID))
	}
	switch err := p.take(a); {
	case errors.Is(err, errEpochs):
		return forgotten(loadgen.NotAcked(loadgen.TryNotAppended, loadgen.CauseAnswer, err))
	case err != nil:
		result := loadgen.NotAcked(loadgen.TryUnknown, loadgen.CauseAnswer, err)
		result.Final = true
		return result
	}
	answer, failed := p.links[a.Address].do(context.Background(), p.produceRequest(a.Deadline), a.Deadline)
	var result loadgen.TryResult
	if failed != nil {
		result = failed.result()
	} else {
		result = p.answered(answer.(*kmsg.ProduceResponse))
	}
	p.note(result)
	return result
}

// take makes the attempt's request the one in hand, unless it is already.
func (p *producer) take(a loadgen.Attempt) error {
	digest := digestOf(a.Batch.Messages)
	switch {
	case a.Request < p.request:
		return errSuperseded
	case a.Request == p.request && digest != p.digest:
		return errDiffers
	case a.Request == p.request:
		return nil
	}
	if p.open && !p.acked && !p.raiseEpoch() {
		return errEpochs
	}
	p.request, p.digest, p.acked, p.open = a.Request, digest, false, false
	p.records = int32(len(a.Batch.Messages))
	p.batch = appendBatch(p.batch[:0], stamp{producerID: p.id, epoch: p.epoch, sequence: p.sequence, timestampMs: time.Now().UnixMilli()}, a.Batch.Messages)
	return nil
}

// raiseEpoch leaves behind a batch that may or may not have used its sequence numbers. After the last
// epoch only a new producer id helps.
func (p *producer) raiseEpoch() bool {
	if p.epoch == math.MaxInt16 {
		p.id = noProducerID
		return false
	}
	p.epoch++
	p.sequence = 0
	return true
}

func (p *producer) produceRequest(deadline time.Time) *kmsg.ProduceRequest {
	part := kmsg.NewProduceRequestTopicPartition()
	part.Partition, part.Records = p.target.options.Partition, p.batch
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic, topic.Partitions = p.target.options.Topic, append(topic.Partitions, part)
	request := kmsg.NewPtrProduceRequest()
	request.Acks = -1
	request.TimeoutMillis = int32(max(1, time.Until(deadline.Add(-answerMargin)).Milliseconds()))
	request.Topics = append(request.Topics, topic)
	return request
}

// answered turns the answer for our partition into the end of a try.
func (p *producer) answered(response *kmsg.ProduceResponse) loadgen.TryResult {
	o := p.target.options
	if len(response.Topics) != 1 || len(response.Topics[0].Partitions) != 1 || response.Topics[0].Topic != o.Topic ||
		response.Topics[0].Partitions[0].Partition != o.Partition {
		return loadgen.NotAcked(loadgen.TryUnknown, loadgen.CauseAnswer, errors.New("the answer is not about the partition that was asked for"))
	}
	part := response.Topics[0].Partitions[0]
	err := kerr.ErrorForCode(part.ErrorCode)
	if err == nil {
		if part.BaseOffset < 0 {
			// A broker that knows the batch for a repetition, and not where it stands.
			return loadgen.NotAcked(loadgen.TryUnknown, loadgen.CauseAnswer, errors.New("an acknowledgement without an offset"))
		}
		return loadgen.Acked(uint64(part.BaseOffset))
	}
	if part.ErrorMessage != nil {
		err = fmt.Errorf("%w: %.200s", err, *part.ErrorMessage)
	}
	result := refusal(err, wasAppended(part))
	if id := part.CurrentLeader.LeaderID; id >= 0 {
		result.Hint = p.target.addressOf(id)
	}
	return result
}

// note keeps what the end of a try means for the sequence numbers: an acknowledged batch has used
// them, one that certainly stands nowhere leaves them to the next.
func (p *producer) note(result loadgen.TryResult) {
	switch {
	case result.Unregistered:
		p.id = noProducerID
	case result.Outcome == loadgen.TryUnknown:
		p.open = true
	case result.Outcome == loadgen.TryAcked && !p.acked:
		p.acked = true
		p.sequence = sequenceAfter(p.sequence, p.records)
	}
}

// sequenceAfter counts on; sequence numbers wrap to 0 after the largest int32.
func sequenceAfter(sequence, records int32) int32 {
	return int32((int64(sequence) + int64(records)) % (math.MaxInt32 + 1))
}

func digestOf(messages [][]byte) uint64 {
	var h xxh3.Hasher
	for _, m := range messages {
		h.Write(m)
	}
	return h.Sum64() ^ uint64(len(messages))
}
