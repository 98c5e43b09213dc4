package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"rejoin/loadgen"
	"rejoin/profiles"
	"rejoin/results"
	"rejoin/server/wire"
)

// profiled is a system whose nodes are processes with an admin plane.
type profiled interface {
	adminPlanes() []profiles.NodeAddress
}

// profiler takes the profiles of a run by phase: windows of this process and of the nodes, beside the load. Nothing is read, merged or drawn
// before the load has ended.
type profiler struct {
	plan    profiling
	folder  results.Folder
	system  system
	live    *loadgen.Live
	nowNs   func() int64 // of the run
	borders profiles.Borders
	nodes   *profiles.Collector // nil: the system has no processes to ask
	flight  *flightTaker        // nil: none is wanted
	planes  []profiles.NodeAddress

	stop    context.CancelFunc
	running sync.WaitGroup
	own     profiles.Captured
	ownErr  error
	nodeErr error
}

// newProfiler prepares for a load that has not begun.
func (r *session) newProfiler(live *loadgen.Live) (*profiler, error) {
	base := r.run.StartMonoNs
	p := &profiler{plan: r.profiling, folder: r.folder, system: r.system, live: live, nowNs: func() int64 { return wire.MonoNow() - base }, stop: func() {}}
	system, ok := r.system.(profiled)
	if !ok || !p.plan.any() {
		return p, nil
	}
	p.planes = system.adminPlanes()
	if p.plan.windows || len(p.plan.snapshots()) > 0 {
		var err error
		p.nodes, err = profiles.NewCollector(profiles.CollectorOptions{Dir: r.folder.Profiles(), Nodes: p.planes, Role: p.roleNow, NowNs: p.nowNs,
			Window: cpuWindow, Borders: &p.borders, Snapshots: p.plan.snapshots(), NoCPU: !p.plan.windows})
		if err != nil {
			return nil, err
		}
	}
	if p.plan.flight {
		p.flight = newFlightTaker(p, r.command.FlightOver, r.record)
	}
	return p, nil
}

// roleNow is a node's role at the moment.
func (p *profiler) roleNow(node string) string {
	all := p.system.status()
	for i, s := range all {
		if s.Node == node {
			return roleOf(all, i)
		}
	}
	return results.RoleUnknown
}

// begin starts capturing; borders are the times, since the run's start, at which a phase begins by the timetable.
func (p *profiler) begin(ctx context.Context, borders ...int64) {
	if !p.plan.any() {
		return
	}
	ctx, p.stop = context.WithCancel(ctx)
	if p.plan.windows || len(p.plan.snapshots()) > 0 {
		p.running.Go(func() {
			p.own, p.ownErr = profiles.OwnWindows(ctx, profiles.OwnOptions{Dir: p.folder.Profiles(), NowNs: p.nowNs, Window: cpuWindow, Borders: &p.borders,
				Snapshots: p.plan.snapshots(), NoCPU: !p.plan.windows})
		})
		p.running.Go(func() { p.watch(ctx, borders) })
	}
	if p.nodes != nil {
		p.running.Go(func() { p.nodeErr = p.nodes.Run(ctx) })
	}
	if p.flight != nil {
		p.running.Go(func() { p.flight.watch(ctx) })
	}
}

// end ends the last windows, which are kept; wait returns when they are on disk.
func (p *profiler) end() { p.stop() }

func (p *profiler) wait() {
	p.stop()
	p.running.Wait()
}

// problems are sentences about what kept profiles from being taken.
func (p *profiler) problems() []string {
	var texts []string
	for _, err := range []error{p.ownErr, p.nodeErr} {
		if err != nil && !errors.Is(err, context.Canceled) {
			texts = append(texts, err.Error())
		}
	}
	return texts
}

// captured is what there is of every source.
func (p *profiler) captured() []profiles.Captured {
	own := p.own
	own.Node = results.SourceGenerator
	all := []profiles.Captured{own}
	if p.nodes != nil {
		return append(all, p.nodes.Captured()...)
	}
	for _, n := range p.planes {
		all = append(all, profiles.Captured{Node: n.Name})
	}
	return all
}

const (
	borderInterval = 10 * time.Millisecond
	// borderSpacing lies between two cuts at least: a window that is cut needs 0.1 s to be answered.
	borderSpacing = 100 * time.Millisecond
)

// watch marks a border when a phase may begin: at the times given, when a node goes, comes back, catches up or changes its role, and at the
// first acknowledgement after a silence that a lost primary began.
func (p *profiler) watch(ctx context.Context, timed []int64) {
	seen := borderState{}
	seen.changed(p.system)
	var markedNs int64
	pending := false
	for sleep(ctx, borderInterval) {
		now := p.nowNs()
		if seen.changed(p.system) || seen.acknowledged(p.live.LastAckNs(), now) {
			pending = true
		}
		if len(timed) > 0 && now >= timed[0] {
			pending, timed = true, timed[1:]
		}
		if pending && now-markedNs >= int64(borderSpacing) {
			p.borders.Mark()
			pending, markedNs = false, now
		}
	}
}
