package vsr

// fetch is one op asked for by checksum.
type fetch struct {
	id     ID
	peer   int
	tick   uint64 // of the last request
	tries  int
	denied [ReplicasMax]bool // has saved this view, is undamaged there and does not hold it
}

const fetchesMax = 64 // in flight; about 2 MB of common batches

// tickAdoption asks for what is missing of the adopted log above its base.
func (r *Replica) tickAdoption() {
	a := &r.adopt
	if !a.active || r.saved.View != r.view {
		return
	}
	r.dropArrived()
	if a.nameless++; a.named() {
		a.nameless = 0
	}
	waiting := a.nameless >= uint64(r.cfg.Replicas)*r.fetchTicks() // as long as everybody would have been asked
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
	if f.tries > 0 && r.tick-f.tick < r.fetchTicks() || r.pulling(f.id.Op) {
		return false
	}
	f.peer = r.fetchFrom(f)
	f.tries++
	f.tick = r.tick
	if f.peer != NoPrimary {
		r.send(f.peer, Message{Kind: MsgFetch, Ack: f.id})
	}
	return false
}

// fetchTicks is how long an answer to a fetch is waited for.
func (r *Replica) fetchTicks() uint64 { return r.cfg.SuspectTicks / 5 }

// fetchFrom turns from one peer to the next, the owner of the log first. Who has trimmed the op is not asked: it
// is committed, and will be pulled.
func (r *Replica) fetchFrom(f *fetch) int {
	next := f.peer
	if f.tries > 0 {
		next++
	}
	for i := range r.cfg.Replicas {
		if peer := (next + i) % r.cfg.Replicas; peer != r.cfg.Self && r.peers[peer].earliest <= f.id.Op {
			return peer
		}
	}
	return NoPrimary
}

// giveUp ends the adopted log below an op that cannot have been committed: a quorum of undamaged
// replicas that have saved this view does not hold it.
func (r *Replica) giveUp(f *fetch) bool {
	a := &r.adopt
	denials := 0
	if f.id.Op > a.damage && f.id.Op > r.log.top.Op {
		denials++ // this replica itself
	}
	for i := range r.cfg.Replicas {
		if f.denied[i] && i != r.cfg.Self {
			denials++
		}
	}
	end, ok := a.want(f.id.Op - 1)
	if !ok {
		end = ID{Op: f.id.Op - 1} // nothing names it now
	}
	if denials < r.quorum() || !r.mayEnd(end) {
		return false
	}
	r.endAt(end, "a quorum without damage does not hold it")
	return true
}

// onFetch answers for an op by checksum: with its frame, with "not held" where that is certain, with the
// earliest op retained where it is trimmed, and not at all where nothing of that can be said.
func (r *Replica) onFetch(m *Message) {
	from, id := int(m.From), m.Ack
	if id.Op < r.log.start {
		r.send(from, Message{Kind: MsgPullRefused, FromOp: r.log.start})
		return
	}
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
