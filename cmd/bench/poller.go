package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"rejoin/results"
	"rejoin/server/wire"
)

const (
	pollInterval = results.PollInterval
	pollTimeout  = 250 * time.Millisecond // a stopped node accepts and never answers
	rssInterval  = time.Second
)

// asker asks one node, by its own address, what it says of itself. What the system does not tell is nil in the answer: no data. An error
// means that the node gave no answer.
type asker interface {
	ask(ctx context.Context, node int) (results.Status, error)
}

// poller asks every node for its status, each in its own goroutine, so that a dead or stopped node delays no other. It writes the samples and
// judges when a restarted node has caught up.
type poller struct {
	out    *results.StatusWriter
	record *recorder
	asker  asker
	every  time.Duration
	nodes  []*polled

	mu      sync.Mutex
	catchup results.CatchupWatch // fed with raw CLOCK_MONOTONIC
	err     error
}

// polled is one node as the poller sees it. Fields below mu belong to the poller's mutex.
type polled struct {
	id     int
	last   results.Status
	pid    int // 0: no process
	life   *watchedLife
	rssMax int64

	askingNs, askedNs int64 // when it was asked last, and when it was for its last answer

	shownOps int64  // the highest commit that any node had shown when this one was asked last
	lagOps   *int64 // what its answer was behind that; nil: it gave none, or does not tell
}

// watchedLife is a restarted process on its way back.
type watchedLife struct {
	startedNs                     int64
	answered, roleKnown, caughtUp bool
}

func newPoller(out *results.StatusWriter, record *recorder, nodes int, asker asker) *poller {
	p := &poller{out: out, record: record, asker: asker, every: pollInterval}
	for id := range nodes {
		p.nodes = append(p.nodes, &polled{id: id})
	}
	return p
}

// run polls until ctx is done.
func (p *poller) run(ctx context.Context) {
	var wait sync.WaitGroup
	for _, n := range p.nodes {
		wait.Go(func() { p.pollNode(ctx, n) })
	}
	wait.Wait()
}

func (p *poller) pollNode(ctx context.Context, n *polled) {
	ticker := time.NewTicker(p.every)
	defer ticker.Stop()
	var rssAt time.Time
	for {
		p.asking(n)
		sample := p.ask(ctx, n)
		atNs := wire.MonoNow()
		if ctx.Err() != nil {
			return
		}
		if time.Since(rssAt) >= rssInterval {
			rssAt = time.Now()
			sampleProcess(&sample, p.pidOf(n))
		}
		p.take(n, sample, atNs)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// asking notes how much has been committed for certain when a node is asked. What others show later may be committed after its answer, and
// is no lag.
func (p *poller) asking(n *polled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n.askingNs, n.shownOps = wire.MonoNow(), 0
	for _, other := range p.nodes {
		if commit := other.last.CommitOp; commit != nil {
			n.shownOps = max(n.shownOps, *commit)
		}
	}
}

// ask makes a sample of what a node says; one that gives no answer is not up.
func (p *poller) ask(ctx context.Context, n *polled) results.Status {
	limited, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	sample, err := p.asker.ask(limited, n.id)
	if err != nil {
		sample = results.Status{}
	}
	sample.Node, sample.Up = results.NodeName(n.id), err == nil
	return sample
}

// take books a sample: it writes it, and sees whether a restarted node has come a step further.
func (p *poller) take(n *polled, sample results.Status, atNs int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if base, known := p.record.base(); known {
		sample.TNs = atNs - base
		if err := p.out.Write(sample); err != nil && p.err == nil {
			p.err = err
		}
	}
	if sample.RssAnonBytes != nil {
		n.rssMax = max(n.rssMax, *sample.RssAnonBytes)
	}
	n.last, n.lagOps, n.askedNs = sample, nil, n.askingNs
	if sample.Up && sample.CommitOp != nil {
		n.lagOps = new(max(n.shownOps-*sample.CommitOp, 0))
	}
	onClock := sample
	onClock.TNs = atNs // t_ns is not known before the load
	caughtUp := p.catchup.Add(onClock)
	if n.life != nil && sample.Up {
		p.follow(n.life, sample, atNs, caughtUp)
	}
}

// follow notes first answer, role and caught up of a restarted node, each once.
func (p *poller) follow(life *watchedLife, sample results.Status, atNs int64, caughtUp bool) {
	note := func(done *bool, kind results.Kind) {
		if !*done {
			*done = true
			p.record.write(results.Event{TMonoNs: atNs, Kind: kind, Node: sample.Node, Role: sample.Role, View: sample.View,
				OpTo: sample.CommitOp, DurationNs: new(atNs - life.startedNs)})
		}
	}
	note(&life.answered, results.KindFirstAnswer)
	if sample.Role == results.RolePrimary || sample.Role == results.RoleBackup {
		note(&life.roleKnown, results.KindRoleKnown)
	}
	if caughtUp {
		note(&life.caughtUp, results.KindCaughtUp)
	}
}

// watch follows a new process of a node; restarted says whether it has to catch up.
func (p *poller) watch(node, pid int, startedNs int64, restarted bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.nodes[node]
	n.pid, n.life, n.last, n.lagOps = pid, nil, results.Status{Node: results.NodeName(node)}, nil
	if restarted {
		n.life = &watchedLife{startedNs: startedNs}
		p.catchup.Restarted(n.last.Node, startedNs)
	}
}

// gone says that a process of a node has ended; its successor may already be watched.
func (p *poller) gone(node, pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.nodes[node]
	if n.pid != pid {
		return
	}
	n.pid, n.life, n.last, n.lagOps = 0, nil, results.Status{Node: results.NodeName(node)}, nil
	p.catchup.Killed(n.last.Node)
}

// askedSince tells whether every node has been asked since, and has answered or failed to.
func (p *poller) askedSince(monoNs int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.nodes {
		if n.askedNs < monoNs {
			return false
		}
	}
	return true
}

func (p *poller) pidOf(n *polled) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return n.pid
}

// view is a snapshot of all nodes' last samples.
func (p *poller) view() []results.Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []results.Status
	for _, n := range p.nodes {
		all = append(all, n.last)
	}
	return all
}

// lagOf is how far a node's last answer was behind what any node had shown when it was asked; nil without an answer.
func (p *poller) lagOf(node int) *int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.nodes[node].lagOps
}

// catchingUp names the restarted nodes that have not caught up yet.
func (p *poller) catchingUp() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for _, n := range p.nodes {
		tellsNothing := n.last.Up && n.last.CommitOp == nil // then nobody will ever know
		if n.life != nil && !n.life.caughtUp && !tellsNothing {
			names = append(names, results.NodeName(n.id))
		}
	}
	return names
}

// rssMaxOf is the highest RssAnon of a node, nil if it was never read.
func (p *poller) rssMaxOf(node int) *int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v := p.nodes[node].rssMax; v > 0 {
		return &v
	}
	return nil
}

// rssAnonOf reads a process's anonymous memory; nil if it is gone.
func rssAnonOf(pid int) *int64 {
	if pid == 0 {
		return nil
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(line, "RssAnon:")
		if !ok {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
		if err != nil {
			return nil
		}
		return new(kib << 10)
	}
	return nil
}
