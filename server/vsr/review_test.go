package vsr

import "testing"

// These hold what a review of every rule found, each an execution that broke one.

func (c *chain) grow(n int, view uint64) {
	for range n {
		c.add(view)
	}
}

// A replica that has committed an op and then met damage in it must not deny it: with others that
// never had it, its denial would cut an acknowledged op.
func TestNoDenialOfCommittedDamage(t *testing.T) {
	var c chain
	c.grow(20, 1)
	g := newRig(t, 1, State{View: 2, LogView: 2}, c, 20)
	g.step(Input{Kind: InDamaged, ID: ID{Op: 20}})
	g.hear(0, 2, Message{Kind: MsgFetch, Ack: c.id(20)})
	if denials := g.take(MsgNotHeld); len(denials) != 0 {
		t.Errorf("denied %v, which is committed here", denials[0].Ack)
	}
	g.hear(0, 2, Message{Kind: MsgFetch, Ack: ID{21, 99}})
	if len(g.take(MsgNotHeld)) != 1 {
		t.Error("did not deny an op that it never had")
	}
}

// A hole that the only peer has trimmed must not keep the replica from everything else it lacks.
func TestHoleDoesNotStopCatchingUp(t *testing.T) {
	var all chain
	all.grow(1000, 1)
	g := newRig(t, 0, State{View: 1, LogView: 1}, all[:20], 20)
	g.step(Input{Kind: InDamaged, ID: ID{Op: 20}})
	g.step(Input{Kind: InLinkDown, Peer: 2})
	asked := map[uint64]int{}
	for range 500 {
		g.hear(1, 1, Message{Kind: MsgBeat, Commit: all.id(1000), Head: all.id(1000)})
		g.tick(1)
		for _, m := range g.take(MsgPull) {
			asked[m.FromOp]++
			if m.FromOp == 20 {
				g.hear(1, 1, Message{Kind: MsgPullRefused, Round: m.Round, FromOp: 21})
			}
		}
	}
	if asked[21] == 0 {
		t.Errorf("never asked for op 21 on; asked %v", asked)
	}
}

// A primary remembers a window of headers only. A backup that asks for prepares below it gets nothing,
// and must turn to a pull.
func TestPullWherePreparesDoNotCome(t *testing.T) {
	var all chain
	all.grow(1000, 1)
	g := newRig(t, 0, State{View: 1, LogView: 1}, all[:904], 880)
	asks, pulls := 0, 0
	for range 400 {
		g.hear(1, 1, Message{Kind: MsgBeat, Commit: all.id(1000), Head: all.id(1000)})
		g.tick(1)
		for _, m := range g.sent {
			switch m.Kind {
			case MsgAskPrepares:
				asks++
			case MsgPull:
				pulls++
			}
		}
		g.sent = nil
	}
	if pulls == 0 {
		t.Errorf("asked for prepares %d times and never for a pull", asks)
	}
}

// lead makes the rig's replica primary of view 1 with a quorum of answers of the kind given.
func leadingRig(t *testing.T, full bool) (*rig, func(ticks int)) {
	var c chain
	c.grow(20, 1)
	g := newRig(t, 1, State{}, c, 20)
	g.enter(1)
	return g, func(ticks int) {
		for range ticks {
			g.tick(1)
			for _, m := range g.take(MsgBeat) {
				g.hear(int(m.To), 1, Message{Kind: MsgBeatAck, Commit: c.id(20), Round: m.Round, Head: c.id(20), Ack: c.id(20), Progress: 20, DiskFull: full})
			}
		}
	}
}

// Where no quorum has space a client hears so; the primary does not stamp, and no view is raised.
func TestFullQuorumIsSaid(t *testing.T) {
	g, pass := leadingRig(t, true)
	pass(10)
	before := g.r.log.head
	g.step(Input{Kind: InRegister, Token: 9, Header: Header{Client: Client{1, 2}}})
	var outcomes []Outcome
	for _, e := range g.effects {
		if e.Kind == EffReply {
			outcomes = append(outcomes, e.Outcome)
		}
	}
	if len(outcomes) != 1 || outcomes[0] != OutcomeDiskFull || g.r.log.head != before {
		t.Errorf("outcomes %v, head %d", outcomes, g.r.log.head.Op)
	}
	pass(300)
	if !g.r.lead.leading {
		t.Error("stepped down")
	}
}

// A backup that takes over a chain, or closes holes, makes progress though its head stands.
func TestEveryCatchingUpIsProgress(t *testing.T) {
	g, pass := leadingRig(t, false)
	pass(10)
	g.step(Input{Kind: InRegister, Token: 9, Header: Header{Client: Client{1, 2}}})
	for i := range uint64(400) {
		g.tick(1)
		for _, m := range g.take(MsgBeat) {
			g.hear(int(m.To), 1, Message{Kind: MsgBeatAck, Round: m.Round, Progress: 20 + i})
		}
	}
	if !g.r.lead.leading {
		t.Error("stepped down while a quorum was being made")
	}
	for range 400 {
		g.tick(1)
		for _, m := range g.take(MsgBeat) {
			g.hear(int(m.To), 1, Message{Kind: MsgBeatAck, Round: m.Round, Progress: 20})
		}
	}
	if g.r.lead.leading {
		t.Error("leads on without a commit and without progress")
	}
}

// Damage above commit: the log ends below it, and the replica vouches for it no more.
func TestDamageAboveCommit(t *testing.T) {
	var c chain
	c.grow(20, 1)
	g := newRig(t, 0, State{View: 1, LogView: 1}, c, 15)
	g.step(Input{Kind: InDamaged, ID: ID{Op: 18}})
	if v := g.r.voucher(); v != c.id(17) {
		t.Errorf("vouches for op %d", v.Op)
	}
	if g.r.log.top.Op != 20 {
		t.Errorf("forgot that ops up to 20 were held: top %d", g.r.log.top.Op)
	}
	g.hear(2, 1, Message{Kind: MsgFetch, Ack: c.id(19)})
	if len(g.take(MsgNotHeld)) != 0 {
		t.Error("denies what it may have vouched for")
	}
}

// After a blackout of a replicated topic the longest log is trusted first.
func TestLongestLogFirstAfterLoss(t *testing.T) {
	var c chain
	c.grow(10, 3)
	g := newRig(t, 0, State{View: 3, LogView: 3, Wiped: true, Kept: 3}, c[:5], 3)
	tell := func(from int, head uint64, wiped bool) {
		g.hear(from, 3, Message{Kind: MsgTellHead, Commit: c.id(3), Head: c.id(head), Missing: wiped})
	}
	tell(1, 5, true)
	tell(2, 10, true)
	g.tick(20)
	if !g.r.saved.Wiped {
		t.Fatal("trusted itself before the longest log was")
	}
	tell(2, 10, false)
	if g.r.saved.Wiped {
		t.Error("waits on though the longest log is trusted")
	}
}

// A range that makes no sense is refused and counted, an empty one is no mistake of the log.
func TestAbsurdRangesAreCounted(t *testing.T) {
	g, _ := leadingRig(t, false)
	for _, r := range [][2]uint64{{9, 8}, {0, 0}, {5, 1<<64 - 1}, {1, 1000}} {
		g.hear(0, 1, Message{Kind: MsgAskPrepares, FromOp: r[0], ToOp: r[1]})
	}
	g.hear(0, 1, Message{Kind: MsgPull, Round: 1, FromOp: 9, ToOp: 8})
	if n := g.r.Status().Absurd; n != 5 {
		t.Errorf("counted %d of 5", n)
	}
	if len(g.take(MsgPrepare)) != 0 {
		t.Error("answered")
	}
}

// TestDamagedPrimaryIsNotTheOnlySource: the primary cannot give committed ops, and no other peer has said
// how far it is. They are asked all the same.
func TestDamagedPrimaryIsNotTheOnlySource(t *testing.T) {
	c := of(10)
	g := newRig(t, 0, State{View: 2, LogView: 2}, c[:4], 4)
	next := func() Message {
		t.Helper()
		for range 300 {
			g.hear(2, 2, Message{Kind: MsgBeat, Round: 1, Commit: c.id(10), Head: c.id(10)})
			g.tick(1)
			if asked := g.take(MsgPull); len(asked) > 0 {
				return asked[0]
			}
		}
		t.Fatal("nobody is asked")
		return Message{}
	}
	for i, want := range []uint8{2, 1, 2, 1} {
		m := next()
		if m.To != want || m.FromOp != 5 || m.ToOp != 10 {
			t.Fatalf("pull %d: replica %d is asked for %d..%d, want replica %d and 5..10", i, m.To, m.FromOp, m.ToOp, want)
		}
		g.hear(int(m.To), 2, Message{Kind: MsgPullRefused, Round: m.Round, Commit: c.id(10)})
		g.r.peers[1].commit = 0 // a backup tells nothing
	}
}

// TestAsksForPreparesLessAndLess: the primary cannot send an op again yet, because its own disk has not
// taken it. Asking each beat would not make it faster.
func TestAsksForPreparesLessAndLess(t *testing.T) {
	c := of(3)
	g := newRig(t, 0, State{View: 2, LogView: 2}, c[:2], 2)
	asked := 0
	for range 90 {
		g.hear(2, 2, Message{Kind: MsgBeat, Round: 1, Commit: c.id(2), Head: c.id(3)})
		g.tick(1)
		asked += len(g.take(MsgAskPrepares))
	}
	if asked != 3 {
		t.Errorf("asked %d times in 900 ms, want 3", asked)
	}
	g.hear(2, 2, Message{Kind: MsgPrepare, Commit: c.id(2), Header: c[2]})
	g.want(2, 2, 2, 3)
}

// foreignTailRig is replica 2 with ops 23 and 24 of view 1, which nobody else has, above what it has committed; and the
// log of the others.
func foreignTailRig(t *testing.T) (*rig, chain) {
	t.Helper()
	var mine, all chain
	mine.grow(22, 1)
	all = append(all, mine...)
	mine.grow(2, 1)
	all.grow(2000, 2)
	return newRig(t, 2, State{View: 3, LogView: 3}, mine, 22), all
}

// A replica whose own last ops do not belong, and whose peer has trimmed just past them, takes the peer's
// chain at once: to ask once more above its head would bring what has been seen not to fit.
func TestForeignTailBelowATrimmedPeer(t *testing.T) {
	g, all := foreignTailRig(t)
	foreign := 0
	for range 300 {
		g.hear(0, 6, Message{Kind: MsgTellHead, Commit: all.id(2000), Head: all.id(2000)})
		g.tick(1)
		for _, m := range g.take(MsgPull) {
			switch {
			case m.Staged:
				if foreign != 1 {
					t.Errorf("what does not fit was asked for %d times", foreign)
				}
				return
			case m.To == 1 || m.FromOp <= 24:
				g.hear(int(m.To), 6, Message{Kind: MsgPullRefused, Round: m.Round, FromOp: 25})
			default:
				foreign++
				g.hear(0, 6, Message{Kind: MsgChunk, Round: m.Round, Commit: all.id(2000), Header: all[24]})
			}
		}
	}
	t.Errorf("asked %d times above the head and never for the chain", foreign)
}

// A disk that is slow to take a chain is waited for, however long: to ask somebody else would bring more for it.
func TestSlowDiskIsNoStalledServer(t *testing.T) {
	c := of(2000)
	g := newRig(t, 2, State{View: 3, LogView: 3}, c[:20], 20)
	g.r.cfg.RingOps = 8
	ask := func() Message {
		for range 300 {
			g.hear(0, 3, Message{Kind: MsgBeat, Commit: c.id(2000), Head: c.id(2000)})
			g.tick(1)
			for _, m := range g.take(MsgPull) {
				if m.Staged {
					return m
				}
				g.hear(int(m.To), 3, Message{Kind: MsgPullRefused, Round: m.Round, Commit: c.id(2000), FromOp: 1000})
			}
		}
		t.Fatal("the chain of a peer that has trimmed is not asked for")
		return Message{}
	}
	first := ask()
	g.step(Input{Kind: InChunkEnd, Peer: first.To, Round: first.Round, ID: c.id(999), OK: true})
	chain := ask() // its table was lost: there is nothing that the disk could be waited for
	from := int(chain.To)
	g.hear(from, 3, Message{Kind: MsgTable, Round: chain.Round, Progress: 1, FromOp: 1000, Head: c.id(2000), Commit: c.id(2000), Goal: c[1999].NextOffset()})
	for op := uint64(1000); op < 1010; op++ {
		g.hear(from, 3, Message{Kind: MsgChunk, Round: chain.Round, Header: c[op-1]})
	}
	g.step(Input{Kind: InChunkEnd, Peer: chain.To, Round: chain.Round, ID: c.id(1009), OK: true})
	if g.did(EffStage) != 10 {
		t.Fatalf("%d ops were staged", g.did(EffStage))
	}
	g.take(MsgPull)
	g.tick(1000)
	if asked := g.take(MsgPull); len(asked) != 0 {
		t.Errorf("while the disk is slow it asks again: %+v", asked)
	}
	g.step(Input{Kind: InStaged, ID: c.id(1009)})
	if asked := g.take(MsgPull); len(asked) != 1 || asked[0].To != chain.To || asked[0].Round != chain.Round {
		t.Errorf("when the disk has kept up it asks %+v, and not for more of the same", asked)
	}
	g.tick(1000)
	if asked := g.take(MsgPull); len(asked) == 0 {
		t.Error("a server that has nothing more to say is waited for")
	}
}

// The primary of the next view may lag itself: who lags more asks a backup that has everything, and once.
func TestAsksWhoHasMost(t *testing.T) {
	c := of(40)
	g := newRig(t, 0, State{View: 1, LogView: 1}, c[:10], 10)
	g.hear(2, 2, Message{Kind: MsgStartViewChange, Commit: c.id(12)})
	g.hear(1, 2, Message{Kind: MsgStartViewChange, Commit: c.id(40)})
	g.tick(1)
	if asked := g.take(MsgPull); len(asked) != 1 || asked[0].To != 1 || asked[0].FromOp != 11 || asked[0].ToOp != 40 {
		t.Errorf("asks %+v", asked)
	}
	g = newRig(t, 0, State{View: 1, LogView: 1}, c[:10], 10)
	g.hear(1, 2, Message{Kind: MsgStartViewChange, Commit: c.id(40)})
	g.hear(2, 2, Message{Kind: MsgStartViewChange, Commit: c.id(40)})
	g.tick(1)
	if asked := g.take(MsgPull); len(asked) != 1 || asked[0].To != 2 {
		t.Errorf("of two that have the same it does not ask the primary: %+v", asked)
	}
}

// A disk that is behind tells of a chain that was given up. The next one goes on all the same.
func TestStagedOfAChainThatWasGivenUp(t *testing.T) {
	g := newRig(t, 0, State{View: 1, LogView: 1}, of(3), 3)
	g.r.stage = staging{active: true, tabled: true, owed: true, peer: 1, no: 2, first: 10, next: 12, stable: 9, table: Table{ID: ID{40, 1}}}
	g.step(Input{Kind: InStaged, ID: ID{32, 1}})
	if pulls := g.take(MsgPull); len(pulls) != 1 || g.r.stage.stable != 9 {
		t.Errorf("the disk has written the chain up to op %d of 11, and more of it is asked for %d times", g.r.stage.stable, len(pulls))
	}
}
