package vsr

import (
	"fmt"

	"rejoin/server/internal/mistake"
)

// waiter is a request that waits for a primary, for the view's inherited ops to commit, or for room
// in the pipeline.
type waiter struct {
	token    uint64
	header   Header
	register bool
	now      int64
	until    uint64 // tick
}

func (r *Replica) onRequest(in *Input) {
	w := waiter{token: in.Token, header: in.Header, register: in.Kind == InRegister, now: in.Now, until: r.tick + r.cfg.HoldTicks}
	if w.register {
		w.header = Header{Kind: KindRegister, Client: in.Header.Client, BodySum: in.Header.BodySum}
	}
	if r.hasPrimary() {
		r.reply(w.token, OutcomeNotPrimary, nil, "")
		return
	}
	if len(r.waiting) == 0 && r.admit(&w) {
		return
	}
	if len(r.waiting) >= r.cfg.WaitingMax {
		r.reply(w.token, OutcomeBusy, nil, "too many requests wait")
		return
	}
	r.waiting = append(r.waiting, w)
}

// onForget lets go of a client that is no longer there. Its op, if it has one, stays.
func (r *Replica) onForget(token uint64) {
	for i := range r.waiting {
		if r.waiting[i].token == token {
			r.waiting = append(r.waiting[:i], r.waiting[i+1:]...)
			return
		}
	}
	for i := range r.lead.parked {
		if r.lead.parked[i].token == token {
			r.lead.parked = append(r.lead.parked[:i:i], r.lead.parked[i+1:]...)
			return
		}
	}
	for i := range r.lead.readers {
		if r.lead.readers[i].token == token {
			r.lead.readers = append(r.lead.readers[:i:i], r.lead.readers[i+1:]...)
			return
		}
	}
}

// admitWaiting serves who waits, in order, as far as it goes.
func (r *Replica) admitWaiting() {
	if len(r.waiting) == 0 {
		return
	}
	if r.hasPrimary() {
		for i := range r.waiting {
			r.reply(r.waiting[i].token, OutcomeNotPrimary, nil, "")
		}
		r.waiting = r.waiting[:0]
		return
	}
	n := 0
	for n < len(r.waiting) && r.admit(&r.waiting[n]) {
		n++
	}
	r.waiting = append(r.waiting[:0], r.waiting[n:]...)
}

func (r *Replica) tickWaiting() {
	left := r.waiting[:0]
	for _, w := range r.waiting {
		if r.tick >= w.until {
			r.reply(w.token, OutcomeBusy, nil, r.busyWith())
		} else {
			left = append(left, w)
		}
	}
	r.waiting = left
}

func (r *Replica) busyWith() string {
	switch {
	case !r.lead.leading:
		return "no primary yet"
	case r.log.commit.Op < r.lead.startHead:
		return fmt.Sprintf("a quorum is catching up on what the view inherited: op %d of %d is committed", r.log.commit.Op, r.lead.startHead)
	}
	return "the pipeline is full"
}

// admit decides about one request; false: it must wait.
func (r *Replica) admit(w *waiter) bool {
	if !r.lead.leading || r.log.commit.Op < r.lead.startHead && !r.errs(mistake.HollowHead) {
		return false
	}
	if !w.register && r.answered(w) {
		return true
	}
	if r.diskFull {
		r.reply(w.token, OutcomeDiskFull, nil, "")
		return true
	}
	if o := r.refusal(); o != 0 {
		r.reply(w.token, o, nil, "the log cannot take more: see /health")
		return true
	}
	if r.stage.active { // a primary that was still taking over a chain when its view started
		return false
	}
	if r.log.head.Op+1 > r.log.commit.Op+r.cfg.PipelineOps {
		return false
	}
	r.prepare(w)
	return true
}

// answered holds a request against the client table and against every uncommitted op of the log,
// and answers or parks it when it is not new.
func (r *Replica) answered(w *waiter) bool {
	h := &w.header
	for op := r.log.head.Op; op > r.log.commit.Op; op-- {
		u := r.log.at(op)
		if u.Kind != KindBatch || u.Session != h.Session || u.Request < h.Request {
			continue
		}
		switch {
		case u.Request > h.Request:
			r.reply(w.token, OutcomeSuperseded, nil, "")
		case u.BodySum != h.BodySum || u.Client != h.Client:
			r.reply(w.token, OutcomeDiffers, nil, "")
		default:
			r.park(u.ID(), w.token)
		}
		return true
	}
	s := r.tab.find(h.Session)
	switch {
	case s == nil || s.Last.Client != h.Client:
		r.confirm(reader{token: w.token, outcome: OutcomeEvicted}) // a primary that was deposed and does not know it must not say so
	case s.Last.Kind == KindRegister || s.Last.Request < h.Request:
		return false
	case s.Last.Request > h.Request:
		r.reply(w.token, OutcomeSuperseded, nil, "")
	case s.Last.BodySum != h.BodySum:
		r.reply(w.token, OutcomeDiffers, nil, "")
	default:
		r.reply(w.token, OutcomeCommitted, &s.Last, "")
	}
	return true
}

// prepare stamps the request as the next op, appends it and sends it out.
func (r *Replica) prepare(w *waiter) {
	l := &r.log
	h := &r.sealing // what a function value is given would else be allocated for each op
	*h = w.header
	h.Parent, h.Cluster, h.Group = l.head.Sum, r.cfg.Cluster, r.cfg.Group
	h.View, h.Op, h.BaseOffset = r.view, l.head.Op+1, l.offset
	h.Timestamp = w.now
	h.Timestamp = max(h.Timestamp, l.clock)
	r.cfg.Seal(h)
	r.append(h, w.token)
	r.park(h.ID(), w.token)
	r.broadcast(Message{Kind: MsgPrepare, Header: *h})
}
