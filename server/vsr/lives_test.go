package vsr

import "testing"

// again is the next life of a peer.
func again(peer int) Incarnation { return Incarnation{2, uint64(peer) + 1} }

func (g *rig) saves() (states []State) {
	for _, e := range g.effects {
		if e.Kind == EffSave {
			states = append(states, e.State)
		}
	}
	return states
}

// Whoever has forgotten is told nothing before the state says that it lives again. A life that asks for
// nothing costs no write.
func TestALifeIsSavedBeforeItIsAnswered(t *testing.T) {
	c := of(20)
	g := newRigOfFive(t, 2, State{View: 5, LogView: 5}, c)
	g.stalled, g.effects = true, nil
	g.step(Input{Kind: InHello, Peer: 3, Incarnation: again(3)})
	g.tick(20)
	if n := g.did(EffSave); n != 0 {
		t.Fatalf("%d states are saved for a restart", n)
	}
	ask := Input{Kind: InMessage, Msg: Message{Kind: MsgAskHead, From: 3, To: 2, Incarnation: again(3)}}
	for range 2 {
		g.step(ask)
		if told := g.take(MsgTellHead); len(told) != 0 {
			t.Fatal("answered before anything is saved")
		}
	}
	if s := g.saves(); len(s) != 1 || s[0] != (State{View: 5, LogView: 5, Lives: Lives{1, 1, 1, 2, 1}}) {
		t.Fatalf("saves %+v", s)
	}
	g.step(g.waiting[0])
	for range 2 {
		g.step(ask)
		if told := g.take(MsgTellHead); len(told) != 1 || told[0].Lives != (Lives{1, 1, 1, 2, 1}) {
			t.Errorf("told %+v", told)
		}
	}
	if n := g.did(EffSave); n != 1 {
		t.Errorf("%d states are saved for one life", n)
	}
}

// A vote names the lives that the state tells of, also those of peers that this life has not met.
func TestAVoteNamesTheLivesOfTheState(t *testing.T) {
	g := newRigOfFive(t, 2, State{View: 5, LogView: 5, Lives: Lives{1, 1, 1, 7, 0}}, of(20))
	g.hear(1, 6, Message{Kind: MsgStartViewChange})
	votes := g.take(MsgDoViewChange)
	if len(votes) == 0 || votes[0].Lives != (Lives{1, 1, 1, 7, 1}) {
		t.Errorf("votes %+v", votes)
	}
}

// A replica that is made whole has learned what those who make it whole know, and keeps it with its vote.
func TestWhoIsMadeWholeLearnsOfLives(t *testing.T) {
	c := of(20)
	g := newRigOfFive(t, 0, State{View: 5, LogView: 5, Wiped: true}, c)
	for i := 1; i <= 3; i++ {
		lives := Lives{1, 1, 1, 1, uint64(i)}
		g.hear(i, 6, Message{Kind: MsgTellHead, Head: c.id(20), Leading: i == 1, Commit: c.id(20), Lives: lives})
	}
	g.hear(1, 6, Message{Kind: MsgStartView, Head: c.id(20), Commit: c.id(20)})
	g.tick(1)
	s := g.saves()
	if last := s[len(s)-1]; last.Wiped || last.Lives != (Lives{1, 1, 1, 1, 3}) {
		t.Errorf("is made whole with %+v", last)
	}
}

// What a life has told counts only while nobody else says that it is over: the present one may know less.
func TestAnswerOfALifeThatIsOver(t *testing.T) {
	c := of(20)
	for name, test := range map[string]struct {
		known uint64 // of r4, by r2
		whole bool
	}{"over": {2, false}, "present": {1, true}} {
		t.Run(name, func(t *testing.T) {
			g := newRigOfFive(t, 0, State{View: 6, LogView: 6, Wiped: true}, c)
			for _, i := range []int{4, 1, 2} {
				m := Message{Kind: MsgTellHead, Head: c.id(20), Leading: i == 1, Commit: c.id(20)}
				if i == 2 {
					m.Lives[4] = test.known
				}
				g.hear(i, 6, m)
			}
			g.tick(1)
			if whole := g.r.Status().State != "wiped"; whole != test.whole {
				t.Errorf("made whole: %v, want %v", whole, test.whole)
			}
		})
	}
}

// The lives that others know of count in the primary's own next vote, too.
func TestLivesAreLearnedFromVotes(t *testing.T) {
	c := of(20)
	g := newRigOfFive(t, 1, State{View: 5, LogView: 5}, c)
	g.hear(2, 6, Message{Kind: MsgDoViewChange, Head: c.id(20), Commit: c.id(20), Lives: Lives{1, 1, 1, 4, 1}})
	g.take(MsgDoViewChange)
	g.hear(3, 7, Message{Kind: MsgStartViewChange})
	if votes := g.take(MsgDoViewChange); len(votes) == 0 || votes[0].Lives[3] != 4 {
		t.Errorf("votes %+v", votes)
	}
}
