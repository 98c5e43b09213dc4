package main

import (
	"context"
	"fmt"

	"rejoin/cmd/bench/limits"
	"rejoin/cmd/bench/limits/shape"
	"rejoin/results"
)

// limitsBefore and limitsAfter measure what the machine can do at most around a run that asks for it, with the run's own frames, producers
// and rate.
func (r *session) limitsBefore(ctx context.Context) error {
	return r.measureLimits(ctx, results.MomentBefore)
}

func (r *session) limitsAfter(ctx context.Context) {
	if err := r.measureLimits(ctx, results.MomentAfter); err != nil {
		r.warn("%v", err)
	}
}

func (r *session) measureLimits(ctx context.Context, moment string) error {
	if !r.command.Limits {
		return nil
	}
	r.say.line("limits %s the run: about half a minute", moment)
	measured, err := measureLimits(ctx, r.scenario.limits(r.folder.Dir), func(line limits.Line) { r.say.line("  %-50s %s", line.Name, line.Text) })
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("limits %s the run: %w", moment, err)
	}
	measured.Moment = moment
	r.limits = append(r.limits, measured)
	if err := results.WriteLimits(r.folder.Limits(), r.limits); err != nil {
		return fmt.Errorf("limits %s the run: %w", moment, err)
	}
	return nil
}

// limits are options that make the figures of the scenario comparable: its frames, producers, nodes and rate.
func (s Scenario) limits(dir string) limits.Options {
	o := limits.Options{Dir: dir, FrameBytes: int(frameBytesOf(s.BatchMessages, s.PayloadBytes)), Shape: shape.Options{Nodes: s.Nodes, Producers: s.Producers}}
	if rate := s.batchesPerS(); rate > 0 && !s.Overload {
		o.SteadyRate = rate
	}
	return o
}
