package journal_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"rejoin/server/journal"
	"rejoin/server/journal/faultfs"
	"rejoin/server/vsr"
)

// crashAtEveryStep runs do on copies of base with a crash before every operation, opens each and
// hands it to check.
func crashAtEveryStep(t *testing.T, base *fixture, do func(x *fixture) error, check func(x *fixture, finished bool)) {
	t.Helper()
	for k := 0; ; k++ {
		x := *base
		x.fs = base.fs.Clone()
		x.opts.FS = x.fs
		x.kill()
		x.fs.StopBefore(k)
		err := do(&x)
		if err != nil && !errors.Is(err, faultfs.ErrStopped) {
			t.Fatal(err)
		}
		x.fs.Crash(rand.New(rand.NewPCG(uint64(k), 9)))
		x.opts.SameBoot = false
		x.reopen()
		check(&x, err == nil)
		if err == nil {
			return
		}
	}
}

func TestCrashInATrim(t *testing.T) {
	trim := func(x *fixture) error {
		_, err := x.log.Trim(30)
		return err
	}
	crashAtEveryStep(t, segmented(t), trim, func(x *fixture, finished bool) {
		x.wantEnd(40, 40)
		x.wantHoles()
		if x.rec.Start%7 != 1 || x.rec.Start > 29 || finished && x.rec.Start != 29 {
			t.Fatalf("start %d", x.rec.Start)
		}
		x.wantHeld(x.rec.Start, 40)
	})
}

func TestCrashInAFill(t *testing.T) {
	for name, indexed := range map[string]bool{"with an index": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			base := segmented(t)
			if !indexed {
				base.fs.Delete(dir + "/00000000000000000015.idx")
			}
			n, off := base.place(17)
			base.fs.Overwrite(n, off, zeros(1000))
			fill := func(x *fixture) error {
				x.log.ReportDamage(17)
				for _, h := range x.log.Holes() {
					for op := h.First; op <= h.Last; op++ {
						if err := x.fillOne(x.frames[op-1]); err != nil {
							return err
						}
					}
				}
				return x.log.SyncMark()
			}
			crashAtEveryStep(t, base, fill, func(x *fixture, finished bool) {
				x.wantEnd(40, 40)
				x.log.ReportDamage(17)
				if finished {
					x.wantHoles()
				}
				x.must(fill(x))
				x.wantHeld(1, 40)
			})
		})
	}
}

// Many sealed segments are open only as far as readers need them.
func TestSealedSegmentsAreUnloaded(t *testing.T) {
	x := newFixture(t)
	x.append(300, 2000)
	x.sync()
	for range 2 {
		x.wantHeld(1, 300)
		if n := journal.LoadedSegments(x.log); n > 10 {
			t.Fatalf("%d segments are loaded", n)
		}
		x.crash()
	}
}

func TestRegisterFramesHoldNoMessages(t *testing.T) {
	x := newFixture(t)
	x.append(2, 100)
	h := x.make(1, 100)[0].Header
	h.Kind, h.MessageCount, h.Session, h.Request = 2, 0, 0, 0
	x.appendEmpty(h)
	x.append(2, 100)
	x.sync()
	x.crash()
	for offset, want := range []uint64{1, 2, 4, 5} {
		if op, err := x.log.OpOf(uint64(offset)); err != nil || op != want {
			t.Fatalf("message %d is in op %d, want %d, %v", offset, op, want, err)
		}
	}
	if _, err := x.log.OpOf(4); !errors.Is(err, journal.ErrNotHeld) {
		t.Fatal(err)
	}
}

func TestCommitHint(t *testing.T) {
	x := newFixture(t)
	x.append(5, 100)
	x.sync()
	x.log.NoteCommit(x.frames[2].Header.ID())
	x.log.NoteCommit(x.frames[1].Header.ID()) // never falls
	x.must(x.log.SyncMark())
	x.crash()
	if x.rec.Mark.Commit != x.frames[2].Header.ID() || x.rec.Mark.ID != x.frames[4].Header.ID() {
		t.Fatalf("%+v", x.rec.Mark)
	}
	x.crash()
	if x.rec.Mark.Commit != x.frames[2].Header.ID() {
		t.Fatal("a start forgot the commit")
	}
}

// What is committed where this log holds another op, which is about to be cut, is not noted: a start would
// take that other op for the committed one.
func TestCommitOfAnotherOpIsNotNoted(t *testing.T) {
	x := newFixture(t)
	x.append(5, 100)
	x.sync()
	x.log.NoteCommit(x.frames[2].Header.ID())
	x.log.NoteCommit(vsr.ID{Op: 4, Sum: x.frames[3].Header.Sum + 1})
	x.log.NoteCommit(vsr.ID{Op: 6, Sum: 1})
	x.must(x.log.SyncMark())
	x.kill()
	if x.rec.Mark.Commit != x.frames[2].Header.ID() {
		t.Errorf("a start is told of commit %+v, want op 3", x.rec.Mark.Commit)
	}
}
