package vsr

import "fmt"

// windowOps is how many of the last headers a replica remembers.
const windowOps = 1024

// log is what the protocol knows of the ops on this replica's disk.
type log struct {
	headers [windowOps]Header // of the ops in (known, head], by op modulo windowOps
	known   uint64            // every op in (known, head] has its header above; known <= commit.Op
	head    ID                // everything up to here is held and chained by parent, but for holes; never below commit
	commit  ID                // never falls within an incarnation; at most head
	offset  uint64            // the message offset that follows head
	top     ID                // head, or the highest damaged op that the disk may have held above it
	stable  ID                // written (and, where asked, synced) up to here; at most head
	holes   []OpRange         // damaged ops at or below commit, ascending, none next to another
	clock   int64             // timestamp of head, or the highest known below it
	start   uint64            // first op the log holds
}

func (l *log) at(op uint64) *Header {
	if op <= l.known || op > l.head.Op {
		return nil
	}
	return &l.headers[op%windowOps]
}

// id of an op at or below head whose header is known; the second result says whether it is.
func (l *log) id(op uint64, root uint64) (ID, bool) {
	if op == 0 {
		return ID{0, root}, true
	}
	if op == l.commit.Op {
		return l.commit, true
	}
	if op == l.head.Op {
		return l.head, true
	}
	if h := l.at(op); h != nil {
		return h.ID(), true
	}
	return ID{}, false
}

// append adds the next op.
func (l *log) append(h *Header) {
	if h.Op != l.head.Op+1 || h.Parent != l.head.Sum || h.BaseOffset != l.offset {
		panic(fmt.Sprintf("vsr: op %d (parent %016x, offset %d) does not follow head %d (%016x, offset %d)",
			h.Op, h.Parent, h.BaseOffset, l.head.Op, l.head.Sum, l.offset))
	}
	l.headers[h.Op%windowOps] = *h
	l.head = h.ID()
	l.offset = h.NextOffset()
	l.clock = max(l.clock, h.Timestamp)
	if l.head.Op > windowOps && l.known < l.head.Op-windowOps {
		l.known = l.head.Op - windowOps
	}
	if l.head.Op >= l.top.Op {
		l.top = l.head
	}
}

// cut drops every op above op. Damaged ops up to top stay on record: what this replica may have
// acknowledged and cannot give is not forgotten until it is held again or a later log lacks it.
func (l *log) cut(op uint64, top ID) {
	if op < l.commit.Op {
		panic(fmt.Sprintf("vsr: cut to op %d below commit %d", op, l.commit.Op))
	}
	if op < l.head.Op {
		next := l.at(op + 1)
		l.offset = next.BaseOffset
		l.head = ID{op, next.Parent}
	}
	if op < l.stable.Op {
		l.stable = l.head
	}
	l.top = l.head
	if top.Op > l.head.Op {
		l.top = top
	}
}

// fits tells whether h may follow head.
func (l *log) fits(h *Header) bool {
	return h.Op == l.head.Op+1 && h.Parent == l.head.Sum && h.BaseOffset == l.offset
}
