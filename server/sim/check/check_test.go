package check

import (
	"fmt"
	"strings"
	"testing"

	"rejoin/server/vsr"
)

// rig is a cluster of three that a test describes, with the promise that was called broken.
type rig struct {
	t      *testing.T
	live   *Liveness
	c      Cluster
	broken string
	detail string
	round  uint64 // of the last attempt
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t}
	r.c = Cluster{Nodes: make([]Node, 3), Commit: 40}
	for i := range r.c.Nodes {
		r.c.Nodes[i] = Node{Up: true, Linked: 7 &^ (1 << i), Status: vsr.Status{View: 4, LogView: 4, State: "normal",
			Commit: vsr.ID{Op: 40}, Head: vsr.ID{Op: 40}, Top: 40, KnownCommit: 40}}
	}
	r.c.Nodes[1].Status.Leading = true
	r.live = NewLiveness(Options{RingOps: 8, Holds: func(int, vsr.ID) bool { return true }, Gives: func(int, uint64) bool { return true },
		Start: func(int) uint64 { return 1 },
		Fail: func(property, format string, args ...any) {
			if r.broken == "" {
				r.broken, r.detail = property, fmt.Sprintf(format, args...)
			}
		}})
	r.live.Judge(r.c)
	return r
}

// lag lets replica 0 have less than the group.
func (r *rig) lag(commit uint64) *vsr.Status {
	s := &r.c.Nodes[0].Status
	s.Commit.Op, s.Head.Op, s.Top = commit, commit, commit
	return s
}

func (r *rig) ticks(n int) {
	for range n {
		r.live.Tick(r.c)
	}
}

func (r *rig) want(property string) {
	r.t.Helper()
	if r.broken != property {
		r.t.Fatalf("broken: %q (%s), want %q", r.broken, r.detail, property)
	}
}

// pull lets replica 0 ask replica 1.
func (r *rig) pull(round, from, to uint64, staged bool) {
	r.live.Sent(&vsr.Message{Kind: vsr.MsgPull, From: 0, To: 1, Round: round, FromOp: from, ToOp: to, Bulk: true, Staged: staged}, &r.c.Nodes[0].Status)
}

func (r *rig) table(round, first, last uint64) {
	r.live.Delivered(&vsr.Message{Kind: vsr.MsgTable, From: 1, To: 0, Round: round, FromOp: first, Head: vsr.ID{Op: last}, Commit: r.c.Nodes[1].Status.Commit}, &r.c.Nodes[0].Status)
}

func (r *rig) chunk(round, op uint64) {
	r.live.Delivered(&vsr.Message{Kind: vsr.MsgChunk, From: 1, To: 0, Round: round, Header: vsr.Header{Op: op}, Commit: r.c.Nodes[1].Status.Commit}, &r.c.Nodes[0].Status)
}

func TestQuietClusterKeepsEverything(t *testing.T) {
	r := newRig(t)
	r.ticks(3 * CatchUpTicks)
	if !r.live.AtRest() || !r.live.CaughtUp() {
		t.Fatal("a cluster at rest is not at rest")
	}
	r.live.Overdue("")
	r.want("")
}

func TestLaggardBreaksP1(t *testing.T) {
	r := newRig(t)
	r.lag(39)
	r.ticks(CatchUpTicks)
	if r.live.AtRest() || r.live.CaughtUp() {
		t.Fatal("a lagging replica is no rest")
	}
	r.live.Overdue("")
	r.want("P1")
}

func TestSameRequestBreaksP2(t *testing.T) {
	r := newRig(t)
	s := r.lag(16)
	ask := vsr.Message{Kind: vsr.MsgAskPrepares, From: 0, To: 1, FromOp: 17, ToOp: 40}
	for range 2 {
		for range RepeatsMax {
			r.live.Sent(&ask, s)
		}
		s = r.lag(s.Commit.Op + 1) // another state
	}
	r.want("")
	for i := range RepeatsMax + 1 {
		r.live.Sent(&ask, s)
		other := ask
		other.FromOp += uint64(i) // another request between them is no excuse
		r.live.Sent(&other, s)
	}
	r.want("P2")
}

func TestSamePullBreaksP2(t *testing.T) {
	r := newRig(t)
	r.lag(16)
	for i := range uint64(RepeatsMax) {
		r.pull(i+1, 17, 40, false)
		r.pull(i+1, 17, 40, false) // more of the same pull is allowed: no request
		r.live.Delivered(&vsr.Message{Kind: vsr.MsgPullRefused, From: 1, To: 0, Round: i + 1, FromOp: 29}, &r.c.Nodes[0].Status)
		r.chunk(i+1, 29) // does not connect: nothing that could be taken
	}
	r.want("")
	r.pull(RepeatsMax+1, 17, 40, false)
	r.want("P2")
}

// A fetch may be repeated while nobody who can be reached has the op.
func TestFetchOfWhatNobodyHas(t *testing.T) {
	r := newRig(t)
	held := false
	r.live.Holds = func(int, vsr.ID) bool { return held }
	fetch := vsr.Message{Kind: vsr.MsgFetch, From: 0, To: 1, Ack: vsr.ID{Op: 41, Sum: 9}}
	for range 3 * RepeatsMax {
		r.live.Sent(&fetch, &r.c.Nodes[0].Status)
	}
	r.want("")
	held = true
	for range RepeatsMax + 1 {
		r.live.Sent(&fetch, &r.c.Nodes[0].Status)
	}
	r.want("P2")
}

// A fetch may be repeated where whoever holds the op is with a quorum, and not with the asker.
func TestFetchOfWhatOnlyAStrangerHolds(t *testing.T) {
	for _, joined := range []bool{false, true} {
		r := newRig(t)
		r.live.Holds = func(i int, _ vsr.ID) bool { return i == 2 }
		if !joined {
			r.c.Nodes[0].Linked, r.c.Nodes[2].Linked = 1<<1, 1<<1
		}
		r.ticks(1)
		fetch := vsr.Message{Kind: vsr.MsgFetch, From: 0, To: 1, Ack: vsr.ID{Op: 41, Sum: 7}}
		for range RepeatsMax + 1 {
			r.live.Sent(&fetch, &r.c.Nodes[0].Status)
		}
		r.want(map[bool]string{false: "", true: "P2"}[joined])
	}
}

// So may a pull of a committed op that is damaged wherever it was.
func TestPullOfWhatIsLost(t *testing.T) {
	r := newRig(t)
	r.lag(16)
	from := 3
	r.live.Gives = func(i int, op uint64) bool { return i > 0 && (i == from || op > 17) }
	round := uint64(0)
	pull := func(op uint64) {
		for range RepeatsMax + 1 {
			round++
			r.pull(round, op, 40, false)
		}
	}
	pull(17)
	r.want("")
	r.c.Nodes[2].Linked = 0 // it has the op, and is away
	r.ticks(1)
	from = 2
	pull(17)
	r.want("")
	r.c.Commit = 16 // nobody has committed it: who asks for it is wrong to
	r.ticks(1)
	pull(17)
	r.want("P2")
}

// So may a pull of what all have trimmed, where an op of each chain that could take the log's place is damaged
// wherever it was. One chain that can be had is enough to break the promise.
func TestPullOfBrokenChains(t *testing.T) {
	for name, c := range map[string]struct {
		starts, damaged [2]uint64 // of replicas 1 and 2; 0: nothing is
		commit          uint64    // of replica 1
		want            string
	}{
		"lost everywhere":              {[2]uint64{20, 25}, [2]uint64{30, 30}, 40, ""},
		"trimmed at one":               {[2]uint64{20, 31}, [2]uint64{30, 0}, 40, "P2"},
		"damaged at one":               {[2]uint64{20, 25}, [2]uint64{30, 0}, 40, "P2"},
		"another at each":              {[2]uint64{20, 25}, [2]uint64{30, 31}, 40, "P2"},
		"lost before the other begins": {[2]uint64{20, 25}, [2]uint64{22, 0}, 40, "P2"},
		"each has its own":             {[2]uint64{20, 20}, [2]uint64{20, 20}, 40, ""},
		"behind the end of one":        {[2]uint64{20, 25}, [2]uint64{30, 30}, 29, "P2"},
		"one has the very op":          {[2]uint64{17, 25}, [2]uint64{30, 30}, 40, "P2"},
		"nothing is damaged":           {[2]uint64{20, 25}, [2]uint64{0, 0}, 40, "P2"},
		"one ends before the op":       {[2]uint64{3, 25}, [2]uint64{30, 30}, 16, ""},
	} {
		r := newRig(t)
		r.lag(16)
		r.c.Nodes[1].Status.Commit.Op = c.commit
		r.ticks(1)
		r.live.Start = func(i int) uint64 { return append([]uint64{1}, c.starts[:]...)[i] }
		r.live.Gives = func(i int, op uint64) bool {
			return i > 0 && op != c.damaged[i-1] && op <= r.c.Nodes[i].Status.Commit.Op
		}
		for round := uint64(1); round <= RepeatsMax+1; round++ {
			r.want("")
			r.pull(round, 17, 40, false)
		}
		if r.broken != c.want {
			t.Errorf("%s: broken: %q, want %q", name, r.broken, c.want)
		}
	}
}

// A hole that others have trimmed is closed by beginning behind it, not by a chain.
func TestPullOfATrimmedHoleBreaksP2(t *testing.T) {
	r := newRig(t)
	r.live.Start = func(i int) uint64 { return 20 * uint64(i) }
	r.live.Gives = func(_ int, op uint64) bool { return op != 17 && op != 30 }
	for round := uint64(1); round <= RepeatsMax+1; round++ {
		r.want("")
		r.pull(round, 17, 17, false)
	}
	r.want("P2")
}

func TestPullThatOneCanGiveBreaksP2(t *testing.T) {
	r := newRig(t)
	r.lag(16)
	r.live.Gives = func(i int, op uint64) bool { return i == 2 }
	for round := uint64(1); round <= RepeatsMax+1; round++ {
		r.want("")
		r.pull(round, 17, 40, false)
	}
	r.want("P2")
}

func TestFinishedPullsWithoutCommitBreakP3(t *testing.T) {
	for _, staged := range []bool{true, false} {
		r := newRig(t)
		r.lag(16)
		for round := uint64(1); round <= UselessMax; round++ {
			r.want("")
			r.pull(round, 17, 40+round, staged)
			if staged {
				r.table(round, 33, 40)
			}
			for op := uint64(33); op <= 40+round; op++ {
				r.chunk(round, op)
			}
		}
		r.want("")
		r.pull(UselessMax+1, 17, 60, staged)
		r.want("P3")
	}
}

func TestManyTransfersBreakP3(t *testing.T) {
	r := newRig(t)
	r.lag(16)
	r.attempts(AttemptsMax, func(uint64) {})
	r.want("")
	r.attempts(1, func(uint64) {})
	r.want("P3")
}

// attempts are transfers of which each raises commit a little, and then ends.
func (r *rig) attempts(n int, end func(round uint64)) {
	s := &r.c.Nodes[0].Status
	for range n {
		r.round++
		r.pull(r.round, s.Commit.Op+1, 32, false)
		s = r.lag(s.Commit.Op + 1)
		r.chunk(r.round, s.Commit.Op+1)
		end(r.round)
		r.ticks(1)
	}
}

// TestDamageAtTheServer: a transfer that ends where its server could not read on is not held against who began it.
// One that is refused for nothing is, also with damage elsewhere; so is one of what its server has trimmed.
func TestDamageAtTheServer(t *testing.T) {
	for name, c := range map[string]struct {
		reads    uint64 // what could not be read, by how far it is ahead of what has come; 0: nothing
		damage   uint64 // what is damaged, in the same way
		round    uint64 // that it was read for, by how long it is over
		earliest uint64
		trimmed  bool
		want     string
	}{
		"damage":              {reads: 3, damage: 3},
		"nothing":             {want: "P3"},
		"damage far ahead":    {damage: 3, want: "P3"},
		"no damage":           {reads: 3, want: "P3"},
		"trimmed":             {reads: 3, damage: 3, earliest: 39, want: "P3"},
		"trimmed meanwhile":   {reads: 3, damage: 3, trimmed: true, want: "P3"},
		"read for the former": {reads: 3, damage: 3, round: 1, want: "P3"},
	} {
		r := newRig(t)
		r.lag(16)
		head := func() uint64 { return r.c.Nodes[0].Status.Head.Op }
		r.live.Gives = func(i int, op uint64) bool { return i != 1 || c.damage == 0 || op != head()+c.damage }
		r.live.Start = func(int) uint64 {
			if c.trimmed {
				return 39
			}
			return 1
		}
		r.attempts(AttemptsMax+1, func(round uint64) {
			if c.reads > 0 {
				r.live.Broke(1, 0, round-c.round, head()+c.reads)
			}
			r.live.Delivered(&vsr.Message{Kind: vsr.MsgPullRefused, From: 1, To: 0, Round: round, FromOp: c.earliest}, &r.c.Nodes[0].Status)
			r.chunk(round, head()+1) // overtaken
		})
		if r.broken != c.want {
			t.Errorf("%s: broken: %q (%s), want %q", name, r.broken, r.detail, c.want)
		}
	}
}

// TestDamageBehindAnOutage: a transfer of an outage that is over is none of the next one, and forgives it nothing.
func TestDamageBehindAnOutage(t *testing.T) {
	r := newRig(t)
	r.lag(16)
	r.live.Gives = func(i int, _ uint64) bool { return i != 1 }
	r.attempts(1, func(round uint64) {
		s := *r.lag(40)
		r.ticks(1) // the outage is over
		r.live.Broke(1, 0, round, 30)
		r.live.Delivered(&vsr.Message{Kind: vsr.MsgPullRefused, From: 1, To: 0, Round: round}, &s)
		r.lag(16)
	})
	r.attempts(AttemptsMax, func(uint64) {})
	r.want("")
	r.attempts(1, func(uint64) {})
	r.want("P3")
}

// Whoever has come within the ring begins another outage; so does who lags as the load makes it.
func TestTransfersOfTwoOutages(t *testing.T) {
	r := newRig(t)
	for round := uint64(1); round <= 2*AttemptsMax; round++ {
		r.c.Commit = 40 * round
		s := r.lag(r.c.Commit - 20)
		r.ticks(1)
		r.pull(round, s.Commit.Op+1, r.c.Commit, false)
		r.chunk(round, s.Commit.Op+1)
		r.lag(r.c.Commit - 2)
		r.ticks(1)
	}
	r.want("")
}

func TestRefusedOfferBreaksP4(t *testing.T) {
	for _, staged := range []bool{true, false} {
		r := newRig(t)
		r.lag(16)
		for round := uint64(1); round <= RefusalsMax; round++ {
			r.want("")
			r.pull(round, 17, 40, staged)
			if staged {
				r.table(round, 29, 40)
			} else {
				r.chunk(round, 17)
			}
		}
		r.want("")
		r.pull(RefusalsMax+1, 17, 40, staged)
		r.want("P4")
	}
}

// An offer that its server takes back, or one of what is not committed there, is none.
func TestNoOffer(t *testing.T) {
	for name, offer := range map[string]func(*rig, uint64){
		"taken back": func(r *rig, round uint64) {
			r.table(round, 29, 40)
			r.live.Delivered(&vsr.Message{Kind: vsr.MsgPullRefused, From: 1, To: 0, Round: round}, &r.c.Nodes[0].Status)
		},
		"uncommitted":  func(r *rig, round uint64) { r.table(round, 29, 41) },
		"of no use":    func(r *rig, round uint64) { r.table(round, 9, 16) },
		"another pull": func(r *rig, round uint64) { r.table(round+1, 29, 40) },
	} {
		r := newRig(t)
		r.lag(16)
		for round := uint64(1); round <= AttemptsMax; round++ {
			r.pull(round, 17, 40+round, true)
			offer(r, round)
		}
		if r.broken != "" {
			t.Errorf("%s: %s (%s)", name, r.broken, r.detail)
		}
	}
}

func TestViewsBreakP5(t *testing.T) {
	r := newRig(t)
	for v := uint64(5); v <= 4+ViewsMax; v++ {
		r.c.Nodes[2].Status.View = v
		r.ticks(10)
	}
	r.want("")
	r.c.Nodes[2].Status.View++
	r.ticks(1)
	r.want("P5")
}

func TestViewsThatDifferBreakP5(t *testing.T) {
	r := newRig(t)
	r.c.Nodes[0].Status.View = 12
	r.live.Judge(r.c)
	r.ticks(CatchUpTicks)
	r.live.Overdue("")
	r.want("P5")
}

func TestStandstillBreaksP6(t *testing.T) {
	r := newRig(t)
	r.c.Work = true
	r.ticks(CommitTicks)
	r.want("")
	r.ticks(1)
	r.want("P6")
}

// Without a quorum that is caught up, or without work, commit may stand.
func TestStandstillWithAnExcuse(t *testing.T) {
	for name, excuse := range map[string]func(*rig){
		"no work":    func(r *rig) { r.c.Work = false },
		"one down":   func(r *rig) { r.c.Nodes[0].Up, r.c.Nodes[2].Up = false, false },
		"one way":    func(r *rig) { r.c.Nodes[0].Linked, r.c.Nodes[2].Linked = 0, 0 },
		"wiped":      func(r *rig) { r.c.Nodes[0].Status.State, r.c.Nodes[2].Status.State = "wiped", "wiped" },
		"holes":      func(r *rig) { r.c.Nodes[0].Status.Holes, r.c.Nodes[2].Status.Holes = 1, 1 },
		"catches up": func(r *rig) { r.lag(30); r.c.Nodes[2].Status.Head.Op = 30 },
	} {
		r := newRig(t)
		r.c.Work = true
		excuse(r)
		r.ticks(2 * CommitTicks)
		if r.broken != "" {
			t.Errorf("%s: %s (%s)", name, r.broken, r.detail)
		}
	}
}

func TestLaggardThatDoesNotKnowItBreaksP7(t *testing.T) {
	r := newRig(t)
	s := r.lag(30)
	r.ticks(2 * ReportTicks) // it knows what it lacks
	r.want("")
	s.KnownCommit = 30
	r.ticks(2 * ReportTicks)
	r.want("P7")
}

func TestCaughtUpReplicaThatDoesNotServeBreaksP7(t *testing.T) {
	r := newRig(t)
	r.ticks(1)
	r.live.Served(2, 40, nil)
	r.c.Nodes[2].Status.Holes = 1
	r.ticks(1)
	r.live.Served(2, 40, fmt.Errorf("damaged")) // it says so
	r.want("")
	r.live.Served(1, 40, fmt.Errorf("gone"))
	r.want("P7")
	if !strings.Contains(r.detail, "gone") {
		t.Errorf("%q does not tell why", r.detail)
	}
}

// Nothing is judged while faults are in force.
func TestNothingIsJudgedUnderFaults(t *testing.T) {
	r := newRig(t)
	r.live.Pause()
	s := r.lag(16)
	for range 2 * RepeatsMax {
		r.live.Sent(&vsr.Message{Kind: vsr.MsgAskPrepares, From: 0, To: 1, FromOp: 17, ToOp: 40}, s)
	}
	r.c.Work = true
	r.ticks(2 * CommitTicks)
	r.want("")
}
