package sim

import "rejoin/server/vsr"

// fate is what becomes of a message. The zero fate: it goes its way.
type fate struct {
	drop  bool
	keep  bool // until the script releases it
	copy  bool // and it goes its way too
	delay int64
}

// rule gives messages a fate.
type rule struct {
	which filter
	fate  fate
}

// fateOf decides about a message that is being sent. Without a script messages go their way.
func (r *scriptRun) fateOf(m *vsr.Message) fate {
	if r == nil {
		return fate{}
	}
	f := fate{}
	for i := range r.rules {
		if r.rules[i].which.takes(m) {
			f = r.rules[i].fate
		}
	}
	if !f.drop {
		r.count(m)
	}
	for i := range r.shown {
		if r.shown[i].takes(m) {
			r.text.message(m, f)
			break
		}
	}
	return f
}

func (r *scriptRun) count(m *vsr.Message) {
	for i := range r.sent {
		if s := &r.sent[i]; s.m.Kind == m.Kind && s.m.From == m.From && s.m.To == m.To {
			s.times++
			return
		}
	}
	r.sent = append(r.sent, sentMessages{vsr.Message{Kind: m.Kind, From: m.From, To: m.To}, 1})
}

// release lets everything that was kept arrive, in the order in which it was sent.
func (r *scriptRun) release() {
	kept := r.kept
	r.kept = nil
	for _, arrive := range kept {
		arrive()
	}
}

// observe takes note of an event, and writes those that matter.
func (r *scriptRun) observe(node int, e *vsr.Event) {
	if r == nil {
		return
	}
	r.events[node][e.Kind]++
	if len(r.shown) > 0 {
		r.text.event(node, e)
	}
}

// goesOn gives a message that is to arrive at a time its fate; false: it does not go the common way.
func (r *scriptRun) goesOn(f fate, at int64, to *process, arrive func(*process)) bool {
	n := &r.w.net
	if f.keep {
		r.kept = append(r.kept, func() { n.lateAt(r.w.now, to, arrive) })
	}
	if f.delay > 0 {
		n.lateAt(at+f.delay, to, arrive)
	}
	return f.copy
}

// cut parts two replicas: their link goes down, what is under way is lost, and no new life of one is known to
// the other.
func (r *scriptRun) cut(i, j int) {
	n := &r.w.net
	n.cut[i][j], n.cut[j][i] = true, true
	c := n.conns[i][j]
	if c == nil {
		return
	}
	for _, s := range c.ends {
		if s.p.alive() {
			n.drop(c, s.p, false)
		}
	}
}

// mend lets two replicas connect again.
func (r *scriptRun) mend(i, j int) {
	n := &r.w.net
	n.cut[i][j], n.cut[j][i] = false, false
}
