package vsr

import "rejoin/server/internal/mistake"

// adoption is the way to the log of the present view: a fixed chain (base, end] to be held in full
// before log_view may rise. It is forgotten with a restart and with the next view.
type adoption struct {
	active  bool
	source  int    // whose log it is
	base    ID     // committed at the source; slots begin above it
	end     ID     // the adopted log ends here; what a replica holds beyond it falls away
	floor   ID     // the highest commit that a vote named: never cut to below it
	slots   []Slot // of (base, end]; a slot becomes known when its op arrives
	aligned bool   // nothing is left in this log that the adopted one does not contain
	damage  uint64 // this replica's own top when it began: at ops in (head, damage] it denies nothing
	fetches []fetch
	arrived uint64
	waiting bool // an op can only come from a replica that is away
	chosen  bool // from votes, by this replica, of those with logView
	logView uint64
}

// named tells whether the checksum of the end is known; it is not where the mark of the log's owner was
// lost or cut below. A checksum that is 0 by chance only makes this replica wait.
func (a *adoption) named() bool { return a.end.Sum != 0 }

// fetch is one op asked for by checksum.
type fetch struct {
	id     ID
	peer   int
	tick   uint64 // of the last request
	tries  int
	denied [ReplicasMax]bool // has saved this view, is undamaged there and does not hold it
}

const fetchesMax = 64 // in flight; about 2 MB of common batches

func (r *Replica) beginAdoption(source int, base, end ID, slots []Slot, floor ID) {
	damage := uint64(0)
	if r.log.top.Op > r.log.head.Op {
		damage = r.log.top.Op
	}
	r.adopt = adoption{active: true, source: source, base: base, end: end, floor: floor, damage: damage, slots: append([]Slot(nil), slots...)}
	r.hear(source, base)
	if floor.Op > r.heard.Op {
		r.heard = floor
	}
	r.follow.silent = 0
}

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
		return a.end, true
	case op == a.base.Op:
		return a.base, true
	case op < a.base.Op || op > a.end.Op:
		return ID{}, false
	}
	if s := a.slot(op); s.Known {
		return s.Header.ID(), true
	}
	if s := a.slot(op + 1); s.Known {
		return ID{op, s.Header.Parent}, true
	}
	return a.floor, op == a.floor.Op // what is committed is in the log of every later view
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

// learnSlots fills slots of the adopted log from this log, from frames kept, and from other votes.
func (r *Replica) learnSlots() {
	a := &r.adopt
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
}

// learn finds the header of an op of the adopted log: by its checksum, whatever the vote it stands in;
// or by its number, where it is committed, or in a vote of the same log_view, for logs of one view do
// not differ.
func (r *Replica) learn(op uint64) *Header {
	a := &r.adopt
	if op <= r.log.commit.Op {
		return r.log.at(op)
	}
	if id, ok := a.want(op); ok && (op < a.end.Op || a.named()) {
		return r.findHeader(id)
	}
	if !a.chosen {
		return nil
	}
	for i := range r.change.votes {
		if v := &r.change.votes[i]; v.given && v.logView == a.logView && op > v.commit.Op && op <= v.top.Op {
			if s := &v.slots[op-v.commit.Op-1]; s.Known {
				return &s.Header
			}
		}
	}
	h := r.onlyCandidate(op)
	if before, ok := a.want(op - 1); h != nil && ok && h.Parent != before.Sum {
		return nil
	}
	return h
}

// onlyCandidate is the one header that a nameless op of the adopted log can have, if it was committed
// at all. A committed op is held by a quorum; whoever has voted and holds nothing of that number, or
// something else, does not hold it. Where the votes rule out whatever none of them names, and all that
// they name but one, taking that one loses nothing.
func (r *Replica) onlyCandidate(op uint64) *Header {
	lacking, named := r.lacking(op), 0
	var known [ReplicasMax]*Header
	for i := range r.change.votes {
		v := &r.change.votes[i]
		if !v.given || v.top.Op < op {
			continue
		}
		if v.commit.Op >= op {
			return nil // committed there: it will be pulled
		}
		if s := &v.slots[op-v.commit.Op-1]; s.Known {
			known[i] = &s.Header
			named++
		}
	}
	if lacking+named < r.quorum() {
		return nil
	}
	var only *Header
	for _, h := range known {
		if h == nil || only != nil && h.Sum == only.Sum {
			continue
		}
		against := lacking
		for _, other := range known {
			if other != nil && other.Sum != h.Sum {
				against++
			}
		}
		if against >= r.quorum() {
			continue
		}
		if only != nil {
			return nil
		}
		only = h
	}
	return only
}

func (r *Replica) findHeader(id ID) *Header {
	if h := r.log.at(id.Op); h != nil && h.Sum == id.Sum {
		return h
	}
	if h := r.kept.find(id); h != nil {
		return h
	}
	for i := range r.change.votes {
		v := &r.change.votes[i]
		if !v.given || id.Op <= v.commit.Op || id.Op > v.top.Op {
			continue
		}
		if s := &v.slots[id.Op-v.commit.Op-1]; s.Known && s.Header.Sum == id.Sum {
			return &s.Header
		}
	}
	return nil
}

// align drops what this log holds and the adopted one does not, also what lies above its end. It
// looks for the highest op that both hold: by the chain of parents everything below is then equal.
func (r *Replica) align() {
	a, l := &r.adopt, &r.log
	for op := min(l.head.Op, a.end.Op); op >= a.base.Op && op >= l.commit.Op; op-- {
		want, known := a.want(op)
		if !known {
			return // its name will be learned from above
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
		r.fence("the adopted log differs from this one at a committed op")
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

// tickAdoption asks for what is missing of the adopted log above its base.
func (r *Replica) tickAdoption() {
	a := &r.adopt
	if !a.active || r.saved.View != r.view {
		return
	}
	r.dropArrived()
	waiting := false
	last := min(a.end.Op, r.log.head.Op+r.cfg.PipelineOps)
	for op := max(r.log.head.Op, a.base.Op) + 1; op <= last && len(a.fetches) < fetchesMax; op++ {
		if id, ok := a.want(op); ok && r.kept.find(id) == nil {
			r.wantFetch(id)
		}
	}
	for i := range a.fetches {
		f := &a.fetches[i]
		if r.tickFetch(f) {
			return // the adopted log was cut: start over
		}
		waiting = waiting || f.tries >= r.cfg.Replicas // everybody has been asked
	}
	if waiting && !a.waiting {
		r.event(Event{Kind: EventWaiting, FromOp: r.log.head.Op + 1, ToOp: a.end.Op, Peer: NoPrimary, Reason: "no replica that can be reached holds an op of the adopted log"})
	}
	a.waiting = waiting
}

// dropArrived forgets requests for ops that are held by now.
func (r *Replica) dropArrived() {
	a := &r.adopt
	open := a.fetches[:0]
	for _, f := range a.fetches {
		if f.id.Op > r.log.head.Op && r.kept.find(f.id) == nil {
			open = append(open, f)
		}
	}
	a.fetches = open
}

func (r *Replica) wantFetch(id ID) {
	for i := range r.adopt.fetches {
		if r.adopt.fetches[i].id == id {
			return
		}
	}
	r.adopt.fetches = append(r.adopt.fetches, fetch{id: id, peer: r.adopt.source, tick: 0})
}

// tickFetch asks, or asks somebody else. It tells whether the op was given up.
func (r *Replica) tickFetch(f *fetch) bool {
	if r.primary(r.view) == r.cfg.Self && r.giveUp(f) {
		return true
	}
	if f.tries > 0 && r.tick-f.tick < r.cfg.SuspectTicks/5 {
		return false
	}
	if f.tries > 0 || f.peer == r.cfg.Self {
		f.peer = (f.peer + 1) % r.cfg.Replicas
		if f.peer == r.cfg.Self {
			f.peer = (f.peer + 1) % r.cfg.Replicas
		}
	}
	f.tries++
	f.tick = r.tick
	if f.peer != r.cfg.Self {
		r.send(f.peer, Message{Kind: MsgFetch, Ack: f.id})
	}
	return false
}

// giveUp cuts the adopted log below an op that cannot have been committed: a quorum of undamaged
// replicas that have saved this view does not hold it.
func (r *Replica) giveUp(f *fetch) bool {
	a := &r.adopt
	denials := 0
	if !a.named() && f.id == a.end { // who holds another op there cannot tell that it is another
		denials = r.lacking(f.id.Op)
	} else if f.id.Op > a.damage && f.id.Op > r.log.top.Op {
		denials++ // this replica itself
	}
	for i := range r.cfg.Replicas {
		if f.denied[i] && i != r.cfg.Self && (a.named() || f.id != a.end) {
			denials++
		}
	}
	if denials < r.quorum() || f.id.Op <= max(a.floor.Op, r.heard.Op, r.log.commit.Op) {
		return false
	}
	end, ok := r.below(f.id)
	if !ok || end.Op < a.floor.Op {
		return false
	}
	r.event(Event{Kind: EventHole, FromOp: f.id.Op, ToOp: a.end.Op, Peer: NoPrimary, Reason: "cut from the adopted log: a quorum without damage does not hold it"})
	a.slots = a.slots[:end.Op-a.base.Op]
	a.end = end
	a.fetches = nil
	a.aligned = false
	r.dropKeptAbove(end.Op)
	return true
}

// below names the op before id in the adopted log, or, where nothing tells its name, the highest op below
// that has one and above which a quorum holds nothing.
func (r *Replica) below(id ID) (ID, bool) {
	a := &r.adopt
	if id.Op-1 == a.base.Op {
		return a.base, true
	}
	if s := a.slot(id.Op); s.Known {
		return ID{id.Op - 1, s.Header.Parent}, true
	}
	for op := id.Op - 1; op > a.base.Op; op-- {
		if id, ok := a.want(op); ok {
			return id, true
		}
		if r.lacking(op) < r.quorum() {
			return ID{}, false
		}
	}
	return a.base, true
}

// lacking counts the replicas that have voted for this view and hold no op of this number, damaged or
// not: whatever its checksum, they have not acknowledged it.
func (r *Replica) lacking(op uint64) int {
	n := 0
	for i := range r.change.votes {
		if v := &r.change.votes[i]; v.given && v.top.Op < op {
			n++
		}
	}
	return n
}

// onFetch answers for an op by checksum: with its frame, with "not held" where that is certain, and
// not at all where it is not.
func (r *Replica) onFetch(m *Message) {
	from, id := int(m.From), m.Ack
	if h := r.findOwn(id); h != nil {
		r.send(from, Message{Kind: MsgFetched, Header: *h})
		return
	}
	l := &r.log
	if id.Op <= l.known {
		r.emit(Effect{Kind: EffServeFetch, Peer: m.From, ID: id})
		return
	}
	damaged := id.Op > l.head.Op && id.Op <= max(l.top.Op, r.adopt.damage)
	if id.Op <= l.commit.Op { // committed here, be it damaged or another one: no answer that could help to cut it
		return
	}
	if !damaged && !r.saved.Wiped && r.saved.View == r.view && m.View == r.view {
		r.send(from, Message{Kind: MsgNotHeld, Ack: id})
	}
}

func (r *Replica) findOwn(id ID) *Header {
	if h := r.log.at(id.Op); h != nil && h.Sum == id.Sum && !r.log.hole(id.Op) {
		return h
	}
	return r.kept.find(id)
}

func (r *Replica) onNotHeld(m *Message) {
	if m.View != r.view || !r.adopt.active {
		return
	}
	for i := range r.adopt.fetches {
		f := &r.adopt.fetches[i]
		if f.id == m.Ack {
			f.denied[m.From] = true
			f.tick = 0 // ask the next one at once
		}
	}
}

// onFetched takes a frame only under the checksum that was asked for.
func (r *Replica) onFetched(m *Message) {
	h := &m.Header
	for i := range r.adopt.fetches {
		if r.adopt.fetches[i].id == h.ID() {
			r.adopt.arrived++
			r.keep(h)
			return
		}
	}
}
