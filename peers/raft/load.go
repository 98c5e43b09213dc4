package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// load is what producers do: each sends its next batch at the answer to the one before.
type load struct {
	Producers  int           `json:"producers"`
	FrameBytes int           `json:"frame_bytes"`
	Warmup     time.Duration `json:"warmup_ns"`
	Duration   time.Duration `json:"duration_ns"`
}

// driven is what came of it.
type driven struct {
	Acknowledged sum `json:"acknowledged"` // all batches, those of the warm-up too

	Batches   int64     `json:"batches"` // acknowledged in the measured time
	LatencyNs quantiles `json:"latency_ns"`
	Stored    int64     `json:"stored"` // entries that the leader stored in that time, and in how many groups, each with a sync
	Groups    int64     `json:"groups"`

	TermBefore uint64 `json:"term_before"`
	TermAfter  uint64 `json:"term_after"`
	Leads      bool   `json:"leads"` // at the end
}

// quantiles of latencies, ns; 0 of none.
type quantiles struct {
	P50 int64 `json:"p50"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

func quantilesOf(all []int64) quantiles {
	if len(all) == 0 {
		return quantiles{}
	}
	slices.Sort(all)
	at := func(share float64) int64 { return all[min(int(share*float64(len(all))), len(all)-1)] }
	return quantiles{P50: at(0.50), P99: at(0.99), Max: all[len(all)-1]}
}

// producer sends the batches of every Producers-th number.
type producer struct {
	acknowledged sum
	latencies    []int64 // of batches acknowledged in the measured time, ns
	err          error
}

// window is the measured time.
type window struct{ begin, end time.Time }

// run sends batches until the window ends, or until ctx does: fail ends it for all.
func (p *producer) run(ctx context.Context, fail context.CancelFunc, r *raft.Raft, b bodies, first, step int64, w window) {
	for number := first; ctx.Err() == nil; number += step {
		body, began := b.of(number), time.Now()
		if !began.Before(w.end) {
			return
		}
		future := r.Apply(body, 0)
		if err := future.Error(); err != nil {
			p.err = fmt.Errorf("apply batch %d: %w", number, err)
			fail()
			return
		}
		acked := time.Now()
		p.acknowledged.add(digestOf, future.Index(), body)
		if acked.After(w.begin) && !acked.After(w.end) {
			p.latencies = append(p.latencies, int64(acked.Sub(began)))
		}
	}
}

// drive puts the load on this node, which must lead.
func (n *node) drive(l load) (driven, error) {
	b := newBodies(l.FrameBytes)
	d := driven{TermBefore: n.raft.CurrentTerm()}
	w := window{begin: time.Now().Add(l.Warmup)}
	w.end = w.begin.Add(l.Duration)
	producers := make([]producer, l.Producers)
	ctx, fail := context.WithCancel(context.Background())
	defer fail()
	var group sync.WaitGroup
	for i := range producers {
		group.Go(func() { producers[i].run(ctx, fail, n.raft, b, int64(i), int64(l.Producers), w) })
	}
	await(ctx, w.begin)
	before := n.stored.Summary().Counters
	await(ctx, w.end)
	after := n.stored.Summary().Counters
	group.Wait()
	d.TermAfter, d.Leads = n.raft.CurrentTerm(), n.raft.State() == raft.Leader
	d.Stored, d.Groups = int64(after[entriesStored]-before[entriesStored]), int64(after[groupsStored]-before[groupsStored])
	return d.of(producers)
}

// await waits until a time, or until ctx ends.
func await(ctx context.Context, at time.Time) {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// of adds up what the producers have.
func (d driven) of(producers []producer) (driven, error) {
	var latencies []int64
	var errs []error
	for _, p := range producers {
		errs = append(errs, p.err)
		latencies = append(latencies, p.latencies...)
		d.Acknowledged.Batches += p.acknowledged.Batches
		d.Acknowledged.Digest += p.acknowledged.Digest
		d.Acknowledged.LastIndex = max(d.Acknowledged.LastIndex, p.acknowledged.LastIndex)
	}
	d.Batches, d.LatencyNs = int64(len(latencies)), quantilesOf(latencies)
	return d, errors.Join(errs...)
}
