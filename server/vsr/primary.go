package vsr

import (
	"slices"

	"rejoin/server/internal/mistake"
)

// leadership is what a replica knows as primary of a started view. Times outlive a view.
type leadership struct {
	leading   bool
	startHead uint64 // head at which the view started; requests wait until it has committed
	acks      [ReplicasMax]uint64
	each      [ReplicasMax][]uint64 // ops vouched for one by one: only EachOkByItself counts so
	progress  [ReplicasMax]uint64   // what each backup last told of its catching up
	echoed    [ReplicasMax]uint64   // highest beat round each backup has answered
	heardAt   [ReplicasMax]uint64
	full      [ReplicasMax]bool
	round     uint64
	beatAt    uint64
	commitAt  uint64 // tick of the last commit, or of the last progress towards one
	syncedAt  uint64 // tick at which the own log was last synced, or had nothing to sync
	steppedAt uint64 // tick at which it last stepped down; 0 never
	barren    uint64 // terms in a row that it gave up at commit barrenAt, for nothing was committed
	barrenAt  uint64
	parked    []parked
	readers   []reader
}

// parked is a client that waits for an op of the log.
type parked struct {
	id    ID
	token uint64
}

// reader waits until a quorum has echoed a beat sent after it came, and until this log has what it is to see.
//
// Two backups can commit an op, and its client be answered, while the primary's own disk still waits for the
// sync before. A read here would not show that op yet.
type reader struct {
	token, round uint64
	op           uint64 // the commit when it came; 0: it reads nothing
	outcome      Outcome
}

func (l *leadership) forget(peer int) {
	l.acks[peer], l.progress[peer], l.echoed[peer] = 0, 0, 0
}

func (r *Replica) startLeading() {
	l := &r.lead
	*l = leadership{leading: true, startHead: r.log.head.Op, commitAt: r.tick, syncedAt: r.tick, steppedAt: l.steppedAt, barren: l.barren, barrenAt: l.barrenAt, round: l.round}
	for i := range l.heardAt {
		l.heardAt[i] = r.tick
	}
	r.event(Event{Kind: EventRole, Peer: r.cfg.Self, Reason: "primary"})
	r.broadcast(Message{Kind: MsgStartView, Head: r.log.head, Slots: r.voteSlots()})
	r.beat()
}

// leave ends leadership. Whoever waits for an op of the log learns that its fate is open.
func (r *Replica) leave(why string) {
	l := &r.lead
	if !l.leading {
		return
	}
	l.leading = false
	for _, p := range l.parked {
		r.reply(p.token, OutcomeUnknown, nil, "this node was primary and is no more ("+why+")")
	}
	for _, q := range l.readers {
		r.reply(q.token, OutcomeNotPrimary, nil, why)
	}
	l.parked, l.readers = nil, nil
	r.event(Event{Kind: EventRole, Peer: NoPrimary, Reason: "was primary: " + why})
}

func (r *Replica) stepDown(why string) {
	r.event(Event{Kind: EventStepDown, Peer: r.cfg.Self, Reason: why})
	r.leave(why)
	r.lead.steppedAt = r.tick
	r.follow.missingNow, r.follow.restarted = true, true
}

func (r *Replica) beat() {
	l := &r.lead
	l.round++
	l.beatAt = r.tick
	r.broadcast(Message{Kind: MsgBeat, Round: l.round, Head: r.log.head, Goal: r.commitOffset()})
}

func (r *Replica) tickLead() {
	l := &r.lead
	if r.tick-l.beatAt >= r.cfg.BeatTicks {
		r.beat()
	}
	if r.log.stable == r.log.head {
		l.syncedAt = r.tick
	}
	if r.log.commit == r.log.head {
		l.commitAt = r.tick
	}
	patience := 4 * r.cfg.SuspectTicks
	switch {
	case r.answering(r.cfg.SuspectTicks) < r.quorum():
		r.stepDown("no quorum answers")
	case r.tick-l.commitAt >= max(patience, min(patience<<min(r.barren(), 8), patienceTicksMax)) && r.refusal() == 0:
		l.barren, l.barrenAt = r.barren()+1, r.log.commit.Op
		r.stepDown("no commit, and no backup makes progress")
	case r.tick-l.syncedAt >= patience && !r.diskFull:
		r.stepDown("own sync does not return")
	case r.diskFull && r.spacious() >= r.quorum():
		r.stepDown("own disk is full")
	}
}

// barren counts the terms in a row that this replica gave up at the present commit. Each next one gets twice
// the time: where no backup can take the adopted log, because an op of it is lost, no view mends that.
func (r *Replica) barren() uint64 {
	if r.lead.barrenAt != r.log.commit.Op {
		return 0
	}
	return r.lead.barren
}

// refusal is why nothing new may be appended whoever leads, or 0: no quorum has space, or the only
// replica has damage that nobody can mend.
func (r *Replica) refusal() Outcome {
	full, space := 0, 0
	for i := range r.cfg.Replicas {
		switch {
		case i == r.cfg.Self && r.diskFull, i != r.cfg.Self && r.lead.full[i]:
			full++
		case i == r.cfg.Self, r.tick-r.lead.heardAt[i] < r.cfg.SuspectTicks:
			space++
		}
	}
	if full > 0 && space < r.quorum() {
		return OutcomeDiskFull
	}
	if r.cfg.Replicas == 1 && len(r.log.holes) > 0 {
		return OutcomeBusy
	}
	return 0
}

// answering counts replicas that answered a beat within so many ticks, itself included.
func (r *Replica) answering(ticks uint64) int {
	n := 1
	for i := range r.cfg.Replicas {
		if i != r.cfg.Self && r.tick-r.lead.heardAt[i] < ticks {
			n++
		}
	}
	return n
}

// spacious counts other replicas that answer and have room.
func (r *Replica) spacious() int {
	n := 0
	for i := range r.cfg.Replicas {
		if i != r.cfg.Self && !r.lead.full[i] && r.tick-r.lead.heardAt[i] < r.cfg.SuspectTicks {
			n++
		}
	}
	return n
}

func (r *Replica) onPrepareOK(from int, view uint64, ack ID) {
	l := &r.lead
	if r.errs(mistake.EachOkByItself) && l.leading && view == r.view {
		r.countEach(from, ack)
		return
	}
	if !l.leading || view != r.view || ack.Op <= l.acks[from] {
		return
	}
	if have, ok := r.log.id(ack.Op, r.cfg.RootSum); ok && have == ack {
		l.acks[from] = ack.Op
	}
}

func (r *Replica) onBeatAck(m *Message) {
	l, from := &r.lead, int(m.From)
	if !l.leading || m.View != r.view || m.Round > l.round {
		return
	}
	l.heardAt[from] = r.tick
	l.echoed[from] = max(l.echoed[from], m.Round)
	l.full[from] = m.DiskFull
	if m.Progress != l.progress[from] {
		l.progress[from] = m.Progress
		l.commitAt = r.tick // a quorum is being made
	}
	r.onPrepareOK(from, m.View, m.Ack)
}

// quorumOp is the highest op that a quorum vouches for.
func (r *Replica) quorumOp() uint64 {
	if r.errs(mistake.EachOkByItself) {
		return r.quorumOfEach()
	}
	var ops [ReplicasMax]uint64
	n := r.cfg.Replicas
	for i := range n {
		ops[i] = r.lead.acks[i]
	}
	ops[r.cfg.Self] = r.voucher().Op
	for i := 1; i < n; i++ {
		for j := i; j > 0 && ops[j] > ops[j-1]; j-- {
			ops[j], ops[j-1] = ops[j-1], ops[j]
		}
	}
	return ops[r.quorum()-1]
}

// committed answers who waited for h.
func (l *leadership) committed(r *Replica, h *Header) {
	for len(l.parked) > 0 && l.parked[0].id.Op <= h.Op {
		p := l.parked[0]
		l.parked = slices.Delete(l.parked, 0, 1) // they are few, and the memory stays
		if p.id == h.ID() {
			r.reply(p.token, OutcomeCommitted, h, "")
		} else {
			r.reply(p.token, OutcomeUnknown, nil, "another op was committed in its place")
		}
	}
}

// park lets token wait for an op of the log. Parked clients stay in the order of their ops.
func (r *Replica) park(id ID, token uint64) {
	q := append(r.lead.parked, parked{id, token})
	for i := len(q) - 1; i > 0 && q[i-1].id.Op > q[i].id.Op; i-- {
		q[i-1], q[i] = q[i], q[i-1]
	}
	r.lead.parked = q
}

func (r *Replica) onReadLatest(token uint64) {
	if !r.lead.leading {
		r.reply(token, OutcomeNotPrimary, nil, "")
		return
	}
	// What earlier primaries have committed lies at or below startHead.
	r.confirm(reader{token: token, op: max(r.log.commit.Op, r.lead.startHead), outcome: OutcomeCommitted})
}

// confirm answers q once a quorum has shown that this replica was primary when it asked.
func (r *Replica) confirm(q reader) {
	if len(r.lead.readers) >= r.cfg.WaitingMax {
		r.reply(q.token, OutcomeBusy, nil, "too many answers wait for a quorum")
		return
	}
	r.beat()
	q.round = r.lead.round
	r.lead.readers = append(r.lead.readers, q)
}

// settleReads answers readers. What is only written could be shown as well, but a shell need not tell of that
// where acknowledgements rest on syncs, and a reader waits for one sync at most.
func (r *Replica) settleReads() {
	l := &r.lead
	if !l.leading || len(l.readers) == 0 || r.log.commit.Op < l.startHead {
		return
	}
	left := l.readers[:0]
	for _, q := range l.readers {
		if q.op > r.log.stable.Op || !r.echoed(q.round) {
			left = append(left, q)
		} else {
			r.reply(q.token, q.outcome, nil, "")
		}
	}
	l.readers = left
}

// echoed tells whether a quorum, this replica included, has answered a beat of this round or a later one.
func (r *Replica) echoed(round uint64) bool {
	echoes := 1
	for i := range r.cfg.Replicas {
		if i != r.cfg.Self && r.lead.echoed[i] >= round {
			echoes++
		}
	}
	return echoes >= r.quorum()
}

func (r *Replica) onDiskFull(full bool) {
	if full != r.diskFull {
		r.diskFull = full
		reason := "space again"
		if full {
			reason = "disk full"
		}
		r.event(Event{Kind: EventDiskFull, Peer: r.cfg.Self, Reason: reason})
	}
}
