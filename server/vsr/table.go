package vsr

import "fmt"

// Table is the client table in the form that is checkpointed: sessions from the one with the lowest
// last op up, as of op ID, whose following message offset is Offset.
type Table struct {
	ID      ID
	Offset  uint64
	Entries []Session
}

// Session is a producer's last committed request.
type Session struct {
	Session uint64 // op of its register frame
	Last    Header // the session's last committed frame; the register frame itself at first
}

// table is made by committed ops only, in their order: so it is the same on every replica.
type table struct {
	slots []node         // sessions; linked by prev and next from the lowest last op to the highest
	index map[uint64]int // session -> slot; looked up, never iterated
	free  []int
	first int // slot with the lowest last op, or none
	last  int
	max   int
}

type node struct {
	Session
	prev, next int
}

const none = -1

func newTable(max int, from Table) *table {
	t := &table{index: map[uint64]int{}, first: none, last: none, max: max}
	for _, e := range from.Entries {
		t.put(e)
	}
	return t
}

// commit lets a committed op into the table. A batch of a session that fell makes no entry.
func (t *table) commit(h *Header) {
	switch h.Kind {
	case KindRegister:
		if len(t.index) >= t.max {
			t.remove(t.first)
		}
		t.put(Session{Session: h.Op, Last: *h})
	case KindBatch:
		i, ok := t.index[h.Session]
		if !ok {
			return
		}
		t.remove(i)
		t.put(Session{Session: h.Session, Last: *h})
	default:
		panic(fmt.Sprintf("vsr: committed op %d has kind %d", h.Op, h.Kind))
	}
}

func (t *table) find(session uint64) *Session {
	if i, ok := t.index[session]; ok {
		return &t.slots[i].Session
	}
	return nil
}

func (t *table) put(s Session) {
	i := len(t.slots)
	if n := len(t.free); n > 0 {
		i = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		t.slots = append(t.slots, node{})
	}
	t.slots[i] = node{Session: s, prev: t.last, next: none}
	if t.last != none {
		t.slots[t.last].next = i
	} else {
		t.first = i
	}
	t.last = i
	t.index[s.Session] = i
}

func (t *table) remove(i int) {
	n := t.slots[i]
	if n.prev != none {
		t.slots[n.prev].next = n.next
	} else {
		t.first = n.next
	}
	if n.next != none {
		t.slots[n.next].prev = n.prev
	} else {
		t.last = n.prev
	}
	delete(t.index, n.Session.Session)
	t.free = append(t.free, i)
}

// entries lists the sessions from the lowest last op up.
func (t *table) entries() []Session {
	out := make([]Session, 0, len(t.index))
	for i := t.first; i != none; i = t.slots[i].next {
		out = append(out, t.slots[i].Session)
	}
	return out
}

// Replay brings a checkpointed table up to a later commit, header by header.
type Replay struct {
	tab    *table
	id     ID
	offset uint64
}

// NewReplay begins at t.
func NewReplay(sessionsMax int, t Table) *Replay {
	return &Replay{tab: newTable(sessionsMax, t), id: t.ID, offset: t.Offset}
}

// Commit takes the next committed op.
func (p *Replay) Commit(h *Header) {
	p.tab.commit(h)
	p.id, p.offset = h.ID(), h.NextOffset()
}

// Table as of the last op taken.
func (p *Replay) Table() Table { return Table{p.id, p.offset, p.tab.entries()} }
