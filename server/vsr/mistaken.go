package vsr

import (
	"slices"

	"rejoin/server/internal/mistake"
)

// What only the simulator's mistakes do, where it does not fit into the place of the rule they break.

// hollow is a head above ops that have not come. Only HollowHead makes one; else it is zero.
type hollow struct {
	head ID
	ok   ID     // the last op above it that is acknowledged
	ops  []Slot // those that have not come, up to head
}

func (r *Replica) hollowed() bool { return r.hollow.head.Op > r.log.head.Op }

// riseEarly is two of the mistakes: log_view rises though the adopted log is not held in full.
func (r *Replica) riseEarly() bool {
	a := &r.adopt
	if r.errs(mistake.LogViewAtAdoption) {
		return true
	}
	if !r.errs(mistake.HollowHead) || !a.named() || r.primary(r.view) == r.cfg.Self {
		return false
	}
	h := hollow{head: a.end}
	for op := r.log.head.Op + 1; op <= a.end.Op; op++ {
		s := a.slot(op)
		if s == nil || !s.Known {
			return false
		}
		h.ops = append(h.ops, *s)
	}
	r.hollow = h
	return true
}

// hollowSlots lists what lies above commit as a vote does, with what has not come.
func (r *Replica) hollowSlots() []Slot {
	var slots []Slot
	for op := r.log.commit.Op + 1; op <= r.log.head.Op; op++ {
		slots = append(slots, Slot{Known: true, Header: *r.log.at(op)})
	}
	for _, s := range r.hollow.ops {
		if s.Header.Op > r.log.head.Op {
			slots = append(slots, s)
		}
	}
	return slots
}

// prepareHollow takes an op that follows a hollow head, and one at or below it for a duplicate.
func (r *Replica) prepareHollow(h *Header) {
	if h.Op <= r.hollow.head.Op {
		r.follow.acked = ID{}
		return
	}
	if h.Op == r.hollow.head.Op+1 && h.Parent == r.hollow.head.Sum {
		r.keep(h)
		r.hollow.head, r.hollow.ok = h.ID(), h.ID()
		r.hollow.ops = append(r.hollow.ops, Slot{Known: true, Header: *h})
	}
}

// acknowledgeEach vouches for every op below op that is not committed, one by one.
func (r *Replica) acknowledgeEach(op uint64) {
	for n := max(r.follow.acked.Op, r.log.commit.Op) + 1; n < op; n++ {
		if id, ok := r.log.id(n, r.cfg.RootSum); ok {
			r.send(r.primary(r.view), Message{Kind: MsgPrepareOK, Ack: id})
		}
	}
}

// countEach notes that from vouches for ack alone.
func (r *Replica) countEach(from int, ack ID) {
	if have, ok := r.log.id(ack.Op, r.cfg.RootSum); ok && have == ack && ack.Op > r.log.commit.Op {
		r.lead.each[from] = append(r.lead.each[from], ack.Op)
	}
}

// quorumOfEach is the highest op up to which each has a quorum of its own.
func (r *Replica) quorumOfEach() uint64 {
	op := r.log.commit.Op
	for {
		have := 0
		for i := range r.cfg.Replicas {
			if i == r.cfg.Self && r.voucher().Op > op || slices.Contains(r.lead.each[i], op+1) {
				have++
			}
		}
		if have < r.quorum() {
			return op
		}
		op++
	}
}
