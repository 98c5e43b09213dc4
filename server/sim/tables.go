package sim

import (
	"slices"

	"rejoin/server/vsr"
)

// tableAt is the client table by the words of the protocol, as of one committed op. It is kept apart
// from the one that the log has, to be held against it.
type tableAt struct {
	op       uint64
	sessions []lastOp // from the lowest last op up
}

type lastOp struct{ session, op uint64 }

// take lets in the next committed op: a register into a full table lets the session with the lowest
// last op fall; a batch of a session that fell makes no entry.
func (t *tableAt) take(h *vsr.Header, sessionsMax int) {
	t.op = h.Op
	if h.Kind == vsr.KindRegister {
		if len(t.sessions) >= sessionsMax {
			t.sessions = t.sessions[1:]
		}
		t.sessions = append(t.sessions, lastOp{h.Op, h.Op})
		return
	}
	if i := t.find(h.Session); i >= 0 {
		t.sessions = append(slices.Delete(t.sessions, i, i+1), lastOp{h.Session, h.Op})
	}
}

// find returns the place of a session, or -1.
func (t *tableAt) find(session uint64) int {
	return slices.IndexFunc(t.sessions, func(s lastOp) bool { return s.session == session })
}

// tells holds a client table that a replica starts with, saves, or puts in place with a chain: it
// follows from the committed ops up to the one that it names, so it is the same on every replica.
func (c *checker) tells(p *process, told *vsr.Table) {
	t := &p.n.table
	if told.ID.Op > c.top() {
		c.w.fail("S9", "replica %d has a client table as of op %d, nothing above op %d is committed", p.n.id, told.ID.Op, c.top())
	}
	if told.ID.Op < t.op {
		*t = tableAt{}
	}
	for t.op < told.ID.Op {
		t.take(c.at(t.op+1), c.w.setup.config.SessionsMax)
	}
	if h := c.at(told.ID.Op); h != nil && (h.ID() != told.ID || h.NextOffset() != told.Offset) {
		c.w.fail("S6", "replica %d has a client table as of op %d (%016x), followed by message %d; that op is %016x, followed by %d", p.n.id, told.ID.Op, told.ID.Sum, told.Offset, h.Sum, h.NextOffset())
	}
	same := slices.EqualFunc(t.sessions, told.Entries, func(want lastOp, got vsr.Session) bool {
		return want.session == got.Session && *c.at(want.op) == got.Last
	})
	if !same {
		c.w.fail("S9", "replica %d has another client table than the ops up to %d make: %d sessions, not %d, or others", p.n.id, told.ID.Op, len(told.Entries), len(t.sessions))
	}
}
