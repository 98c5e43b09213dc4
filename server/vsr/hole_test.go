package vsr

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// holeRig is a backup of view 1 that holds ops 1 to 40, all committed, and has met damage in op 20.
func holeRig(t *testing.T) (*rig, chain) {
	var c chain
	c.grow(40, 1)
	g := newRig(t, 0, State{View: 1, LogView: 1}, c, 40)
	g.step(Input{Kind: InDamaged, ID: ID{Op: 20}})
	return g, c
}

// live lets ticks pass in which the primary beats and pulls are refused by peers whose logs begin where
// starts says: 0 is a peer that cannot give the op now, and does not say that it has trimmed it.
func (g *rig) live(c chain, ticks int, starts map[int]uint64) {
	for range ticks {
		g.hear(1, 1, Message{Kind: MsgBeat, Commit: c.id(40), Head: c.id(40)})
		g.tick(1)
		for _, m := range g.take(MsgPull) {
			if start, answers := starts[int(m.To)]; answers {
				g.hear(int(m.To), 1, Message{Kind: MsgPullRefused, Commit: c.id(40), Round: m.Round, FromOp: start})
			}
		}
	}
}

// trims returns the ops at which the disk was told to let the log begin.
func (g *rig) trims() (starts []uint64) {
	for _, e := range g.effects {
		if e.Kind == EffTrim {
			starts = append(starts, e.ID.Op)
			if e.Table.ID.Op+1 < e.ID.Op {
				g.t.Errorf("the log is to begin at op %d with a client table as of op %d", e.ID.Op, e.Table.ID.Op)
			}
		}
	}
	return starts
}

// behind counts the events that tell that the log begins behind a hole.
func (g *rig) behind() (times int) {
	for _, e := range g.effects {
		if e.Kind == EffEvent && e.Event.Kind == EventHole && e.Event.FromOp == 20 && e.Event.ToOp >= 24 {
			times++
		}
	}
	return times
}

// Where all others have trimmed it, a hole is given up at once, down to the earliest of their logs.
func TestBeginsBehindWhatAllHaveTrimmed(t *testing.T) {
	g, c := holeRig(t)
	g.live(c, 450, map[int]uint64{1: 30, 2: 25})
	starts := g.trims()
	if len(starts) == 0 || starts[0] != 25 {
		t.Fatalf("the log is to begin at %v, want 25", starts)
	}
	if g.r.voucher().Op != 0 {
		t.Error("vouches before the disk has said where the log begins")
	}
	g.step(Input{Kind: InTrimmed, ID: ID{Op: 25}})
	if s := g.r.Status(); s.Holes != 0 || g.r.voucher() != c.id(40) {
		t.Errorf("%d holes are left, it vouches for op %d", s.Holes, g.r.voucher().Op)
	}
	if told := g.behind(); told != 1 || len(starts) < 2 {
		t.Errorf("the disk was told %d times, and that is an event %d times", len(starts), told)
	}
	before := len(starts)
	g.live(c, 500, map[int]uint64{1: 30, 2: 25})
	if len(g.trims()) != before {
		t.Error("asks the disk again for what is done")
	}
}

// However many holes are closed above one that all others have trimmed, the disk is not told each time to begin behind
// that: a client table waits for it each time.
func TestTellsTheDiskOfAHoleAtAPace(t *testing.T) {
	g, c := holeRig(t)
	g.live(c, 5, map[int]uint64{1: 22, 2: 22})
	for ticks := range uint64(3 * 100) {
		g.step(Input{Kind: InDamaged, ID: ID{Op: 24 + ticks%8*2}})
		g.hear(1, 1, Message{Kind: MsgBeat, Commit: c.id(40), Head: c.id(40)})
		g.tick(1)
		for _, m := range g.take(MsgPull) {
			if m.FromOp == 20 {
				g.hear(int(m.To), 1, Message{Kind: MsgPullRefused, Commit: c.id(40), Round: m.Round, FromOp: 22})
				continue
			}
			g.hear(int(m.To), 1, Message{Kind: MsgChunk, Round: m.Round, Header: c[m.FromOp-1]})
			g.step(Input{Kind: InFilled, ID: c.id(m.FromOp), OK: true})
		}
	}
	if starts := g.trims(); len(starts) < 2 || len(starts) > 4 {
		t.Errorf("the disk was told %d times in 3 seconds", len(starts))
	}
}

// What others still have is not given up: not before anybody has trimmed it, and not before who is there
// has been asked.
func TestKeepsAskingForAHole(t *testing.T) {
	g, c := holeRig(t)
	g.live(c, 2000, map[int]uint64{1: 0, 2: 0})
	if starts := g.trims(); len(starts) != 0 {
		t.Fatalf("the log is to begin at %v, and nobody has trimmed the hole", starts)
	}
	g, c = holeRig(t)
	for range 600 {
		g.hear(1, 1, Message{Kind: MsgBeat, Commit: c.id(40), Head: c.id(40)})
		g.tick(1)
		for _, m := range g.take(MsgPull) {
			if m.To == 1 {
				g.hear(1, 1, Message{Kind: MsgPullRefused, Commit: c.id(40), Round: m.Round, FromOp: 30})
				continue
			}
			g.hear(2, 1, Message{Kind: MsgChunk, Round: m.Round, Header: c[19]})
			g.step(Input{Kind: InFilled, ID: c.id(20), OK: true})
		}
	}
	if s := g.r.Status(); s.Holes != 0 || len(g.trims()) != 0 {
		t.Errorf("%d holes, the log is to begin at %v: the other backup was not asked", s.Holes, g.trims())
	}
}

// A replica that is away, or damaged in the same place, does not keep a hole open for ever.
func TestBeginsBehindWithoutTheThird(t *testing.T) {
	for name, starts := range map[string]map[int]uint64{"is damaged, too": {1: 30, 2: 0}, "does not answer": {1: 30}} {
		g, c := holeRig(t)
		g.live(c, 1500, starts)
		if got := g.trims(); len(got) == 0 || got[0] != 30 {
			t.Errorf("the third %s: the log is to begin at %v, want 30", name, got)
		}
	}
}

// What a transfer to a peer is about to be sent stays until it has gone.
func TestBeginsBehindNoLease(t *testing.T) {
	g, c := holeRig(t)
	g.hear(2, 1, Message{Kind: MsgPull, Commit: c.id(10), Round: 1, FromOp: 22, ToOp: 40, Window: 3, Bulk: true})
	g.live(c, 900, map[int]uint64{1: 30, 2: 30})
	if starts := g.trims(); len(starts) != 0 {
		t.Fatalf("the log is to begin at %v, and a transfer needs op 22", starts)
	}
	g.live(c, 300, map[int]uint64{1: 30, 2: 30}) // its lease ends
	if starts := g.trims(); len(starts) == 0 {
		t.Error("the hole stays after the transfer")
	}
}

// While the log may not begin behind a hole yet, or the disk has not done it, whoever has not said that it trimmed
// the op is still asked: it may be back with it.
func TestAsksTheThirdMeanwhile(t *testing.T) {
	for name, wait := range map[string]func(g *rig, c chain){
		"a lease": func(g *rig, c chain) {
			g.hear(2, 1, Message{Kind: MsgPull, Commit: c.id(10), Round: 1, FromOp: 22, ToOp: 40, Window: 3, Bulk: true})
		},
		"a full disk": func(g *rig, c chain) { g.step(Input{Kind: InDiskFull, OK: true}) },
		"the disk":    func(*rig, chain) {},
	} {
		g, c := holeRig(t)
		wait(g, c)
		g.live(c, 900, map[int]uint64{1: 30})
		g.hear(1, 1, Message{Kind: MsgBeat, Commit: c.id(40), Head: c.id(40)})
		for range 250 { // now it answers
			g.hear(1, 1, Message{Kind: MsgBeat, Commit: c.id(40), Head: c.id(40)})
			g.tick(1)
			for _, m := range g.take(MsgPull) {
				if m.To == 2 && m.FromOp == 20 {
					g.hear(2, 1, Message{Kind: MsgChunk, Round: m.Round, Header: c[19]})
					g.step(Input{Kind: InFilled, ID: c.id(20), OK: true})
				}
			}
		}
		if s := g.r.Status(); s.Holes != 0 {
			t.Errorf("waiting for %s it has not asked who may have the op", name)
		}
	}
}

// A disk that is full, or far behind, is asked for nothing more: each time is a client table that waits for it.
func TestBeginsBehindOnceTheDiskCan(t *testing.T) {
	g, c := holeRig(t)
	g.step(Input{Kind: InDiskFull, OK: true})
	g.live(c, 900, map[int]uint64{1: 30, 2: 30})
	if starts := g.trims(); len(starts) != 0 {
		t.Fatalf("a full disk is told %d times to begin at %d", len(starts), starts[0])
	}
	g.step(Input{Kind: InDiskFull})
	g.live(c, 200, map[int]uint64{1: 30, 2: 30})
	if starts := g.trims(); len(starts) == 0 {
		t.Error("the hole stays when there is room again")
	}
}

// A hole that nobody can close keeps no other one open.
func TestClosesAHoleAboveAnother(t *testing.T) {
	for name, start := range map[string]uint64{"lost": 0, "trimmed elsewhere": 21} {
		g, c := holeRig(t)
		g.step(Input{Kind: InDiskFull, OK: true}) // the log cannot begin elsewhere
		g.step(Input{Kind: InDamaged, ID: ID{Op: 30}})
		for range 1500 {
			g.hear(1, 1, Message{Kind: MsgBeat, Commit: c.id(40), Head: c.id(40)})
			g.tick(1)
			for _, m := range g.take(MsgPull) {
				if m.FromOp == 20 || m.To == 2 {
					g.hear(int(m.To), 1, Message{Kind: MsgPullRefused, Commit: c.id(40), Round: m.Round, FromOp: start})
					continue
				}
				g.hear(1, 1, Message{Kind: MsgChunk, Round: m.Round, Header: c[29]})
				g.step(Input{Kind: InFilled, ID: c.id(30), OK: true})
			}
		}
		if holes := g.r.log.holes; len(holes) != 1 || holes[0].From != 20 {
			t.Errorf("%s: holes %v are left, want the first one", name, holes)
		}
	}
}

// mends lets ticks pass in which peer 1 gives what is pulled and the disk closes the holes, if the frames fit. It
// returns how often something was asked for.
func (g *rig) mends(c chain, ticks int, fits bool) (pulls int) {
	for range ticks {
		g.hear(1, 1, Message{Kind: MsgBeat, Commit: c.id(uint64(len(c))), Head: c.id(uint64(len(c)))})
		g.tick(1)
		for _, m := range g.take(MsgPull) {
			pulls++
			for op := m.FromOp; op <= m.ToOp; op++ {
				g.hear(int(m.To), 1, Message{Kind: MsgChunk, Round: m.Round, Header: c[op-1]})
			}
			for op := m.FromOp; op <= m.ToOp; op++ {
				if g.r.log.hole(op) {
					g.step(Input{Kind: InFilled, ID: c.id(op), OK: fits})
				}
			}
		}
	}
	return pulls
}

// found returns what was told of as damaged.
func (g *rig) found() (ranges []OpRange) {
	for _, e := range g.effects {
		if e.Kind == EffEvent && e.Event.Kind == EventHole {
			ranges = append(ranges, OpRange{e.Event.FromOp, e.Event.ToOp})
		}
	}
	return ranges
}

// Damage in ops next to one another is one hole: it is told of once, and
// asked for once.
func TestDamagedNeighboursAreOneHole(t *testing.T) {
	g, c := holeRig(t)
	for _, op := range []uint64{21, 19, 22, 18, 23, 20, 17, 24} {
		g.step(Input{Kind: InDamaged, ID: ID{Op: op}})
	}
	if holes := g.r.log.holes; len(holes) != 1 || holes[0] != (OpRange{17, 24}) {
		t.Fatalf("holes %v, want one", holes)
	}
	if pulls := g.mends(c, 60, true); pulls != 1 || g.r.Status().Holes != 0 || g.r.voucher() != c.id(40) {
		t.Errorf("%d holes are left after %d pulls, it vouches for op %d", g.r.Status().Holes, pulls, g.r.voucher().Op)
	}
	if told := g.found(); len(told) != 1 || told[0] != (OpRange{17, 24}) {
		t.Errorf("told of %v", told)
	}
}

// What the log has found around an op is part of the hole at once, and told of once: it reaches over what was known, and
// not out of the log or, unless it is to be cut, above commit.
func TestDamageAroundAnOp(t *testing.T) {
	g, c := holeRig(t) // of op 20
	for _, in := range []Input{{ID: ID{Op: 19}, Hole: OpRange{18, 24}}, {ID: ID{Op: 22}, Hole: OpRange{18, 24}}, {ID: ID{Op: 30}, Hole: OpRange{0, 0}}, {ID: ID{Op: 33}, Hole: OpRange{1, 2}}} {
		in.Kind = InDamaged
		g.step(in)
	}
	want := []OpRange{{18, 24}, {30, 30}, {33, 33}}
	if holes := g.r.log.holes; !slices.Equal(holes, want) {
		t.Fatalf("holes %v, want %v", holes, want)
	}
	if g.mends(c, 120, true); g.r.Status().Holes != 0 {
		t.Errorf("%d holes are left", g.r.Status().Holes)
	}
	if told := g.found(); !slices.Equal(told, want) {
		t.Errorf("told of %v", told)
	}
}

// Where what is damaged reaches above commit, the log ends at commit.
func TestDamageOverCommit(t *testing.T) {
	var c chain
	c.grow(40, 1)
	g := newRig(t, 0, State{View: 1, LogView: 1}, c, 30)
	g.step(Input{Kind: InDamaged, ID: ID{Op: 29}, Hole: OpRange{28, 99}})
	if holes := g.r.log.holes; len(holes) != 1 || holes[0] != (OpRange{28, 30}) || g.r.log.head.Op != 30 {
		t.Errorf("holes %v, head %d; want 28 to 30, and 30", holes, g.r.log.head.Op)
	}
}

// Holes are closed as fast as somebody gives what was there.
func TestClosesManyHolesWithoutAPause(t *testing.T) {
	var c chain
	c.grow(400, 1)
	g := newRig(t, 0, State{View: 1, LogView: 1}, c, 400)
	for op := uint64(2); op <= 400; op += 2 {
		g.step(Input{Kind: InDamaged, ID: ID{Op: op}})
	}
	if s := g.r.Status(); s.Holes != 200 {
		t.Fatalf("%d holes, want 200", s.Holes)
	}
	pulls := g.mends(c, 250, true)
	if s := g.r.Status(); s.Holes != 0 || pulls != 200 {
		t.Errorf("%d holes are left after %d pulls", s.Holes, pulls)
	}
}

// A hole that nobody can close costs those above it one round of questions, not one for each of them.
func TestGoesOnAboveAHoleThatNobodyCloses(t *testing.T) {
	g, c := holeRig(t)
	for op := uint64(22); op <= 40; op += 2 {
		g.step(Input{Kind: InDamaged, ID: ID{Op: op}})
	}
	for range 800 {
		g.hear(1, 1, Message{Kind: MsgBeat, Commit: c.id(40), Head: c.id(40)})
		g.tick(1)
		for _, m := range g.take(MsgPull) {
			if m.FromOp == 20 {
				g.hear(int(m.To), 1, Message{Kind: MsgPullRefused, Commit: c.id(40), Round: m.Round})
				continue
			}
			g.hear(int(m.To), 1, Message{Kind: MsgChunk, Round: m.Round, Header: c[m.FromOp-1]})
			g.step(Input{Kind: InFilled, ID: c.id(m.FromOp), OK: true})
		}
	}
	if holes := g.r.log.holes; len(holes) != 1 || holes[0].From != 20 {
		t.Errorf("holes %v are left, want the first one", holes)
	}
}

// What does not fit is not asked for again and again.
func TestPausesAfterWhatMendsNothing(t *testing.T) {
	g, c := holeRig(t)
	if pulls := g.mends(c, 350, false); pulls < 2 || pulls > 4 {
		t.Errorf("%d pulls in 350 ticks, want one each 100", pulls)
	}
}

// The server is allowed more only when the disk has closed what has come: frames that wait for it hold memory.
func TestAHoleWaitsForTheDisk(t *testing.T) {
	var c chain
	c.grow(40, 1)
	g := newRig(t, 0, State{View: 1, LogView: 1}, c, 40)
	for op := uint64(11); op <= 30; op++ {
		g.step(Input{Kind: InDamaged, ID: ID{Op: op}})
	}
	g.hear(1, 1, Message{Kind: MsgBeat, Commit: c.id(40), Head: c.id(40)})
	g.tick(1)
	pull := g.take(MsgPull)[0]
	g.hear(1, 1, Message{Kind: MsgChunk, Round: pull.Round, Header: c[10]})
	g.step(Input{Kind: InChunkEnd, Peer: 1, Round: pull.Round, ID: c.id(11), OK: true})
	for range 200 {
		g.hear(1, 1, Message{Kind: MsgBeat, Commit: c.id(40), Head: c.id(40)})
		g.tick(1)
	}
	if more := g.take(MsgPull); len(more) > 0 {
		t.Fatalf("asks for more, or for something else, while the disk is at work: %+v", more)
	}
	g.step(Input{Kind: InFilled, ID: c.id(11), OK: true})
	if more := g.take(MsgPull); len(more) != 1 || more[0].Round != pull.Round || more[0].Window <= pull.Window {
		t.Errorf("does not let the server go on: %+v", more)
	}
}

// The holes are what a set of their ops is.
func TestHolesAreASet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var l log
	damaged := map[uint64]bool{}
	for range 20000 {
		op := 1 + rng.Uint64N(60)
		if rng.IntN(2) == 0 {
			if added := l.addHole(op, op); added == damaged[op] {
				t.Fatalf("op %d was noted: %v, known: %v", op, added, damaged[op])
			}
			damaged[op] = true
		} else {
			l.fillHole(op)
			delete(damaged, op)
		}
		ops := 0
		for i, h := range l.holes {
			if h.From > h.To || i > 0 && l.holes[i-1].To+1 >= h.From {
				t.Fatalf("holes %v overlap, touch or are out of order", l.holes)
			}
			ops += int(h.To - h.From + 1)
		}
		for op := range damaged {
			if !l.hole(op) {
				t.Fatalf("op %d is damaged and in none of %v", op, l.holes)
			}
		}
		if ops != len(damaged) {
			t.Fatalf("holes %v, %d ops are damaged", l.holes, len(damaged))
		}
	}
}

// However many holes there are, what was committed meanwhile is pulled between two of them.
func TestPullsWhatIsMissingBetweenTwoHoles(t *testing.T) {
	var c, later chain
	c.grow(400, 1)
	later = append(later, c...)
	later.grow(600, 1)
	g := newRig(t, 0, State{View: 1, LogView: 1}, c, 400)
	for op := uint64(2); op <= 400; op += 2 {
		g.step(Input{Kind: InDamaged, ID: ID{Op: op}})
	}
	g.mends(later, 20, true)
	if s := g.r.Status(); s.Commit.Op != 1000 || s.Holes == 0 || s.Holes == 200 {
		t.Errorf("%d holes are left, and it has committed op %d of 1000", s.Holes, s.Commit.Op)
	}
}

// What was found of the own log above commit, that it does not belong, is not forgotten over a hole that is closed
// meanwhile: what does not fit would be asked for again after each of them.
func TestDoubtOutlastsAHole(t *testing.T) {
	g, all := foreignTailRig(t)
	for op := uint64(2); op <= 20; op += 2 {
		g.step(Input{Kind: InDamaged, ID: ID{Op: op}})
	}
	foreign := 0
	for range 300 {
		g.hear(0, 6, Message{Kind: MsgTellHead, Commit: all.id(2022), Head: all.id(2022)})
		g.tick(1)
		for _, m := range g.take(MsgPull) {
			if m.FromOp == 25 {
				foreign++
			}
			for op := m.FromOp; op <= m.ToOp; op++ {
				g.hear(int(m.To), 6, Message{Kind: MsgChunk, Round: m.Round, Commit: all.id(2022), Header: all[op-1]})
				if g.r.log.hole(op) {
					g.step(Input{Kind: InFilled, ID: all.id(op), OK: true})
				}
			}
		}
	}
	if s := g.r.Status(); s.Commit.Op != 2022 || s.Holes != 0 || foreign != 1 {
		t.Errorf("has committed op %d of 2022, %d holes are left, and what does not fit was asked for %d times", s.Commit.Op, s.Holes, foreign)
	}
}

// When everybody was asked in vain and the disk is told to begin behind the hole, it has the turn: who has just refused
// is not asked once more beside it.
func TestLeavesTheTurnToTheDisk(t *testing.T) {
	g, c := holeRig(t)
	for ticks := 0; len(g.trims()) == 0; ticks++ {
		if ticks > 1000 {
			t.Fatal("the hole stays")
		}
		g.live(c, 1, map[int]uint64{1: 30, 2: 0})
	}
	asked := g.pulls()
	if g.live(c, 90, map[int]uint64{1: 30, 2: 0}); asked != 3 || g.pulls() != 3 {
		t.Errorf("%d pulls before the disk was told, %d with what followed; want three", asked, g.pulls())
	}
}

// pulls counts what was asked for.
func (g *rig) pulls() (n int) {
	for _, e := range g.effects {
		if e.Kind == EffSend && e.Msg.Kind == MsgPull {
			n++
		}
	}
	return n
}
