package kafka

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rejoin/loadgen"
)

const (
	// emptyReadsMax is how often a replica may answer "nothing here" below the high watermark that it
	// names itself before the read is over: its watermark may have moved between the two.
	emptyReadsMax = 3

	// readPause lies between a "not now" and the next question.
	readPause = 100 * time.Millisecond
)

// reader reads one replica by its own address.
type reader struct {
	options Options
	link    *link
	next    uint64 // offset to ask for
	begun   bool   // a batch was passed on

	earliest, watermark uint64 // as the last answer said

	messages [][]byte // reused
}

// ReadReplica implements loadgen.Source: record batches from the earliest offset to the high
// watermark of that very broker.
func (t *Target) ReadReplica(ctx context.Context, replica string, yield func(loadgen.ReadBatch) error) (loadgen.ReadEnd, error) {
	broker, err := t.brokerNamed(replica)
	if err != nil {
		return loadgen.ReadEnd{}, err
	}
	r := &reader{options: t.options, link: newLink(broker.Address)}
	defer r.link.close()
	for empty := 0; empty < emptyReadsMax; {
		batches, err := r.fetch(ctx, 0)
		if err != nil {
			return loadgen.ReadEnd{}, fmt.Errorf("read %s from offset %d: %w", replica, r.next, err)
		}
		before := r.next
		if err := r.pass(batches, yield); err != nil {
			return loadgen.ReadEnd{}, fmt.Errorf("read %s: %w", replica, err)
		}
		switch {
		case r.next > before:
			empty = 0
		case r.next >= r.watermark:
			return r.end(), nil
		default:
			empty++
		}
	}
	return r.end(), nil
}

func (r *reader) end() loadgen.ReadEnd {
	return loadgen.ReadEnd{EarliestOffset: r.earliest, EndOffset: max(r.watermark, r.next)}
}

// fetch asks for what lies at the next offset, and again while the broker says "not now". A fetch
// may be repeated freely. It waits at the broker for something new as long as wait.
func (r *reader) fetch(ctx context.Context, wait time.Duration) ([]byte, error) {
	deadline := time.Now().Add(r.options.ReadTimeout + wait)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		part, err := fetchOnce(ctx, r.link, r.options, r.next, wait, deadline)
		if err != nil {
			return nil, err
		}
		err = kerr.ErrorForCode(part.ErrorCode)
		switch {
		case err == nil && part.PreferredReadReplica >= 0:
			return nil, fmt.Errorf("the broker sends its readers to broker %d: set no replica.selector.class for this run", part.PreferredReadReplica)
		case err == nil:
			r.earliest, r.watermark = uint64(max(0, part.LogStartOffset)), uint64(max(0, part.HighWatermark))
			return part.RecordBatches, nil
		case errors.Is(err, kerr.OffsetOutOfRange) && !r.begun:
			if err := r.skipTrimmed(ctx, deadline); err != nil {
				return nil, err
			}
		case !kerr.IsRetriable(err) || time.Until(deadline) < readPause:
			return nil, err
		default:
			loadgen.Pause(ctx, readPause)
		}
	}
}

// fetchOnce asks one broker for our partition, outside of any fetch session.
func fetchOnce(ctx context.Context, l *link, o Options, offset uint64, wait time.Duration, deadline time.Time) (kmsg.FetchResponseTopicPartition, error) {
	part := kmsg.NewFetchRequestTopicPartition()
	part.Partition, part.FetchOffset, part.PartitionMaxBytes = o.Partition, int64(offset), o.ReadBytes
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.Partitions = o.Topic, append(topic.Partitions, part)
	request := kmsg.NewPtrFetchRequest()
	request.MaxWaitMillis, request.MinBytes, request.MaxBytes = int32(wait.Milliseconds()), 1, o.ReadBytes
	request.SessionEpoch = -1
	request.Topics = append(request.Topics, topic)
	answer, failed := l.do(ctx, request, deadline)
	if failed != nil {
		return kmsg.FetchResponseTopicPartition{}, failed.err
	}
	response := answer.(*kmsg.FetchResponse)
	if err := kerr.ErrorForCode(response.ErrorCode); err != nil {
		return kmsg.FetchResponseTopicPartition{}, err
	}
	if request.Version < fetchVersionMin {
		return kmsg.FetchResponseTopicPartition{}, fmt.Errorf("the broker knows fetches up to version %d: a follower answers from version %d on", request.Version, fetchVersionMin)
	}
	if len(response.Topics) != 1 || len(response.Topics[0].Partitions) != 1 {
		return kmsg.FetchResponseTopicPartition{}, errors.New("the answer to a fetch is not about the partition that was asked for")
	}
	return response.Topics[0].Partitions[0], nil
}

// skipTrimmed goes on at the earliest offset that the broker keeps; only before the first batch,
// later it would be a hole.
func (r *reader) skipTrimmed(ctx context.Context, deadline time.Time) error {
	const earliest = -2
	offset, err := listOffset(ctx, r.link, r.options, earliest, deadline)
	if err != nil {
		return fmt.Errorf("ask for the earliest offset: %w", err)
	}
	if offset <= r.next {
		return fmt.Errorf("the broker keeps offsets from %d on, and none at %d", offset, r.next)
	}
	r.next = offset
	return nil
}

// debuggingReplica is the replica id with which a client may ask any replica, not the leader alone.
const debuggingReplica = -2

// listOffset asks a broker for an offset of its own replica: a timestamp of -1 means its end,
// -2 its beginning.
func listOffset(ctx context.Context, l *link, o Options, timestamp int64, deadline time.Time) (uint64, error) {
	part := kmsg.NewListOffsetsRequestTopicPartition()
	part.Partition, part.Timestamp = o.Partition, timestamp
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic, topic.Partitions = o.Topic, append(topic.Partitions, part)
	request := kmsg.NewPtrListOffsetsRequest()
	request.ReplicaID = debuggingReplica
	request.Topics = append(request.Topics, topic)
	answer, failed := l.do(ctx, request, deadline)
	if failed != nil {
		return 0, failed.err
	}
	response := answer.(*kmsg.ListOffsetsResponse)
	if len(response.Topics) != 1 || len(response.Topics[0].Partitions) != 1 {
		return 0, errors.New("the answer is not about the partition that was asked for")
	}
	answered := response.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(answered.ErrorCode); err != nil {
		return 0, err
	}
	if answered.Offset < 0 {
		return 0, fmt.Errorf("the broker names offset %d", answered.Offset)
	}
	return uint64(answered.Offset), nil
}

// pass checks and passes on the batches of one answer. The last may be cut; the first may begin below
// the offset asked for, if a retention cut into it.
func (r *reader) pass(b []byte, yield func(loadgen.ReadBatch) error) error {
	for first := true; len(b) > 0; first = false {
		stored, rest, err := parse(b, r.messages[:0])
		if errors.Is(err, errPartial) && !first {
			return nil
		}
		if err != nil {
			return err
		}
		r.messages, b = stored.messages, rest
		if err := r.one(stored, yield); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) one(stored batch, yield func(loadgen.ReadBatch) error) error {
	end := stored.base + uint64(len(stored.messages))
	if stored.base > math.MaxInt64 || end <= r.next && r.begun {
		return fmt.Errorf("a batch at offset %d comes after offset %d", stored.base, r.next)
	}
	r.begun, r.next = true, end
	if stored.control {
		return nil // a marker of a transaction; the harness writes none, so its offset shows up as a gap
	}
	return yield(loadgen.ReadBatch{BaseOffset: stored.base, Identity: stored.identity, Damaged: stored.damaged, Messages: stored.messages})
}
