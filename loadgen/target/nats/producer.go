package nats

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"rejoin/loadgen"
)

// producer is one client with a connection to each server that it has asked, and a subject of its own.
type producer struct {
	target  *Target
	subject string
	id      string // of this producer in this run; message ids begin with it
	links   []*link
	hinted  bool // it was sent to the leader once

	messages []*nats.Msg // of the batch in hand
	request  uint64      // that messages were made for
	futures  []jetstream.PubAckFuture
}

func newProducer(t *Target, o loadgen.ProducerOptions) *producer {
	var id [8]byte
	rand.Read(id[:])
	p := &producer{target: t, subject: fmt.Sprintf("%s.%d", t.options.Stream, o.Producer), id: hex.EncodeToString(id[:])}
	for _, n := range t.options.Nodes {
		p.links = append(p.links, &link{address: n.Client})
	}
	return p
}

// Close implements loadgen.Producer.
func (p *producer) Close() error {
	for _, l := range p.links {
		l.close()
	}
	return nil
}

// leaderLimit is how long the question for the leader may take; without an answer any server does.
const leaderLimit = 200 * time.Millisecond

// Register implements loadgen.Producer. JetStream knows no producers; it is asked once which server leads the stream, and the producer connects
// there: any server would pass its batches on, at the cost of one way more.
func (p *producer) Register(address int, deadline time.Time) loadgen.TryResult {
	l := p.links[address]
	if result, ok := l.open(deadline); !ok {
		return result
	}
	if p.hinted {
		return loadgen.Acked(0)
	}
	ctx, cancel := context.WithTimeout(context.Background(), min(leaderLimit, time.Until(deadline)))
	defer cancel()
	stream, err := l.js.Stream(ctx, p.target.options.Stream)
	if err != nil || stream.CachedInfo().Cluster == nil {
		return loadgen.Acked(0)
	}
	l.stream = stream
	p.hinted = true
	leader := stream.CachedInfo().Cluster.Leader
	if at := p.target.addressOf(leader); at >= 0 && at != address {
		result := loadgen.NotAcked(loadgen.TryNotAppended, loadgen.CauseAnswer, fmt.Errorf("%s leads the stream", leader))
		result.Hint = at
		return result
	}
	return loadgen.Acked(0)
}

// Try implements loadgen.Producer.
func (p *producer) Try(a loadgen.Attempt) loadgen.TryResult {
	l := p.links[a.Address]
	if result, ok := l.open(a.Deadline); !ok {
		return result
	}
	p.fill(a)
	keep := l.cut(a.Deadline)
	publish := p.atomic
	if p.target.options.Batches == Async {
		publish = p.async
	}
	result := publish(l, a)
	whole := keep()
	if !whole && result.Outcome != loadgen.TryAcked { // the deadline broke the connection, whatever the library makes of that
		result = loadgen.NotAcked(loadgen.TryUnknown, loadgen.CauseTimeout, result.Err)
	}
	if !whole || result.Cause == loadgen.CauseReset {
		l.close()
	}
	return result
}

// fill makes the messages of a batch, alike in all its tries. Headers are made anew, because the library adds to them.
func (p *producer) fill(a loadgen.Attempt) {
	for len(p.messages) < len(a.Batch.Messages) {
		p.messages = append(p.messages, &nats.Msg{})
	}
	p.messages = p.messages[:len(a.Batch.Messages)]
	last := len(p.messages) - 1
	for i, payload := range a.Batch.Messages {
		header := nats.Header{}
		if i == last || p.target.options.Batches == Async {
			header[jetstream.MsgIDHeader] = []string{p.messageID(a.Request, i)}
		}
		*p.messages[i] = nats.Msg{Subject: p.subject, Data: payload, Header: header}
	}
}

// messageID names a message in all tries. In an atomic batch the last message's id stands for the whole.
func (p *producer) messageID(request uint64, i int) string {
	return fmt.Sprintf("%s.%d.%d", p.id, request, i)
}

// failed is the result of a try that got err instead of an acknowledgement.
func failed(err error) loadgen.TryResult {
	var api *jetstream.APIError
	switch {
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse):
		return loadgen.NotAcked(loadgen.TryNotAppended, loadgen.CauseAnswer, fmt.Errorf("the stream has no leader: %w", err))
	case errors.As(err, &api):
		outcome := loadgen.TryUnknown
		if refusals[api.ErrorCode] {
			outcome = loadgen.TryNotAppended
		}
		return loadgen.NotAcked(outcome, loadgen.CauseAnswer, err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return loadgen.NotAcked(loadgen.TryUnknown, loadgen.CauseTimeout, err)
	}
	return loadgen.NotAcked(loadgen.TryUnknown, loadgen.CauseReset, err)
}

// Error codes of the server.
const (
	codeInsufficientResources jetstream.ErrorCode = 10023
	codeBatchIncomplete       jetstream.ErrorCode = 10176
	codeBatchDuplicate        jetstream.ErrorCode = 10201
	codeBatchesInFlight       jetstream.ErrorCode = 10210
)

// refusals are answers that the server gives before it proposes anything to the other replicas: nothing was or will be appended. After any other
// error the outcome is open.
var refusals = map[jetstream.ErrorCode]bool{codeInsufficientResources: true, codeBatchIncomplete: true, codeBatchesInFlight: true}
