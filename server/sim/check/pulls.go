package check

import "rejoin/server/vsr"

// pulls is what an observer knows of how one replica catches up: the pull that runs, and what came of
// those before.
type pulls struct {
	round  uint64 // of the pull that runs; 0: none
	peer   uint8
	bulk   bool
	staged bool
	hole   bool   // below commit: it closes a hole, and raises nothing
	target uint64 // it is finished when this op has come
	commit uint64 // of the replica when it began
	head   uint64

	offered  bool // what came of it could be taken: it connects, or is a whole chain, and is committed at the server
	finished bool
	counted  bool // as a transfer, if it is one
	attempt  bool // it is one of attempts
	broken   bool // its server could not read what comes next, which is damaged there

	useless  int                  // finished pulls in a row with commit where it was
	refusals [vsr.ReplicasMax]int // by server: offers in a row that were not taken up
	attempts int                  // transfers begun in this outage
}

// sent takes note of a pull request; false: it only lets a running pull go on.
func (p *pulls) sent(l *Liveness, m *vsr.Message, s *vsr.Status) bool {
	if m.Round == p.round {
		return false
	}
	if goesOn := p.staged && !m.Staged && m.FromOp > s.Head.Op+1; goesOn && p.offered { // what was staged is kept
		p.round, p.peer, p.broken = m.Round, m.To, false
		return true
	}
	p.settle(l, m.From, s)
	p.round, p.peer, p.bulk, p.staged = m.Round, m.To, m.Bulk, m.Staged
	p.hole, p.target = m.ToOp <= s.Commit.Op, m.ToOp
	p.commit, p.head = s.Commit.Op, s.Head.Op
	p.offered, p.finished = false, false
	p.counted, p.attempt, p.broken = !p.bulk || p.hole, false, false
	return true
}

// count counts transfers, from the first that comes of them.
func (p *pulls) count(l *Liveness, m *vsr.Message, s *vsr.Status) {
	if p.counted {
		return
	}
	p.counted, p.attempt = true, true
	if p.attempts++; p.attempts > AttemptsMax {
		l.Fail("P3", "replica %d begins transfer %d of one outage, up to op %d, at commit %d of %d", m.To, p.attempts, p.target, s.Commit.Op, l.cluster.Commit)
	}
}

// forgive does not count a transfer that its server broke off: what was to come next is damaged there.
func (p *pulls) forgive() {
	if p.attempt {
		p.attempts--
	}
	p.counted, p.attempt = true, false
}

// Broke takes note that the server of a pull could not read the op that comes next in it. That is damage only
// where an observer of its disk sees it, too.
func (l *Liveness) Broke(server, receiver int, round, op uint64) {
	p := &l.pulls[receiver]
	if int(p.peer) == server && p.round == round && op >= l.Start(server) && op <= l.cluster.Commit && !l.Gives(server, op) {
		p.broken = true
	}
}

// settle draws the balance of a pull when the next one begins.
func (p *pulls) settle(l *Liveness, replica uint8, s *vsr.Status) {
	if s.Commit.Op > p.commit {
		p.useless, p.refusals = 0, [vsr.ReplicasMax]int{}
		return
	}
	switch {
	case p.round == 0 || p.hole:
	case p.finished && !(p.offered && !p.staged && s.Head.Op == p.head): // else nothing of it was taken
		if p.useless++; p.useless >= UselessMax {
			l.Fail("P3", "replica %d has finished %d pulls, the last up to op %d, and commit is %d as before", replica, p.useless, p.target, s.Commit.Op)
		}
	case p.offered && s.Head.Op == p.head:
		if p.refusals[p.peer]++; p.refusals[p.peer] >= RefusalsMax {
			l.Fail("P4", "replica %d, at commit %d, refuses the offer of replica %d up to op %d for the %d. time", replica, s.Commit.Op, p.peer, p.target, p.refusals[p.peer])
		}
	}
}

// Delivered takes note of a message that has reached its receiver; s is the receiver's state before it
// took the message. Of a chunk it is told frame by frame, with the frame's header.
func (l *Liveness) Delivered(m *vsr.Message, s *vsr.Status) {
	if !l.judging || m.Kind != vsr.MsgTable && m.Kind != vsr.MsgChunk && m.Kind != vsr.MsgPullRefused {
		return
	}
	p := &l.pulls[m.To]
	if m.From != p.peer || m.Round != p.round || p.round == 0 {
		return
	}
	if m.Kind == vsr.MsgPullRefused { // the server takes its offer back
		p.offered = false
		if m.FromOp == 0 && p.broken {
			p.forgive()
		}
		return
	}
	committed := max(m.Commit.Op, l.cluster.Nodes[m.From].Status.Commit.Op) // at the server: a chunk does not say
	switch {
	case m.Kind == vsr.MsgTable: // the whole chain up to Head
		p.target = m.Head.Op
		p.offered = p.offered || m.Head.Op > s.Commit.Op && m.Head.Op <= committed
	case !p.staged && m.Header.Op == s.Head.Op+1: // it connects
		p.finished = p.finished || m.Header.Op >= p.target
		p.offered = p.offered || m.Header.Op > s.Commit.Op && m.Header.Op <= committed
	case m.Header.Op >= p.target:
		p.finished = true
	}
	p.count(l, m, s)
}

// Observed takes note of an event.
func (l *Liveness) Observed(replica int, e *vsr.Event) {
	if e.Kind == vsr.EventCannotKeepUp {
		l.pulls[replica].attempts = 0 // as many again until it says so once more
	}
}

// tick ends an outage when the replica has come within the ring, or lags as little as the load makes
// it: what it still lacks is no matter of the outage.
func (p *pulls) tick(l *Liveness, i int) {
	if op := l.cluster.Nodes[i].Status.Commit.Op; op+l.RingOps > l.cluster.Commit || op >= l.commitBefore(OutageTicks) {
		p.attempts, p.attempt = 0, false
	}
}
