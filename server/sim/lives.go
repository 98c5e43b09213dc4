package sim

import (
	"rejoin/server/journal"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// knows notes which life of a peer speaks for it from now on, as this one has just been told.
func (p *process) knows(in *vsr.Input) {
	if q := p.w.nodes[in.Peer].life; q.alive() && q.incarnation == in.Incarnation {
		p.peers[in.Peer] = q
		p.w.net.letGo(int(in.Peer), p)
		if p.n.stallUntilHello == int(in.Peer) {
			p.n.stalledUntil, p.n.stallUntilHello = 0, noNode
		}
	}
}

// proven holds the first commit of an op: it rests on a quorum of lives that have vouched for it, as
// far as its primary knows which lives are present. What a former life has acknowledged, the present
// one may have forgotten.
func (c *checker) proven(p *process, op uint64) {
	safe := p.n.seen.written
	if c.w.setup.synced {
		safe = p.n.seen.durable
	}
	have := 0
	if safe >= op {
		have++
	}
	for _, q := range p.peers {
		if q != nil && q.vouched >= op {
			have++
		}
	}
	if have < c.w.quorum() {
		c.w.fail("S4", "replica %d commits op %d, for which %d of the lives that it knows as present have vouched", p.n.id, op, have)
	}
}

// speaks holds what a replica says about the past: one that has forgotten what it acknowledged has no
// vote, and nobody denies a committed op that it has vouched for.
func (c *checker) speaks(p *process, m *vsr.Message) {
	s := &p.n.seen
	switch m.Kind {
	case vsr.MsgPreVoteAck, vsr.MsgDoViewChange, vsr.MsgNotHeld:
		if s.wiped {
			c.w.fail("S7", "replica %d sends a %s and is wiped", p.n.id, m.Kind)
		}
	}
	own := s.at(m.Ack.Op) // it may have vouched for another op of that number, which no later view has kept
	if h := c.at(m.Ack.Op); m.Kind == vsr.MsgNotHeld && h != nil && h.ID() == m.Ack && s.acked.Op >= m.Ack.Op && (own == nil || own.ID() == m.Ack) {
		c.w.fail("S7", "replica %d denies op %d, which it vouched for and which is committed", p.n.id, m.Ack.Op)
	}
}

// trims holds what a log drops at its beginning: what is beyond its own retention, of which only committed ops
// count, for others may yet be cut, or what another one has dropped already; and nothing that a transfer under way still needs, unless the lease would hold more than
// it may.
func (c *checker) trims(p *process, start uint64) {
	left, committed := int64(0), int64(0)
	for op := start; op <= p.log().Written().Op; op++ {
		h, known := p.n.seen.at(op), c.at(op)
		if h == nil {
			continue
		}
		left += wire.HeaderBytes + int64(h.BodyBytes)
		if known != nil && known.Sum == h.Sum {
			committed = left
		}
	}
	kept, lease := c.w.setup.retention, uint64(0)
	if p.part != nil { // else it has just started, and nobody has asked it for anything
		lease = p.part.Lease()
	}
	if (kept == 0 || committed < kept) && !c.begun(p, start) {
		c.w.fail("retention", "replica %d trims what is below op %d; %d committed bytes are left, it keeps %d, and no other log has begun so late", p.n.id, start, committed, kept)
	}
	if most := kept + c.w.setup.lease; lease > 0 && start > lease && left <= most {
		c.w.fail("lease", "replica %d trims what is below op %d, and a transfer needs op %d; %d bytes are left, it may keep %d", p.n.id, start, lease, left, most)
	}
}

func (c *checker) begins(p *process, start uint64) {
	c.began[p.n.id] = max(c.began[p.n.id], start)
}

// begun tells whether the log of another replica has begun at this op, or later, at some time.
func (c *checker) begun(p *process, start uint64) bool {
	for i, began := range c.began {
		if i != p.n.id && began >= start {
			return true
		}
	}
	return false
}

// keptToTheEnd holds what a disk has after the last power cut: all that its replica vouched for, unless it died damaged.
func (n *node) keptToTheEnd(log *journal.Log, rec *journal.Recovered) {
	op := n.seen.acked.Op
	if op < rec.Start || rec.State.Wiped || n.gone && n.rotted {
		return
	}
	if h, err := log.Header(op); err != nil || h.ID() != n.seen.acked {
		n.w.fail("S7", "replica %d vouched for op %d, which its disk has lost: ops %d to %d are left, %v", n.id, op, rec.Start, rec.Held.Op, err)
	}
}
