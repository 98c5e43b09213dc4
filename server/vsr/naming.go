package vsr

// named tells whether the checksum of the end is known; it is not where the mark of the log's owner was
// lost or cut below, nor where ops above were given up and nothing names the one below them. A checksum that is
// 0 by chance only makes this replica wait.
func (a *adoption) named() bool { return a.end.Sum != 0 }

// slot of an op of the adopted log above its base.
func (a *adoption) slot(op uint64) *Slot {
	if op <= a.base.Op || op > a.end.Op {
		return nil
	}
	return &a.slots[op-a.base.Op-1]
}

// want names the op that the adopted log has at this number, once the chain above it is known.
func (a *adoption) want(op uint64) (ID, bool) {
	switch {
	case op == a.end.Op:
		return a.end, a.named()
	case op == a.base.Op:
		return a.base, true
	case op < a.base.Op || op > a.end.Op:
		return ID{}, false
	}
	if s := a.slot(op); s.Known {
		return s.Header.ID(), true
	}
	if op == a.floor.Op { // what is committed is in the log of every later view
		return a.floor, true
	}
	if s := a.slot(op + 1); s.Known {
		return ID{op, s.Header.Parent}, true
	}
	return ID{}, false
}

// learnSlots fills slots of the adopted log from this log, from frames kept, and from votes.
func (r *Replica) learnSlots() {
	a := &r.adopt
	if a.chosen {
		r.raiseFloor()
	}
	for op := a.end.Op; op > a.base.Op; op-- {
		s := a.slot(op)
		if s.Known {
			continue
		}
		h := r.learn(op)
		if h == nil {
			continue
		}
		*s = Slot{Known: true, Header: *h}
		if op == a.end.Op && h.ID() != a.end { // it has its name only now
			a.end, a.fetches = h.ID(), nil
		}
	}
	if a.chosen {
		r.endBelowLeftover()
	}
	if a.chosen && !a.named() {
		r.settleEnd()
	}
}

// raiseFloor takes the highest commit that was named since: its checksum names an op that perhaps nothing else does.
func (r *Replica) raiseFloor() {
	a := &r.adopt
	if r.heard.Op <= a.floor.Op || r.heard.Op > a.end.Op {
		return
	}
	a.floor = r.heard
	if a.end.Op == a.floor.Op && !a.named() {
		a.end = a.floor
	}
}

// endBelowLeftover ends the adopted log where the next op, known by now, does not follow. What its owner has on record as
// damaged may be left of an older log, on which it had begun to build another one; or the op below was taken
// by its number from another log of that log_view, whose owner had begun to. Had the op above, or anything beyond, been
// committed, every log of that log_view would have its parent, or end before it.
func (r *Replica) endBelowLeftover() {
	a := &r.adopt
	for op := a.base.Op + 1; op <= a.end.Op; op++ {
		s := a.slot(op)
		if below, ok := a.want(op - 1); s.Known && ok && s.Header.Parent != below.Sum {
			if r.mayEnd(below) {
				r.endAt(below, "what was above does not follow it")
			}
			return
		}
	}
}

// learn finds the header of an op of the adopted log: by its checksum, whatever the vote it stands in;
// or by its number, where it is committed, or in a vote of the same log_view, for logs of one view do
// not differ.
func (r *Replica) learn(op uint64) *Header {
	a := &r.adopt
	if op <= r.log.commit.Op {
		return r.log.at(op)
	}
	if id, ok := a.want(op); ok {
		return r.findHeader(id)
	}
	if !a.chosen {
		return nil
	}
	for i := range r.change.votes {
		if v := &r.change.votes[i]; v.logView == a.logView {
			if h := v.at(op); h != nil {
				return h
			}
		}
	}
	return nil
}

func (r *Replica) findHeader(id ID) *Header {
	if h := r.log.at(id.Op); h != nil && h.Sum == id.Sum {
		return h
	}
	if h := r.kept.find(id); h != nil {
		return h
	}
	for i := range r.change.votes {
		if h := r.change.votes[i].at(id.Op); h != nil && h.Sum == id.Sum {
			return h
		}
	}
	return nil
}

// settleEnd decides what the adopted log has where nothing tells its ops' names: what alone can have been
// committed there, as far as that goes on from the op below, or nothing. It goes from the lowest such op up, for an
// op decides those below it: its parent may be another than the one that was committed.
func (r *Replica) settleEnd() {
	a := &r.adopt
	end := a.lastNamed()
	first := end.Op + 1
	var found []Slot
	for op := first; op <= a.end.Op; op++ {
		h, decided := r.candidate(op)
		if !decided {
			return
		}
		if h == nil || h.Parent != end.Sum { // were it committed, the log would have its parent
			break
		}
		found, end = append(found, Slot{Known: true, Header: *h}), h.ID()
	}
	if end.Op < a.end.Op && !r.mayEnd(end) {
		return
	}
	copy(a.slots[first-a.base.Op-1:], found)
	r.endAt(end, "none of the names that it can have belongs to a committed op")
}

// lastNamed is the highest op below a nameless end whose name is known.
func (a *adoption) lastNamed() ID {
	for op := a.end.Op - 1; op > a.base.Op; op-- {
		if id, ok := a.want(op); ok {
			return id
		}
	}
	return a.base
}

// candidate is the one header of this number that can have been committed, by the votes; nil if none can.
func (r *Replica) candidate(op uint64) (only *Header, decided bool) {
	if r.committable(op, nil) {
		return nil, false
	}
	for i := range r.change.votes {
		v := &r.change.votes[i]
		if v.given && v.commit.Op >= op { // committed there: it will be pulled
			return nil, false
		}
		h := v.at(op)
		if h == nil || only != nil && h.Sum == only.Sum || !r.committable(op, h) {
			continue
		}
		if only != nil {
			return nil, false
		}
		only = h
	}
	return only, true
}

// committable tells whether an op of this number can have been committed: h, or, where that is nil, one that no vote
// names. What was committed in a view is held by a quorum with that log_view or a larger one, and is in every
// log with a larger one; a log of that very view may end before it, but holds nothing else there. So who holds
// nothing there rules out the views below its log_view, who holds something else that one, too, and the quorum
// is of those who have not voted, are damaged there, or hold it.
func (r *Replica) committable(op uint64, h *Header) bool {
	var other [ReplicasMax]bool // undamaged there, and does not hold it
	lowest, holders := uint64(0), 0
	for i := range r.cfg.Replicas {
		v := &r.change.votes[i]
		if have := v.at(op); have != nil && (h == nil || have.Sum != h.Sum) {
			other[i], lowest = true, max(lowest, v.logView+1)
		} else if v.given && v.top.Op < op {
			other[i], lowest = true, max(lowest, v.logView)
		}
	}
	for i := range r.cfg.Replicas {
		if v := &r.change.votes[i]; !v.given || !other[i] && v.logView >= lowest {
			holders++
		}
	}
	return holders >= r.quorum()
}

// mayEnd tells whether nothing above an op of the adopted log is known to be committed.
func (r *Replica) mayEnd(id ID) bool {
	return id.Op >= max(r.adopt.floor.Op, r.heard.Op, r.log.commit.Op)
}

// endAt lets the adopted log end at an op of it.
func (r *Replica) endAt(id ID, why string) {
	a := &r.adopt
	if id.Op < a.end.Op {
		r.event(Event{Kind: EventHole, FromOp: id.Op + 1, ToOp: a.end.Op, Peer: NoPrimary, Reason: "cut from the adopted log: " + why})
		a.slots = a.slots[:id.Op-a.base.Op]
		a.aligned = false
		r.dropKeptAbove(id.Op)
	}
	a.end, a.fetches = id, nil
}
