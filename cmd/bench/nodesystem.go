package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rejoin/loadgen"
	"rejoin/results"
	"rejoin/server/wire"
)

// product is one kind of log: what differs between ours and those of others. What is alike for all (processes, faults, polls, rounds with the
// other nodes stopped) is nodeSystem.
type product interface {
	asker

	// prepare writes what a node needs before its first start, and again after its data directory was wiped: configuration, a formatted
	// directory.
	prepare(node int) error

	// program is how a node is started. After a kill it is started again on what the process before left behind, nothing cleaned.
	program(node int) (program, error)

	// missing says in words what is missing until load may begin; empty: nothing is. It is asked again and again once all nodes were
	// started, and may make what it misses: a topic, a stream.
	missing(ctx context.Context, all []results.Status) string

	target() loadgen.Target

	// rounds are the readings by which the verifier is to convince itself; see nodeSystem.aloneRounds and killAll.
	rounds(s *nodeSystem, verifier *loadgen.Verifier) ([]verifyRound, error)

	// nodeEvents are what the nodes recorded themselves, translated, and what is wrong with it. A product that records nothing has none.
	nodeEvents(s *nodeSystem) ([]results.Event, []string)

	// settings are the effective settings, for run.json.
	settings() any

	// close gives back what the product holds in this process, once no node runs any more.
	close() error
}

// control starts and ends nodes: crew does it with processes of this host, commands with commands of the user.
type control interface {
	// start starts a node, the first time and after a kill.
	start(node int) error
	// kill ends a node without warning, terminate asks it to end; both return when it is gone, and count as kills.
	kill(ctx context.Context, node int, role string) error
	terminate(ctx context.Context, node int, role string) error
	// end and revive are kill and start for the verifier's sake: no fault of the run.
	end(ctx context.Context, node int) error
	revive(node int) error
	wipe(node int) error
	pause(node int, role string) error
	resume(node int) error

	// restarts says whether nodes can be killed and started again.
	restarts() bool
	killsOf(node int) int
	// ended are the ends of nodes that nobody of the run asked for.
	ended() []surprise
	// close ends every node, politely at first.
	close() error
}

// nodeSystem is a system of nodes that run by themselves.
type nodeSystem struct {
	control
	product product

	folder  results.Folder
	nodes   int
	poll    *poller
	polling context.CancelFunc // nil before the start
	polled  chan struct{}      // closed when the pollers have ended

	// readyLimit is how long the nodes may take from their start until load may begin.
	readyLimit time.Duration
}

// newProcessSystem makes a system whose nodes are processes of this host.
func newProcessSystem(r *session, p product) *nodeSystem {
	return newNodeSystem(r, p, func(poll *poller) control { return newCrew(r.folder, r.record, poll, r.scenario.Nodes, p.program) })
}

// newNodeSystem makes a system whose nodes somebody starts and ends, and tells the poller of it.
func newNodeSystem(r *session, p product, by func(*poller) control) *nodeSystem {
	s := &nodeSystem{product: p, folder: r.folder, nodes: r.scenario.Nodes, polled: make(chan struct{}), readyLimit: readyLimit}
	s.poll = newPoller(r.status, r.record, s.nodes, p)
	s.control = by(s.poll)
	return s
}

// start starts all nodes and waits until load may begin.
func (s *nodeSystem) start(ctx context.Context) error {
	var polling context.Context
	polling, s.polling = context.WithCancel(context.WithoutCancel(ctx)) // pollers outlive the load: stop ends them
	go func() {
		defer close(s.polled)
		s.poll.run(polling)
	}()
	for i := range s.nodes {
		if err := s.product.prepare(i); err != nil {
			return fmt.Errorf("prepare %s: %w", results.NodeName(i), err)
		}
	}
	for i := range s.nodes {
		if err := s.control.start(i); err != nil {
			return err
		}
	}
	if err := s.awaitReady(ctx); err != nil {
		return err
	}
	if p, ok := s.product.(unusedProduct); ok && ctx.Err() == nil {
		return p.unused(ctx)
	}
	return nil
}

// unusedProduct is a product whose nodes may have been used before the run.
type unusedProduct interface {
	// unused says why the load must not begin: there is something in the log.
	unused(ctx context.Context) error
}

func (s *nodeSystem) awaitReady(ctx context.Context) error {
	limit := time.Now().Add(s.readyLimit)
	for {
		waiting := s.product.missing(ctx, s.status())
		if waiting == "" {
			return nil
		}
		if ended := s.surprises(); len(ended) > 0 {
			return errors.New(ended[0].String())
		}
		if time.Now().After(limit) {
			return fmt.Errorf("not ready within %v: %s; see %s", s.readyLimit, waiting, s.folder.Logs())
		}
		if !sleep(ctx, pollInterval) {
			return ctx.Err()
		}
	}
}

func (s *nodeSystem) target() loadgen.Target   { return s.product.target() }
func (s *nodeSystem) status() []results.Status { return s.poll.view() }
func (s *nodeSystem) lagOf(node int) *int64    { return s.poll.lagOf(node) }
func (s *nodeSystem) askedSince(ns int64) bool { return s.poll.askedSince(ns) }
func (s *nodeSystem) catchingUp() []string     { return s.poll.catchingUp() }
func (s *nodeSystem) surprises() []surprise    { return s.ended() }
func (s *nodeSystem) rssMaxOf(node int) *int64 { return s.poll.rssMaxOf(node) }
func (s *nodeSystem) settings() any            { return s.product.settings() }
func (s *nodeSystem) restart(node int) error   { return s.control.start(node) }

func (s *nodeSystem) dataBytesOf(node int) *int64 { return bytesOnDisk(s.folder.DataDir(node)) }

func (s *nodeSystem) wipe(node int) error {
	if err := s.control.wipe(node); err != nil {
		return err
	}
	if err := s.product.prepare(node); err != nil {
		return fmt.Errorf("prepare %s anew: %w", results.NodeName(node), err)
	}
	return nil
}

func (s *nodeSystem) rounds(verifier *loadgen.Verifier) ([]verifyRound, error) {
	return s.product.rounds(s, verifier)
}

func (s *nodeSystem) nodeEvents() ([]results.Event, []string) { return s.product.nodeEvents(s) }

// aloneRounds reads each node while all others are stopped, so that none can answer by way of another. None of them is at something else by then, or 10 s have passed.
func (s *nodeSystem) aloneRounds(source loadgen.Source) []verifyRound {
	var rounds []verifyRound
	for i := range s.nodes {
		rounds = append(rounds, verifyRound{name: roundAlone, replica: results.NodeName(i), source: source,
			prepare: func(ctx context.Context) (func() error, error) {
				s.awaitRest(ctx)
				return s.leaveAlone(i)
			}})
	}
	return rounds
}

func (s *nodeSystem) leaveAlone(node int) (undo func() error, err error) {
	var stopped []int
	undo = func() error {
		var errs []error
		for _, other := range stopped {
			errs = append(errs, s.resume(other))
		}
		return errors.Join(errs...)
	}
	for other := range s.nodes {
		if other == node {
			continue
		}
		switch err := s.pause(other, ""); {
		case errors.Is(err, errNoProcess):
			continue // it is as silent as it can be
		case err != nil:
			return undo, err
		}
		stopped = append(stopped, other)
	}
	return undo, nil
}

// killAll ends all nodes without warning, before their files are read.
func (s *nodeSystem) killAll(ctx context.Context) (func() error, error) {
	s.stopPolling()
	return nil, s.endAll(ctx)
}

func (s *nodeSystem) endAll(ctx context.Context) error {
	var errs []error
	for node := range s.nodes {
		if err := s.end(ctx, node); err != nil && !errors.Is(err, errNoProcess) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// liveRounds reads every replica by its own address and, where nodes can be killed and started, once more after all of them were.
func (s *nodeSystem) liveRounds(source loadgen.Source) []verifyRound {
	rounds := []verifyRound{{name: roundLive, source: source}}
	if s.control.restarts() {
		rounds = append(rounds, verifyRound{name: roundRestart, source: source, prepare: s.restartAll})
	}
	return rounds
}

// restartAll ends all nodes without warning and starts them again, so that a replica is read as it came back from its files. It is what is left
// for a system whose files only its own program can read.
func (s *nodeSystem) restartAll(ctx context.Context) (func() error, error) {
	if err := s.endAll(ctx); err != nil {
		return nil, err
	}
	for node := range s.nodes {
		if err := s.revive(node); err != nil {
			return nil, err
		}
	}
	since := wire.MonoNow()
	if err := s.awaitReady(ctx); err != nil {
		return nil, err
	}
	s.awaitAlike(ctx, since)
	return nil, nil
}

// awaitAlike waits until all nodes have committed the same: one that was started again hears of the last commits a little later. Where that takes too long
// the reading shows what is missing.
func (s *nodeSystem) awaitAlike(ctx context.Context, sinceMonoNs int64) {
	limit := time.Now().Add(s.readyLimit)
	for !s.askedSince(sinceMonoNs) || differing(s.status()) != "" {
		if time.Now().After(limit) || !sleep(ctx, pollInterval) {
			return
		}
	}
}

func (s *nodeSystem) stopPolling() {
	if s.polling != nil {
		s.polling()
		<-s.polled
	}
}

func (s *nodeSystem) stop() error {
	s.stopPolling()
	return errors.Join(s.control.close(), s.product.close())
}
