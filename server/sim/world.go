package sim

import (
	"fmt"
	"runtime/debug"

	"rejoin/server/sim/check"
	"rejoin/server/vsr"
)

// world is one run.
type world struct {
	seed  uint64
	setup setup
	now   int64
	steps uint64
	queue queue
	trace trace
	cover Coverage
	arena *Arena

	reduced  Reduction // what is left out of what the seed draws
	switches []string
	prepares bool // nodes make the next segment ahead of use
	aimed    aimed
	script   *scriptRun // that drives the run; nil: its seed does
	nodes    []*node
	net      network
	clients  []*client
	check    checker
	live     *check.Liveness
	nemesis  nemesis
	faulty   bool // faults may happen
	excused  bool // unavailable, as it must be
	loading  bool // clients begin new requests
}

// Run plays one seed. The error, if any, is a *Failure or says why the run could not begin.
func Run(seed uint64, o Options) (report Report, err error) {
	w := &world{seed: seed, setup: draw(seed), arena: o.Arena, reduced: o.Reduced, switches: o.Switches}
	if w.setup.config.Mistakes, err = switched(o.Switches...); err != nil {
		return Report{}, err
	}
	w.reduced.apply(&w.setup)
	w.prepares = newStream(seed, "prepare").chance(0.5)
	w.initAimed()
	w.trace.out, w.trace.hash = o.Trace, fnvOffset
	if w.arena == nil {
		if w.arena, err = NewArena(); err != nil {
			return Report{}, err
		}
		defer func() {
			if e := w.arena.Close(); err == nil {
				err = e
			}
		}()
	}
	defer func() {
		report = Report{Seed: seed, Setup: w.setup.String(), TraceHash: w.trace.hash, Coverage: w.cover}
		report.Coverage.Runs, report.Coverage.Steps, report.Coverage.VirtualNs = 1, w.steps, w.now
		if x := recover(); x != nil {
			err = w.failure(x)
		}
	}()
	w.play()
	if o.atEnd != nil {
		o.atEnd(w)
	}
	return report, nil
}

// broken is what fail panics with: it unwinds from any depth of protocol code.
type broken struct{ property, detail string }

func (w *world) fail(property, format string, args ...any) {
	if w.script.mutes(property) {
		return
	}
	panic(&broken{property, fmt.Sprintf(format, args...)})
}

func (w *world) failure(x any) *Failure {
	b, ok := x.(*broken)
	if !ok {
		b = &broken{"panic", fmt.Sprintf("%v\n%s", x, debug.Stack())}
	}
	return &Failure{Seed: w.seed, Reduced: w.reduced, Switches: w.switches, Property: b.property, Detail: b.detail, Step: w.steps, AtNs: w.now,
		Faults: w.nemesis.number, Setup: w.setup.String(), Lines: w.trace.lines()}
}

// after lets do happen delay from now.
func (w *world) after(delay int64, do func()) { w.queue.put(w.now+max(delay, 0), do) }

// runUntil lets time pass until the end or until enough is true, which is asked each tick.
func (w *world) runUntil(end int64, enough func() bool) bool {
	asked := w.now
	for {
		if w.now >= asked+tickNs {
			asked = w.now
			if w.live.Judging() {
				w.live.Tick(w.cluster())
			}
			if enough != nil && enough() {
				return true
			}
		}
		e, ok := w.queue.take()
		if !ok {
			w.fail("sim", "nothing is left to happen")
		}
		w.now = e.at
		if w.now > end {
			w.queue.put(e.at, e.do)
			return enough != nil && enough()
		}
		e.do()
	}
}

// quorum of the cluster.
func (w *world) quorum() int { return w.setup.replicas/2 + 1 }

// note adds a line that is about no state machine's step.
func (w *world) note(node int, verb, text string, n ...uint64) {
	r := record{at: w.now, node: node, verb: verb, from: noNode, text: text}
	copy(r.n[:], n)
	w.trace.add(&r, false)
}

// leader is the replica that leads the highest view, or noNode.
func (w *world) leader() int {
	best, view := noNode, uint64(0)
	for i, n := range w.nodes {
		if p := n.life; p.running() {
			if s := p.status(); s.Leading && s.View >= view {
				best, view = i, s.View
			}
		}
	}
	return best
}

func (w *world) statusOf(i int) (vsr.Status, bool) {
	if p := w.nodes[i].life; p.running() {
		return p.status(), true
	}
	return vsr.Status{}, false
}

// cluster is what the rules of progress see of this moment.
func (w *world) cluster() check.Cluster {
	c := check.Cluster{Nodes: make([]check.Node, len(w.nodes)), Commit: w.check.top(), Work: w.pending() > 0}
	for i := range w.nodes {
		n := &c.Nodes[i]
		n.Status, n.Up = w.statusOf(i)
		for j := range w.nodes {
			if j != i && w.net.linked(i, j) {
				n.Linked |= 1 << j
			}
		}
	}
	return c
}
