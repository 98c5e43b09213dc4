package sim

import "rejoin/server/vsr"

// withheld is what a life of one replica said to a life of another and that comes much later, over a connection that
// was slow to end: when the other knows of its next life, or when somebody else leads.
type withheld struct {
	from, to *process
	what     []func(q *process)
}

// withhold holds back everything that this life says from now on, at the latest until the next one has said hello.
func (n *network) withhold(p *process) {
	for j := range n.w.setup.replicas {
		if q := n.w.nodes[j].life; j != p.n.id && q.running() {
			n.withheld[p.n.id][j] = &withheld{from: p, to: q}
		}
	}
}

// letGo brings what a former life said to the replica that has just been told of the present one.
func (n *network) letGo(peer int, p *process) {
	if h := n.withheld[peer][p.n.id]; h != nil && h.to == p && h.from != n.w.nodes[peer].life {
		n.release(peer, p.n.id)
	}
}

// release brings what was withheld, in its order, to the life that it was meant for.
func (n *network) release(from, to int) {
	h := n.withheld[from][to]
	if h == nil {
		return
	}
	n.withheld[from][to] = nil
	for i, arrive := range h.what {
		n.lateAt(n.w.now+int64(i+1)*microsecond, h.to, arrive)
	}
}

// isAnswer tells whether a message is only ever sent to who has asked.
func isAnswer(k vsr.MessageKind) bool {
	switch k {
	case vsr.MsgTellHead, vsr.MsgPreVoteAck, vsr.MsgFetched, vsr.MsgNotHeld, vsr.MsgChunk, vsr.MsgTable, vsr.MsgPullRefused:
		return true
	}
	return false
}
