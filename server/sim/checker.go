package sim

import (
	"rejoin/server/partition"
	"rejoin/server/vsr"
)

// checker holds the promises of the log after each step. It sees what leaves the replicas, and what
// is on their disks.
type checker struct {
	w         *world
	log       []vsr.Header          // committed ops, from op 1
	requests  map[requestKey]uint64 // op of each committed request; only looked up
	table     tableAt               // the client table, by the rules
	ackedOp   uint64                // highest op told to a client
	started   uint64                // highest view that has started
	startedBy int
	began     [vsr.ReplicasMax]uint64 // the latest op at which each log has begun
}

type requestKey struct{ session, request uint64 }

func (c *checker) init(w *world) { *c = checker{w: w, requests: map[requestKey]uint64{}} }

// at returns the committed op of this number, or nil.
func (c *checker) at(op uint64) *vsr.Header {
	if op == 0 || op > uint64(len(c.log)) {
		return nil
	}
	return &c.log[op-1]
}

func (c *checker) top() uint64 { return uint64(len(c.log)) }

// step holds what must be true of a replica after each input.
func (c *checker) step(p *process, before, now *vsr.Status) {
	id := p.n.id
	if now.View < before.View || now.LogView < before.LogView || now.LogView > now.View {
		c.w.fail("S3", "replica %d goes from view %d, log_view %d to %d, %d", id, before.View, before.LogView, now.View, now.LogView)
	}
	if now.Commit.Op < before.Commit.Op || now.Commit.Op != p.n.seen.commit {
		c.w.fail("S2", "replica %d goes from commit %d to %d, having said %d", id, before.Commit.Op, now.Commit.Op, p.n.seen.commit)
	}
	if now.Head.Op != p.n.seen.head() {
		c.w.fail("S2", "replica %d has head %d, and has handed op %d to its disk", id, now.Head.Op, p.n.seen.head())
	}
	if now.Leading && !before.Leading {
		c.starts(p, now)
	}
}

// starts holds the log of a view that starts: everything that was committed is in it.
func (c *checker) starts(p *process, s *vsr.Status) {
	id := p.n.id
	if s.View == c.started && id != c.startedBy {
		c.w.fail("S4", "view %d is started by replica %d and by replica %d", s.View, c.startedBy, id)
	}
	if s.View > c.started {
		if c.started > 0 {
			c.w.cover.ViewChanges++
		}
		c.started, c.startedBy = s.View, id
	}
	c.w.viewStarted(p)
	if s.View == c.started { // also when its primary leads it once more
		for op := s.Commit.Op + 1; op <= c.top(); op++ {
			if h := p.n.seen.at(op); h == nil || h.Sum != c.log[op-1].Sum {
				c.w.fail("S4", "view %d starts with a log that ends at op %d and lacks the committed op %d", s.View, s.Head.Op, op)
			}
		}
	}
}

// committed takes what a replica calls committed.
func (c *checker) committed(p *process, id vsr.ID) {
	s := &p.n.seen
	if id.Op <= s.commit {
		c.w.fail("S2", "replica %d commits op %d after op %d", p.n.id, id.Op, s.commit)
	}
	for op := s.commit + 1; op <= id.Op; op++ {
		h := s.at(op)
		if h == nil {
			c.w.fail("S2", "replica %d commits op %d and holds nothing there", p.n.id, op)
		}
		if known := c.at(op); known == nil {
			c.first(p, h)
		} else if known.Sum != h.Sum {
			c.w.fail("S1", "replica %d commits %016x as op %d, %016x was committed there", p.n.id, h.Sum, op, known.Sum)
		}
	}
	if h := s.at(id.Op); h.Sum != id.Sum {
		c.w.fail("S1", "replica %d names op %d by %016x, its log holds %016x", p.n.id, id.Op, id.Sum, h.Sum)
	}
	s.commit = id.Op
}

// first is the first time that anybody commits this op.
func (c *checker) first(p *process, h *vsr.Header) {
	c.w.cover.Committed++
	c.proven(p, h.Op)
	offset, parent := uint64(0), c.w.setup.config.RootSum
	if n := len(c.log); n > 0 {
		offset, parent = c.log[n-1].NextOffset(), c.log[n-1].Sum
	}
	if h.BaseOffset != offset || h.Parent != parent {
		c.w.fail("S6", "op %d begins at message %d, the ops before it end at %d", h.Op, h.BaseOffset, offset)
	}
	c.log = append(c.log, *h)
	c.table.take(h, c.w.setup.config.SessionsMax)
	if h.Kind != vsr.KindBatch {
		return
	}
	key := requestKey{h.Session, h.Request}
	if op := c.requests[key]; op != 0 {
		c.w.fail("S9", "request %d of session %d is committed as op %d and as op %d", h.Request, h.Session, op, h.Op)
	}
	c.requests[key] = h.Op
}

// evicted holds a refusal: a session that is in the table has never left it.
func (c *checker) evicted(session uint64) {
	if c.table.find(session) >= 0 {
		c.w.fail("S9", "session %d is called evicted and is in the table", session)
	}
}

// sends holds what a message speaks for against what its sender's disk has.
func (c *checker) sends(p *process, m *vsr.Message) {
	s := &p.n.seen
	if m.View > s.view || m.LogView > s.logView {
		c.w.fail("S3", "replica %d speaks for view %d, log_view %d in a %s and has saved %d, %d", p.n.id, m.View, m.LogView, m.Kind, s.view, s.logView)
	}
	c.speaks(p, m)
	s.spoken, s.spokenLog = max(s.spoken, m.View), max(s.spokenLog, m.LogView)
	if m.Kind == vsr.MsgPrepareOK || m.Kind == vsr.MsgBeatAck && m.Ack.Op > 0 {
		c.vouches(p, m.View, m.LogView, m.Ack)
	}
}

// vouches holds an acknowledgement: the op and all below it are on the disk.
func (c *checker) vouches(p *process, view, logView uint64, ack vsr.ID) {
	s, safe := &p.n.seen, p.n.seen.written
	if c.w.setup.synced {
		safe = s.durable
	}
	switch {
	case view != logView:
		c.w.fail("S5", "replica %d vouches for op %d in view %d with log_view %d", p.n.id, ack.Op, view, logView)
	case s.wiped:
		c.w.fail("S5", "replica %d vouches for op %d and is wiped", p.n.id, ack.Op)
	case !s.holds(ack):
		c.w.fail("S5", "replica %d vouches for op %d, which its log does not hold", p.n.id, ack.Op)
	case ack.Op > safe:
		c.w.fail("S5", "replica %d vouches for op %d, its disk has %d", p.n.id, ack.Op, safe)
	case p.status().Holes > 0:
		c.w.fail("S5", "replica %d vouches for op %d and knows of a hole", p.n.id, ack.Op)
	}
	p.vouched = max(p.vouched, ack.Op)
	c.w.vouched(p, ack.Op)
	c.w.lastWord(p, ack.Op)
	if ack.Op >= s.acked.Op || view > s.ackedView {
		if ack.Op >= s.acked.Op {
			s.acked = ack
		}
		s.ackedView = view
	}
}

// replies holds an acknowledgement to a client: the op is committed, and a quorum has it on disk, or
// had it and has lost its disk since.
func (c *checker) replies(p *process, asked *vsr.Header, a *partition.Answer) {
	if a.Outcome != vsr.OutcomeCommitted || a.Header.Op == 0 {
		return
	}
	h := &a.Header
	if !answers(h, asked) {
		c.w.fail("answer", "replica %d answers request %d of session %d with op %d, which is request %d of session %d", p.n.id, asked.Request, asked.Session, h.Op, h.Request, h.Session)
	}
	if known := c.at(h.Op); known == nil || known.Sum != h.Sum {
		c.w.fail("S4", "replica %d answers a client with op %d, which is not committed", p.n.id, h.Op)
	}
	have := 0
	for _, n := range c.w.nodes {
		safe := n.seen.written
		if c.w.setup.synced {
			safe = n.seen.durable
		}
		lost := n.forgets() || n.rotted && h.Op <= n.seen.kept // it may have had the op, and lost it: a minority may
		trimmed := h.Op < n.seen.start                         // it was committed there
		if lost || trimmed || safe >= h.Op && n.seen.holds(h.ID()) {
			have++
		}
	}
	if have < c.w.quorum() {
		c.w.fail("S4", "replica %d answers a client with op %d, which %d disks have", p.n.id, h.Op, have)
	}
}

// answers tells whether a committed op is what was asked for.
func answers(h, asked *vsr.Header) bool {
	return h.Kind == asked.Kind && h.Client == asked.Client && h.Session == asked.Session && h.Request == asked.Request && h.BodySum == asked.BodySum
}

// acknowledged is an answer that has reached its client.
func (c *checker) acknowledged(h *vsr.Header) {
	if known := c.at(h.Op); known == nil || *known != *h {
		c.w.fail("S4", "a client was told op %d at message %d, the log has another there", h.Op, h.BaseOffset)
	}
	c.w.cover.Acknowledged++
	c.ackedOp = max(c.ackedOp, h.Op)
}
