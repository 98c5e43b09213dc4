package vsr

// wipedRecovery is how a replica that has forgotten what it acknowledged earns its vote back: it
// must hold everything up to the head of the present primary, as told to this very incarnation,
// with a quorum of others having answered it. Until then it neither votes nor acknowledges nor
// denies.
type wipedRecovery struct {
	told [ReplicasMax]told
	need ID // head that must be held; Op 0 with a zero Sum until it is known
}

type told struct {
	given, leading bool
	view           uint64
	head           ID
}

func (w *wipedRecovery) forget(peer int) { w.told[peer] = told{}; w.need = ID{} }

func (r *Replica) tickWiped() {
	if !r.saved.Wiped {
		return
	}
	w := &r.wiped
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
	if r.asked.Wiped {
		r.asked.Wiped = false
		r.emit(Effect{Kind: EffSave, State: r.asked})
		r.event(Event{Kind: EventWiped, Peer: NoPrimary, ToOp: w.need.Op, Reason: "holds the primary's head again; votes and acknowledges from now on"})
	}
}

func (r *Replica) onAskHead(m *Message) {
	if r.saved.Wiped {
		return
	}
	r.send(int(m.From), Message{Kind: MsgTellHead, Head: r.log.head, Leading: r.lead.leading})
}

func (r *Replica) onTellHead(m *Message) {
	w := &r.wiped
	if !r.saved.Wiped || w.need != (ID{}) {
		return
	}
	w.told[m.From] = told{given: true, leading: m.Leading, view: m.View, head: m.Head}
	given, highest, primary := 0, uint64(0), NoPrimary
	for i := range r.cfg.Replicas {
		t := &w.told[i]
		if !t.given || i == r.cfg.Self {
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
		w.need = t.head // not a commit: what lies above the primary's commit comes as prepares
	}
}
