package vsr

import "rejoin/server/internal/mistake"

// adoption is the way to the log of the present view: a fixed chain (base, end] to be held in full
// before log_view may rise. It is forgotten with a restart and with the next view.
type adoption struct {
	active   bool
	source   int    // whose log it is
	base     ID     // committed at the source; slots begin above it
	end      ID     // the adopted log ends here; what a replica holds beyond it falls away
	floor    ID     // the highest commit that a vote named: never cut to below it
	slots    []Slot // of (base, end]; a slot becomes known when its op arrives
	aligned  bool   // nothing is left in this log that the adopted one does not contain
	damage   uint64 // this replica's own top when it began: at ops in (head, damage] it denies nothing
	fetches  []fetch
	arrived  uint64
	nameless uint64 // ticks since the checksum of the end was known
	waiting  bool   // an op can only come from a replica that is away
	chosen   bool   // from votes, by this replica, of those with logView
	logView  uint64
}

func (r *Replica) beginAdoption(source int, base, end ID, slots []Slot, floor ID) {
	damage := uint64(0)
	if r.log.top.Op > r.log.head.Op {
		damage = r.log.top.Op
	}
	if end.Op == floor.Op && end.Op > base.Op {
		end = floor // whether the owner of the log can name it or not
	}
	r.adopt = adoption{active: true, source: source, base: base, end: end, floor: floor, damage: damage, slots: append([]Slot(nil), slots...)}
	r.hear(source, base)
	if floor.Op > r.heard.Op {
		r.heard = floor
	}
	r.follow.silent = 0
}

// adoptOnward takes the adoption as far as what is held allows.
func (r *Replica) adoptOnward() {
	a := &r.adopt
	if !a.active || r.saved.View != r.view {
		return
	}
	if a.passed(r.log.commit.Op) && r.primary(r.view) != r.cfg.Self {
		r.adopt = adoption{} // the primary's present end reaches further, or a later view exists
		return
	}
	r.learnSlots()
	if !a.aligned {
		r.align()
	}
	if r.fenced || !a.aligned {
		return
	}
	r.absorbKept()
	r.commitKnown(a.base)
	r.commitKnown(a.floor)
	if r.log.head.Op < a.end.Op {
		if r.riseEarly() {
			r.save(r.view)
		}
		return
	}
	if !r.holdsAdopted() {
		return // committed ops of a later view have passed this one; its start_view will come
	}
	if r.asked.LogView < r.view {
		r.hollow = hollow{}
		r.save(r.view)
	} else if r.errs(mistake.DuplicateStartViewCuts) && r.saved.LogView == r.view {
		r.adopt = adoption{} // adopted again
	}
}

// holdsAdopted tells whether this log reaches the end of the adopted one, and is the same there.
func (r *Replica) holdsAdopted() bool {
	have, ok := r.log.id(r.adopt.end.Op, r.cfg.RootSum)
	return ok && have == r.adopt.end
}

// align drops what this log holds and the adopted one does not, also what lies above its end. It
// looks for the highest op that both hold: by the chain of parents everything below is then equal.
func (r *Replica) align() {
	a, l := &r.adopt, &r.log
	for op := min(l.head.Op, a.end.Op); op >= a.base.Op && op >= l.commit.Op; op-- {
		want, known := a.want(op)
		if !known { // its name will be learned from above, where nothing of another log may be in the way
			if op < min(l.head.Op, a.end.Op) {
				r.cutTo(op)
			}
			return
		}
		have, _ := l.id(op, r.cfg.RootSum)
		if have == want {
			r.alignAt(op)
			return
		}
		if op == l.commit.Op {
			r.disown(op)
			return
		}
		if op == 0 {
			break
		}
	}
	switch {
	case l.head.Op < a.base.Op: // the ops between are committed; pulling them shows what differs
		r.alignAt(l.head.Op)
	case l.commit.Op > a.end.Op: // behind what is committed: a later view exists
	default: // it differs at the base already, and perhaps below: the pull of committed ops will tell
		r.alignAt(a.base.Op - 1)
	}
}

// passed tells that committed ops, pulled meanwhile, reach beyond the end that was adopted before it
// was held: what this log has above that end is not the adopted one's to judge.
func (a *adoption) passed(commit uint64) bool { return !a.aligned && commit > a.end.Op }

// disown ends an adoption that differs from this log at its commit. Above the source's commit that is
// the log of a primary that was deposed and does not know it; at or below, the histories differ.
func (r *Replica) disown(op uint64) {
	if op <= r.adopt.base.Op {
		r.fence("has committed", r.adopt.source, op)
		return
	}
	if r.primary(r.view) != r.cfg.Self {
		r.adopt = adoption{}
	}
}

// alignAt drops what lies above op. Damaged ops stay on record where the adopted log reaches them
// and all that was held below them fits, for a crash before they are fetched must not turn "damaged"
// into "never held". Where something below does not fit, what chained on it cannot either.
func (r *Replica) alignAt(op uint64) {
	top := ID{}
	if op == r.log.head.Op {
		top = r.log.top
		if top.Op > r.adopt.end.Op {
			top = r.adopt.end
		}
	}
	if op < r.adopt.end.Op || !r.errs(mistake.KeepTailAboveAdopted) {
		r.cutKeeping(op, top)
	}
	r.adopt.aligned = true
}
