package loadgen

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// producerLoop sends one producer's batches, each when it is due or as soon after it as the one
// before has an outcome. One goroutine owns it.
type producerLoop struct {
	client   Producer
	schedule *Schedule
	payload  *Payload
	pacer    pacer
	roster   *roster
	ledger   *LedgerWriter
	live     *liveProducer

	base   time.Time // ledger times count from here
	start  time.Time // due times count from here
	closed bool      // no schedule: due is when the producer is free
	stop   time.Time // the load's end
	budget time.Duration
	drain  time.Duration

	registered bool
	// free is when the producer could have sent: the end of the batch before it, or of a
	// registration. Lateness up to then is the target's, after it the generator's.
	free time.Time

	registerTries int64
	ackedBytes    int64
	firstErr      error // why the first try that was not acknowledged was not
}

func (p *producerLoop) sinceBase(at time.Time) int64 { return int64(at.Sub(p.base)) }

// run sends batches until the timetable ends or the context is done; what is due by then is on the
// ledger in either case.
func (p *producerLoop) run(ctx context.Context) error {
	defer context.AfterFunc(ctx, p.pacer.interrupt)()
	p.free = p.start
	for sequence := uint64(0); ; sequence++ {
		due, ok := p.nextDue()
		if !ok {
			return nil
		}
		batch := p.payload.Fill(sequence) // before the wait: filling is not lateness
		if p.closed {
			due = later(due, time.Now())
		}
		p.pacer.until(due)
		if ctx.Err() != nil && time.Now().Before(due) {
			return nil // the load was stopped before this batch was due
		}
		record := p.send(ctx, batch, due)
		p.live.note(record)
		if record.Outcome == OutcomeOK {
			p.ackedBytes += int64(p.payload.Bytes())
		}
		if err := p.ledger.Append(record); err != nil {
			return err
		}
	}
}

// nextDue is when the next batch is due, or false when the load has ended. In a closed loop that is when it has been filled.
func (p *producerLoop) nextDue() (time.Time, bool) {
	if p.closed {
		return p.start, time.Now().Before(p.stop)
	}
	offset, ok := p.schedule.Next()
	return p.start.Add(offset), ok
}

// send brings one batch to its outcome.
func (p *producerLoop) send(ctx context.Context, batch *Batch, due time.Time) Record {
	deadline := due.Add(p.budget)
	if last := p.stop.Add(p.drain); last.Before(deadline) {
		deadline = last
	}
	story := story{record: Record{Sequence: batch.Sequence, DueNs: p.sinceBase(due)}}
	if p.ready(ctx, due, deadline) {
		p.try(ctx, &story, batch, due, deadline)
	}
	now := time.Now()
	if story.record.Tries == 0 {
		story.record.SentNs = p.sinceBase(now)
	}
	story.close(p.sinceBase(now))
	p.free = now
	return story.record
}

// ready reports whether a try may begin, after registering again where the target asked for it.
func (p *producerLoop) ready(ctx context.Context, due, deadline time.Time) bool {
	if !p.registered {
		if err := p.register(ctx, deadline); err != nil {
			return false
		}
		p.free = time.Now()
	}
	return ctx.Err() == nil && time.Now().Before(deadline)
}

// try tries one batch until nothing more can be learned or its deadline is near.
func (p *producerLoop) try(ctx context.Context, story *story, batch *Batch, due, deadline time.Time) {
	p.roster.begin()
	sent := time.Now()
	story.record.SentNs = p.sinceBase(sent)
	story.record.OwnLateNs = int64(sent.Sub(later(due, p.free)))
	p.live.sent.Add(1)
	p.attempts(ctx, deadline, func(address int, limit time.Time) (TryResult, bool) {
		p.live.tries.Add(1)
		result := p.client.Try(Attempt{Address: address, Request: batch.Sequence + 1, Batch: batch, Deadline: limit})
		if result.Unregistered {
			p.registered = false
		}
		if result.Err != nil && p.firstErr == nil {
			p.firstErr = fmt.Errorf("try %d of batch %d at address %d: %w", story.record.Tries+1, batch.Sequence, address, result.Err)
		}
		return result, story.note(result, time.Now(), deadline)
	})
}

// attempts makes one try after another at the addresses that the roster names, until once is
// content, the context is done, or no further try fits before the deadline.
func (p *producerLoop) attempts(ctx context.Context, deadline time.Time, once func(address int, limit time.Time) (TryResult, bool)) {
	for {
		now := time.Now()
		address := p.roster.next(now)
		limit := now.Add(p.roster.limit(address))
		if deadline.Before(limit) {
			limit = deadline
		}
		result, done := once(address, limit)
		now = time.Now()
		p.roster.note(address, result, now)
		again := now.Add(p.roster.pause())
		if done || ctx.Err() != nil || !again.Before(deadline) {
			return
		}
		p.pacer.until(again)
		if ctx.Err() != nil {
			return
		}
	}
}

// errNotRegistered says that no address took the registration in time.
var errNotRegistered = errors.New("no address took the registration in time")

// register makes the producer known to the target.
func (p *producerLoop) register(ctx context.Context, deadline time.Time) error {
	err := errNotRegistered
	p.roster.begin()
	p.attempts(ctx, deadline, func(address int, limit time.Time) (TryResult, bool) {
		p.registerTries++
		result := p.client.Register(address, limit)
		if result.Err != nil {
			err = fmt.Errorf("%w: address %d: %w", errNotRegistered, address, result.Err)
		}
		p.registered = result.Outcome == TryAcked
		return result, p.registered || result.Final
	})
	if p.registered {
		return nil
	}
	return err
}

// story gathers what the tries of a batch said.
type story struct {
	record Record
	doubt  bool // some try may have appended it
	acked  bool
}

// note takes in one try and reports whether the batch has its outcome.
func (s *story) note(result TryResult, now, deadline time.Time) bool {
	s.record.Tries++
	switch result.Outcome {
	case TryAcked:
		s.acked = true
		s.record.Offset = result.Offset
		s.record.Late = now.After(deadline)
		return true
	case TryUnknown:
		s.doubt = true
	}
	return result.Final || result.Unregistered
}

// close names the outcome. Failed is a strong word: no try can have appended the batch.
func (s *story) close(doneNs int64) {
	s.record.DoneNs = doneNs
	switch {
	case s.acked && !s.record.Late:
		s.record.Outcome = OutcomeOK
	case s.acked || s.doubt:
		s.record.Outcome = OutcomeUnknown
	default:
		s.record.Outcome = OutcomeFailed
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
