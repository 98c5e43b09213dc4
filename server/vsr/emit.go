package vsr

func (r *Replica) emit(e Effect) { r.out = append(r.out, e) }

func (r *Replica) event(e Event) {
	e.LogView = r.saved.LogView
	if e.View == 0 {
		e.View = r.view
	}
	r.emit(Effect{Kind: EffEvent, Event: e})
}

// send fills the envelope. While a raised view is not yet durable nothing may speak for it, and
// nothing may speak against it either: only what is about committed ops goes out.
func (r *Replica) send(to int, m Message) {
	if to == r.cfg.Self {
		panic("vsr: message to itself")
	}
	if r.saved.View != r.view && !m.Kind.viewless() {
		return
	}
	m.Group, m.From, m.To, m.Incarnation = r.cfg.Group, uint8(r.cfg.Self), uint8(to), r.cfg.Incarnation
	m.View, m.LogView, m.Commit = r.saved.View, r.saved.LogView, r.log.commit
	r.emit(Effect{Kind: EffSend, Msg: m})
}

// viewless kinds mean the same whatever the view: they are about ops by checksum, or committed ones.
func (k MessageKind) viewless() bool {
	switch k {
	case MsgFetch, MsgFetched, MsgPull, MsgChunk, MsgPullRefused, MsgAskHead, MsgTable:
		return true
	}
	return false
}

func (r *Replica) broadcast(m Message) {
	for to := range r.cfg.Replicas {
		if to != r.cfg.Self {
			r.send(to, m)
		}
	}
}

func (r *Replica) reply(token uint64, o Outcome, h *Header, detail string) {
	if token == 0 {
		return
	}
	e := Effect{Kind: EffReply, Token: token, Outcome: o, Primary: r.Primary(), Detail: detail}
	if h != nil {
		e.Header = *h
	}
	r.emit(e)
}

// save hands the state to the disk: view as it is now, log_view as given, which never falls.
func (r *Replica) save(logView uint64) {
	s := State{View: r.view, LogView: max(logView, r.asked.LogView), Wiped: r.asked.Wiped, Kept: r.asked.Kept, Lives: r.lives}
	if s == r.asked {
		return
	}
	r.asked = s
	r.emit(Effect{Kind: EffSave, State: s})
}

func (r *Replica) onStateSaved(s State) {
	if s.View < r.saved.View || s.LogView < r.saved.LogView {
		panic("vsr: a state was saved that goes back")
	}
	before := r.normal()
	r.saved = s
	if !before && r.normal() {
		r.enterView()
	}
	if r.view > 0 && r.saved.View == r.view && !r.normal() {
		r.repeatViewChange()
	}
}

// append puts h at the end of the log; its frame is at hand. The shell writes it.
func (r *Replica) append(h *Header, token uint64) {
	r.log.append(h)
	r.emit(Effect{Kind: EffAppend, Header: *h, Token: token})
}

// appendPulled is append for what the running pull has brought.
func (r *Replica) appendPulled(h *Header) {
	r.log.append(h)
	r.emit(Effect{Kind: EffAppend, Header: *h, Bulk: r.pull.bulk})
}

// cutTo drops every op above op, damaged ones too.
func (r *Replica) cutTo(op uint64) { r.cutKeeping(op, ID{}) }

// cutKeeping drops every op above op, but keeps on record that ops up to top may have been held.
func (r *Replica) cutKeeping(op uint64, top ID) {
	before := r.log.top
	if op >= before.Op {
		return
	}
	head := r.log.head
	r.log.cut(min(op, head.Op), top)
	if r.log.head == head && r.log.top == before {
		return
	}
	r.cuts++
	r.emit(Effect{Kind: EffCut, ID: r.log.head, Top: r.log.top})
}

func (r *Replica) onCutDone(id ID) {
	r.cuts--
	if r.cuts < 0 {
		panic("vsr: a cut came back that was not asked for")
	}
	r.onStable(id)
}

// onStable takes a completion of the disk. While a cut is under way a completion may speak of an op
// that was dropped and has been appended again since.
func (r *Replica) onStable(id ID) {
	if r.cuts > 0 || id.Op <= r.log.stable.Op {
		return
	}
	if have, ok := r.log.id(id.Op, r.cfg.RootSum); ok && have == id {
		r.log.stable = id
		r.lead.syncedAt = r.tick
	}
}
