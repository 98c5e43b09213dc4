package shape

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"rejoin/cmd/bench/limits/child"
	"rejoin/loadgen"
	"rejoin/results"
)

// ProducerSettings are what the process of producers is told.
type ProducerSettings struct {
	Address   string `json:"address"`
	Producers int    `json:"producers"`
	BodyBytes int    `json:"body_bytes"`
}

// load is the argument of the command "drive".
type load struct {
	Duration time.Duration `json:"duration"`
	// BatchesPerS of all producers together, by a timetable; 0: each sends the next batch at the answer to the one before.
	BatchesPerS float64 `json:"batches_per_s"`
}

// driven is its answer.
type driven struct {
	Batches     int64             `json:"batches"`
	SequenceMax uint64            `json:"sequence_max"`
	WallNs      int64             `json:"wall_ns"`
	CPUNs       int64             `json:"cpu_ns"`
	Latency     results.Quantiles `json:"latency"` // from due
}

// startDelay lets all producers be ready before the first batch is due.
const startDelay = 50 * time.Millisecond

func runProducers(settings string, in io.Reader, out io.Writer) error {
	var s ProducerSettings
	if err := json.Unmarshal([]byte(settings), &s); err != nil {
		return fmt.Errorf("settings of producers: %w", err)
	}
	all := make([]*producer, s.Producers)
	for i := range all {
		var err error
		if all[i], err = newProducer(s.Address, s.BodyBytes, byte(i)); err != nil {
			return err
		}
	}
	return child.Serve(in, out, child.Handlers{"drive": func(argument json.RawMessage) (any, error) {
		var l load
		if err := json.Unmarshal(argument, &l); err != nil {
			return nil, err
		}
		return drive(all, l)
	}})
}

// drive lets all producers send for a while and adds up.
func drive(all []*producer, l load) (driven, error) {
	cpuBefore, start := cpuNs(), time.Now().Add(startDelay)
	errs := make([]error, len(all))
	var wait sync.WaitGroup
	for i, p := range all {
		p.reset()
		wait.Go(func() { errs[i] = p.send(start, l, i, len(all)) })
	}
	wait.Wait()
	d := driven{WallNs: int64(time.Since(start)), CPUNs: cpuNs() - cpuBefore}
	latency := results.NewHistogram()
	for _, p := range all {
		d.Batches += p.latency.Count()
		d.SequenceMax = max(d.SequenceMax, p.sequenceMax)
		latency.Merge(p.latency)
	}
	d.Latency = latency.Quantiles()
	return d, errors.Join(append(errs, latency.Health().Err())...)
}

// producer sends one batch after the other on a connection of its own.
type producer struct {
	post        *Poster
	waiter      *loadgen.Waiter
	latency     *results.Histogram
	sequenceMax uint64
}

func newProducer(address string, bodyBytes int, fill byte) (*producer, error) {
	post, err := NewPoster(address, bodyBytes, fill)
	if err != nil {
		return nil, err
	}
	waiter, err := loadgen.NewWaiter()
	if err != nil {
		return nil, err
	}
	return &producer{post: post, waiter: waiter, latency: results.NewHistogram()}, nil
}

func (p *producer) reset() {
	p.latency.Reset()
	p.sequenceMax = 0
}

// send follows the timetable of producer i of n, out of step with the others, or sends as fast as it is answered.
func (p *producer) send(start time.Time, l load, i, n int) error {
	end, due := start.Add(l.Duration), start
	var period time.Duration
	if l.BatchesPerS > 0 {
		period = time.Duration(float64(n) / l.BatchesPerS * float64(time.Second))
		due = start.Add(period * time.Duration(i) / time.Duration(n))
	}
	p.waiter.Until(due)
	for due.Before(end) {
		sequence, err := p.post.Do()
		if err != nil {
			return fmt.Errorf("producer %d: %w", i, err)
		}
		answered := time.Now()
		p.latency.Record(int64(answered.Sub(due)))
		p.sequenceMax = max(p.sequenceMax, sequence)
		if period == 0 {
			due = answered
			continue
		}
		due = due.Add(period)
		p.waiter.Until(due)
	}
	return nil
}
