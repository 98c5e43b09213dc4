package vsr

import "testing"

// primaryToBe starts a replica of a model anew, as the one whose turn it is to start a view.
func (m *model) primaryToBe(t *testing.T, self int) *rig {
	cfg := Default()
	cfg.Self, cfg.Replicas, cfg.Cluster, cfg.RootSum, cfg.Seal, cfg.Incarnation = self, len(m.replicas), 5, rootSum, seal, incarnation(self)
	me := m.replicas[self]
	commit, head := me.log.id(me.commit), me.log.id(uint64(len(me.log)))
	r, err := New(cfg, Boot{State: State{View: me.view, LogView: me.logView}, Commit: commit, Head: head, Top: me.top,
		Tail: me.log[me.commit-1:], Table: Table{ID: commit}, Offset: me.log[me.commit-1].NextOffset()})
	if err != nil {
		t.Fatal(err)
	}
	g := &rig{t: t, r: r}
	for i := range m.replicas {
		if i != self {
			g.step(Input{Kind: InHello, Peer: uint8(i), Incarnation: incarnation(i)})
			g.step(Input{Kind: InLinkUp, Peer: uint8(i)})
		}
	}
	return g
}

// told is a message of a replica of the model, for a view that it has saved.
func (m *model) told(g *rig, from int, view uint64, msg Message) {
	r := m.replicas[from]
	msg.From, msg.To, msg.Incarnation, msg.View, msg.LogView, msg.Commit = uint8(from), uint8(g.r.cfg.Self), incarnation(from), view, r.logView, r.log.id(r.commit)
	g.step(Input{Kind: InMessage, Msg: msg})
}

// serve lets ticks pass in which those who have voted answer most of what they are asked, and tells whether the view has started.
func (m *model) serve(g *rig, ticks int, view uint64, voted map[int]bool) bool {
	for range ticks {
		if g.tick(1); g.r.Status().Leading {
			return true
		}
		sent := g.sent
		g.sent = nil
		for i := range sent {
			to := int(sent[i].To)
			if !voted[to] || m.rng.IntN(6) == 0 {
				continue
			}
			for _, answer := range m.replicas[to].answer(&sent[i]) {
				m.told(g, to, view, answer)
			}
		}
	}
	return g.r.Status().Leading
}

// TestNamingOfRandomLogs: a view that starts from whatever logs views, unfinished adoptions and damage have left holds all that
// was committed; and it starts where a quorum without damage votes.
func TestNamingOfRandomLogs(t *testing.T) {
	damaged := 0
	for seed := range uint64(2000) {
		m := newModel(seed)
		n, self := len(m.replicas), m.rng.IntN(len(m.replicas))
		for _, r := range m.replicas {
			if r.damaged() && m.rng.IntN(2) == 0 {
				r.top.Sum = 0 // its mark was cut below
			}
		}
		view, g, led := m.next(self), m.primaryToBe(t, self), false
		g.step(Input{Kind: InMessage, Msg: Message{Kind: MsgStartViewChange, From: uint8((self + 1) % n), To: uint8(self), Incarnation: incarnation((self + 1) % n), View: view}})
		voted, whole := map[int]bool{}, 0
		for _, i := range m.rng.Perm(n)[:m.quorum()+m.rng.IntN(n-m.quorum()+1)] {
			if i == self || led {
				continue
			}
			voted[i] = true
			m.told(g, i, view, m.replicas[i].vote())
			led = m.serve(g, m.rng.IntN(12), view, voted)
		}
		led = led || m.serve(g, 3000, view, voted)
		for i, r := range m.replicas {
			if (voted[i] || i == self) && !r.damaged() {
				whole++
			}
			if r.damaged() && (voted[i] || i == self) {
				damaged++
			}
		}
		if !led && whole >= m.quorum() {
			t.Errorf("seed %d: view %d does not start, and %d of %d without damage have voted", seed, view, whole, n)
		}
		for op := uint64(modelBase) + 1; led && op <= uint64(len(m.committed)); op++ {
			if have, ok := g.r.log.id(op, rootSum); op > g.r.log.head.Op || ok && have != m.committed.id(op) {
				t.Errorf("seed %d: op %d is committed, and not in the log of view %d, which ends at op %d", seed, op, view, g.r.log.head.Op)
				break
			}
		}
	}
	if damaged < 300 {
		t.Errorf("%d of the logs are damaged: these seeds tell too little", damaged)
	}
}
