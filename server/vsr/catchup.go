package vsr

import "rejoin/server/internal/mistake"

// pull is a stream of committed ops from one peer: a repair when the gap is within the ring, a
// transfer beyond. The cursor moves with what arrived. It ends at a fixed target; the next, shorter
// round follows if there is still a gap.
type pull struct {
	active   bool
	no       uint64 // rises with each pull of this incarnation
	peer     int
	bulk     bool   // transfer
	hole     bool   // closes holes below commit
	next     uint64 // op expected next
	target   uint64
	chunks   uint64 // received whole
	movedAt  uint64
	failures int // pulls in a row that brought nothing
	retryAt  uint64
	owed     bool   // a chunk has come that was not yet allowed anew
	floor    uint64 // the serving peers have trimmed what is below: ask from here
	doubt    bool   // own ops above commit may differ: ask from commit, not from head
	avoid    int    // peer that the last pull failed with
	holes    holePulls
	behind   uint64 // where the log was last told to begin, behind a hole
}

// Chunks that the server may be ahead of the receiver.
const (
	repairChunks   = 4
	transferChunks = 3
)

func (p *pull) init() { p.avoid = NoPrimary }

// tickCatchUp compares what must be held with what is held, and sees to it that each missing range
// has one owner and a request outstanding.
func (r *Replica) tickCatchUp() {
	if r.kept.count > 0 {
		r.dropKeptBelow()
	}
	r.settleEpisode()
	r.tickFound()
	r.tickPull()
	r.tickAdoption()
}

// tickPull sees to it that what is known to be committed is pulled.
func (r *Replica) tickPull() {
	p := &r.pull
	if r.stage.active {
		r.tickStaging()
		return
	}
	if p.active {
		if r.tick-p.movedAt >= r.cfg.StallTicks {
			r.failPull("no progress")
		} else {
			return
		}
	}
	if r.tick < p.retryAt {
		return
	}
	switch {
	case r.lead.leading:
		r.pullHole()
	case p.hole && r.mustPull() && r.pullGap(): // its turn, whatever holes are left
	case r.pullHole():
	case r.mustPull():
		r.pullGap()
	default:
		r.askPrepares()
	}
}

// mustPull tells whether committed ops above head are to be pulled: what the primary does not give as prepares,
// being below what it remembers or cut off from here, somebody else has committed.
func (r *Replica) mustPull() bool {
	stands := r.missing() || r.tick-r.follow.movedAt >= r.cfg.StallTicks
	gap := r.gap()
	return gap > r.cfg.PipelineOps || gap > 0 && (!r.normal() || stands)
}

func (r *Replica) pullGap() bool { return r.startPull(r.pullFrom(), r.goal(), false) }

// goal is the highest op known to be committed that this replica may have to pull.
func (r *Replica) goal() uint64 {
	if r.adopt.active && !r.normal() {
		return max(r.heard.Op, r.adopt.base.Op)
	}
	return r.heard.Op
}

// gap counts the committed ops known of that lie above head.
func (r *Replica) gap() uint64 {
	if g := r.goal(); g > r.log.head.Op {
		return g - r.log.head.Op
	}
	return 0
}

// pullFrom is head+1, or commit+1 where own ops above commit may not belong to the log.
func (r *Replica) pullFrom() uint64 {
	if r.pull.doubt || (!r.normal() && !r.adopt.aligned) {
		return max(r.log.commit.Op+1, min(r.pull.floor, r.log.head.Op+1))
	}
	return r.log.head.Op + 1
}

// choosePeer takes whoever has committed most of what is missing, of equals the primary, which may be catching up
// itself before it starts its view; not the peer that has just failed, if there is another.
func (r *Replica) choosePeer(want uint64, hole bool) int {
	best := NoPrimary
	for i := range r.cfg.Replicas {
		if !r.mayServe(i, want, hole) || r.peers[i].commit < want {
			continue
		}
		switch {
		case best == NoPrimary, best == r.pull.avoid:
			best = i
		case i == r.pull.avoid:
		case r.gives(i) != r.gives(best):
			if r.gives(i) > r.gives(best) {
				best = i
			}
		case i == r.primary(r.view), best != r.primary(r.view) && r.peers[i].commit > r.peers[best].commit:
			best = i
		}
	}
	if best == NoPrimary && hole || best != NoPrimary && best == r.pull.avoid {
		return r.otherPeer(best, want, hole) // what was lost to a hole is committed: whoever is there may have it
	}
	return best
}

// gives is how far a peer can bring this replica towards what it may have to pull.
func (r *Replica) gives(i int) uint64 { return min(r.peers[i].commit, r.goal()) }

func (r *Replica) mayServe(i int, want uint64, hole bool) bool {
	return i != r.cfg.Self && r.peers[i].up && !(hole && r.peers[i].earliest > want)
}

// otherPeer turns to somebody else than the only peer, if any, that is known to have what is missing and has
// just failed to give it, being damaged there perhaps. Backups do not tell one another what they have, so they
// are asked in turn, between two tries of the one that is known.
func (r *Replica) otherPeer(known int, want uint64, hole bool) int {
	var others []int
	for i := range r.cfg.Replicas {
		if i != known && r.mayServe(i, want, hole) {
			others = append(others, i)
		}
	}
	if len(others) == 0 {
		return known
	}
	return others[r.pull.failures/2%len(others)]
}

func (r *Replica) startPull(from, target uint64, hole bool) bool {
	p := &r.pull
	peer := r.choosePeer(from, hole)
	if peer == NoPrimary || target < from {
		return false
	}
	if commit := r.peers[peer].commit; commit >= from { // else it is asked on the chance
		target = min(target, commit)
	}
	bulk := !hole && target-from >= r.cfg.RingOps && !r.errs(mistake.RepairNeverFinal)
	*p = pull{active: true, no: p.no + 1, peer: peer, bulk: bulk, hole: hole, next: from, target: target, movedAt: r.tick, failures: p.failures, doubt: p.doubt, avoid: p.avoid, floor: p.floor, holes: p.holes, behind: p.behind}
	p.holes.filled = r.filled
	r.beginEpisode(bulk, from, target, peer)
	r.send(peer, r.pullMessage())
	return true
}

// pulling tells whether what is under way brings an op: a pull, or a chain that takes the log's place.
func (r *Replica) pulling(op uint64) bool {
	if s := &r.stage; s.tabled {
		return op <= s.table.ID.Op
	} else if s.active {
		return op <= r.heard.Op
	}
	p := &r.pull
	return p.active && op >= p.next && op <= p.target
}

func (r *Replica) pullMessage() Message {
	p := &r.pull
	window := uint64(repairChunks)
	if p.bulk {
		window = transferChunks
	}
	return Message{Kind: MsgPull, Round: p.no, FromOp: p.next, ToOp: p.target, Window: p.chunks + window, Bulk: p.bulk}
}

// onPulled takes the next committed op of the running pull.
func (r *Replica) onPulled(m *Message) {
	p, h := &r.pull, &m.Header
	if s := &r.stage; s.active && m.Round == s.no && int(m.From) == s.peer {
		r.onStagedFrame(h)
		return
	}
	if !p.active || int(m.From) != p.peer || m.Round != p.no || h.Op != p.next || h.Op > p.target || h.Group != r.cfg.Group || h.Cluster != r.cfg.Cluster {
		return
	}
	if r.errs(mistake.OfferGateByView) && r.peers[m.From].view < r.view {
		r.failPull("offered by a peer of an older view")
		return
	}
	if !r.takeCommitted(h) {
		return
	}
	p.next++
	p.movedAt = r.tick
	r.episode.bytes += 128 + uint64(h.BodyBytes)
	if p.next > p.target {
		r.finishPull()
	}
}

// takeCommitted lets a committed op join the log. Own ops above commit that differ fall away, one by
// one as they are shown to differ; a committed one that differs means that the histories differ.
func (r *Replica) takeCommitted(h *Header) bool {
	l := &r.log
	if h.Op <= l.commit.Op {
		return r.takeOld(h)
	}
	if h.Op == l.commit.Op+1 && h.Parent != l.commit.Sum {
		r.fence("has committed", r.pull.peer, l.commit.Op) // what a committed op follows is committed
		return false
	}
	if h.Op <= l.head.Op {
		mine := l.at(h.Op)
		if mine.ID() == h.ID() {
			r.commitTo(h.Op)
			return true
		}
		if h.Parent != mine.Parent {
			r.doubtSuffix()
			return false
		}
		r.cutTo(h.Op - 1)
	}
	if !l.fits(h) {
		r.doubtSuffix()
		return false
	}
	r.appendPulled(h)
	r.commitTo(h.Op)
	return true
}

// takeOld holds a committed op against the one that this log has committed, or closes a hole with it.
func (r *Replica) takeOld(h *Header) bool {
	if have, ok := r.log.id(h.Op, r.cfg.RootSum); ok && have != h.ID() {
		r.fence("has committed", r.pull.peer, h.Op)
		return false
	}
	if r.log.hole(h.Op) {
		r.filling++
		r.emit(Effect{Kind: EffFill, Header: *h})
	}
	return true
}

// doubtSuffix starts over from commit: something that this log holds above it does not belong. What
// does belong stays, for this replica may have vouched for it.
func (r *Replica) doubtSuffix() {
	if r.pull.floor > r.log.commit.Op+1 { // the peer cannot show from where on: its chain takes this log's place
		peer := r.pull.peer
		r.endPull("own suffix does not belong")
		r.startStaging(peer)
		return
	}
	r.pull.doubt = true
	r.endPull("own suffix does not belong")
	r.pull.retryAt = r.tick
}

func (r *Replica) onChunkEnd(in *Input) {
	p := &r.pull
	if s := &r.stage; s.active && in.Round == s.no && int(in.Peer) == s.peer {
		if !in.OK {
			r.resumeStaging(in.Lack.String())
			return
		}
		if s.tabled && in.ID.Op >= s.next {
			r.resumeStaging("frames missing")
			return
		}
		s.chunks++
		s.owed = true
		r.progressEpisode()
		return
	}
	if !p.active || int(in.Peer) != p.peer || in.Round != p.no {
		return
	}
	if !in.OK {
		r.failPull(in.Lack.String())
		return
	}
	if in.ID.Op >= p.next { // frames of it were lost on the way
		r.endPull("frames missing")
		return
	}
	p.chunks++
	p.movedAt = r.tick
	p.owed = true
	r.progressEpisode()
}

// settlePull allows the server another chunk once this disk has kept up with what came: frames that
// wait for it hold memory.
func (r *Replica) settlePull() {
	p := &r.pull
	if !p.active || !p.owed {
		return
	}
	if r.log.head.Op-r.log.stable.Op > r.cfg.RingOps/2 || p.hole && r.filling > 0 {
		p.movedAt = r.tick
		return
	}
	p.owed = false
	r.send(p.peer, r.pullMessage())
}

func (r *Replica) onPullRefused(m *Message) {
	p := &r.pull
	r.peers[m.From].earliest = max(r.peers[m.From].earliest, m.FromOp)
	if s := &r.stage; s.active && m.Round == s.no && int(m.From) == s.peer {
		r.dropStaging("refused")
		return
	}
	if !p.active || int(m.From) != p.peer || m.Round != p.no {
		return
	}
	earliest := m.FromOp
	switch {
	case earliest <= p.next || p.hole:
		r.failPull("refused")
	case earliest <= r.log.head.Op, earliest == r.log.head.Op+1 && !p.doubt:
		// What lies below is held here; the chain above shows whether it belongs. In doubt it was found not to fit the head.
		p.floor = earliest
		r.endPull("trimmed at the peer")
		p.retryAt = r.tick
	case r.errs(mistake.RepairNeverFinal): // the whole window is not here yet
	default:
		r.endPull("does not connect")
		r.startStaging(int(m.From))
	}
}

func (r *Replica) finishPull() {
	p := &r.pull
	p.failures, p.avoid = 0, NoPrimary
	if !p.hole { // what is known of the ops above commit is no matter of a hole below
		p.doubt, p.floor = false, 0
	}
	p.active, p.retryAt = false, 0
	r.pauseHoles()
}

// failPull ends a pull that got stuck, and turns to somebody else after a growing pause.
func (r *Replica) failPull(why string) {
	p := &r.pull
	p.avoid = p.peer
	p.failures++
	r.endPull(why)
	if p.hole { // what else is missing must not wait for it
		p.retryAt = r.tick
		return
	}
	p.retryAt = r.tick + min(uint64(p.failures)*r.cfg.BeatTicks*3, r.cfg.StallTicks)
}

// endPull ends a pull before its target; the next tick begins another where one is needed.
func (r *Replica) endPull(why string) {
	r.pull.active = false
	r.pauseHoles()
	r.brokenEpisode(why)
}

// askPrepares repairs what is not known to be committed: from the primary of this view only, as
// prepares, once the head has stood still for a beat or a later op shows the hole.
func (r *Replica) askPrepares() {
	if !r.normal() || r.lead.leading || r.primary(r.view) == r.cfg.Self || r.diskBehind() || r.missing() {
		return
	}
	head, to := max(r.log.head.Op, r.hollow.head.Op), r.follow.head.Op
	if low := r.kept.lowest(); low > 0 {
		to = low - 1
	}
	if to <= head || r.tick-r.follow.headSince < r.askPause() {
		return
	}
	r.follow.headSince = r.tick
	r.follow.asked++
	r.beginEpisode(false, head+1, to, r.primary(r.view))
	r.send(r.primary(r.view), Message{Kind: MsgAskPrepares, FromOp: head + 1, ToOp: min(to, head+r.cfg.PipelineOps)})
}

// askPause is how long the head must stand still before prepares are asked for: a beat, and four times
// as long each time that it brought nothing, for the primary may have no disk to read them from yet.
func (r *Replica) askPause() uint64 {
	return min(r.cfg.BeatTicks<<min(2*r.follow.asked, 16), r.cfg.StallTicks)
}

func (r *Replica) onAskPrepares(m *Message) {
	if !r.lead.leading || m.View != r.view {
		return
	}
	if m.FromOp == 0 || m.ToOp < m.FromOp || m.ToOp-m.FromOp >= r.cfg.PipelineOps {
		r.absurd++
		return
	}
	for op := m.FromOp; op <= min(m.ToOp, r.log.head.Op); op++ {
		if h := r.log.at(op); h != nil && !r.log.hole(op) {
			r.send(int(m.From), Message{Kind: MsgPrepare, Header: *h})
		}
	}
}
