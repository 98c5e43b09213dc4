package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/zeebo/xxh3"

	"rejoin/cmd/bench/limits"
	"rejoin/results"
)

// canary is a small fixed measurement of the machine. It is taken before the nodes are started and after they have ended, at the same
// priority; what changed between is the machine, not the target.
type canary struct {
	name      string
	factorMax float64 // by which its median may change, in either direction
	measure   func(context.Context) (*results.Histogram, error)
}

const (
	canaryChangeDefault = 3.0
	canarySamples       = 1_000
	canaryTimeMax       = 2 * time.Second // a slow disk gives fewer samples
	canaryFrames        = 100             // checksums of one round of arithmetic: 0.1 to 0.3 ms
)

// canariesIn are the canaries of a run whose folder lies in dir, with the change that a scenario allows. Arithmetic may change by two thirds
// of it only: a core that shares its hardware with a busy neighbour loses up to half.
func canariesIn(dir string, changeMax float64) []canary {
	appends := limits.Appends{Dir: dir, FrameBytes: limits.FrameBytesDefault, Frames: canarySamples, TimeMax: canaryTimeMax}
	return []canary{
		{results.CanaryCPU, max(1, changeMax*2/3), arithmetic},
		{results.CanarySync, changeMax, func(ctx context.Context) (*results.Histogram, error) {
			times := results.NewHistogram()
			_, err := appends.Do(ctx, times.Record)
			return times, err
		}},
		{results.CanaryLoopback, changeMax, func(ctx context.Context) (*results.Histogram, error) {
			times := results.NewHistogram()
			return times, limits.RoundTrips(ctx, limits.FrameBytesDefault, canarySamples, canaryTimeMax, times)
		}},
	}
}

// arithmetic times rounds of checksums of one frame in the cache.
func arithmetic(ctx context.Context) (*results.Histogram, error) {
	times := results.NewHistogram()
	frame := make([]byte, limits.FrameBytesDefault)
	sum, limit := uint64(0), time.Now().Add(canaryTimeMax)
	for range canarySamples {
		began := time.Now()
		if ctx.Err() != nil || began.After(limit) {
			break
		}
		for range canaryFrames {
			frame[0]++
			sum ^= xxh3.Hash(frame)
		}
		times.Record(int64(time.Since(began)))
	}
	runtime.KeepAlive(sum) // or there would be nothing to compute
	return times, ctx.Err()
}

// canariesBefore takes the first measurement of each.
func (r *session) canariesBefore(ctx context.Context) error {
	for _, c := range r.canaries {
		times, err := c.measure(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("canary %s: %w", c.name, err)
		}
		r.proof.Canaries = append(r.proof.Canaries, results.CanaryProof{Name: c.name, Before: canaryTimesOf(times, 1)})
	}
	r.say.line("canaries: %s", canariesText(r.proof.Canaries, func(c results.CanaryProof) *results.CanaryTimes { return c.Before }))
	return nil
}

// canariesAfter takes the second one; those out of bounds are taken again.
func (r *session) canariesAfter(ctx context.Context) error {
	for i := range r.proof.Canaries {
		p, c := &r.proof.Canaries[i], r.canaries[i]
		for try := 1; try <= measureTries; try++ {
			times, err := c.measure(ctx)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return fmt.Errorf("canary %s: %w", c.name, err)
			}
			p.After = canaryTimesOf(times, try)
			p.Change = &results.CanaryChange{P50: factor(p.Before.P50Ns, p.After.P50Ns), P99: factor(p.Before.P99Ns, p.After.P99Ns)}
			if !changed(p.Change.P50, c.factorMax) {
				break
			}
		}
	}
	r.say.line("canaries: %s", canariesText(r.proof.Canaries, func(c results.CanaryProof) *results.CanaryTimes { return c.After }))
	return nil
}

func canaryTimesOf(h *results.Histogram, tries int) *results.CanaryTimes {
	return &results.CanaryTimes{P50Ns: h.QuantileNs(0.5), P99Ns: h.QuantileNs(0.99), MaxNs: h.MaxNs(), Samples: h.Count(), Tries: tries}
}

// factor is after by before; nil if either was not measured.
func factor(before, after *int64) *float64 {
	if before == nil || after == nil || *before <= 0 {
		return nil
	}
	return new(float64(*after) / float64(*before))
}

// changed says whether a factor lies beyond its bound, in either direction: faster afterwards means disturbed before, which is
// doubtful; slower is invalid.
func changed(f *float64, most float64) bool { return f != nil && (*f > most || *f < 1/most) }

func canariesText(all []results.CanaryProof, of func(results.CanaryProof) *results.CanaryTimes) string {
	text := ""
	for _, c := range all {
		if times := of(c); times != nil {
			text += fmt.Sprintf("%s p50 %s p99 %s  ", c.Name, nsText(times.P50Ns), nsText(times.P99Ns))
		}
	}
	return text
}
