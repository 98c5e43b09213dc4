package vsr

import "testing"

// A primary whose backups can never commit, for an op that they lack is lost, leads again after each
// step down. Its terms grow, so that views are not raised for ever at one rate; a commit ends that.
func TestTermsWithoutCommitGrow(t *testing.T) {
	g, _ := leadingRig(t, false)
	commit := g.r.log.commit
	term := func(view uint64) (ticks uint64) {
		for g.r.lead.leading {
			g.tick(1)
			for _, m := range g.take(MsgBeat) {
				g.hear(int(m.To), view, Message{Kind: MsgBeatAck, Commit: commit, Round: m.Round, Head: commit, Ack: commit})
			}
			if ticks++; ticks > 10*patienceTicksMax {
				t.Fatal("leads for ever without a commit")
			}
		}
		return ticks
	}
	g.step(Input{Kind: InRegister, Token: 9, Header: Header{Client: Client{1, 2}}})
	base := 4 * g.r.cfg.SuspectTicks
	first := term(1)
	g.enter(4)
	second := term(4)
	g.enter(7)
	third := term(7)
	if first < base || first > base+2 || second < 2*first-4 || third > patienceTicksMax+2 || third < second {
		t.Errorf("terms of %d, %d and %d ticks, want about %d, twice that, and at most %d", first, second, third, base, patienceTicksMax)
	}
	g.enter(10)
	g.hear(0, 10, Message{Kind: MsgPrepareOK, Ack: g.r.log.head})
	if g.r.log.commit == commit {
		t.Fatal("nothing was committed")
	}
	g.step(Input{Kind: InRegister, Token: 10, Header: Header{Client: Client{3, 4}}})
	commit = g.r.log.commit
	if again := term(10); again > base+2 {
		t.Errorf("a term of %d ticks after a commit, want about %d", again, base)
	}
}
