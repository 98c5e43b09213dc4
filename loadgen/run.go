package loadgen

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"rejoin/results"
)

// Outcome of a run, as far as Run itself knows it; the rest is in the ledgers (see Measure).
type RunOutcome struct {
	Ledgers []string // paths, by producer

	// StartNs is the first due time since the base, StopNs the end of the load: Duration later, or
	// when the context ended it.
	StartNs, StopNs int64
	Interrupted     bool

	PacerMode     PacerMode
	Overshoot     *results.Histogram // of the pacer's waits, before the load; nil if not measured
	Health        Health
	RegisterTries int64
	Consumers     []ConsumerOutcome
	// AckedPayloadBytes are the messages of all acknowledged batches.
	AckedPayloadBytes int64

	// FirstErr is why the first try that was not acknowledged was not, in words; nil if there was
	// none. During a kill such tries are expected: it explains, it does not accuse.
	FirstErr error
}

// registerBudget is how long the producers may take to register before the load.
const registerBudget = 30 * time.Second

// startDelay lies between fixing the timetable and its first due time, so that no producer begins
// late because of the work of starting it.
const startDelay = 10 * time.Millisecond

// ErrNotStarted is wrapped by errors of a run whose load never began.
var ErrNotStarted = errors.New("load did not start")

// Run drives the target by the timetable of the options until the load has ended and every due batch
// has an outcome on the ledger, at most DrainBudget after the end. A done context stops the load
// early: tries in flight end by their own limit and their batches are unknown unless answered.
func Run(ctx context.Context, options Options) (RunOutcome, error) {
	o := options.WithDefaults()
	if err := o.validate(); err != nil {
		return RunOutcome{}, err
	}
	if o.Live == nil {
		o.Live = NewLive(o.Producers)
	}
	run := &run{options: o, outcome: RunOutcome{PacerMode: o.Pacer}}
	err := run.open(ctx)
	if err == nil {
		err = run.register(ctx)
	}
	if err == nil {
		err = run.load(ctx)
	} else {
		err = fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	return run.outcome, errors.Join(err, run.close())
}

// run is one run under way.
type run struct {
	options Options
	readers *consumers
	loops   []*producerLoop
	outcome RunOutcome
}

// open makes everything that a producer needs, so that nothing is left to make under load.
func (r *run) open(ctx context.Context) error {
	pool, err := NewPayloadPool(r.options.payload())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.options.LedgerDir, 0o755); err != nil {
		return fmt.Errorf("make ledger directory: %w", err)
	}
	if r.readers, err = r.options.openConsumers(); err != nil {
		return err
	}
	for i := range r.options.Producers {
		if err := r.openProducer(ctx, i, pool); err != nil {
			return fmt.Errorf("open producer %d: %w", i, err)
		}
	}
	return nil
}

func (r *run) openProducer(ctx context.Context, i int, pool *PayloadPool) error {
	o := r.options
	p := &producerLoop{
		roster: newRoster(len(o.Target.Addresses()), o.FirstAddress, o.Seed^uint64(i)*0xa0761d6478bd642f),
		live:   &o.Live.producers[i],
		base:   o.Base, budget: o.Budget, drain: o.DrainBudget, closed: o.ClosedLoop,
	}
	p.schedule = o.timetable().Schedule(i)
	r.loops = append(r.loops, p)
	var err error
	if p.pacer, err = newPacer(o.Pacer); err != nil {
		return err
	}
	path := LedgerPath(o.LedgerDir, i)
	p.ledger, err = CreateLedger(path, LedgerHead{RunID: o.RunID, Producer: i, Producers: o.Producers,
		BatchMessages: o.BatchMessages, MessageBytes: o.MessageBytes})
	if err != nil {
		return err
	}
	r.outcome.Ledgers = append(r.outcome.Ledgers, path)
	p.client, err = o.Target.OpenProducer(ctx, ProducerOptions{Producer: i, Partition: PartitionOf(i, o.Partitions), Seed: o.Seed,
		BatchMessages: o.BatchMessages, MessageBytes: o.payload().MessageBytesMax})
	if placer, ok := p.client.(Placer); ok && pool.fixed() {
		p.payload = pool.newPayloadIn(i, placer.Places())
	} else {
		p.payload = pool.NewPayload(i)
	}
	return err
}

// register makes all producers known, and measures the pacers meanwhile unused.
func (r *run) register(ctx context.Context) error {
	deadline := time.Now().Add(registerBudget)
	err := r.each(func(p *producerLoop) error {
		defer context.AfterFunc(ctx, p.pacer.interrupt)()
		return p.register(ctx, deadline)
	})
	if err == nil {
		err = ctx.Err()
	}
	if err != nil || r.options.OvershootSamples < 0 {
		return err
	}
	pacers := make([]pacer, len(r.loops))
	for i, p := range r.loops {
		pacers[i] = p.pacer
	}
	r.outcome.Overshoot = measureOvershoot(pacers, r.options.OvershootSamples)
	return nil
}

// load fixes the timetable and lets the producers go.
func (r *run) load(ctx context.Context) error {
	o := r.options
	start := time.Now().Add(startDelay)
	stop := start.Add(o.Duration)
	for _, p := range r.loops {
		p.start, p.stop = start, stop
	}
	r.outcome.StartNs = int64(start.Sub(o.Base))
	o.Live.start.Store(&liveStart{base: o.Base, at: start, table: o.timetable(), closed: o.ClosedLoop})
	if o.OnStart != nil {
		o.OnStart(r.outcome.StartNs)
	}
	r.readers.begin(ctx, start, r.outcome.StartNs)
	before := readUsage()
	// A ledger that cannot be written makes the run worthless: the first error ends the load.
	loading, stopLoading := context.WithCancel(ctx)
	defer stopLoading()
	err := r.each(func(p *producerLoop) error {
		err := p.run(loading)
		if err != nil {
			stopLoading()
		}
		return err
	})
	r.outcome.Health = healthBetween(before, readUsage())
	r.outcome.Consumers = r.readers.end()
	r.outcome.StopNs = int64(stop.Sub(o.Base))
	if ctx.Err() != nil {
		r.outcome.Interrupted = true
		r.outcome.StopNs = min(r.outcome.StopNs, int64(time.Since(o.Base)))
	}
	for _, p := range r.loops {
		r.outcome.RegisterTries += p.registerTries
		r.outcome.AckedPayloadBytes += p.ackedBytes
		if r.outcome.FirstErr == nil {
			r.outcome.FirstErr = p.firstErr
		}
	}
	return err
}

// each runs one step of all producers at the same time and waits for all of them.
func (r *run) each(step func(*producerLoop) error) error {
	errs := make([]error, len(r.loops))
	var wait sync.WaitGroup
	for i, p := range r.loops {
		wait.Go(func() {
			if err := step(p); err != nil {
				errs[i] = fmt.Errorf("producer %d: %w", i, err)
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// close closes what was opened, also after an open that failed halfway.
func (r *run) close() error {
	var errs []error
	for _, p := range r.loops {
		if p.client != nil {
			errs = append(errs, p.client.Close())
		}
		if p.ledger != nil {
			errs = append(errs, p.ledger.Close())
		}
		if p.pacer != nil {
			errs = append(errs, p.pacer.close())
		}
	}
	if r.readers != nil {
		errs = append(errs, r.readers.close())
	}
	return errors.Join(errs...)
}
