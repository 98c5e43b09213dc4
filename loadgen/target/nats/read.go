package nats

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/zeebo/xxh3"

	"rejoin/loadgen"
)

const (
	// pinTriesMax is how many consumers are made until one lies on the wanted server: each lands there with a chance of one in three.
	pinTriesMax = 100

	// pinLimit is how long a consumer may take to be made. One that is placed on a server that has just gone never is.
	pinLimit = time.Second

	// fetchMessages are asked for at once; what is in flight is bounded by it.
	fetchMessages = 4096

	// consumerIdle is how long a consumer outlives a reader that died.
	consumerIdle = 30 * time.Second
)

// ReadReplica implements loadgen.Source. A consumer with a single replica is served by the server that it lies on, from that server's own copy of
// the stream, whichever server leads the stream. JetStream places such a consumer on any of the stream's servers; so consumers are made and
// deleted until one lies on the server that is to be read, and after the reading it is asked once more where it lies. The
// extent of the copy is what the server's own monitoring says before the first message is read.
//
// Sequences of JetStream begin at 1; an offset is the sequence less 1. Every message is a record, its identity a digest of all that is stored of it.
func (t *Target) ReadReplica(ctx context.Context, replica string, yield func(loadgen.ReadBatch) error) (loadgen.ReadEnd, error) {
	node, err := t.nodeNamed(replica)
	if err != nil {
		return loadgen.ReadEnd{}, err
	}
	held, err := t.detail(ctx, node)
	if err != nil {
		return loadgen.ReadEnd{}, fmt.Errorf("read %s: %w", replica, err)
	}
	end := loadgen.ReadEnd{EarliestOffset: held.State.LastSeq, EndOffset: held.State.LastSeq}
	if held.State.Messages == 0 {
		return end, ctx.Err()
	}
	end.EarliestOffset = held.State.FirstSeq - 1
	l := &link{address: node.Client}
	defer l.close()
	if result, ok := l.open(time.Now().Add(t.options.ReadTimeout)); !ok {
		return loadgen.ReadEnd{}, fmt.Errorf("read %s: %w", replica, result.Err)
	}
	consumer, err := t.pin(ctx, l, node)
	if err != nil {
		return loadgen.ReadEnd{}, fmt.Errorf("read %s: %w", replica, err)
	}
	defer t.unpin(l, consumer)
	if err := t.stream(ctx, consumer, end.EndOffset, yield); err != nil {
		return loadgen.ReadEnd{}, err
	}
	if info, err := consumer.Info(ctx); err != nil || leaderOf(info) != node.Name {
		return loadgen.ReadEnd{}, fmt.Errorf("read %s: the consumer that read it lies on %q now (%v)", replica, leaderOf(info), err)
	}
	return end, nil
}

// pin makes a consumer on one server.
func (t *Target) pin(ctx context.Context, l *link, node Node) (jetstream.Consumer, error) {
	config := jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy, DeliverPolicy: jetstream.DeliverAllPolicy, Replicas: 1, MemoryStorage: true,
		InactiveThreshold: consumerIdle}
	var last error
	until := time.Now().Add(t.options.ReadTimeout)
	for tries := 0; tries < pinTriesMax && time.Now().Before(until); tries++ {
		limited, cancel := context.WithTimeout(ctx, pinLimit)
		consumer, err := l.js.CreateConsumer(limited, t.options.Stream, config)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			last = err
		case leaderOf(consumer.CachedInfo()) == node.Name:
			return consumer, nil
		default:
			last = fmt.Errorf("it lay on %q", leaderOf(consumer.CachedInfo()))
			t.unpin(l, consumer)
		}
	}
	return nil, fmt.Errorf("no consumer could be made on it; of the last one: %w", last)
}

// unpin deletes a consumer; one that cannot be deleted ends by itself.
func (t *Target) unpin(l *link, consumer jetstream.Consumer) {
	ctx, cancel := context.WithTimeout(context.Background(), t.options.ReadTimeout)
	defer cancel()
	_ = l.js.DeleteConsumer(ctx, t.options.Stream, consumer.CachedInfo().Name)
}

// leaderOf is the server that a consumer with one replica lies on.
func leaderOf(info *jetstream.ConsumerInfo) string {
	if info == nil || info.Cluster == nil {
		return ""
	}
	return info.Cluster.Leader
}

// stream passes messages on until the offset before end has been passed.
func (t *Target) stream(ctx context.Context, consumer jetstream.Consumer, end uint64, yield func(loadgen.ReadBatch) error) error {
	next := uint64(0)
	for next < end {
		if err := ctx.Err(); err != nil {
			return err
		}
		fetched, err := consumer.Fetch(int(min(fetchMessages, end-next)), jetstream.FetchMaxWait(t.options.ReadTimeout))
		if err != nil {
			return fmt.Errorf("fetch: %w", err)
		}
		before := next
		for m := range fetched.Messages() {
			meta, err := m.Metadata()
			if err != nil {
				return fmt.Errorf("a message without a sequence: %w", err)
			}
			next = meta.Sequence.Stream
			record := loadgen.ReadBatch{BaseOffset: next - 1, Identity: identityOf(m, meta), Messages: [][]byte{m.Data()}, Apart: t.options.Batches == Async}
			if err := yield(record); err != nil {
				return err
			}
		}
		if err := fetched.Error(); err != nil {
			return fmt.Errorf("fetch behind offset %d: %w", next, err)
		}
		if next == before {
			return fmt.Errorf("no message behind offset %d came within %v: %w", next, t.options.ReadTimeout, errSilent)
		}
	}
	return nil
}

var errSilent = errors.New("the replica said that it holds more")

// identityOf digests a stored message: sequence, time, subject, headers and payload. Headers have no order.
func identityOf(m jetstream.Msg, meta *jetstream.MsgMetadata) uint64 {
	var room [32]byte
	place, err := meta.Timestamp.AppendBinary(binary.LittleEndian.AppendUint64(room[:0], meta.Sequence.Stream))
	if err != nil {
		place = fmt.Append(place, err) // a year that the format cannot hold
	}
	headers := uint64(0)
	for name, values := range m.Headers() {
		for i, value := range values {
			headers += xxh3.HashStringSeed(name+"\x00"+value, uint64(i))
		}
	}
	return xxh3.HashSeed(place, headers) ^ xxh3.HashString(m.Subject()) ^ xxh3.HashSeed(m.Data(), meta.Sequence.Stream)
}
