package sim

import (
	"bytes"
	"fmt"

	"rejoin/server/journal"
	"rejoin/server/sim/check"
	"rejoin/server/vsr"
)

// Budgets of virtual time after all faults have stopped.
const (
	restExcusedNs = 10 * second // when what was lost is proven: for what would go on all the same
	loadAfterNs   = 3 * second  // load goes on for so long
	freshTicks    = 1000        // until a request made then must be acknowledged
	lagNs         = 10 * second // with the load on: a replica has by then what was committed when faults stopped
)

// play lets the run go through its phases.
func (w *world) play() {
	w.begin()
	w.faulty, w.loading = true, true
	for i := range w.setup.clients {
		c := newClient(w, i)
		w.clients = append(w.clients, c)
		c.idle()
	}
	newConsumer(w).later()
	w.nemesis.init(w)
	w.runUntil(w.setup.faultNs, nil)
	w.nemesis.heal()
	w.live.Judge(w.cluster())
	if w.setup.loadOn {
		w.catchUpUnderLoad()
	}
	w.loading = false
	w.rest()
	if w.setup.dangers.rot > 0 && !w.excused {
		w.scrubAll()
		w.rest()
	}
	if !w.excused {
		w.fresh()
		w.verify()
	}
	w.finish()
}

// begin starts the nodes of a new cluster.
func (w *world) begin() {
	w.check.init(w)
	w.live = check.NewLiveness(check.Options{RingOps: w.setup.config.RingOps, Fail: w.fail,
		Holds: func(i int, id vsr.ID) bool { return w.nodes[i].reads(id) }, Gives: w.gives, Start: func(i int) uint64 { return w.nodes[i].seen.start }})
	for i := range w.setup.replicas {
		n := newNode(w, i)
		n.seen.start = 1
		w.nodes = append(w.nodes, n)
	}
	w.net.init(w)
	for _, n := range w.nodes {
		n.start()
	}
}

// gives tells whether a replica can send a committed op.
func (w *world) gives(i int, op uint64) bool {
	h := w.check.at(op)
	return h != nil && w.nodes[i].reads(h.ID())
}

// catchUpUnderLoad: every replica reaches what was committed when the faults stopped, and commits go
// on, while requests keep coming.
func (w *world) catchUpUnderLoad() {
	goal := w.check.top()
	w.runUntil(w.now+loadAfterNs, nil)
	if w.isExcused(lagNs) {
		return
	}
	ok := w.runUntil(w.now+lagNs+check.CatchUpTicks*tickNs/4, func() bool {
		for i := range w.nodes {
			if s, ok := w.statusOf(i); !w.nodes[i].gone && (!ok || s.Commit.Op < goal) {
				return false
			}
		}
		return w.check.top() > goal
	})
	if !ok {
		w.fail("P1", "with the load on, not every replica reaches op %d, which was committed when the faults stopped; %s", goal, w.stand())
	}
}

// rest: without new requests the cluster comes to rest: one view, one commit, nothing pending.
func (w *world) rest() {
	if w.isExcused(restExcusedNs) {
		return
	}
	if w.runUntil(w.now+check.CatchUpTicks*tickNs, w.atRest) {
		return
	}
	w.live.Overdue(w.stand())
	w.fail("P1", "the faults stopped long ago and the cluster is not at rest: %d requests are pending; %s", w.pending(), w.stand())
}

func (w *world) atRest() bool {
	var first vsr.Status
	for i := range w.nodes {
		if w.nodes[i].gone {
			continue
		}
		s, ok := w.statusOf(i)
		if !ok || s.State != "normal" || s.View != s.LogView || s.Commit != s.Head || s.Commit.Op != w.check.top() || w.nodes[i].seen.durable != s.Head.Op || s.Holes > 0 {
			return false
		}
		if first.Tick > 0 && s.View != first.View {
			return false
		}
		first = s
	}
	return w.pending() == 0
}

func (w *world) pending() int {
	n := 0
	for _, c := range w.clients {
		if c.busy {
			n++
		}
	}
	return n
}

// isExcused tells whether the cluster may stay unavailable: the run is reckless, and what it needs is provably
// lost. It is given time all the same, for what nobody needs may be lost, too.
func (w *world) isExcused(ns int64) bool {
	if w.excused || !w.setup.dangers.reckless {
		return w.excused
	}
	why := w.excuse()
	if why == "" || w.runUntil(w.now+ns, w.atRest) {
		return false
	}
	if why = w.excuse(); why == "" {
		return false
	}
	w.excused = true
	w.live.Pause()
	w.cover.Excused++
	w.note(noNode, "is rightly unavailable", why)
	return true
}

// excuse proves that a quorum, or an op, is lost; or it is "". A replica with damage is not out: it has all that
// is not damaged there.
func (w *world) excuse() string {
	var out [vsr.ReplicasMax]bool
	left := 0
	for i, n := range w.nodes {
		if out[i] = n.forgets() || n.gone || !n.life.alive(); !out[i] {
			left++
		}
	}
	if left < w.quorum() {
		return fmt.Sprintf("%d replicas are left that remember", left)
	}
	v := w.survey()
	if why := v.lacks(out); why != "" {
		return why
	}
	return v.undecided(out)
}

// stand tells where every replica stands.
func (w *world) stand() string {
	text := ""
	for i := range w.nodes {
		s, ok := w.statusOf(i)
		r := record{at: w.now, node: i, from: noNode, verb: "stands", status: ok, s: s}
		text += "\n  " + r.line()
	}
	return text
}

// fresh: a cluster at rest takes new requests.
func (w *world) fresh() {
	before := w.cover.Acknowledged
	w.loading = true
	if !w.runUntil(w.now+freshTicks*tickNs, func() bool { return w.cover.Acknowledged > before+2 }) {
		w.fail("P6", "a healed cluster does not acknowledge a new request within %d ticks; %s", uint64(freshTicks), w.stand())
	}
	w.loading = false
	w.rest()
}

// verify reads every replica's log from its files and compares it with what was committed.
func (w *world) verify() {
	first := make([][]byte, w.check.top()+1)
	for _, n := range w.nodes {
		if n.gone {
			continue
		}
		for op := n.life.log().Start(); op <= w.check.top(); op++ {
			h, frame, err := n.life.log().ReadFrame(op, nil)
			if err != nil {
				w.live.Served(n.id, op, err)
				w.fail("S8", "replica %d cannot read op %d: %v", n.id, op, err)
			}
			if h != *w.check.at(op) {
				w.fail("S8", "replica %d has another op %d than was committed", n.id, op)
			}
			if first[op] == nil {
				first[op] = frame
			} else if !bytes.Equal(frame, first[op]) {
				w.fail("S8", "op %d has other bytes on replica %d than on another", op, n.id)
			}
		}
	}
}

// finish cuts the power of every machine at once, and reads what the disks have: everything that
// was acknowledged.
func (w *world) finish() {
	for _, n := range w.nodes {
		n.end(powered)
	}
	if !w.setup.synced || w.excused {
		return
	}
	held := make([]int, w.check.top()+1)
	for _, n := range w.nodes {
		store, rec, err := n.openDisk(n.fs)
		if n.gone && n.rotted && err != nil {
			continue // it died damaged
		}
		if err != nil {
			w.fail("S8", "replica %d cannot be read after the end: %v", n.id, err)
		}
		n.keptToTheEnd(store.Log(), rec)
		n.countHeld(store.Log(), rec, held)
	}
	for op := uint64(1); op <= w.check.ackedOp; op++ {
		if held[op] < w.quorum() {
			w.fail("S4", "op %d is on %d disks after a power cut of all", op, held[op])
		}
	}
}

func (n *node) countHeld(log *journal.Log, rec *journal.Recovered, held []int) {
	for op := uint64(1); op < rec.Start; op++ { // trimmed: it was committed here
		held[op]++
	}
	for op := rec.Start; op <= rec.Held.Op && op < uint64(len(held)); op++ {
		if h, err := log.Header(op); err == nil && h == *n.w.check.at(op) {
			held[op]++
		}
	}
}
