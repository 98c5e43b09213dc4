package vsr

import "rejoin/server/internal/mistake"

// onPrepare takes an op only from the primary of this replica's own view, said by the envelope, and
// only when this log is that view's.
func (r *Replica) onPrepare(m *Message) {
	h := &m.Header
	view, from := m.View, int(m.From)
	if r.errs(mistake.FrameViewIsSender) && h.View <= r.view { // an inherited op that is sent again bears an older view, too
		view, from = r.view, r.primary(r.view)
	}
	if view > r.view && from == r.primary(view) {
		r.join(view)
		return
	}
	if view != r.view || from != r.primary(r.view) || !r.normal() || r.lead.leading {
		return
	}
	if h.Group != r.cfg.Group || h.Cluster != r.cfg.Cluster {
		return
	}
	r.heardPrimary()
	r.follow.commit = max(r.follow.commit, m.Commit.Op)
	r.countRepaired(h)
	if r.hollowed() {
		r.prepareHollow(h)
		return
	}
	switch {
	case h.Op <= r.log.head.Op:
		if have, ok := r.log.id(h.Op, r.cfg.RootSum); ok && have != h.ID() {
			if h.Op <= r.log.commit.Op { // committed in a later view: this primary was deposed
				return
			}
			r.fence("prepares in the view of both", int(m.From), h.Op)
			return
		}
		r.follow.acked = ID{} // acknowledge again
	case r.diskBehind(): // repair brings it when the disk has caught up
	case r.log.fits(h) && !r.stage.installing && h.Op <= m.Commit.Op+r.cfg.PipelineOps:
		r.append(h, 0)
	default:
		r.keep(h)
	}
}

// diskBehind tells that this disk does not keep up: what comes beyond it would only fill memory.
func (r *Replica) diskBehind() bool { return r.log.head.Op-r.log.stable.Op > r.cfg.RingOps }

// onBeat hears the primary, also one that is still starting its view.
func (r *Replica) onBeat(m *Message) {
	from := int(m.From)
	if from != r.primary(m.View) {
		return
	}
	if m.View < r.view { // deposed, and perhaps does not know
		r.tellView(from)
		return
	}
	if m.View > r.view {
		r.join(m.View)
		return
	}
	f := &r.follow
	if m.Starting {
		if m.Progress != f.starting || m.Waiting {
			f.starting = m.Progress
			r.heardPrimary()
		}
		return
	}
	r.heardPrimary()
	if m.LogView != m.View {
		return
	}
	f.head = m.Head
	f.commit = max(f.commit, m.Commit.Op)
	f.offset = m.Goal
	round := m.Round
	if r.saved.Wiped { // it may have voted for a later view and have forgotten it: it cannot confirm a primary
		round = 0
	}
	r.send(from, Message{Kind: MsgBeatAck, Round: round, Head: r.log.head, Ack: r.voucher(), Progress: r.progress(), DiskFull: r.diskFull})
}

// progress moves while this replica catches up, whatever the way.
func (r *Replica) progress() uint64 {
	return r.log.head.Op + r.filled + (r.stage.next - r.stage.first)
}

// voucher is the gate in front of every prepare_ok, the primary's own included: the last op for
// which, with everything below it, this replica vouches; Op 0 if it may not.
func (r *Replica) voucher() ID {
	if !r.normal() || r.saved.Wiped || r.fenced || len(r.log.holes) > 0 {
		return ID{}
	}
	if r.hollowed() && r.hollow.ok.Op > 0 {
		return r.hollow.ok
	}
	return r.log.stable
}

// acknowledge sends a prepare_ok when there is more to vouch for than was said in this view.
func (r *Replica) acknowledge() {
	if !r.normal() || r.primary(r.view) == r.cfg.Self {
		return
	}
	v := r.voucher()
	if v.Op == 0 || v == r.follow.acked {
		return
	}
	if r.errs(mistake.EachOkByItself) {
		r.acknowledgeEach(v.Op)
	}
	r.follow.acked = v
	r.send(r.primary(r.view), Message{Kind: MsgPrepareOK, Ack: v})
}

// advanceCommit follows a quorum on the primary, and the primary on a backup: there only over ops
// that are proven to belong, which in a log of this view all are.
func (r *Replica) advanceCommit() {
	r.commitKnown(r.heard)
	if !r.normal() {
		return
	}
	if r.lead.leading {
		r.commitTo(r.quorumOp())
		return
	}
	if r.primary(r.view) != r.cfg.Self {
		r.commitTo(min(r.follow.commit, r.log.head.Op))
	}
}

// commitKnown follows a commit that was named with its checksum, where this log holds that very op.
func (r *Replica) commitKnown(id ID) {
	if id.Op <= r.log.commit.Op || id.Op > r.log.head.Op {
		return
	}
	if have, ok := r.log.id(id.Op, r.cfg.RootSum); ok && have == id {
		r.commitTo(id.Op)
	}
}

// commitTo lets ops up to op take effect.
func (r *Replica) commitTo(op uint64) {
	l := &r.log
	if op <= l.commit.Op {
		return
	}
	first := l.commit.Op + 1
	for n := first; n <= op; n++ {
		h := l.at(n)
		l.commit = h.ID()
		r.tab.commit(h)
	}
	if l.commit.Op > r.heard.Op {
		r.heard = l.commit
	}
	r.lead.commitAt = r.tick
	r.emit(Effect{Kind: EffCommit, ID: l.commit})
	for n := first; n <= op; n++ { // only now: whoever is answered must find what it wrote
		r.lead.committed(r, l.at(n))
	}
}
