package vsr

import (
	"fmt"

	"rejoin/server/internal/mistake"
)

// viewChange is the way from a raised view to a started one.
type viewChange struct {
	active   bool
	began    uint64
	patience uint64            // ticks that a view gets to show progress before it is given up
	votes    [ReplicasMax]vote // none of a life that is known to be over
	chosen   bool
	voted    bool   // sent a do_view_change already; it is repeated more slowly
	alone    bool   // raised without asking anybody: only OfferGateByView does that
	progress uint64 // of this replica as primary-to-be, to tell whether it moves
}

// vote is a do_view_change for the present view, kept by its primary-to-be.
type vote struct {
	given   bool
	boot    uint64 // of the life that gave it
	logView uint64
	commit  ID
	top     ID
	slots   []Slot // of (commit, top]
}

// at returns the op of this number above commit, if the vote names one.
func (v *vote) at(op uint64) *Header {
	if !v.given || op <= v.commit.Op || op > v.top.Op || !v.slots[op-v.commit.Op-1].Known {
		return nil
	}
	return &v.slots[op-v.commit.Op-1].Header
}

func (c *viewChange) forget(peer int) { c.votes[peer] = vote{} }

const patienceTicksMax = 400

// raise is the decision of a quorum to go on to view v; join follows somebody who has.
func (r *Replica) raise(v uint64, why string) {
	r.event(Event{Kind: EventViewChangeBegin, View: v, Peer: r.primary(v), Reason: why})
	r.setView(v)
}

func (r *Replica) join(v uint64) {
	r.event(Event{Kind: EventViewChangeBegin, View: v, Peer: r.primary(v), Reason: "heard of the view"})
	r.setView(v)
}

func (r *Replica) setView(v uint64) {
	if v <= r.view {
		panic(fmt.Sprintf("vsr: view %d after %d", v, r.view))
	}
	r.leave("view change")
	patience := r.cfg.SuspectTicks
	began := r.tick
	if r.change.active {
		patience, began = min(2*r.change.patience, patienceTicksMax), r.change.began
	}
	r.view = v
	r.change = viewChange{active: true, began: began, patience: patience}
	r.election.running = false
	r.adopt = adoption{}
	r.dropKept()
	r.suspectFresh()
	r.save(r.asked.LogView)
}

// tickViewChange repeats, whatever brought this replica here, what asks for a started view.
func (r *Replica) tickViewChange() {
	if r.view == 0 || r.normal() || r.saved.View != r.view {
		return
	}
	if r.view == r.bootView && r.errs(mistake.ForgottenEndIsReached) {
		r.save(r.view)
		return
	}
	r.repeatViewChange()
	if r.primary(r.view) != r.cfg.Self || r.view <= r.bootView || r.saved.Wiped {
		return // it cannot start this view: nobody should wait for it
	}
	if p := r.startingProgress(); p != r.change.progress || r.adopt.waiting {
		r.change.progress = p
		r.follow.silent = 0
	}
	if r.tick%r.cfg.BeatTicks == 0 {
		r.broadcast(Message{Kind: MsgBeat, Starting: true, Waiting: r.adopt.waiting, Progress: r.startingProgress(), Goal: r.adopt.end.Op})
	}
}

// startingProgress moves while votes or ops of the new log arrive.
func (r *Replica) startingProgress() uint64 {
	p := r.log.head.Op + r.adopt.arrived
	for i := range r.change.votes {
		if r.change.votes[i].given {
			p++
		}
	}
	return p
}

func (r *Replica) repeatViewChange() {
	if r.adopt.active || r.change.alone { // its end is known; from here the tick of adoption works
		return
	}
	primary := r.primary(r.view)
	if primary == r.cfg.Self {
		r.broadcast(Message{Kind: MsgStartViewChange})
		r.choose()
		return
	}
	if !r.saved.Wiped {
		r.broadcast(Message{Kind: MsgStartViewChange})
		if c := &r.change; r.mayVote() && (!c.voted || r.tick%r.cfg.BeatTicks == 0) {
			c.voted = true
			r.send(primary, Message{Kind: MsgDoViewChange, Head: r.voteTop(), Slots: r.voteSlots(), Lives: r.lives})
		}
	}
	r.send(primary, Message{Kind: MsgAskStartView})
}

// mayVote tells whether a vote can say all that it must: what lies above commit is at most a
// pipeline. It is more only where damage took more than that; those ops are pulled first.
func (r *Replica) mayVote() bool { return r.log.top.Op-r.log.commit.Op <= r.cfg.PipelineOps }

// voteTop is the highest op that this replica's log may contain, as a vote tells it.
func (r *Replica) voteTop() ID {
	if r.hollowed() {
		return r.hollow.head
	}
	return r.log.top
}

// voteSlots lists (commit, top]: the header of what is held, "damaged" for the rest.
func (r *Replica) voteSlots() []Slot {
	if r.hollowed() {
		return r.hollowSlots()
	}
	l := &r.log
	slots := make([]Slot, 0, l.top.Op-l.commit.Op)
	for op := l.commit.Op + 1; op <= l.top.Op; op++ {
		if h := l.at(op); h != nil {
			slots = append(slots, Slot{Known: true, Header: *h})
		} else {
			slots = append(slots, Slot{})
		}
	}
	return slots
}

func (r *Replica) onStartViewChange(m *Message) {
	switch {
	case m.View > r.view:
		r.join(m.View)
	case m.View == r.view && r.lead.leading:
		r.sendStartView(int(m.From))
	case m.View < r.view:
		r.tellView(int(m.From))
	}
}

// tellView tells a peer in an older view of this one. It must, where nothing is repeated any more: who has adopted
// the log of the view may wait for an op that only the primary had, which is gone, while the primary-to-be of the older view waits, too.
func (r *Replica) tellView(to int) {
	if r.saved.View == r.view && (r.normal() || r.adopt.active) {
		r.send(to, Message{Kind: MsgStartViewChange})
	}
}

func (r *Replica) onAskStartView(m *Message) {
	if m.View > r.view && r.primary(m.View) == r.cfg.Self {
		r.join(m.View)
	} else if m.View == r.view && r.lead.leading {
		r.sendStartView(int(m.From))
	}
}

func (r *Replica) sendStartView(to int) {
	r.send(to, Message{Kind: MsgStartView, Head: r.log.head, Slots: r.voteSlots()})
}

func (r *Replica) onDoViewChange(m *Message) {
	if r.primary(m.View) != r.cfg.Self || m.View < r.view {
		return
	}
	if m.View > r.view {
		r.join(m.View)
	}
	if r.lead.leading {
		r.sendStartView(int(m.From))
		return
	}
	if r.normal() || !r.validSlots(m, false) {
		return
	}
	r.change.votes[m.From] = vote{given: true, boot: m.Incarnation.Boot, logView: m.LogView, commit: m.Commit, top: m.Head, slots: m.Slots}
	r.learnLives(&m.Lives)
	r.choose()
}

// validSlots holds the ops of a vote or a start_view against their form: consecutive, chained,
// ending in the head named, no more than a pipeline.
func (r *Replica) validSlots(m *Message, allKnown bool) bool {
	if m.Head.Op < m.Commit.Op || m.Head.Op-m.Commit.Op > r.cfg.PipelineOps || uint64(len(m.Slots)) != m.Head.Op-m.Commit.Op {
		return false
	}
	parent, certain := m.Commit.Sum, true
	for i := range m.Slots {
		s := &m.Slots[i]
		if !s.Known {
			if allKnown {
				return false
			}
			certain = false
			continue
		}
		h := &s.Header
		if h.Op != m.Commit.Op+1+uint64(i) || h.Group != r.cfg.Group || h.Cluster != r.cfg.Cluster || (certain && h.Parent != parent) {
			return false
		}
		parent, certain = h.Sum, true
	}
	return !certain || parent == m.Head.Sum
}

// choose takes the log of one replica of a quorum, whole: the one with the largest log_view, and of
// those the longest. What is known only under a smaller log_view cannot have been committed.
func (r *Replica) choose() {
	c := &r.change
	if r.saved.View != r.view || r.view <= r.bootView || r.saved.Wiped || r.primary(r.view) != r.cfg.Self {
		return
	}
	if !c.chosen {
		if !r.mayVote() {
			return
		}
		c.votes[r.cfg.Self] = vote{given: true, boot: r.cfg.Incarnation.Boot, logView: r.saved.LogView, commit: r.log.commit, top: r.voteTop(), slots: r.voteSlots()}
	}
	given, best, floor := 0, r.cfg.Self, ID{}
	for i := range r.cfg.Replicas {
		v := &c.votes[i]
		if !v.given {
			continue
		}
		given++
		if v.betterThan(&c.votes[best]) {
			best = i
		}
		if v.commit.Op > floor.Op {
			floor = v.commit
		}
	}
	if given < r.quorum() {
		return
	}
	v := &c.votes[best]
	if c.chosen && !r.outdoes(v) {
		return
	}
	c.chosen = true
	damage := r.adopt.damage
	r.dropKept()
	r.beginAdoption(best, v.commit, v.top, v.slots, floor)
	r.adopt.chosen, r.adopt.logView, r.adopt.damage = true, v.logView, max(damage, r.adopt.damage)
}

// outdoes tells whether a vote that came later takes the place of the one whose log is being adopted: of a larger
// quorum, too, it is the largest log_view that counts. What was chosen before may hold ops that nobody can give,
// and that this one shows to be of no use. What this replica has cut meanwhile was not committed, and its own vote
// stands as it was.
func (r *Replica) outdoes(v *vote) bool {
	return r.adopt.active && r.asked.LogView < r.view && v.logView > r.adopt.logView
}

func (v *vote) betterThan(w *vote) bool {
	if v.logView != w.logView {
		return v.logView > w.logView
	}
	return v.top.Op > w.top.Op
}

// onStartView adopts the log of a started view. For a view that this log is already of it is a
// no-op: a late duplicate must not cut what was acknowledged since.
func (r *Replica) onStartView(m *Message) {
	if m.View < r.view || m.From != uint8(r.primary(m.View)) || m.LogView != m.View {
		return
	}
	if m.View > r.view {
		r.join(m.View)
	}
	started := r.saved.LogView >= m.View || r.asked.LogView >= m.View
	if started && !r.errs(mistake.DuplicateStartViewCuts) || !r.validSlots(m, true) {
		return
	}
	r.heardPrimary()
	r.follow.head = m.Head
	if !r.adopt.active {
		r.beginAdoption(int(m.From), m.Commit, m.Head, m.Slots, m.Commit)
	}
}

// enterView begins normal operation: log_view = view is durable.
func (r *Replica) enterView() {
	if r.change.active {
		r.event(Event{Kind: EventViewChangeEnd, Peer: r.primary(r.view), ToOp: r.log.head.Op, Ticks: r.tick - r.change.began})
	}
	holds := r.holdsAdopted()
	r.change = viewChange{patience: r.cfg.SuspectTicks}
	r.adopt = adoption{}
	r.follow.silent, r.follow.acked = 0, ID{}
	if r.primary(r.view) != r.cfg.Self {
		r.event(Event{Kind: EventRole, Peer: r.primary(r.view), Reason: "backup"})
		return
	}
	if r.view <= r.bootView {
		r.follow.missingNow, r.follow.restarted = true, true
		return
	}
	if !holds { // damage was met, or committed ops of a later view came, while log_view was being saved
		r.stepDown("lost part of the adopted log before it could lead")
		return
	}
	if r.stage.active && !r.stage.installing { // its log is what the view is about
		r.dropStaging("leads")
	}
	r.startLeading()
}
