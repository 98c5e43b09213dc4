package vsr

import "testing"

// fetching is a backup that holds ops 1 to 10 and has adopted a log of view 2 that ends with op 12, of which ops up
// to committed are committed at its primary, replica 2.
func fetching(t *testing.T, committed uint64) (*rig, chain) {
	c := of(40)
	g := newRig(t, 0, State{View: 1, LogView: 1}, c[:10], 10)
	g.hear(2, 2, Message{Kind: MsgStartView, Commit: c.id(10), Head: c.id(12), Slots: c.slots(10, 12)})
	g.hear(2, 2, Message{Kind: MsgBeat, Commit: c.id(committed), Head: c.id(40)})
	g.tick(1)
	return g, c
}

func asked(messages []Message, op uint64) (peers []uint8) {
	for _, m := range messages {
		if m.Ack.Op == op {
			peers = append(peers, m.To)
		}
	}
	return peers
}

// TestOneOwnerOfEachMissingOp: what a pull brings is not fetched beside it, and what it does not bring is.
func TestOneOwnerOfEachMissingOp(t *testing.T) {
	g, c := fetching(t, 11)
	g.tick(60)
	fetches := g.take(MsgFetch)
	if at := asked(fetches, 11); len(at) != 0 {
		t.Errorf("op 11 is being pulled, and fetched from %v", at)
	}
	if at := asked(fetches, 12); len(at) < 2 {
		t.Errorf("op 12, which is not committed, is fetched from %v", at)
	}
	g.hear(2, 2, Message{Kind: MsgPullRefused, Round: g.r.pull.no, Commit: c.id(11)})
	g.tick(60)
	if at := asked(g.take(MsgFetch), 11); len(at) == 0 {
		t.Error("op 11 is not fetched when nobody gives it as a committed one")
	}
}

// TestNoFetchOfWhatAChainBrings: its disk is slow to take the chain that makes the adoption superfluous.
func TestNoFetchOfWhatAChainBrings(t *testing.T) {
	g, c := fetching(t, 40)
	refused := g.take(MsgPull)
	if len(refused) != 1 {
		t.Fatalf("%d pulls", len(refused))
	}
	g.hear(2, 2, Message{Kind: MsgPullRefused, Round: refused[0].Round, Commit: c.id(40), FromOp: 30})
	chain := g.take(MsgPull)
	if len(chain) != 1 || !chain[0].Staged {
		t.Fatalf("asks for %+v, and not for the chain", chain)
	}
	g.tick(30)
	g.hear(2, 2, Message{Kind: MsgTable, Round: chain[0].Round, Progress: 1, FromOp: 30, Head: c.id(40), Commit: c.id(40), Goal: c[39].NextOffset()})
	for op := uint64(30); op <= 40; op++ {
		g.hear(2, 2, Message{Kind: MsgChunk, Round: chain[0].Round, Header: c[op-1]})
	}
	g.tick(300)
	if fetches := g.take(MsgFetch); len(fetches) != 0 {
		t.Errorf("%d fetches of what the chain covers, the first of op %d", len(fetches), fetches[0].Ack.Op)
	}
}

// TestWhoAdoptsTellsOfItsView: nothing else would bring the primary-to-be of an older view out of it, where the
// primary of the later one is gone and both lack the same op.
func TestWhoAdoptsTellsOfItsView(t *testing.T) {
	c := of(20)
	for name, m := range map[string]Message{
		"beat":              {Kind: MsgBeat, Starting: true, Waiting: true, Goal: 12},
		"start_view_change": {Kind: MsgStartViewChange},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, 0, State{View: 1, LogView: 1}, c[:10], 10)
			g.hear(1, 4, Message{Kind: MsgStartView, Commit: c.id(10), Head: c.id(12), Slots: c.slots(10, 12)})
			g.take(MsgStartViewChange)
			g.hear(2, 2, m)
			if told := g.take(MsgStartViewChange); len(told) != 1 || told[0].To != 2 || told[0].View != 4 {
				t.Errorf("tells %+v", told)
			}
		})
	}
}

// TestWhoHasTrimmedIsNotAskedAgain: it has said so, and has committed the op.
func TestWhoHasTrimmedIsNotAskedAgain(t *testing.T) {
	g, c := fetching(t, 10)
	for range 300 {
		g.tick(1)
		said := g.r.peers[1].earliest > 0
		for _, m := range g.take(MsgFetch) {
			if m.To == 1 && said {
				t.Fatalf("asks replica 1 for op %d, whose log begins at op 30", m.Ack.Op)
			}
			if m.To == 1 {
				g.hear(1, 2, Message{Kind: MsgPullRefused, FromOp: 30, Commit: c.id(10)})
			}
		}
	}
	if g.r.peers[1].earliest != 30 {
		t.Error("replica 1 was never asked")
	}
	g.step(Input{Kind: InHello, Peer: 1, Incarnation: Incarnation{2, 9}}) // another life, which may have it again
	g.tick(60)
	if at := asked(g.take(MsgFetch), 12); len(at) < 2 {
		t.Errorf("op 12 is fetched from %v", at)
	}
}

// TestTrimmedOpIsSaidToBe: a header that is still remembered is no frame that could be sent.
func TestTrimmedOpIsSaidToBe(t *testing.T) {
	c := of(40)
	g := newRig(t, 1, State{View: 2, LogView: 2}, c, 5)
	g.hear(2, 2, Message{Kind: MsgBeat, Commit: c.id(40), Head: c.id(40)})
	g.step(Input{Kind: InTrimmed, ID: ID{Op: 30}})
	g.sent = nil
	g.hear(0, 2, Message{Kind: MsgFetch, Ack: c.id(12)})
	if len(g.sent) != 1 || g.sent[0].Kind != MsgPullRefused || g.sent[0].FromOp != 30 {
		t.Errorf("answers %+v", g.sent)
	}
	g.hear(0, 2, Message{Kind: MsgFetch, Ack: c.id(30)})
	if sent := g.take(MsgFetched); len(sent) != 1 {
		t.Error("does not give what it has")
	}
}

// TestAsksAtOnceForWhatIsLostAgain: what has come is no longer asked for, and its disk has damaged it at once.
func TestAsksAtOnceForWhatIsLostAgain(t *testing.T) {
	g, c := fetching(t, 10)
	if at := asked(g.take(MsgFetch), 11); len(at) != 1 {
		t.Fatalf("op 11 is fetched from %v", at)
	}
	g.hear(2, 2, Message{Kind: MsgFetched, Header: c[10]})
	g.want(2, 1, 10, 11)
	g.step(Input{Kind: InDamaged, ID: c.id(11)})
	g.tick(1)
	if at := asked(g.take(MsgFetch), 11); len(at) != 1 {
		t.Errorf("op 11 is fetched from %v at the next tick", at)
	}
}
