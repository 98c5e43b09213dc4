package vsr

import (
	"math"
	"testing"
)

// of makes a chain of so many ops of view 1.
func of(ops int) chain {
	var c chain
	for range ops {
		c.add(1)
	}
	return c
}

// TestRestartEndsPrimacy is mistake 1: a primary that was killed goes on in its own view.
func TestRestartEndsPrimacy(t *testing.T) {
	c := of(3)
	g := newRig(t, 1, State{View: 1, LogView: 1}, c, 1)
	g.tick(1)
	if asked := g.take(MsgPreVote); len(asked) != 2 || !asked[0].Restarted {
		t.Errorf("a restarted primary asked %d peers for a pre-vote: %+v", len(asked), asked)
	}
	g.hear(2, 1, Message{Kind: MsgDoViewChange, Commit: c.id(1), Head: c.id(3), Slots: c.slots(1, 3)})
	g.tick(3)
	if g.r.Status().Leading {
		t.Error("it leads in a view that it had saved before it started")
	}
}

// TestAdoptionDropsWhatLiesAboveItsEnd is mistake 2, and mistake 3: log_view rises only when the
// adopted log is held in full.
func TestAdoptionDropsWhatLiesAboveItsEnd(t *testing.T) {
	c := of(4)
	adopted := append(chain(nil), c[:2]...)
	adopted.add(2)
	g := newRig(t, 1, State{View: 1, LogView: 1}, c, 1)
	g.hear(2, 2, Message{Kind: MsgStartView, Commit: adopted.id(1), Head: adopted.id(3), Slots: adopted.slots(1, 3)})
	g.want(2, 1, 1, 2)
	if g.did(EffCut) != 1 {
		t.Errorf("%d cuts", g.did(EffCut))
	}
	g.tick(1)
	asked := g.take(MsgFetch)
	if len(asked) != 1 || asked[0].Ack != adopted.id(3) {
		t.Fatalf("asked for %+v, want op 3 by its checksum", asked)
	}
	if len(g.take(MsgPrepareOK)) != 0 {
		t.Error("it acknowledged before it held the adopted log")
	}
	g.hear(2, 2, Message{Kind: MsgFetched, Header: adopted[2]})
	g.want(2, 2, 1, 3)
	if oks := g.take(MsgPrepareOK); len(oks) == 0 || oks[len(oks)-1].Ack != adopted.id(3) {
		t.Errorf("acknowledged %+v, want op 3", oks)
	}
}

// TestDuplicateStartView is mistake 4: a late copy of start_view cuts what was acknowledged since.
func TestDuplicateStartView(t *testing.T) {
	c := of(2)
	g := newRig(t, 0, State{View: 1, LogView: 1}, c, 2)
	start := Message{Kind: MsgStartView, Commit: c.id(2), Head: c.id(2)}
	g.hear(2, 2, start)
	g.want(2, 2, 2, 2)
	h := c.add(2)
	g.hear(2, 2, Message{Kind: MsgPrepare, Commit: c.id(2), Header: h})
	if oks := g.take(MsgPrepareOK); len(oks) == 0 || oks[len(oks)-1].Ack != h.ID() {
		t.Fatalf("acknowledged %+v, want op 3", oks)
	}
	g.effects = nil
	g.hear(2, 2, start)
	g.want(2, 2, 2, 3)
	if g.did(EffCut)+g.did(EffSave) != 0 {
		t.Error("a late start_view changed the disk")
	}
}

// TestRestartForgetsAdoptedEnd is mistake 5: "forgotten" taken for "reached".
func TestRestartForgetsAdoptedEnd(t *testing.T) {
	c := of(2)
	g := newRig(t, 1, State{View: 2, LogView: 1}, c, 1)
	h := c.add(2)
	g.hear(2, 2, Message{Kind: MsgPrepare, Commit: c.id(1), Header: h})
	g.want(2, 1, 1, 2)
	if g.take(MsgPrepareOK); g.did(EffAppend) != 0 {
		t.Error("a prepare was taken with log_view below view")
	}
	g.tick(1)
	if len(g.take(MsgAskStartView)) != 1 {
		t.Error("it did not ask for start_view")
	}
}

// TestLatePrepareOfDeposedPrimary is mistake 6: a frame's view taken for its sender's. A resent
// inherited op bears an old view too, and must be taken.
func TestLatePrepareOfDeposedPrimary(t *testing.T) {
	c := of(2)
	g := newRig(t, 0, State{View: 2, LogView: 2}, c, 2)
	late := append(chain(nil), c...)
	h := late.add(1)
	g.hear(1, 1, Message{Kind: MsgPrepare, Commit: c.id(2), Header: h})
	g.want(2, 2, 2, 2)
	inherited := c.add(1)
	g.hear(2, 2, Message{Kind: MsgPrepare, Commit: c.id(2), Header: inherited})
	g.want(2, 2, 2, 3)
}

// TestBodyMissingAfterStartView is A4: an op is adopted without its body, and the next one arrives.
func TestBodyMissingAfterStartView(t *testing.T) {
	c := of(21)
	g := newRig(t, 0, State{View: 1, LogView: 1}, c[:20], 20)
	g.hear(2, 2, Message{Kind: MsgStartView, Commit: c.id(20), Head: c.id(21), Slots: c.slots(20, 21)})
	next := c.add(2)
	g.hear(2, 2, Message{Kind: MsgPrepare, Commit: c.id(20), Header: next})
	g.want(2, 1, 20, 20)
	if len(g.take(MsgPrepareOK)) != 0 {
		t.Error("it acknowledged above a hole")
	}
	g.tick(1)
	if asked := g.take(MsgFetch); len(asked) != 1 || asked[0].Ack != c.id(21) {
		t.Fatalf("asked for %+v, want op 21", asked)
	}
	g.hear(2, 2, Message{Kind: MsgFetched, Header: c[20]})
	g.want(2, 2, 20, 21)
	g.hear(2, 2, Message{Kind: MsgBeat, Round: 1, Commit: c.id(20), Head: c.id(22)})
	g.tick(int(g.r.cfg.BeatTicks) + 1)
	if asked := g.take(MsgAskPrepares); len(asked) == 0 || asked[0].FromOp != 22 || asked[0].ToOp != 22 {
		t.Fatalf("asked for prepares %+v, want 22..22", asked)
	}
	g.hear(2, 2, Message{Kind: MsgPrepare, Commit: c.id(20), Header: next})
	g.want(2, 2, 20, 22)
}

// TestOneLostPrepare is A5: traffic goes on and no single event starts the repair.
func TestOneLostPrepare(t *testing.T) {
	c := of(2)
	g := newRig(t, 0, State{View: 2, LogView: 2}, c, 2)
	lost := c.add(2)
	for range 6 {
		h := c.add(2)
		g.hear(2, 2, Message{Kind: MsgPrepare, Commit: c.id(2), Header: h})
		g.tick(1)
	}
	g.want(2, 2, 2, 2)
	asked := g.take(MsgAskPrepares)
	if len(asked) == 0 || asked[0].FromOp != 3 || asked[0].ToOp != 3 {
		t.Fatalf("asked for prepares %+v, want 3..3", asked)
	}
	g.hear(2, 2, Message{Kind: MsgPrepare, Commit: c.id(8), Header: lost})
	g.want(2, 2, 8, 9)
}

// TestEmptyAndAbsurdRanges is A12.
func TestEmptyAndAbsurdRanges(t *testing.T) {
	c := of(9)
	for _, rng := range [][2]uint64{{9, 8}, {9, 9}, {1, 0}, {0, 0}, {5, math.MaxUint64}, {math.MaxUint64, math.MaxUint64}} {
		for _, kind := range []MessageKind{MsgAskPrepares, MsgPull} {
			g := newRig(t, 0, State{View: 2, LogView: 2}, c, 9)
			g.hear(1, 2, Message{Kind: kind, Round: 1, FromOp: rng[0], ToOp: rng[1], Window: 4})
			empty := rng[0] == 0 || rng[1] < rng[0]
			if served := g.did(EffServe) + len(g.take(MsgPrepare)); empty && served > 0 {
				t.Errorf("%s %d..%d was served", kind, rng[0], rng[1])
			}
			g.tick(2)
		}
	}
}

// TestVotesOfLargestLogView: a longer log of an older log_view loses to a shorter one of a newer.
func TestVotesOfLargestLogView(t *testing.T) {
	c := of(4)
	newer := append(chain(nil), c[:2]...)
	newer.add(2)
	g := newRig(t, 1, State{View: 3, LogView: 1}, c, 2) // replica 1 leads view 4
	m := Message{Kind: MsgStartViewChange, From: 2, To: 1, Incarnation: incarnation(2), View: 4, LogView: 2}
	g.step(Input{Kind: InMessage, Msg: m})
	m = Message{Kind: MsgDoViewChange, From: 2, To: 1, Incarnation: incarnation(2), View: 4, LogView: 2, Commit: newer.id(2), Head: newer.id(3), Slots: newer.slots(2, 3)}
	g.step(Input{Kind: InMessage, Msg: m})
	g.want(4, 1, 2, 2)
	g.tick(1)
	if asked := g.take(MsgFetch); len(asked) != 1 || asked[0].Ack != newer.id(3) {
		t.Fatalf("asked for %+v, want op 3 of log_view 2", asked)
	}
	g.hear(2, 4, Message{Kind: MsgFetched, Header: newer[2]})
	if s := g.r.Status(); !s.Leading || s.Head != newer.id(3) {
		t.Errorf("stands at %+v", s)
	}
}

// TestAcknowledgesOnlyWhatIsSynced: while the disk is busy nothing is vouched for.
func TestAcknowledgesOnlyWhatIsSynced(t *testing.T) {
	c := of(2)
	g := newRig(t, 0, State{View: 2, LogView: 2}, c, 2)
	g.take(MsgPrepareOK)
	g.stalled = true
	h := c.add(2)
	g.hear(2, 2, Message{Kind: MsgPrepare, Commit: c.id(2), Header: h})
	g.hear(2, 2, Message{Kind: MsgBeat, Round: 1, Commit: c.id(2), Head: h.ID()})
	for _, m := range g.sent {
		if m.Ack.Op > 2 {
			t.Errorf("vouched for %+v with op 3 on its way to the disk", m)
		}
	}
	g.stalled = false
	g.step(g.waiting[0])
	if oks := g.take(MsgPrepareOK); len(oks) != 1 || oks[0].Ack != h.ID() {
		t.Errorf("acknowledged %+v, want op 3", oks)
	}
}
