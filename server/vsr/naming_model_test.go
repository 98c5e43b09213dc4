package vsr

import "math/rand/v2"

// model is a group whose replicas are only logs: what views, adoptions that end early, and damage can leave them with,
// and what is committed meanwhile. The first ops are committed everywhere.
type model struct {
	rng       *rand.Rand
	replicas  []*modelled
	view      uint64
	leader    int
	committed chain
}

type modelled struct {
	logView, view uint64
	log           chain
	top           ID // of damage on record above the log; else the log's last
	commit        uint64
}

const modelBase = 4

func newModel(seed uint64) *model {
	m := &model{rng: rand.New(rand.NewPCG(seed, 0)), view: 1, leader: 1, committed: of(modelBase)}
	for range 3 + 2*m.rng.IntN(2) {
		m.replicas = append(m.replicas, &modelled{logView: 1, view: 1, log: of(modelBase), top: of(modelBase).id(modelBase), commit: modelBase})
	}
	for range 10 + m.rng.IntN(30) {
		m.step()
		m.note()
	}
	return m
}

func (m *model) quorum() int { return len(m.replicas)/2 + 1 }

func (m *model) any() *modelled { return m.replicas[m.rng.IntN(len(m.replicas))] }

func (m *model) normal(r *modelled) bool { return r.view == m.view && r.logView == m.view }

func (m *model) step() {
	r, leader := m.any(), m.replicas[m.leader]
	leads := m.normal(leader) && !leader.damaged()
	switch m.rng.IntN(8) {
	case 0, 1:
		if leads {
			leader.hold(leader.log.on(1, m.view))
		}
	case 2, 3:
		if n := len(r.log); leads && m.normal(r) && n < len(leader.log) && common(r.log, leader.log) == n {
			r.hold(leader.log[:n+1])
		}
	case 4:
		if n := len(r.log); n > modelBase && m.rng.IntN(2) == 0 {
			if from := modelBase + m.rng.IntN(n-modelBase); r.commit <= uint64(from) {
				r.log = r.log[:from:from] // its top stays on record
			}
		}
	case 5:
		if n := uint64(common(r.log, m.committed)); r.logView == m.view && n > r.commit {
			r.commit = n
		}
	case 6:
		m.change()
	case 7:
		if leads && r.logView < m.view && r != leader {
			r.adopt(leader.log, m.view, m.fetched())
		}
	}
}

// fetched is how many ops of an adopted log come before the next view begins; mostly all.
func (m *model) fetched() int {
	if m.rng.IntN(2) == 0 {
		return m.rng.IntN(3)
	}
	return 1000
}

// change lets a quorum go on to a view of one of them. It starts where the chosen log is held by its owner.
func (m *model) change() {
	voters := m.rng.Perm(len(m.replicas))[:m.quorum()]
	m.leader = voters[0]
	for m.view++; m.view%uint64(len(m.replicas)) != uint64(m.leader); {
		m.view++
	}
	best := m.replicas[m.leader]
	for _, i := range voters {
		r := m.replicas[i]
		r.view = m.view
		if r.logView > best.logView || r.logView == best.logView && r.top.Op > best.top.Op {
			best = r
		}
	}
	if !best.damaged() {
		m.replicas[m.leader].adopt(append(chain(nil), best.log...), m.view, m.fetched())
	}
}

// note finds what is committed: what a quorum holds in the view that they are all in.
func (m *model) note() {
	leader := m.replicas[m.leader]
	for op := len(m.committed); m.normal(leader) && op < len(leader.log); op++ {
		holders := 0
		for _, r := range m.replicas {
			if m.normal(r) && common(r.log, leader.log) > op {
				holders++
			}
		}
		if holders < m.quorum() {
			return
		}
		m.committed = append(chain(nil), leader.log[:op+1]...)
	}
}

// next is the first view of a replica that nobody has been in.
func (m *model) next(replica int) uint64 {
	view := m.view + 1
	for view%uint64(len(m.replicas)) != uint64(replica) {
		view++
	}
	return view
}

func common(a, b chain) (n int) {
	for n < len(a) && n < len(b) && a[n].Sum == b[n].Sum {
		n++
	}
	return n
}

func (r *modelled) damaged() bool { return r.top.Op > uint64(len(r.log)) }

func (r *modelled) hold(c chain) {
	r.log = append(chain(nil), c...)
	if last := c.id(uint64(len(c))); last.Op >= r.top.Op {
		r.top = last
	}
}

// adopt takes so many ops of a log of a view. Damage stays on record as far as the log reaches, if all that was held fits.
func (r *modelled) adopt(c chain, view uint64, ops int) {
	n := common(r.log, c)
	if last := c.id(uint64(len(c))); n < len(r.log) {
		r.top = c.id(uint64(n))
	} else if r.top.Op > last.Op {
		r.top = last
	}
	r.hold(c[:min(n+ops, len(c))])
	if r.view = view; len(r.log) == len(c) {
		r.logView = view
	}
}

// answer is what a replica sends for a fetch or a pull; nothing where it cannot tell.
func (r *modelled) answer(m *Message) (answers []Message) {
	switch op := m.Ack.Op; {
	case m.Kind == MsgPull && m.ToOp > r.commit:
		return []Message{{Kind: MsgPullRefused, Round: m.Round}}
	case m.Kind == MsgPull:
		for _, h := range r.log[m.FromOp-1 : m.ToOp] {
			answers = append(answers, Message{Kind: MsgChunk, Round: m.Round, Header: h})
		}
	case m.Kind != MsgFetch:
	case op <= uint64(len(r.log)) && r.log.id(op) == m.Ack:
		return []Message{{Kind: MsgFetched, Header: r.log[op-1]}}
	case op > r.commit && (op <= uint64(len(r.log)) || op > r.top.Op):
		return []Message{{Kind: MsgNotHeld, Ack: m.Ack}}
	}
	return answers
}

func (r *modelled) vote() Message {
	slots := r.log.slots(r.commit, uint64(len(r.log)))
	return Message{Kind: MsgDoViewChange, Head: r.top, Slots: append(slots, make([]Slot, r.top.Op-uint64(len(r.log)))...)}
}
