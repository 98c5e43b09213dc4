package vsr

import "testing"

// These hold one rule each, at the place where it stands. The mutants of server/sim/mutants break each of
// them, and one of these tests must fail for it.

// batch is the request of a session that follows the chain.
func (c *chain) batch(view, session, request uint64, messages uint32) Header {
	h := Header{Kind: KindBatch, View: view, Op: uint64(len(*c)) + 1, Parent: rootSum, Cluster: 5, Session: session, Request: request, MessageCount: messages}
	if n := len(*c); n > 0 {
		h.Parent, h.BaseOffset = (*c)[n-1].Sum, (*c)[n-1].NextOffset()
	}
	seal(&h)
	*c = append(*c, h)
	return h
}

// register lets a leading replica take a register, and returns its header.
func (g *rig) register(token uint64) Header {
	g.t.Helper()
	g.step(Input{Kind: InRegister, Token: token, Header: Header{Client: Client{1, 2}}})
	return *g.r.log.at(g.r.log.head.Op)
}

// outcomes of the replies so far, by token.
func (g *rig) outcomes(token uint64) (all []Outcome) {
	for _, e := range g.effects {
		if e.Kind == EffReply && e.Token == token {
			all = append(all, e.Outcome)
		}
	}
	return all
}

// An op is committed when a quorum vouches for it, and not before.
func TestCommitNeedsAQuorum(t *testing.T) {
	g, _ := leadingRig(t, false)
	h := g.register(9)
	g.want(1, 1, 20, 21)
	g.hear(2, 1, Message{Kind: MsgPrepareOK, Ack: h.ID()})
	g.want(1, 1, 21, 21)
}

// A view starts with the votes of a quorum.
func TestVotesNeedAQuorum(t *testing.T) {
	var c chain
	c.grow(5, 1)
	g := newRig(t, 1, State{View: 3, LogView: 1}, c, 3)
	g.step(Input{Kind: InMessage, Msg: Message{Kind: MsgStartViewChange, From: 2, To: 1, Incarnation: incarnation(2), View: 4, LogView: 1}})
	g.tick(3)
	g.want(4, 1, 3, 5)
	vote := Message{Kind: MsgDoViewChange, From: 0, To: 1, Incarnation: incarnation(0), View: 4, LogView: 1, Commit: c.id(3), Head: c.id(4), Slots: c.slots(3, 4)}
	g.step(Input{Kind: InMessage, Msg: vote})
	if s := g.r.Status(); !s.Leading {
		t.Errorf("a quorum has voted; stands at %+v", s)
	}
}

// Where syncs are asked for, what is only written is not acknowledged.
func TestWrittenIsNotSynced(t *testing.T) {
	c := of(2)
	g := newRig(t, 0, State{View: 2, LogView: 2}, c, 2)
	g.take(MsgPrepareOK)
	g.stalled = true
	h := c.add(2)
	g.hear(2, 2, Message{Kind: MsgPrepare, Commit: c.id(2), Header: h})
	g.step(Input{Kind: InWritten, ID: h.ID()})
	if oks := g.take(MsgPrepareOK); len(oks) != 0 {
		t.Errorf("acknowledged %+v, which is written and not synced", oks)
	}
	g.step(Input{Kind: InDurable, ID: h.ID()})
	if oks := g.take(MsgPrepareOK); len(oks) != 1 {
		t.Errorf("acknowledged %+v, want op 3", oks)
	}
}

// A retry of a request that is on its way waits for it; it is not appended again.
func TestRetryOfAnUncommittedRequest(t *testing.T) {
	g, _ := leadingRig(t, false)
	session := g.register(9)
	g.hear(2, 1, Message{Kind: MsgPrepareOK, Ack: session.ID()})
	request := Header{Kind: KindBatch, Client: Client{1, 2}, Session: session.Op, Request: 7, MessageCount: 2, BodySum: 3}
	g.step(Input{Kind: InRequest, Token: 10, Header: request})
	g.step(Input{Kind: InRequest, Token: 11, Header: request})
	g.want(1, 1, 21, 22)
	g.hear(2, 1, Message{Kind: MsgPrepareOK, Ack: g.r.log.head})
	for token := uint64(10); token <= 11; token++ {
		if o := g.outcomes(token); len(o) != 1 || o[0] != OutcomeCommitted {
			t.Errorf("token %d: outcomes %v", token, o)
		}
	}
}

// A retry is answered with the op that holds its request, whatever has been appended since.
func TestRetryIsAnsweredWithItsOwnOp(t *testing.T) {
	g, _ := leadingRig(t, false)
	mine, other := g.register(9), g.register(8)
	g.hear(2, 1, Message{Kind: MsgPrepareOK, Ack: other.ID()})
	request := Header{Kind: KindBatch, Client: Client{1, 2}, Session: mine.Op, Request: 7, MessageCount: 2, BodySum: 3}
	g.step(Input{Kind: InRequest, Token: 10, Header: request})
	op := g.r.log.head
	g.step(Input{Kind: InRequest, Token: 11, Header: Header{Kind: KindBatch, Client: Client{1, 2}, Session: other.Op, Request: 1, MessageCount: 1, BodySum: 4}})
	g.step(Input{Kind: InRequest, Token: 12, Header: request})
	g.hear(2, 1, Message{Kind: MsgPrepareOK, Ack: g.r.log.head})
	for _, e := range g.effects {
		if e.Kind == EffReply && e.Token == 12 && e.Header.ID() == op {
			return
		}
	}
	t.Errorf("the retry was not answered with op %d", op.Op)
}

// Who falls out of a full client table is the session with the lowest last op, not the one that began first.
func TestSessionWithTheLowestLastOpFalls(t *testing.T) {
	var c chain
	c.grow(2, 1) // sessions 1 and 2
	c.batch(1, 1, 7, 1)
	c.grow(1, 1)
	tab := newTable(2, Table{})
	for i := range c {
		tab.commit(&c[i])
	}
	if tab.find(1) == nil || tab.find(2) != nil || tab.find(4) == nil {
		t.Errorf("sessions %+v are left, want 1 and 4", tab.entries())
	}
}

// A vote tells of the highest op that its replica may have acknowledged, also where damage has taken it.
func TestVoteTellsOfDamage(t *testing.T) {
	c := of(5)
	g := newRig(t, 0, State{View: 1, LogView: 1}, c, 3)
	g.step(Input{Kind: InDamaged, ID: c.id(5)})
	g.want(1, 1, 3, 4)
	g.step(Input{Kind: InMessage, Msg: Message{Kind: MsgStartViewChange, From: 1, To: 0, Incarnation: incarnation(1), View: 2, LogView: 1}})
	votes := g.take(MsgDoViewChange)
	if len(votes) == 0 {
		t.Fatal("no vote")
	}
	if v := votes[0]; v.Head != c.id(5) || len(v.Slots) != 2 || !v.Slots[0].Known || v.Slots[1].Known {
		t.Errorf("votes for a log up to %+v with %+v, want op 4 known and op 5 damaged", v.Head, v.Slots)
	}
}

// Damage that is met while log_view is on its way to the disk ends a primacy before it begins: a start_view without the
// op would cut it everywhere.
func TestNoPrimaryOfALogThatIsDamagedMeanwhile(t *testing.T) {
	c := of(5)
	g := newRig(t, 2, State{View: 1, LogView: 1}, c[:4], 3)
	g.hear(0, 2, Message{Kind: MsgDoViewChange, Commit: c.id(3), Head: c.id(5), Slots: c.slots(3, 5)})
	g.tick(1)
	g.stalled = true
	g.hear(0, 2, Message{Kind: MsgFetched, Header: c[4]})
	g.want(2, 1, 3, 5)
	g.sent = nil
	g.step(Input{Kind: InDamaged, ID: c.id(5)})
	for _, done := range g.waiting {
		g.step(done)
	}
	g.want(2, 2, 3, 4)
	for _, m := range g.sent {
		if m.Kind == MsgStartView || m.Kind == MsgBeat && !m.Starting {
			t.Errorf("leads with a %s that ends at op %d, and adopted up to op 5", m.Kind, m.Head.Op)
		}
	}
	g.tick(1)
	if asked := g.take(MsgPreVote); len(asked) != 2 || !asked[0].Restarted {
		t.Errorf("asked for another view with %+v", asked)
	}
	if top := g.r.voteTop(); top != c.id(5) {
		t.Errorf("votes for a log up to %+v, want op 5", top)
	}
}

// While a raised view is on its way to the disk nothing is said about it.
func TestNothingSpeaksForAViewBeforeItIsSaved(t *testing.T) {
	c := of(3)
	g := newRig(t, 0, State{View: 1, LogView: 1}, c, 1)
	g.stalled, g.sent = true, nil
	g.step(Input{Kind: InMessage, Msg: Message{Kind: MsgStartViewChange, From: 1, To: 0, Incarnation: incarnation(1), View: 2, LogView: 1}})
	g.tick(5)
	for _, m := range g.sent {
		if m.View > 1 {
			t.Errorf("a %s speaks for view %d, which is not saved", m.Kind, m.View)
		}
	}
	g.stalled, g.sent = false, nil
	g.step(g.waiting[0])
	if votes := g.take(MsgDoViewChange); len(votes) == 0 {
		t.Error("did not vote once the view was saved")
	}
}

// A replica that knows of a hole vouches for nothing, whatever it holds above.
func TestNoVoucherAboveAHole(t *testing.T) {
	c := of(20)
	g := newRig(t, 0, State{View: 2, LogView: 2}, c, 20)
	g.step(Input{Kind: InDamaged, ID: ID{Op: 7}})
	g.sent = nil
	h := c.add(2)
	g.hear(2, 2, Message{Kind: MsgPrepare, Commit: c.id(20), Header: h})
	if oks := g.take(MsgPrepareOK); len(oks) != 0 {
		t.Errorf("vouched for %+v above a hole", oks)
	}
	g.tick(1)
	pulls := g.take(MsgPull)
	if len(pulls) != 1 || pulls[0].FromOp != 7 || pulls[0].ToOp != 7 {
		t.Fatalf("asks %+v to close the hole at op 7", pulls)
	}
	g.hear(int(pulls[0].To), 2, Message{Kind: MsgChunk, Round: pulls[0].Round, Commit: c.id(20), Header: c[6]})
	g.tick(int(5 * Default().StallTicks)) // its disk takes its time: what has come is not asked for again
	if pulls := g.take(MsgPull); len(pulls) != 0 {
		t.Errorf("asks %+v for what its disk is about to write", pulls)
	}
	g.step(Input{Kind: InFilled, ID: c.id(7), OK: true})
	g.hear(2, 2, Message{Kind: MsgPrepare, Commit: c.id(20), Header: h})
	if oks := g.take(MsgPrepareOK); len(oks) == 0 {
		t.Error("vouches for nothing though the hole is closed")
	}
}

// The next number does not make an op the next one: its parent must be the head.
func TestPrepareWithAnotherParent(t *testing.T) {
	c := of(3)
	other := append(chain(nil), c[:2]...)
	other.add(2)
	h := other.add(2)
	g := newRig(t, 0, State{View: 2, LogView: 2}, c, 2)
	g.hear(2, 2, Message{Kind: MsgPrepare, Commit: c.id(2), Header: h})
	g.want(2, 2, 2, 3)
}

// After a cut the next op begins at the message at which the log ends, not at which it ended.
func TestCutTakesTheOffsetBack(t *testing.T) {
	var c chain
	c.add(1)
	first, second := c.batch(1, 1, 1, 5), c.batch(1, 1, 2, 8)
	g := newRig(t, 0, State{View: 1, LogView: 1}, c, 1)
	g.r.cutTo(2)
	if g.r.log.offset != first.NextOffset() || second.BaseOffset != g.r.log.offset {
		t.Errorf("the log goes on at message %d, op 2 ends before %d", g.r.log.offset, first.NextOffset())
	}
}

// A read of the latest waits until what the view inherited is committed: it may have been acknowledged.
func TestLatestReadWaitsForWhatWasInherited(t *testing.T) {
	var c chain
	c.grow(20, 1)
	g := newRig(t, 1, State{}, c, 18)
	g.enter(1)
	g.step(Input{Kind: InReadLatest, Token: 5})
	for _, m := range g.take(MsgBeat) {
		g.hear(int(m.To), 1, Message{Kind: MsgBeatAck, Commit: c.id(18), Round: m.Round, Head: c.id(18)})
	}
	if o := g.outcomes(5); len(o) != 0 {
		t.Fatalf("answered %v at commit %d, the view began with op 20", o, g.r.log.commit.Op)
	}
	g.hear(0, 1, Message{Kind: MsgPrepareOK, Commit: c.id(18), Ack: c.id(20)})
	if o := g.outcomes(5); len(o) != 1 || o[0] != OutcomeCommitted {
		t.Errorf("outcomes %v once all is committed", o)
	}
}

// A replica that has forgotten what it acknowledged has no vote, and no opinion about the primary.
func TestWipedDoesNotVote(t *testing.T) {
	c := of(3)
	g := newRig(t, 0, State{View: 1, LogView: 1, Wiped: true}, c, 1)
	g.sent = nil
	g.step(Input{Kind: InMessage, Msg: Message{Kind: MsgStartViewChange, From: 1, To: 0, Incarnation: incarnation(1), View: 2, LogView: 1}})
	g.hear(1, 2, Message{Kind: MsgPreVote, Round: 1})
	g.tick(300)
	for _, m := range g.sent {
		switch m.Kind {
		case MsgDoViewChange, MsgStartViewChange, MsgPreVote, MsgPreVoteAck, MsgPrepareOK, MsgNotHeld:
			t.Fatalf("a wiped replica sent a %s", m.Kind)
		}
	}
}

// While a cut is on its way, a completion may speak of an op as it was before: dropped since, and
// appended again. It says nothing about the disk after the cut.
func TestCompletionsDuringACut(t *testing.T) {
	c := of(3)
	g := newRig(t, 0, State{View: 1, LogView: 1}, c[:2], 2)
	g.take(MsgPrepareOK)
	g.stalled = true
	g.hear(1, 1, Message{Kind: MsgPrepare, Commit: c.id(2), Header: c[2]})
	g.step(Input{Kind: InDamaged, ID: ID{Op: 3}}) // a reader meets it as damaged: it is cut
	g.hear(1, 1, Message{Kind: MsgPrepare, Commit: c.id(2), Header: c[2]})
	g.want(1, 1, 2, 3)
	if len(g.waiting) != 3 {
		t.Fatalf("the disk has %+v to do, want an append, a cut and an append", g.waiting)
	}
	g.step(g.waiting[0])
	if oks := g.take(MsgPrepareOK); len(oks) != 0 {
		t.Errorf("vouched for %+v, which the cut is about to take away", oks)
	}
	g.step(g.waiting[1])
	g.step(g.waiting[2])
	if oks := g.take(MsgPrepareOK); len(oks) != 1 || oks[0].Ack != c.id(3) {
		t.Errorf("acknowledged %+v, want op 3", oks)
	}
}

// What a peer's last life has acknowledged, its present one may have forgotten.
func TestNewIncarnationHasAcknowledgedNothing(t *testing.T) {
	g, _ := leadingRig(t, false)
	g.stalled = true
	h := g.register(9)
	g.hear(2, 1, Message{Kind: MsgPrepareOK, Ack: h.ID()})
	g.want(1, 1, 20, 21)
	g.step(Input{Kind: InHello, Peer: 2, Incarnation: Incarnation{2, 99}})
	g.stalled = false
	g.step(g.waiting[0]) // its own sync
	g.want(1, 1, 20, 21)
}

// What a life that is over has sent counts for nothing.
func TestMessagesOfAnOlderIncarnation(t *testing.T) {
	g, _ := leadingRig(t, false)
	h := g.register(9)
	g.step(Input{Kind: InHello, Peer: 2, Incarnation: Incarnation{2, 99}})
	g.hear(2, 1, Message{Kind: MsgPrepareOK, Ack: h.ID()}) // says the first one
	g.want(1, 1, 20, 21)
}

// A replica that has forgotten what it acknowledged cannot start the view that is its own: it must not
// tell the others that it is about to.
func TestWipedDoesNotAnnounceItsView(t *testing.T) {
	c := of(3)
	g := newRig(t, 2, State{View: 1, LogView: 1, Wiped: true}, c, 1)
	g.step(Input{Kind: InMessage, Msg: Message{Kind: MsgStartViewChange, From: 1, To: 2, Incarnation: incarnation(1), View: 2, LogView: 1}})
	g.sent = nil
	g.tick(100)
	if beats := g.take(MsgBeat); len(beats) != 0 {
		t.Errorf("announced view 2 %d times", len(beats))
	}
}

// One answer is not enough for a replica that has forgotten: it may be that of a primary that was deposed, with
// the help of this very replica, and does not know it.
func TestWipedWaitsForAQuorumOfOthers(t *testing.T) {
	c := of(3)
	g := newRig(t, 0, State{View: 1, LogView: 1, Wiped: true}, c, 3)
	told := Message{Kind: MsgTellHead, Head: c.id(3), Leading: true, Commit: c.id(3)}
	g.hear(1, 1, told)
	g.tick(3)
	if s := g.r.Status(); s.State != "wiped" {
		t.Fatalf("trusts itself again on the word of one replica: %+v", s)
	}
	told.Leading = false
	g.hear(2, 1, told)
	g.tick(3)
	if s := g.r.Status(); s.State == "wiped" {
		t.Errorf("a quorum of others has answered, and it holds the primary's head: %+v", s)
	}
}

// A replica that has forgotten learns of a later view from a primary's answer, and is on the way to it from then
// on: in an older view it would vouch for a primary that was deposed, perhaps with its own vote.
func TestWipedVouchesInNoOlderView(t *testing.T) {
	c := of(3)
	g := newRig(t, 0, State{View: 1, LogView: 1, Wiped: true}, c, 3)
	g.hear(1, 1, Message{Kind: MsgTellHead, Head: c.id(3), Leading: true, Commit: c.id(3)})
	g.hear(2, 2, Message{Kind: MsgTellHead, Head: c.id(3), Leading: true, Commit: c.id(3)})
	g.tick(3)
	h := c.add(1)
	g.hear(1, 1, Message{Kind: MsgPrepare, Commit: c.id(3), Header: h})
	if oks := g.take(MsgPrepareOK); len(oks) != 0 {
		t.Fatalf("vouches in view 1, and replica 2 leads view 2: %+v", oks)
	}
	g.hear(2, 2, Message{Kind: MsgStartView, Commit: c.id(3), Head: c.id(3)})
	g.tick(3)
	if s := g.r.Status(); s.State == "wiped" || s.View != 2 || g.r.voucher() != c.id(3) {
		t.Errorf("it holds the head of view 2, and vouches for op %d: %+v", g.r.voucher().Op, s)
	}
}

// Of five, r3 votes for view 6 of r1 and loses its directory. Its next life is told of view 5 by r0, r2 and r4, and
// vouches in it. When r2 then votes, too, it knows that the vote of r3 is of a life that is over.
func TestVoteOfALifeThatIsOver(t *testing.T) {
	c := of(20)
	start := func(self int, s State) *rig { return newRigOfFive(t, self, s, c) }
	vote := func(to *rig, from int, lives Lives) {
		to.step(Input{Kind: InMessage, Msg: Message{Kind: MsgDoViewChange, From: uint8(from), To: 1, Incarnation: incarnation(from),
			View: 6, LogView: 5, Commit: c.id(20), Head: c.id(20), Lives: lives}})
	}
	r1 := start(1, State{View: 5, LogView: 5})
	vote(r1, 3, Lives{1, 1, 1, 0, 1})

	r3 := start(3, State{View: 5, LogView: 5, Wiped: true})
	for _, i := range []int{0, 2, 4} {
		r3.hear(i, 5, Message{Kind: MsgTellHead, Head: c.id(20), Leading: i == 0, Commit: c.id(20)})
	}
	r3.tick(1)
	if r3.r.voucher() != c.id(20) {
		t.Fatal("r3 does not vouch in view 5: this shows nothing")
	}
	vote(r1, 2, Lives{1, 1, 0, 2, 1})
	vote(r1, 3, Lives{1, 1, 1, 0, 1}) // late
	if s := r1.r.Status(); s.Leading {
		t.Fatalf("r1 leads view %d by a vote of a life that is over", s.View)
	}
	vote(r1, 4, Lives{1, 1, 1, 2, 0})
	if !r1.r.Status().Leading {
		t.Error("r1 does not lead with three votes")
	}
}

// What was kept for one view says nothing about the next: its primary may have prepared another op there.
func TestKeptOpsFallWithTheirView(t *testing.T) {
	c := of(3)
	g := newRig(t, 0, State{View: 1, LogView: 1}, c, 3)
	c.add(1)
	h := c.add(1) // op 5; op 4 does not come
	g.hear(1, 1, Message{Kind: MsgPrepare, Commit: c.id(3), Header: h})
	if g.r.kept.find(h.ID()) == nil {
		t.Fatal("op 5 is not kept")
	}
	g.step(Input{Kind: InMessage, Msg: Message{Kind: MsgStartViewChange, From: 2, To: 0, Incarnation: incarnation(2), View: 2, LogView: 1}})
	if g.r.kept.find(h.ID()) != nil || g.did(EffDrop) != 1 {
		t.Error("op 5 of view 1 is kept in view 2")
	}
}

// A read of the latest wants a quorum that has answered since it came: what one said before does not tell that
// no other primary has acknowledged something since.
func TestLatestReadAsksAnew(t *testing.T) {
	g, pass := leadingRig(t, false)
	pass(10)
	g.take(MsgBeat)
	g.step(Input{Kind: InReadLatest, Token: 5})
	if o := g.outcomes(5); len(o) != 0 {
		t.Fatalf("answered %v on the word of an earlier round", o)
	}
	for _, m := range g.take(MsgBeat) {
		g.hear(int(m.To), 1, Message{Kind: MsgBeatAck, Round: m.Round, Progress: 20})
	}
	if o := g.outcomes(5); len(o) != 1 || o[0] != OutcomeCommitted {
		t.Errorf("outcomes %v once a quorum has answered", o)
	}
}

// An op that is damaged before it is committed here ends the log: it is not committed above the damage, and it
// is on record as one that may have been acknowledged.
func TestNoCommitAboveAHole(t *testing.T) {
	c := of(5)
	g := newRig(t, 0, State{View: 1, LogView: 1}, c, 3)
	g.step(Input{Kind: InDamaged, ID: ID{Op: 4}})
	g.hear(1, 1, Message{Kind: MsgBeat, Commit: c.id(5), Head: c.id(5)})
	g.want(1, 1, 3, 3)
	if s := g.r.Status(); s.Top != 5 {
		t.Errorf("says that it held ops up to %d at most, and it held 5", s.Top)
	}
}

// A replica that has forgotten what it voted for does not confirm a primary: it may have helped to replace it.
func TestWipedConfirmsNoPrimary(t *testing.T) {
	c := of(3)
	for _, wiped := range []bool{false, true} {
		g := newRig(t, 0, State{View: 1, LogView: 1, Wiped: wiped}, c, 1)
		g.hear(1, 1, Message{Kind: MsgBeat, Round: 7, Commit: c.id(3), Head: c.id(3)})
		acks := g.take(MsgBeatAck)
		if len(acks) != 1 || (acks[0].Round == 7) == wiped {
			t.Errorf("wiped %v: answered %+v", wiped, acks)
		}
	}
}
