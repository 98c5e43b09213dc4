package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"rejoin/loadgen"
	"rejoin/loadgen/target/memory"
	"rejoin/results"
)

// Budget of the generator alone, at twice the rate.
const (
	baselineTime     = 2 * time.Second
	baselineShareMin = 0.99 // of the batches due that were answered
)

// baselineLateMax is the budget of its own lateness, p99: half of that of the load, because here nobody takes a core from it.
func (s Scenario) baselineLateMax() time.Duration { return time.Duration(s.Demands.LateP99Max) / 2 }

// measureTries is how often a measurement of the machine is taken while it is out of bounds: a burst of stolen time is not a weak machine.
const measureTries = 3

// baseline drives a target that does nothing at twice the rate: what the generator cannot do alone it cannot do with a cluster beside it.
func (r *session) baseline(ctx context.Context) error {
	for try := 1; ; try++ {
		b, err := r.measureBaseline(ctx, memory.New(memory.Options{Discard: true}))
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("baseline: %w", err)
		}
		b.Tries = try
		r.proof.Baseline = b
		if r.scenario.ClosedLoop {
			r.say.line("baseline: generator alone, answered at once: %.0f batches/s, %.0f %% of all cores%s", b.AchievedPerS, 100*b.CPUShare, stealText(b.StealShare))
			return nil
		}
		r.say.line("baseline: generator alone, twice the rate: %.1f %% of %d batches in time, late p99 %s, %.0f %% of all cores%s",
			100*b.AchievedShare, b.Batches, nsText(b.LateP99Ns), 100*b.CPUShare, stealText(b.StealShare))
		if r.baselineReached(b) || try == measureTries || r.scenario.saturates() {
			return nil
		}
	}
}

func (r *session) baselineReached(b *results.BaselineProof) bool {
	return b.AchievedShare >= baselineShareMin && (b.LateP99Ns == nil || *b.LateP99Ns <= int64(r.scenario.baselineLateMax()))
}

// measureBaseline is one such load against a target.
func (r *session) measureBaseline(ctx context.Context, log *memory.Target) (*results.BaselineProof, error) {
	dir := filepath.Join(r.folder.Dir, "baseline")
	defer os.RemoveAll(dir)
	defer log.Close()
	before := readCPUTimes()
	options := r.scenario.shape(loadgen.Options{Target: log, LedgerDir: dir, Seed: r.seed, OvershootSamples: -1, DrainBudget: time.Second})
	options.Steps, options.RatePerS, options.Duration = nil, 2*r.scenario.peakPerS(), baselineTime
	out, err := loadgen.Run(ctx, options)
	if err != nil {
		return nil, err
	}
	m, err := loadgen.Measure(out.Ledgers)
	if err != nil {
		return nil, err
	}
	late := m.OwnLate(&results.Timeline{})
	return &results.BaselineProof{RatePerS: float64(m.Counts.Due) / baselineTime.Seconds(), AchievedPerS: float64(m.Counts.OK) / baselineTime.Seconds(),
		AchievedShare: float64(m.Counts.OK) / float64(max(m.Counts.Due, 1)), Batches: m.Counts.Due, LateP50Ns: late.QuantileNs(0.5),
		LateP99Ns: late.QuantileNs(0.99), LateMaxNs: late.MaxNs(), CPUShare: out.Health.CPUShare, StealShare: readCPUTimes().since(before).stealShare()}, nil
}

// takePriority comes before everything that is measured, so that all of it is measured alike. Who keeps no timetable needs no preference: at
// saturation a generator that interrupts the nodes at each answer takes from them what it measures.
func (r *session) takePriority(context.Context) error {
	if !r.scenario.saturates() {
		r.nice = raisePriority()
	}
	return nil
}
