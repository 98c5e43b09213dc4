package nats

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"rejoin/loadgen"
)

// atomic publishes a batch that the stream takes whole or not at all. It is one round trip: only the commit is answered.
func (p *producer) atomic(l *link, a loadgen.Attempt) loadgen.TryResult {
	ctx, cancel := context.WithDeadline(context.Background(), a.Deadline)
	defer cancel()
	batch, err := jetstreamext.NewBatchPublisher(l.js, jetstreamext.BatchFlowControl{})
	if err != nil {
		return failed(err)
	}
	last := len(p.messages) - 1
	for _, m := range p.messages[:last] {
		if err := batch.AddMsg(m); err != nil {
			return failed(err)
		}
	}
	ack, err := batch.CommitMsg(ctx, p.messages[last])
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == codeBatchDuplicate {
		return p.find(ctx, l, a)
	}
	if err != nil {
		return failed(err)
	}
	return loadgen.Acked(ack.Sequence - uint64(len(p.messages))) // it is the sequence of the last message; they begin at 1
}

// find looks up a batch of which the server says that an earlier try has brought it in. It is the last on this producer's subject, because a
// producer has one batch under way.
func (p *producer) find(ctx context.Context, l *link, a loadgen.Attempt) loadgen.TryResult {
	if l.stream == nil {
		stream, err := l.js.Stream(ctx, p.target.options.Stream)
		if err != nil {
			return failed(err)
		}
		l.stream = stream
	}
	m, err := l.stream.GetLastMsgForSubject(ctx, p.subject)
	if err != nil {
		return failed(err)
	}
	last := len(p.messages) - 1
	if want := p.messageID(a.Request, last); m.Header.Get(jetstream.MsgIDHeader) != want || m.Sequence <= uint64(last) {
		return loadgen.NotAcked(loadgen.TryUnknown, loadgen.CauseAnswer,
			fmt.Errorf("the server knows message id %s and shows message %d with id %q as the last of its subject", want, m.Sequence, m.Header.Get(jetstream.MsgIDHeader)))
	}
	return loadgen.Acked(m.Sequence - uint64(len(p.messages)))
}

// async publishes the messages of a batch without waiting between them, and then awaits the acknowledgement of each. With no reconnecting the library
// leaves the futures of a connection that ends unanswered, so its end is awaited, too.
func (p *producer) async(l *link, a loadgen.Attempt) loadgen.TryResult {
	p.futures = p.futures[:0]
	for _, m := range p.messages {
		future, err := l.js.PublishMsgAsync(m, jetstream.WithRetryAttempts(0))
		if err != nil {
			return p.partly(failed(err))
		}
		p.futures = append(p.futures, future)
	}
	timer := time.NewTimer(time.Until(a.Deadline))
	defer timer.Stop()
	offset, acked := uint64(0), 0
	var first error
	refused := true
	for i, future := range p.futures {
		select {
		case ack := <-future.Ok():
			acked++
			if i == 0 {
				offset = ack.Sequence - 1
			}
		case err := <-future.Err():
			if first == nil {
				first = err
			}
			refused = refused && failed(err).Outcome == loadgen.TryNotAppended
		case <-l.ended:
			return failed(fmt.Errorf("%d of %d messages were acknowledged: %w", acked, len(p.futures), nats.ErrConnectionClosed))
		case <-timer.C:
			return loadgen.NotAcked(loadgen.TryUnknown, loadgen.CauseTimeout, fmt.Errorf("%d of %d messages were acknowledged by the deadline", acked, len(p.futures)))
		}
	}
	switch {
	case acked == len(p.futures):
		return loadgen.Acked(offset)
	case acked == 0 && refused:
		return failed(first)
	}
	result := failed(first)
	result.Outcome, result.Err = loadgen.TryUnknown, fmt.Errorf("%d of %d messages were acknowledged; %w", acked, len(p.futures), first)
	return result
}

// partly is the result of a batch of which some messages were sent.
func (p *producer) partly(result loadgen.TryResult) loadgen.TryResult {
	if len(p.futures) > 0 {
		result.Outcome = loadgen.TryUnknown
	}
	return result
}
