package vsr

// wipedRecovery is how a replica that has forgotten what it acknowledged earns its vote back: it
// must hold everything up to the head of the present primary, as told to this very incarnation,
// with a quorum of others having answered it. Until then it neither votes nor acknowledges nor
// denies. The same holds of a replica of a replicated topic whose machine lost power, above what it
// had synced.
type wipedRecovery struct {
	told [ReplicasMax]told // none of a life that is known to be over
	need ID                // head that must be held; Op 0 with a zero Sum until it is known
}

type told struct {
	given, leading bool
	boot           uint64 // of the life that told it
	wiped          bool   // it has forgotten something itself; answers then say so
	view, logView  uint64
	head           ID
}

func (t *told) longerThan(u *told) bool {
	if t.logView != u.logView {
		return t.logView > u.logView
	}
	return t.head.Op > u.head.Op
}

func (w *wipedRecovery) forget(peer int) { w.told[peer] = told{}; w.need = ID{} }

func (r *Replica) tickWiped() {
	if !r.saved.Wiped {
		return
	}
	w := &r.wiped
	if r.cfg.Replicas == 1 { // there is nobody to ask
		r.startFromLoss()
	}
	if r.tick%10 == 1 && w.need == (ID{}) {
		r.broadcast(Message{Kind: MsgAskHead})
	}
	if w.need == (ID{}) || !r.normal() || len(r.log.holes) > 0 || r.log.stable.Op < w.need.Op {
		return
	}
	if have, ok := r.log.id(w.need.Op, r.cfg.RootSum); ok && have != w.need {
		w.need = ID{} // that head was given up by a later view; ask again
		return
	}
	r.trustAgain(w.need.Op, "holds the primary's head again; votes and acknowledges from now on")
}

// trustAgain ends the state of having forgotten, durably.
func (r *Replica) trustAgain(op uint64, why string) {
	if !r.asked.Wiped {
		return
	}
	r.asked.Wiped, r.asked.Kept, r.asked.Lives = false, 0, r.lives
	r.emit(Effect{Kind: EffSave, State: r.asked})
	r.event(Event{Kind: EventWiped, Peer: NoPrimary, ToOp: op, Reason: why})
}

// onAskHead answers a replica that has forgotten, once its life is saved here. Until then it asks again.
func (r *Replica) onAskHead(m *Message) {
	if r.remembers(int(m.From)) {
		r.send(int(m.From), Message{Kind: MsgTellHead, Head: r.log.head, Leading: r.lead.leading, Missing: r.saved.Wiped, Lives: r.lives})
	}
}

func (r *Replica) onTellHead(m *Message) {
	w := &r.wiped
	if !r.saved.Wiped || w.need != (ID{}) {
		return
	}
	w.told[m.From] = told{given: true, boot: m.Incarnation.Boot, leading: m.Leading, wiped: m.Missing, view: m.View, logView: m.LogView, head: m.Head}
	r.learnLives(&m.Lives)
	r.startFromLoss()
	given, highest, primary := 0, uint64(0), NoPrimary
	for i := range r.cfg.Replicas {
		t := &w.told[i]
		if !t.given || t.wiped || i == r.cfg.Self {
			continue
		}
		given++
		if t.view > highest || primary == NoPrimary {
			highest, primary = t.view, r.primary(t.view)
		}
	}
	if given < r.quorum() || primary == NoPrimary || primary == r.cfg.Self {
		return
	}
	if t := &w.told[primary]; t.given && t.leading && t.view == highest {
		if highest > r.view { // a deposed primary must not be vouched for: that view may have begun with this replica's vote
			r.join(highest)
		}
		w.need = t.head // not a commit: what lies above the primary's commit comes as prepares
	}
}

// startFromLoss lets a replicated topic go on after so many machines lost power at once that no quorum
// remembers what it acknowledged. Only with every replica present is it certain that nobody knows
// more. The longest log of all is trusted first and the others only once it is; then the pre-vote
// finds it, as ever. Acknowledged ops may be gone, and an event
// says so. A directory that was lost as a whole is never forgiven this way.
func (r *Replica) startFromLoss() {
	remember, best := 0, told{given: true, wiped: true, logView: r.saved.LogView, head: r.log.head}
	bestID := r.cfg.Self
	for i := range r.cfg.Replicas {
		t := &r.wiped.told[i]
		if i == r.cfg.Self {
			continue
		}
		if !t.given || !r.peers[i].up {
			return
		}
		if !t.wiped {
			remember++
		}
		if t.longerThan(&best) || !best.longerThan(t) && i < bestID {
			best, bestID = *t, i
		}
	}
	if bestID != r.cfg.Self && best.wiped {
		return // the longest log first: nobody may elect without it
	}
	if remember < r.quorum() && r.saved.Kept > 0 {
		r.trustAgain(r.log.head.Op, "acknowledged ops may be lost: too many replicas lost un-synced writes together; goes on with what is left")
	}
}
