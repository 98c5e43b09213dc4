package vsr

// holePulls is the order in which holes are asked for: one after the other, from the lowest up, and the lowest
// again behind the topmost. What nobody gives now keeps none of the others waiting.
type holePulls struct {
	at     uint64 // tick before which holes are left alone: the last pull for one brought nothing
	op     uint64 // the hole asked for is the lowest that reaches to this op or above, or the lowest of all
	tries  int    // to close that hole that brought nothing, in a row; at most as many as there are replicas
	vain   uint64 // first op of the lowest hole, if everybody was asked for it in vain since one was mended last; else 0
	filled uint64 // what the replica had mended when the last pull began
	trimAt uint64 // tick before which the disk is not told again to begin behind the lowest: each time a client table waits for it
}

// askHolesAnew begins with the lowest hole: who did not give it may do so now.
func (p *pull) askHolesAnew() { p.holes.op, p.holes.tries, p.holes.vain = 0, 0, 0 }

// holeOps bounds one pull that closes a hole: what else is missing has its turn between two.
const holeOps = 4096

// pullHole asks for a hole, and for the one above it when it is closed, or when everybody was asked for it in
// vain. Where nobody can close one now, or the disk has not yet, what else is missing does not wait for it.
func (r *Replica) pullHole() bool {
	p, l := &r.pull.holes, &r.log
	if len(l.holes) == 0 || r.tick < p.at || r.filling > 0 { // what has come must first reach the disk
		return false
	}
	p.at = r.tick + r.cfg.StallTicks
	i := r.nextHole()
	if r.beginBehind(l.holes[0]) && i == 0 {
		if i = 1; len(l.holes) == 1 {
			return false
		}
	}
	hole := l.holes[i]
	p.op = hole.From
	p.tries++
	return r.startPull(hole.From, min(hole.To, hole.From+holeOps-1), true)
}

// nextHole is the index of the hole whose turn it is.
func (r *Replica) nextHole() int {
	p, l := &r.pull.holes, &r.log
	i := l.holeFrom(p.op) % len(l.holes)
	if p.tries < r.cfg.Replicas {
		return i
	}
	if p.tries = 0; i == 0 {
		p.vain = l.holes[0].From
	}
	return (i + 1) % len(l.holes)
}

// pauseHoles leaves holes alone for a while where the pull for one that ends here has mended nothing. What the
// disk has yet to say of it may end the pause.
func (r *Replica) pauseHoles() {
	if p := &r.pull; p.hole {
		p.holes.at = r.tick
		if r.filled == p.holes.filled {
			p.holes.at += r.cfg.StallTicks
		}
	}
}

// beginBehind gives up the lowest hole where nobody closes it and retention has passed it elsewhere: this log,
// too, begins behind it. It tells whether nobody is to be asked for it now: all have trimmed it, or the disk has just
// been told. Whoever has not trimmed it may be back with it before the log may begin elsewhere, or the disk has done it.
//
// Invariant: a log drops an op, other than by its own retention, only where another one has dropped it
// already. So whatever is missing at the beginning of any log, some replica's retention once took it.
// All of it is committed here, and the client table as of commit, which is saved first, tells of it.
func (r *Replica) beginBehind(hole OpRange) bool {
	start, trimmed := r.trimmedBehind(hole.From)
	everywhere := trimmed == r.cfg.Replicas-1
	if trimmed == 0 || !everywhere && r.pull.holes.vain != hole.From { // somebody else may still have it
		return false
	}
	told := r.pull.behind == start && r.tick < r.pull.holes.trimAt
	if lease := r.Lease(); told || r.log.commit.Op+1 < start || lease > 0 && lease < start || r.diskFull || r.diskBehind() { // not yet
		return everywhere
	}
	if r.pull.behind != start { // it is asked for again until the disk has done it
		r.pull.behind = start
		r.event(Event{Kind: EventHole, FromOp: hole.From, ToOp: start - 1, Peer: NoPrimary, Reason: "retention has passed it elsewhere, and nobody gives it back: the log begins behind it"})
	}
	r.emit(Effect{Kind: EffTrim, ID: ID{Op: start}, Table: r.Table()})
	r.pull.holes.trimAt = r.tick + r.cfg.StallTicks
	r.pull.holes.vain = 0 // the disk has the turn; if it has not done it by the next one, everybody is asked again
	return true
}

// trimmedBehind counts the other replicas that have trimmed op, by what they said, and tells where the
// longest of their logs begins.
func (r *Replica) trimmedBehind(op uint64) (start uint64, replicas int) {
	for i := range r.cfg.Replicas {
		if earliest := r.peers[i].earliest; i != r.cfg.Self && earliest > op {
			if replicas++; replicas == 1 || earliest < start {
				start = earliest
			}
		}
	}
	return start, replicas
}

// onDamaged takes note of damage that a reader met in an op, and of what the log has found around it. Above commit
// the log ends below it, with what was above on record: this replica vouches for it no more, and repair brings it
// again.
func (r *Replica) onDamaged(op uint64, around OpRange) {
	l := &r.log
	if op < l.start || op > l.head.Op || r.stage.installing {
		return
	}
	from, to := op, op
	if around.From <= op && op <= around.To {
		from, to = max(around.From, l.start), min(around.To, l.head.Op)
	}
	if to > l.commit.Op {
		op := max(from, l.commit.Op+1)
		if r.lead.leading {
			r.stepDown("own log is damaged above commit")
		}
		r.event(Event{Kind: EventHole, FromOp: op, ToOp: l.head.Op, Peer: NoPrimary, Reason: "damaged on disk above commit"})
		r.dropArrived() // what is lost again is asked for at once
		r.cutKeeping(op-1, l.top)
		to = l.commit.Op
	}
	if from <= to && l.addHole(from, to) {
		r.noteFound(from, to)
	}
}

// onFilled notes what the disk has mended, and goes on with what is left.
func (r *Replica) onFilled(in *Input) {
	if r.filling--; r.filling < 0 {
		panic("vsr: a hole was closed that nothing was given for")
	}
	if !in.OK { // it did not fit; another peer will have what does
		return
	}
	r.log.fillHole(in.ID.Op)
	r.filled++
	p := &r.pull.holes
	p.at, p.tries, p.vain = r.tick, 0, 0
}
