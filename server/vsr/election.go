package vsr

import "rejoin/server/internal/mistake"

// election is a pre-vote: a replica does not raise its view on its own opinion, it asks whether a
// quorum misses the primary too.
type election struct {
	running  bool
	round    uint64
	askedAt  uint64
	quorumAt uint64 // tick at which a quorum had agreed; 0 before
	answers  [ReplicasMax]answer
}

type answer struct {
	given, missing, fit bool
	view, logView       uint64
	top                 uint64
}

func (e *election) forget(peer int) { e.answers[peer] = answer{} }

func (r *Replica) tickElection() {
	e := &r.election
	if !r.missing() || r.saved.Wiped {
		e.running = false
		if r.errs(mistake.OfferGateByView) && r.saved.Wiped && r.missing() && r.saved.View == r.view {
			r.raise(r.view+1, "its own timer")
			r.change.alone = true
		}
		return
	}
	if !e.running {
		*e = election{running: true, round: e.round + 1, askedAt: r.tick}
		r.askPreVote()
	} else if r.tick-e.askedAt >= r.cfg.BeatTicks {
		e.askedAt = r.tick
		r.askPreVote()
	}
	r.decideElection()
}

func (r *Replica) askPreVote() {
	r.broadcast(Message{Kind: MsgPreVote, Round: r.election.round, Restarted: r.follow.restarted})
}

// fit to lead: a primary must at once be able to do everything that is asked of one.
func (r *Replica) fit() bool {
	l := &r.log
	synced := l.stable == l.head || r.tick-r.lead.syncedAt < r.cfg.SuspectTicks
	rested := r.lead.steppedAt == 0 || r.tick-r.lead.steppedAt >= r.cfg.UnfitTicks
	return l.top == l.head && l.head.Op >= r.heard.Op && synced && rested && !r.diskFull && !r.saved.Wiped
}

func (r *Replica) onPreVote(m *Message) {
	if r.saved.Wiped {
		return
	}
	from := int(m.From)
	if m.Restarted && m.View == r.view && from == r.primary(r.view) && !r.lead.leading {
		r.follow.missingNow = true
	}
	r.send(from, Message{Kind: MsgPreVoteAck, Round: m.Round, Missing: r.missing(), Head: r.voteTop(), Fit: r.fit()})
}

func (r *Replica) onPreVoteAck(m *Message) {
	if m.View > r.view { // a view that somebody saved is itself the proof that a quorum agreed
		r.join(m.View)
		return
	}
	e := &r.election
	if !e.running || m.Round != e.round {
		return
	}
	e.answers[m.From] = answer{given: true, missing: m.Missing, fit: m.Fit, view: m.View, logView: m.LogView, top: m.Head.Op}
	r.decideElection()
}

// decideElection raises the view once a quorum misses the primary and every replica that can be
// reached has been heard, or a short while after the quorum.
func (r *Replica) decideElection() {
	e := &r.election
	if !e.running || r.saved.View != r.view {
		return
	}
	e.answers[r.cfg.Self] = answer{given: true, missing: true, fit: r.fit(), view: r.view, logView: r.saved.LogView, top: r.voteTop().Op}
	agreed, everyone, highest := 0, true, r.view
	for i := range r.cfg.Replicas {
		a := &e.answers[i]
		if a.given && a.missing {
			agreed++
		}
		if !a.given && r.peers[i].up {
			everyone = false
		}
		highest = max(highest, a.view)
	}
	if agreed < r.quorum() {
		e.quorumAt = 0
		return
	}
	if e.quorumAt == 0 {
		e.quorumAt = r.tick
	}
	if !everyone && r.tick-e.quorumAt < r.cfg.BeatTicks {
		return
	}
	e.running = false
	r.raise(r.nextView(highest), "a quorum misses the primary")
}

// nextView is the smallest view above highest whose primary is the best replica that answered.
func (r *Replica) nextView(highest uint64) uint64 {
	n := uint64(r.cfg.Replicas)
	best := uint64(0)
	for v := highest + 1; v <= highest+n; v++ {
		a := &r.election.answers[v%n]
		if a.given && (best == 0 || a.betterThan(&r.election.answers[best%n])) {
			best = v
		}
	}
	return best
}

// betterThan orders candidates for primary: fit ones first, then the longest log. Of equals the one
// with the smaller view leads, which the caller sees to.
func (a *answer) betterThan(b *answer) bool {
	switch {
	case a.fit != b.fit:
		return a.fit
	case a.logView != b.logView:
		return a.logView > b.logView
	}
	return a.top > b.top
}
