package journal_test

import (
	"syscall"
	"testing"

	"rejoin/server/journal"
	"rejoin/server/journal/faultfs"
)

// A mark that stands above the log tells nothing of what is written below it: what the next start reports
// as held is on the disk, whether a sync has failed or none was tried.
func TestAMarkAboveTheLogVouchesForNothing(t *testing.T) {
	below := map[string]func(x *fixture) (held uint64){
		"rot": func(x *fixture) uint64 {
			n, off := x.place(36) // where the last segment begins
			x.fs.Rot(n, off, 1)
			x.crash()
			return 35
		},
		"cut": func(x *fixture) uint64 {
			x.must(x.log.CutKeeping(20, x.frames[39].Header.ID()))
			return 20
		},
		"cut into a hole without a place": func(x *fixture) uint64 {
			n, off := x.place(10)
			x.fs.Overwrite(n, off, zeros(10000))
			x.fs.Delete(dir + "/00000000000000000008.idx")
			x.crash()
			x.must(x.log.CutKeeping(12, x.frames[39].Header.ID())) // as a start with a checkpoint at op 12 does
			return 9
		},
	}
	ends := map[string]func(x *fixture){
		"killed": func(*fixture) {},
		"failed sync": func(x *fixture) {
			x.fs.Inject(faultfs.Fault{Verb: faultfs.VerbSync, Name: ".seg", Err: syscall.EIO, DropDirty: true, Sticky: true})
			_, err := x.log.Sync()
			wantFault(x, err, "sync")
		},
		"failed sync, fenced": func(x *fixture) {
			x.fs.Inject(faultfs.Fault{Verb: faultfs.VerbSync, Name: ".seg", Err: syscall.EIO, DropDirty: true, Sticky: true})
			_, err := x.log.Sync()
			x.log.Fence(err)
		},
	}
	for name, lower := range below {
		for how, end := range ends {
			t.Run(name+", "+how, func(t *testing.T) {
				x := segmented(t)
				held := lower(x)
				if x.log.Written().Op != held || x.log.Top() != 40 {
					t.Fatalf("the log ends at op %d, top %d", x.log.Written().Op, x.log.Top())
				}
				again := min(held+12, 39) // rolls, where there is room for it below the mark
				x.must(x.log.Append(x.frames[held:again]))
				end(x)
				x.fs.Heal()
				x.kill()
				x.wantEnd(again, 40)
				x.crash()
				x.wantEnd(again, 40)
				x.wantHoles()
				x.wantHeld(1, again)
				x.must(x.log.Unfence())
				x.must(x.log.Append(x.frames[again:]))
				x.sync()
				x.kill()
				if x.rec.RewrittenOps > 0 {
					t.Fatalf("%d ops were written again that were synced", x.rec.RewrittenOps)
				}
				x.wantEnd(40, 40)
			})
		}
	}
}

// What was synced below a mark that stands above it is not written again.
func TestSyncedBelowAMark(t *testing.T) {
	x := segmented(t)
	x.must(x.log.CutKeeping(20, x.frames[39].Header.ID()))
	x.must(x.log.Append(x.frames[20:23]))
	x.sync()
	x.must(x.log.Append(x.frames[23:25]))
	x.kill()
	x.wantEnd(25, 40)
	if x.rec.Mark.Synced != 23 || x.rec.RewrittenOps != 2 {
		t.Fatalf("%d ops were written again above op %d, want 2 above op 23", x.rec.RewrittenOps, x.rec.Mark.Synced)
	}
	x.must(x.log.Cut(22)) // lower than what was synced
	x.must(x.log.Append(x.frames[22:25]))
	x.kill()
	if x.rec.Mark.Synced != 22 || x.rec.RewrittenOps != 3 {
		t.Fatalf("after a cut: %d ops were written again above op %d, want 3 above op 22", x.rec.RewrittenOps, x.rec.Mark.Synced)
	}
	x.wantEnd(25, 25)
	x.wantHeld(1, 25)
}

// A start that finds a hole filled makes sure that it is: the process may have died, or failed, between the write and
// its sync. The mark stands far above, and an index may tell of the ops.
func TestAHoleThatWasBeingFilled(t *testing.T) {
	holes := map[string]struct {
		first, last uint64
		damage      func(x *fixture)
	}{
		"in an indexed segment": {10, 10, func(x *fixture) { n, off := x.place(10); x.fs.Rot(n, off, 1) }},
		"a lost segment": {8, 14, func(x *fixture) {
			x.fs.Delete(dir + "/00000000000000000008.seg")
			x.fs.Delete(dir + "/00000000000000000008.idx")
		}},
		"at the end": {38, 38, func(x *fixture) { n, off := x.place(38); x.fs.Rot(n, off+500, 1) }},
	}
	for name, hole := range holes {
		for how, end := range map[string]func(x *fixture){
			"killed": func(x *fixture) {
				x.fs.Inject(faultfs.Fault{Verb: faultfs.VerbSync, Name: ".seg", Err: faultfs.ErrStopped, Sticky: true})
			},
			"failed sync": func(x *fixture) {
				x.fs.Inject(faultfs.Fault{Verb: faultfs.VerbSync, Name: ".seg", Err: syscall.EIO, DropDirty: true, Sticky: true})
			},
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				x := segmented(t)
				for op := uint64(1); op <= 40; op++ { // while it was whole
					_, _, err := x.log.ReadFrame(op, nil)
					x.must(err)
				}
				hole.damage(x)
				if name == "a lost segment" {
					x.crash()
				} else if _, _, err := x.log.ReadFrame(hole.first, nil); err == nil {
					t.Fatal("no damage")
				}
				x.wantHoles(opRange{hole.first, hole.last})
				filled := hole.first
				if hole.last > filled {
					x.fill(filled)
					filled++
				}
				end(x)
				if err := x.fillOne(x.frames[filled-1]); err == nil {
					t.Fatal("the sync did not fail")
				}
				x.fs.Heal()
				x.kill()
				left := x.log.Holes()
				x.crash()
				x.wantEnd(40, 40)
				x.wantHoles(left...)
				if len(left) > 0 && left[0].First <= filled {
					t.Fatalf("op %d was written and is not there after a kill: %v", filled, left)
				}
				for op := filled + 1; op <= hole.last; op++ {
					x.fill(op)
				}
				x.sync()
				x.kill()
				if x.rec.RewrittenOps > 0 {
					t.Fatalf("%d ops were written again", x.rec.RewrittenOps)
				}
				x.wantHoles()
				x.wantHeld(1, 40)
			})
		}
	}
}

// Holes that are filled as one group are on record together: one sync is for all of them.
func TestAGroupOfHolesThatWasBeingFilled(t *testing.T) {
	x := segmented(t)
	for _, op := range []uint64{4, 10, 30} {
		n, off := x.place(op)
		x.fs.Rot(n, off, 1)
		if _, _, err := x.log.ReadFrame(op, nil); err == nil {
			t.Fatal("no damage")
		}
	}
	x.fill(4)
	x.fs.Inject(faultfs.Fault{Verb: faultfs.VerbSync, Name: ".seg", Err: syscall.EIO, DropDirty: true, Sticky: true})
	if _, err := x.log.Fill([]journal.Frame{x.frames[9], x.frames[29]}); err == nil {
		t.Fatal("the sync did not fail")
	}
	x.fs.Heal()
	x.kill()
	if want := (journal.OpRange{First: 10, Last: 30}); x.rec.Mark.Filling != want {
		t.Fatalf("on record are %v, want %v", x.rec.Mark.Filling, want)
	}
	x.crash()
	x.wantEnd(40, 40)
	x.wantHoles()
	x.wantHeld(1, 40)
}
