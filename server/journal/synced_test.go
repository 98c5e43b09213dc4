package journal_test

import (
	"syscall"
	"testing"

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
