package sim

import (
	"fmt"
	"strings"
	"testing"

	"rejoin/server/journal/faultfs"
	"rejoin/server/wire"
)

const eightEverywhere = "until r1 leads view 1\nappend 8\nuntil r0 commit 8\nuntil r1 commit 8\nuntil r2 commit 8\n"

// nineIsLostOnOne: an op stood on two of three, of which one has lost it and the other is away.
const nineIsLostOnOne = eightEverywhere + `drop prepare from r1 to r2
drop prepare_ok, beat_ack from r0 to r1
offer at r1
until r0 head 9
run 50ms
kill r1
rot r0 9
run 100ms
`

// playThen plays a script that ends with what only code can say.
func playThen(t *testing.T, text string, then func(*scriptRun)) {
	t.Helper()
	s, err := ParseScript("then", "then", text)
	if err != nil {
		t.Fatal(err)
	}
	s.steps = append(s.steps, step{"then", "then", then})
	played, err := s.Play(false, newArena(t))
	if err != nil {
		t.Fatal(err)
	}
	if played.Failure != nil {
		t.Fatal(played.Failure)
	}
}

// TestDamageOfDifferentOpsIsNoExcuse: where each replica has lost another op, each op can be had from the others,
// and the cluster may not stay unavailable. It may where an op is lost on all, and then only in a reckless run.
func TestDamageOfDifferentOpsIsNoExcuse(t *testing.T) {
	damage := func(n *node, op uint64) {
		f := n.find(op)
		n.rotted = true
		n.fs.Rot(f.name, f.at+wire.HeaderBytes/2, 1)
	}
	for _, reckless := range []bool{false, true} {
		playThen(t, eightEverywhere, func(r *scriptRun) {
			w := r.w
			w.setup.dangers.reckless = reckless
			for i, n := range w.nodes {
				damage(n, uint64(3+i))
			}
			if why := w.excuse(); why != "" {
				t.Errorf("three replicas have damage of an op each: %s", why)
			}
			for i, n := range w.nodes {
				if i > 0 {
					damage(n, 3)
				}
				n.life.look(3)
			}
			if why := w.excuse(); !strings.HasPrefix(why, "op 3, which is committed, is left") {
				t.Errorf("op 3 is damaged everywhere: %q", why)
			}
			if got := w.isExcused(second); got != reckless {
				t.Errorf("reckless: %v, excused: %v", reckless, got)
			}
			w.excused = true // the end asks for op 3
		})
	}
}

// TestWhatNobodyCanDeny: an op that nobody has committed stood on two of three; one has lost it, and as long as the
// other is away nobody may go on without it.
func TestWhatNobodyCanDeny(t *testing.T) {
	playThen(t, nineIsLostOnOne, func(r *scriptRun) {
		if why := r.w.excuse(); !strings.HasPrefix(why, "op 9 may have been held by 2 replicas") {
			t.Errorf("nobody can deny op 9: %q", why)
		}
		r.start(1)
		r.w.runUntil(r.w.now+20*millisecond, func() bool { return r.w.nodes[1].life.running() })
		if why := r.w.excuse(); why != "" {
			t.Errorf("who has op 9 is back: %s", why)
		}
		r.rest()
	})
}

// TestWhatIsLostIsKnownOfProcessesThatStart: a replica that has just been started cannot be asked what it has on
// record as damaged, and it counts all the same.
func TestWhatIsLostIsKnownOfProcessesThatStart(t *testing.T) {
	playThen(t, nineIsLostOnOne+`kill r0
kill r2
`, func(r *scriptRun) {
		r.start(0)
		r.start(2)
		if why := r.w.excuse(); !strings.HasPrefix(why, "op 9 may have been held by 2 replicas") {
			t.Errorf("nobody can deny op 9: %q", why)
		}
		r.start(1)
		r.w.runUntil(r.w.now+second, r.w.atRest)
		if why := r.w.excuse(); why != "" {
			t.Errorf("who has op 9 is back: %s", why)
		}
		r.rest()
	})
}

// TestWhatIsAppendedBehindDamage: what a replica appends behind damage that its next start cannot pass is lost
// there, so nobody else may lose an op of that number before the damage is mended; nor may such damage strike where
// somebody has lost one already.
func TestWhatIsAppendedBehindDamage(t *testing.T) {
	playThen(t, eightEverywhere+`drop prepare from r1 to r0
append 1
until r2 head 9
`, func(r *scriptRun) {
		x, damaged := &r.w.nemesis, func(n *node, op uint64) (mend func()) {
			f, was := n.find(op), n.rotted
			rot := func() { n.fs.Rot(f.name, f.at+wire.HeaderBytes/2, 1) }
			n.rotted = true
			rot()
			return func() { n.rotted = was; rot() }
		}
		r0, r1 := r.w.nodes[0], r.w.nodes[1]
		if r0.seen.head() != 8 || r1.seen.head() != 9 {
			t.Fatalf("r0 has ops up to %d, r1 up to %d, want 8 and 9", r0.seen.head(), r1.seen.head())
		}
		may := func(when string, n *node, op uint64, want bool) {
			t.Helper()
			if got := x.mayDamage(n, span{op, op}); got != want {
				t.Errorf("%s: op %d of r%d may be damaged: %v", when, op, n.id, got)
			}
		}
		may("nothing is damaged", r1, 9, true)
		may("nothing is damaged", r0, 6, true)
		mend := damaged(r0, 6)
		may("r0 would append op 9 behind damage", r1, 9, false)
		may("r0 has op 5 before its damage", r1, 5, false) // r1 would append behind damage, too
		mend()
		may("r0 is mended", r1, 9, true)
		mend = damaged(r1, 9)
		may("r1 has lost op 9, which r0 has yet to append", r0, 6, false)
		mend()
		may("r1 is mended", r0, 6, true)
	})
}

// TestWhatAStartLoses: behind damage that no checkpoint of the client table has passed a start ends the log.
func TestWhatAStartLoses(t *testing.T) {
	for name, c := range map[string]struct {
		start  uint64
		tables []uint64
		lost   []uint64
		held   uint64
		untold bool
	}{
		"nothing":                      {start: 1, held: 20},
		"no checkpoint":                {start: 1, lost: []uint64{9}, held: 8},
		"from the first op on":         {start: 1, lost: []uint64{1, 2, 9}, held: 0},
		"below the checkpoint":         {start: 1, tables: []uint64{4, 12}, lost: []uint64{9}, held: 20},
		"above it":                     {start: 1, tables: []uint64{4, 12}, lost: []uint64{9, 15}, held: 14},
		"across it":                    {start: 1, tables: []uint64{4, 12}, lost: []uint64{11, 12, 13}, held: 10},
		"it is lost, and more below":   {start: 1, tables: []uint64{4, 12}, lost: []uint64{7, 11, 12, 13}, held: 6},
		"it is lost, with the others":  {start: 1, tables: []uint64{4, 12}, lost: []uint64{3, 4, 5, 11, 12, 13}, held: 2},
		"of an op that is not held":    {start: 1, tables: []uint64{4, 22}, lost: []uint64{7}, held: 6},
		"trimmed":                      {start: 6, tables: []uint64{8}, lost: []uint64{12}, held: 11},
		"trimmed up to the checkpoint": {start: 9, tables: []uint64{8}, lost: []uint64{12}, held: 11},
		"trimmed, and it is lost":      {start: 6, tables: []uint64{8}, lost: []uint64{8, 9}, held: 5, untold: true},
	} {
		n := &node{fs: faultfs.New(), seen: shadow{start: c.start, written: 20}}
		for _, dir := range []string{"topics", "topics/t", logDir} {
			if err := n.fs.Mkdir(dir); err != nil {
				t.Fatal(err)
			}
		}
		for _, op := range c.tables {
			if _, err := n.fs.Create(fmt.Sprintf("%s/table-%020d.tab", logDir, op)); err != nil {
				t.Fatal(err)
			}
		}
		if held, told := n.heldWithout(c.lost); held != c.held || told == c.untold {
			t.Errorf("%s: the log ends at op %d, told: %v; want %d and %v", name, held, told, c.held, !c.untold)
		}
	}
}
