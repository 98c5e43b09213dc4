package check

import "rejoin/server/vsr"

// request is what a replica asks another for to catch up. Of two that are equal the second can bring
// nothing that the first could not.
type request struct {
	kind     vsr.MessageKind
	to       uint8
	from, up uint64
	op       vsr.ID
	staged   bool
}

// standing is the state in which a replica asks, as it shows it.
type standing struct {
	view, logView uint64
	commit, head  vsr.ID
	top           uint64
	holes         int
}

func standingOf(s *vsr.Status) standing {
	return standing{s.View, s.LogView, s.Commit, s.Head, s.Top, s.Holes}
}

// requests counts what one replica has asked for since its state last changed.
type requests struct {
	in    standing
	asked []request
	times []int
}

// asks tells whether a message of this kind asks for something that a replica lacks.
func asks(k vsr.MessageKind) bool {
	return k == vsr.MsgPull || k == vsr.MsgAskPrepares || k == vsr.MsgFetch
}

// Sent takes note of a message on its way between two connected replicas; s is the sender's state.
func (l *Liveness) Sent(m *vsr.Message, s *vsr.Status) {
	if !l.judging || !asks(m.Kind) {
		return
	}
	if m.Kind == vsr.MsgPull && !l.pulls[m.From].sent(l, m, s) {
		return // more of a pull that runs
	}
	if m.Kind == vsr.MsgFetch && !l.reachable(int(m.From), m.Ack) || m.Kind == vsr.MsgPull && l.ungiven(int(m.From), m.FromOp, m.ToOp <= s.Commit.Op) {
		return // only a replica that is away can end it: nothing is wrong with asking
	}
	q := &l.requests[m.From]
	if in := standingOf(s); in != q.in {
		q.in, q.asked, q.times = in, q.asked[:0], q.times[:0]
	}
	ask := request{kind: m.Kind, to: m.To, from: m.FromOp, up: m.ToOp, op: m.Ack, staged: m.Staged}
	for i := range q.asked {
		if q.asked[i] != ask {
			continue
		}
		if q.times[i]++; q.times[i] > RepeatsMax {
			l.Fail("P2", "replica %d sends the same %s to replica %d for the %d. time (ops %d to %d, op %d), at view %d/%d, commit %d, head %d all along",
				m.From, m.Kind, m.To, q.times[i], m.FromOp, m.ToOp, m.Ack.Op, s.View, s.LogView, s.Commit.Op, s.Head.Op)
		}
		return
	}
	q.asked, q.times = append(q.asked, ask), append(q.times, 1)
}

// answers tells whether replica i can answer another: both hear each other, and it is with a quorum.
func (l *Liveness) answers(i, to int) bool {
	return l.cluster.connected(i) && (i == to || l.cluster.joined(i, to))
}

// reachable tells whether a replica that can answer another holds an op.
func (l *Liveness) reachable(to int, id vsr.ID) bool {
	for i := range l.cluster.Nodes {
		if l.answers(i, to) && l.Holds(i, id) {
			return true
		}
	}
	return false
}

// ungiven tells whether nobody can give a replica what its pull from this op needs: the op itself, where
// somebody has it, or else, unless it is to close a hole, a chain that takes the log's place. Who lacks it has
// nothing else to ask for, and must not stop asking: a replica that is away may come back with it.
func (l *Liveness) ungiven(to int, op uint64, hole bool) bool {
	if op > l.cluster.Commit || l.given(to, op) {
		return false
	}
	trimmed := false
	for i := range l.cluster.Nodes {
		if !l.answers(i, to) || l.Start(i) <= op {
			continue
		}
		if trimmed = true; l.givenChain(to, i, op) {
			return false
		}
	}
	return !hole || !trimmed
}

// given tells whether a replica that can answer another has a committed op.
func (l *Liveness) given(to int, op uint64) bool {
	for i := range l.cluster.Nodes {
		if l.answers(i, to) && l.Start(i) <= op && l.Gives(i, op) {
			return true
		}
	}
	return false
}

// givenChain tells whether the chain that replica i offers to who lacks op can be had: each of its ops, from
// whoever has it.
func (l *Liveness) givenChain(to, i int, op uint64) bool {
	commit := l.cluster.Nodes[i].Status.Commit.Op
	for n := l.Start(i); n <= commit; n++ {
		if !l.given(to, n) {
			return false
		}
	}
	return commit >= op
}
