package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"rejoin/loadgen"
	"rejoin/results"
)

// progress prints what goes on, one plain line at a time, so that a log of it reads as well as a terminal.
type progress struct {
	mu    sync.Mutex
	out   io.Writer
	quiet bool
}

func newProgress(out io.Writer, quiet bool) *progress { return &progress{out: out, quiet: quiet} }

// line prints unless --quiet was given.
func (p *progress) line(format string, args ...any) {
	if !p.quiet {
		p.always(format, args...)
	}
}

// always prints.
func (p *progress) always(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, format+"\n", args...)
}

// showLoad prints a line a second until ctx ends.
func (r *session) showLoad(ctx context.Context, live *loadgen.Live) {
	observer := live.NewObserver()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	began := time.Now()
	last := observer.Look()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		look := observer.Look()
		seconds := float64(look.AtNs-last.AtNs) / 1e9
		rate := float64(look.Acked-last.Acked) / max(seconds, 1e-3)
		r.say.line("load: %3.0f/%.0fs  %5.0f batches/s  p50 %s  p99 %s  waiting %d  %s",
			time.Since(began).Seconds(), time.Duration(r.scenario.Duration).Seconds(), rate, nsText(look.RecentP50Ns), nsText(look.RecentP99Ns),
			look.Due-look.Acked-look.Unknown-look.Failed, nodesText(r.system.status(), r.plan.now()))
		last = look
	}
}

// nodesText shows every node's role and how many ops its commit is behind the highest.
func nodesText(all []results.Status, faults string) string {
	highest := int64(0)
	for _, s := range all {
		if s.CommitOp != nil {
			highest = max(highest, *s.CommitOp)
		}
	}
	var b strings.Builder
	for i, s := range all {
		if i > 0 {
			b.WriteString("  ")
		}
		if !s.Up {
			fmt.Fprintf(&b, "%s down", s.Node)
			continue
		}
		fmt.Fprintf(&b, "%s %s", s.Node, s.Role)
		if lag := highest - *s.CommitOp; lag > 0 {
			fmt.Fprintf(&b, " -%d", lag)
		}
		if s.State != "normal" && s.State != "" {
			fmt.Fprintf(&b, " (%s)", s.State)
		}
	}
	if faults != "" {
		b.WriteString("  |" + faults)
	}
	return b.String()
}

// nsText is a time for people; "–" is no data.
func nsText(ns *int64) string {
	if ns == nil {
		return "–"
	}
	d := time.Duration(*ns)
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= 10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}
