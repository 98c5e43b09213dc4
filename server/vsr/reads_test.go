package vsr

import "testing"

// behindRig is a primary whose backups have committed op 21, and its client was answered, while its own disk is not
// done with it. echo lets both backups answer the present beat.
func behindRig(t *testing.T) (g *rig, echo func()) {
	g, pass := leadingRig(t, false)
	pass(10)
	g.stalled = true
	h := g.register(9)
	for _, from := range []int{0, 2} {
		g.hear(from, 1, Message{Kind: MsgPrepareOK, Ack: h.ID()})
	}
	if o := g.outcomes(9); len(o) != 1 || o[0] != OutcomeCommitted {
		t.Fatalf("op 21: %v", o)
	}
	return g, func() {
		for _, from := range []int{0, 2} {
			g.hear(from, 1, Message{Kind: MsgBeatAck, Round: g.r.lead.round, Head: h.ID(), Ack: h.ID(), Progress: 21})
		}
	}
}

// A read of the latest waits until the own log has what was acknowledged: without the primary two backups commit an
// op that its disk has yet to write. What is prepared after the read came is not waited for.
func TestLatestReadWaitsForTheOwnDisk(t *testing.T) {
	g, echo := behindRig(t)
	g.step(Input{Kind: InReadLatest, Token: 5})
	later := g.register(10)
	g.hear(0, 1, Message{Kind: MsgPrepareOK, Ack: later.ID()})
	echo()
	if o := g.outcomes(5); len(o) != 0 {
		t.Fatalf("answered %v, the own log ends with op %d and op 21 is acknowledged", o, g.r.log.stable.Op)
	}
	g.stalled = false
	g.step(g.waiting[0])
	if g.r.log.stable.Op != 21 || g.r.log.commit.Op != 21 && g.r.log.commit.Op != 22 {
		t.Fatalf("stable %d, commit %d", g.r.log.stable.Op, g.r.log.commit.Op)
	}
	if o := g.outcomes(5); len(o) != 1 || o[0] != OutcomeCommitted {
		t.Errorf("outcomes %v once the own log has op 21", o)
	}
}

// One that asks for nothing of the log, but whether this is the primary, does not wait for its disk, nor behind those who do.
func TestEvictionIsConfirmedWithoutTheOwnDisk(t *testing.T) {
	g, echo := behindRig(t)
	g.step(Input{Kind: InReadLatest, Token: 5})
	g.step(Input{Kind: InRequest, Token: 6, Header: Header{Kind: KindBatch, Session: 999, Client: Client{9, 9}, Request: 1, MessageCount: 1}})
	echo()
	if o := g.outcomes(6); len(o) != 1 || o[0] != OutcomeEvicted {
		t.Errorf("outcomes %v of a session that nobody knows", o)
	}
	if o := g.outcomes(5); len(o) != 0 {
		t.Errorf("the read that waits for the disk is answered %v", o)
	}
}

// A primary whose disk does not come back steps down, and a reader that waits for it is sent on.
func TestLatestReadEndsWithThePrimacy(t *testing.T) {
	g, echo := behindRig(t)
	g.step(Input{Kind: InReadLatest, Token: 5})
	for range 4*g.r.cfg.SuspectTicks + 10 {
		echo()
		g.tick(1)
	}
	if g.r.lead.leading {
		t.Fatal("leads on, without its disk")
	}
	if o := g.outcomes(5); len(o) != 1 || o[0] != OutcomeNotPrimary {
		t.Errorf("outcomes %v", o)
	}
}
