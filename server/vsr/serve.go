package vsr

import "rejoin/server/internal/mistake"

// serving is a pull by a peer, as its server sees it. It ends with the target, with the peer's
// incarnation, with a newer pull, or after a lease without traffic.
type serving struct {
	active  bool
	no      uint64
	cursor  uint64 // next op to send
	target  uint64 // committed and written here
	allowed uint64 // chunks that the peer has room for
	sent    uint64 // chunks
	busy    bool   // one is being sent
	stale   bool   // and it is of an earlier pull
	bulk    bool
	usedAt  uint64
}

func (r *Replica) onPull(m *Message) {
	s, from := &r.serve[m.From], int(m.From)
	if m.ToOp < m.FromOp || m.FromOp == 0 {
		r.absurd++ // nothing is asked for
		return
	}
	if s.active && m.Round == s.no {
		s.allowed = max(s.allowed, min(m.Window, s.sent+2*repairChunks))
		s.usedAt = r.tick
		r.pump(from)
		return
	}
	if m.Round < s.no {
		return
	}
	if m.Staged {
		r.serveChain(m)
		return
	}
	target, first, allowed := min(m.ToOp, r.log.commit.Op, r.log.stable.Op), m.FromOp, min(m.Window, 2*repairChunks)
	if target < m.FromOp || m.FromOp < r.log.start {
		earliest := uint64(0)
		if m.FromOp < r.log.start {
			earliest = r.log.start
		}
		r.send(from, Message{Kind: MsgPullRefused, Round: m.Round, FromOp: earliest})
		if earliest == 0 || !r.errs(mistake.RepairNeverFinal) {
			return
		}
		first, allowed = earliest, 1 // what there is, all the same
	}
	*s = serving{active: true, no: m.Round, cursor: first, target: target, allowed: allowed, bulk: m.Bulk, usedAt: r.tick, busy: s.busy, stale: s.busy}
	r.pump(from)
}

// serveChain offers the whole chain that this log has, with the client table as of its end.
func (r *Replica) serveChain(m *Message) {
	s, l := &r.serve[m.From], &r.log
	if l.stable.Op < l.commit.Op || l.commit.Op < l.start || len(l.holes) > 0 || r.stage.installing {
		r.send(int(m.From), Message{Kind: MsgPullRefused, Round: m.Round})
		return
	}
	*s = serving{active: true, no: m.Round, cursor: l.start, target: l.commit.Op, allowed: min(m.Window, 2*repairChunks), bulk: true, usedAt: r.tick, busy: s.busy, stale: s.busy}
	r.sendTable(int(m.From), m.Round)
	r.pump(int(m.From))
}

// pump sends the next chunk if the peer has room for it.
func (r *Replica) pump(peer int) {
	s := &r.serve[peer]
	if !s.active || s.busy || s.sent >= s.allowed || s.cursor > s.target {
		return
	}
	s.busy = true
	r.emit(Effect{Kind: EffServe, Peer: uint8(peer), Round: s.no, Window: s.sent, From: s.cursor, To: s.target, Bulk: s.bulk})
}

func (r *Replica) onServed(in *Input) {
	s := &r.serve[in.Peer]
	stale := s.stale
	s.busy, s.stale = false, false
	if stale || !s.active || in.Round != s.no {
		r.pump(int(in.Peer))
		return
	}
	s.usedAt = r.tick
	if in.ID.Op < s.cursor { // nothing could be read: let the peer turn to somebody else
		s.active = false
		earliest := uint64(0)
		if s.cursor < r.log.start {
			earliest = r.log.start
		}
		r.send(int(in.Peer), Message{Kind: MsgPullRefused, Round: s.no, FromOp: earliest})
		return
	}
	s.cursor = in.ID.Op + 1
	s.sent++
	r.pump(int(in.Peer))
}

func (r *Replica) tickServing() {
	for i := range r.serve {
		if s := &r.serve[i]; s.active && r.tick-s.usedAt >= r.cfg.LeaseTicks {
			s.active = false
		}
	}
}
