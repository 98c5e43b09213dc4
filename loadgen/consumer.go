package loadgen

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"rejoin/results"
)

// Tailer is a target whose replicas can be read while they grow. Consumers need one.
type Tailer interface {
	// OpenTail makes a reader of one replica, from its earliest offset on. It does not speak to the replica yet.
	OpenTail(replica string) (Tail, error)
}

// Tail reads one replica in offset order. It belongs to one goroutine.
type Tail interface {
	// Next yields what has come since the last call, or waits for something until the deadline. Nothing by then is no error; an error is a
	// replica that could not be asked, and the next call may go on where this one stood.
	Next(ctx context.Context, deadline time.Time, yield func(ReadBatch) error) error
	Close() error
}

// ConsumerOutcome is what one consumer has read.
type ConsumerOutcome struct {
	Replica string
	Reads   []results.Read
	// Errors counts the times that the replica could not be asked; FirstErr is the first.
	Errors   int64
	FirstErr error
	// Strange are batches that no timetable of this run has, or that came twice.
	Strange int64
}

const (
	consumersMax      = 64
	consumerPoll      = 500 * time.Millisecond // one call of Next: how soon a consumer notices the end
	consumerPause     = 20 * time.Millisecond  // after a replica could not be asked
	consumerRestLimit = 5 * time.Second        // after the producers are done: for what has not been read yet
)

// consumer tails one replica and notes how long each batch took from its due time. It works beside the producers and shares nothing with
// them: due times come from a timetable of its own, whose schedules it follows as the batches come by.
type consumer struct {
	tail      Tail
	live      *liveReads
	schedules []*Schedule // by producer
	next      []uint64    // sequence that the schedule stands at
	due       []time.Duration
	ended     []bool
	runID     uint64
	start     time.Time
	startNs   int64
	outcome   ConsumerOutcome
}

func (o Options) newConsumer(replica int) (*consumer, error) {
	tailer, ok := o.Target.(Tailer)
	if !ok {
		return nil, fmt.Errorf("loadgen: target %s cannot be read while it grows; leave consumers out", o.Target.Name())
	}
	names := o.Target.Replicas()
	if replica < 0 || replica >= len(names) {
		return nil, fmt.Errorf("loadgen: a consumer of replica %d: the target has replicas 0 to %d", replica, len(names)-1)
	}
	c := &consumer{runID: o.RunID, live: &o.Live.reads, next: make([]uint64, o.Producers), due: make([]time.Duration, o.Producers),
		ended: make([]bool, o.Producers), outcome: ConsumerOutcome{Replica: names[replica]}}
	table := o.timetable()
	for p := range o.Producers {
		c.schedules = append(c.schedules, table.Schedule(p))
	}
	var err error
	c.tail, err = tailer.OpenTail(names[replica])
	return c, err
}

// run reads until done is closed and nothing more comes, or until ctx is done.
func (c *consumer) run(ctx context.Context, done <-chan struct{}) {
	var limit time.Time
	for ctx.Err() == nil {
		before := len(c.outcome.Reads)
		err := c.tail.Next(ctx, time.Now().Add(consumerPoll), c.take)
		over := false
		select {
		case <-done:
			over = true
		default:
		}
		if over && limit.IsZero() {
			limit = time.Now().Add(consumerRestLimit)
		}
		switch {
		case over && (time.Now().After(limit) || err == nil && before == len(c.outcome.Reads)):
			return
		case err != nil && ctx.Err() == nil:
			c.outcome.Errors++
			if c.outcome.FirstErr == nil {
				c.outcome.FirstErr = err
			}
			Pause(ctx, consumerPause)
		}
	}
}

// Pause waits, or until the context is done.
func Pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// take notes one batch. Its first message says whose it is; the verifier, not a consumer, looks at all of them.
func (c *consumer) take(b ReadBatch) error {
	read := time.Now()
	if len(b.Messages) == 0 {
		return errors.New("a batch without messages")
	}
	id, ours, _ := ParseMessage(b.Messages[0])
	if !ours || id.RunID != c.runID || id.Producer >= len(c.schedules) {
		c.outcome.Strange++
		return nil
	}
	due, ok := c.dueOf(id.Producer, id.Sequence)
	if !ok {
		c.outcome.Strange++
		return nil
	}
	r := results.Read{DueNs: c.startNs + int64(due), ReadNs: c.startNs + int64(read.Sub(c.start))}
	c.outcome.Reads = append(c.outcome.Reads, r)
	c.live.note(r.ReadNs - r.DueNs)
	return nil
}

// dueOf follows a producer's schedule to a batch; batches that failed are passed over. One behind came before.
func (c *consumer) dueOf(producer int, sequence uint64) (time.Duration, bool) {
	if sequence < c.next[producer] {
		return 0, false
	}
	for !c.ended[producer] {
		due, more := c.schedules[producer].Next()
		if !more {
			c.ended[producer] = true
			break
		}
		at := c.next[producer]
		c.next[producer]++
		if at == sequence {
			return due, true
		}
	}
	return 0, false
}

// consumers are those of a run.
type consumers struct {
	all  []*consumer
	done chan struct{} // closed when the producers are done
	wait sync.WaitGroup
}

// openConsumers returns those that it has opened also with an error: they are to be closed.
func (o Options) openConsumers() (*consumers, error) {
	all := &consumers{done: make(chan struct{})}
	if len(o.Consumers) > consumersMax {
		return all, fmt.Errorf("loadgen: %d consumers: pass at most %d", len(o.Consumers), consumersMax)
	}
	for _, replica := range o.Consumers {
		c, err := o.newConsumer(replica)
		if err != nil {
			return all, err
		}
		all.all = append(all.all, c)
	}
	return all, nil
}

func (c *consumers) begin(ctx context.Context, start time.Time, startNs int64) {
	for _, one := range c.all {
		one.start, one.startNs = start, startNs
		c.wait.Go(func() { one.run(ctx, c.done) })
	}
}

// end waits until all have read what there is, and returns what they read.
func (c *consumers) end() []ConsumerOutcome {
	close(c.done)
	c.wait.Wait()
	var outcomes []ConsumerOutcome
	for _, one := range c.all {
		outcomes = append(outcomes, one.outcome)
	}
	return outcomes
}

// close closes what was opened, whether it has begun or not; end comes before it if it has.
func (c *consumers) close() error {
	var errs []error
	for _, one := range c.all {
		errs = append(errs, one.tail.Close())
	}
	return errors.Join(errs...)
}

// liveReads is what an observer sees of consumers; several write to it.
type liveReads struct {
	count     atomic.Uint64
	latencies [512]atomic.Int64
}

func (l *liveReads) note(ns int64) {
	n := l.count.Add(1) - 1
	l.latencies[n%uint64(len(l.latencies))].Store(ns)
}

// since returns the latencies noted after the first seen ones, the latest if there are many, and how many there are now.
func (l *liveReads) since(seen uint64) (recent []int64, count uint64) {
	count = l.count.Load()
	most := uint64(len(l.latencies))
	for n := max(seen, count-min(count, most)); n < count; n++ {
		recent = append(recent, l.latencies[n%most].Load())
	}
	return recent, count
}
