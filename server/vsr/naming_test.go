package vsr

import "testing"

// vote is one of a peer for a view, of a log of this log_view.
func (g *rig) vote(from int, view, logView uint64, commit, top ID, slots []Slot) {
	g.step(Input{Kind: InMessage, Msg: Message{Kind: MsgDoViewChange, From: uint8(from), To: uint8(g.r.cfg.Self), Incarnation: incarnation(from),
		View: view, LogView: logView, Commit: commit, Head: top, Slots: slots}})
}

// give answers every fetch of what c has, for so many ticks.
func (g *rig) give(ticks int, from int, view uint64, c chain) {
	for range ticks {
		g.tick(1)
		for _, m := range g.take(MsgFetch) {
			if m.Ack.Op <= uint64(len(c)) && c.id(m.Ack.Op) == m.Ack {
				g.hear(from, view, Message{Kind: MsgFetched, Header: c[m.Ack.Op-1]})
			}
		}
	}
}

// on is a copy of c with ops of another view at its end.
func (c chain) on(n int, view uint64) chain {
	more := append(chain(nil), c...)
	more.grow(n, view)
	return more
}

// leads fails unless the replica leads a view whose log has these ops and nothing else.
func (g *rig) leads(c chain) {
	g.t.Helper()
	have, _ := g.r.log.id(uint64(len(c)), rootSum)
	if s := g.r.Status(); !s.Leading || s.Head.Op != uint64(len(c)) || have != c.id(uint64(len(c))) {
		g.t.Fatalf("leads: %v; its log ends with op %d, and its op %d is right: %v; want it to end there", s.Leading, s.Head.Op, len(c), have == c.id(uint64(len(c))))
	}
}

// TestNamelessOpDecidesThoseBelow: the last op of the chosen log cannot be named, and of the last but one, which was
// committed, another vote has the only copy. What a third replica was left with at both numbers must not
// be taken for them.
func TestNamelessOpDecidesThoseBelow(t *testing.T) {
	base := of(16)
	left, all := base.on(2, 3), base.on(1, 5)
	g := newRig(t, 2, State{View: 3, LogView: 3}, left, 16)
	g.vote(1, 8, 5, base.id(16), ID{Op: 18}, make([]Slot, 2))
	g.vote(0, 8, 5, base.id(16), all.id(17), all.slots(16, 17))
	g.give(40, 0, 8, all)
	g.leads(all)
}

// TestLeftoverIsNoNameForTheDamaged: the only op that a vote has in the place of one that cannot be named does not
// follow the op before it: so nothing was committed there, and nothing above.
func TestLeftoverIsNoNameForTheDamaged(t *testing.T) {
	base := of(14)
	left, all := base.on(4, 3), base.on(2, 5)
	for name, top := range map[string]ID{"nameless": {Op: 18}, "named, and nobody has it": {18, 99}} {
		g := newRig(t, 2, State{View: 1, LogView: 1}, base, 14)
		g.vote(1, 8, 5, base.id(14), top, append(all.slots(14, 16), make([]Slot, 2)...))
		g.give(40, 1, 8, all)
		if g.r.Status().Leading {
			t.Fatalf("%s: leads, and ops 17 and 18 may have been committed", name)
		}
		g.vote(0, 8, 3, base.id(14), left.id(18), left.slots(14, 18))
		g.hear(0, 8, Message{Kind: MsgNotHeld, Ack: top})
		g.give(40, 1, 8, all)
		g.leads(all)
	}
}

// TestNamelessOpTakesWhatCanBeCommitted: one op is left that can have been committed where nothing names it.
func TestNamelessOpTakesWhatCanBeCommitted(t *testing.T) {
	base := of(16)
	all, left := base.on(1, 4), base.on(1, 2)
	for name, test := range map[string]struct {
		mine, theirs      chain
		logView, ofTheirs uint64
		want              chain
		then              func(g *rig)
	}{
		"of two the one of the larger log_view": {left, all, 2, 4, all, nil},
		"the same, and it is mine":              {all, left, 4, 2, all, nil},
		"nobody has any":                        {base, base, 4, 2, base, nil},
		"who lacks it has the larger log_view":  {base, left, 4, 2, base, nil},
	} {
		g := newRig(t, 2, State{View: test.logView, LogView: test.logView}, test.mine, 16)
		g.vote(1, 8, 5, base.id(16), ID{Op: 17}, make([]Slot, 1))
		g.tick(40)
		if g.r.Status().Leading {
			t.Errorf("%s: leads, and does not know what the third has", name)
			continue
		}
		g.vote(0, 8, test.ofTheirs, base.id(16), test.theirs.id(uint64(len(test.theirs))), test.theirs.slots(16, uint64(len(test.theirs))))
		g.give(40, 0, 8, test.theirs)
		if have := g.r.Status(); !have.Leading || have.Head != test.want.id(uint64(len(test.want))) {
			t.Errorf("%s: leads %v with a log that ends at op %d", name, have.Leading, have.Head.Op)
		}
	}
}

// TestLaterVoteOfALargerLogView: what was chosen is damaged in two places, and nobody can tell whether it was
// committed. A vote that comes later shows it, for its log_view is larger.
func TestLaterVoteOfALargerLogView(t *testing.T) {
	base := of(14)
	old, all := base.on(3, 5), base.on(4, 7)
	g := newRig(t, 2, State{View: 5, LogView: 5}, old, 14)
	g.step(Input{Kind: InDamaged, ID: old.id(17)})
	g.vote(0, 8, 5, base.id(14), old.id(17), append(old.slots(14, 16), Slot{}))
	g.tick(100)
	g.want(8, 5, 14, 16)
	g.vote(1, 8, 7, base.id(14), all.id(18), all.slots(14, 18))
	g.give(40, 1, 8, all)
	g.leads(all)
	g.vote(1, 8, 7, base.id(14), all.id(18), all.slots(14, 18)) // again
	g.leads(all)
}

// TestShorterLogOfTheSameViewRulesNothingOut: it may only have been slower than the two that committed the op, in
// whose logs it is damaged.
func TestShorterLogOfTheSameViewRulesNothingOut(t *testing.T) {
	base := of(16)
	for name, logView := range map[string]uint64{"the same": 5, "a smaller one": 4} {
		g := newRig(t, 2, State{View: logView, LogView: logView}, base, 16)
		for peer := range 2 {
			g.vote(peer, 8, 5, base.id(16), ID{Op: 17}, make([]Slot, 1))
		}
		g.give(40, 0, 8, base) // not longer: a primary that nobody answers steps down
		if g.r.Status().Leading {
			t.Errorf("%s: leads without an op that may be committed", name)
		}
	}
	g := newRig(t, 2, State{View: 7, LogView: 7}, base, 16) // an op of view 5 or 6 would be in its log
	g.vote(1, 11, 9, base.id(16), ID{Op: 17}, make([]Slot, 1))
	g.vote(0, 11, 5, base.id(16), ID{Op: 17}, make([]Slot, 1))
	g.give(40, 0, 11, base)
	g.leads(base)
}

// answers lets ticks pass in which each replica named answers every fetch by what it holds: with the frame, or with
// "not held". One that is not named is away, or damaged there.
func (g *rig) answers(ticks int, view uint64, holds map[int]chain) {
	for range ticks {
		if g.tick(1); g.r.Status().Leading {
			return // nobody answers its beats
		}
		for _, m := range g.take(MsgFetch) {
			c, here := holds[int(m.To)]
			switch {
			case here && m.Ack.Op <= uint64(len(c)) && c.id(m.Ack.Op) == m.Ack:
				g.hear(int(m.To), view, Message{Kind: MsgFetched, Header: c[m.Ack.Op-1]})
			case here:
				g.hear(int(m.To), view, Message{Kind: MsgNotHeld, Ack: m.Ack})
			}
		}
	}
}

// TestOwnLeftoverWhereTheChosenLogIsDamaged: the chosen log ends with two ops that its owner cannot give, of which the last is
// named. This replica holds others at both numbers. A quorum holds no such op, or the third has both.
func TestOwnLeftoverWhereTheChosenLogIsDamaged(t *testing.T) {
	base := of(16)
	left, all := base.on(2, 3), base.on(2, 5)
	for name, third := range map[string]chain{"nobody has them": base, "the third has them, and its vote is late": all} {
		g := newRig(t, 2, State{View: 3, LogView: 3}, left, 16)
		g.vote(1, 8, 5, base.id(16), all.id(18), make([]Slot, 2))
		if name == "nobody has them" {
			g.vote(0, 8, 4, base.id(16), base.id(16), nil)
		}
		g.answers(100, 8, map[int]chain{0: third})
		if s := g.r.Status(); !s.Leading || s.Head != third.id(uint64(len(third))) {
			t.Errorf("%s: leads %v with a log that ends at op %d", name, s.Leading, s.Head.Op)
		}
	}
}

// TestDamageThatDoesNotFollow: the owner of the chosen log had lost two ops, and was given the first one anew, another one,
// of a view that it did not reach. What it has on record as damaged does not follow that.
func TestDamageThatDoesNotFollow(t *testing.T) {
	base := of(18)
	left, later := base.on(2, 5), base.on(3, 6)
	owner := newRigOfFive(t, 0, State{View: 5, LogView: 5}, base)
	for _, h := range left[18:] {
		owner.r.append(&h, 0)
	}
	owner.step(Input{Kind: InDamaged, ID: left.id(19)})
	owner.hear(1, 6, Message{Kind: MsgStartView, Commit: base.id(18), Head: later.id(21), Slots: later.slots(18, 21)})
	owner.tick(1)
	owner.hear(1, 6, Message{Kind: MsgFetched, Header: later[18]})
	owner.want(6, 5, 18, 19)
	owner.sent = nil
	owner.hear(2, 7, Message{Kind: MsgStartViewChange})
	votes := owner.take(MsgDoViewChange)
	if len(votes) == 0 || votes[0].Head != left.id(20) || votes[0].LogView != 5 {
		t.Fatalf("the owner votes %+v", votes)
	}
	g := newRigOfFive(t, 2, State{View: 5, LogView: 5}, base)
	g.vote(1, 7, 5, base.id(18), left.id(20), left.slots(18, 20))
	g.step(Input{Kind: InMessage, Msg: votes[0]})
	g.answers(200, 7, map[int]chain{0: later[:19], 1: left})
	if s := g.r.Status(); !s.Leading {
		t.Errorf("does not lead with all of a quorum connected; its log ends at op %d", s.Head.Op)
	}
}

// TestNameThatComesLate: an op in the middle was taken by its number, and then a later vote names another one there.
func TestNameThatComesLate(t *testing.T) {
	base := of(18)
	left, later := base.on(1, 5), base.on(2, 6)
	for name, top := range map[string]ID{"named": later.id(20), "nameless": {Op: 20}} {
		g := newRigOfFive(t, 2, State{View: 5, LogView: 5}, base)
		g.vote(1, 12, 5, base.id(18), left.id(19), left.slots(18, 19))
		g.vote(0, 12, 5, base.id(18), top, make([]Slot, 2))
		g.answers(40, 12, map[int]chain{1: left})
		g.vote(3, 12, 5, base.id(18), later.id(20), later.slots(18, 20))
		g.answers(200, 12, map[int]chain{1: left, 3: later})
		if s := g.r.Status(); !s.Leading {
			t.Errorf("%s: does not lead with four of five connected; its log ends at op %d", name, s.Head.Op)
		}
	}
}

// TestCommitOfALaterVoteNamesAnOp: the last op has no name in the chosen log, and is damaged where it is committed. The
// third has it.
func TestCommitOfALaterVoteNamesAnOp(t *testing.T) {
	base := of(16)
	all := base.on(1, 3)
	g := newRig(t, 2, State{View: 5, LogView: 5}, base, 16)
	g.r.log.top = ID{Op: 17}
	g.vote(0, 8, 3, base.id(16), all.id(17), all.slots(16, 17))
	g.tick(40)
	if g.r.Status().Leading {
		t.Fatal("leads, and does not know what the third has")
	}
	g.vote(1, 8, 5, all.id(17), all.id(17), nil)
	g.answers(200, 8, map[int]chain{0: all})
	g.leads(all)
}
