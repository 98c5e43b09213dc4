package journal_test

import (
	"errors"
	"syscall"
	"testing"

	"rejoin/server/journal"
	"rejoin/server/journal/faultfs"
)

// lost is a log whose second segment is empty, and has an index or not.
func lost(t *testing.T, indexed bool) *fixture {
	x := segmented(t) // segments begin at 1, 8, 15, 22, 29, 36
	n, _ := x.place(8)
	x.fs.Overwrite(n, 0, zeros(16<<10))
	if !indexed {
		x.fs.Delete(dir + "/00000000000000000008.idx")
	}
	x.crash()
	for op := uint64(8); op <= 14; op++ {
		x.log.ReportDamage(op)
	}
	x.wantHoles(opRange{8, 14})
	return x
}

// Frames that come together become durable with one sync, those that do not fit are told one by one.
func TestFillsAGroupWithOneSync(t *testing.T) {
	for name, indexed := range map[string]bool{"with an index": true, "without": false} {
		x := lost(t, indexed)
		x.fs.Inject(faultfs.Fault{Verb: faultfs.VerbSync, Name: ".seg", After: 1, Err: syscall.EIO})
		group := append([]journal.Frame{}, x.frames[7:14]...)
		group = append(group, makeFrame(x.frames[9].Header.ID(), 3, 1, []byte("x")), x.frames[0])
		misfits, err := x.log.Fill(group)
		if err != nil || len(misfits) != len(group) {
			t.Fatalf("%s: %d of %d frames were seen to: %v", name, len(misfits), len(group), err)
		}
		for i, misfit := range misfits {
			if wrong := i == 7; wrong != errors.Is(misfit, journal.ErrMismatch) || !wrong && misfit != nil {
				t.Errorf("%s: frame %d: %v", name, i, misfit)
			}
		}
		x.wantHoles()
		x.fs.Heal()
		x.must(x.log.SyncMark())
		x.crash()
		x.wantHeld(1, 40)
		x.wantEnd(40, 40)
	}
}

// A hole is closed when the frame is durable, and not before.
func TestAGroupThatIsNotSyncedClosesNothing(t *testing.T) {
	x := lost(t, true)
	x.fs.Inject(faultfs.Fault{Verb: faultfs.VerbSync, Name: ".seg", Err: syscall.EIO})
	var fault *journal.FaultError
	if misfits, err := x.log.Fill(x.frames[7:14]); !errors.As(err, &fault) || len(misfits) > 0 {
		t.Fatalf("%d frames were seen to: %v", len(misfits), err)
	}
	x.wantHoles(opRange{8, 14})
}

// Where the room ends within a group, what came before is closed, and the rest can be tried again.
func TestAGroupOnAFullDisk(t *testing.T) {
	x := lost(t, false)
	x.fs.Inject(faultfs.Fault{Verb: faultfs.VerbWrite, Name: ".seg", After: 3, Err: syscall.ENOSPC})
	misfits, err := x.log.Fill(x.frames[7:14])
	if !errors.Is(err, journal.ErrDiskFull) || len(misfits) != 3 {
		t.Fatalf("%d frames were seen to: %v", len(misfits), err)
	}
	x.wantHoles(opRange{11, 14})
	if misfits, err = x.log.Fill(x.frames[10:14]); err != nil || len(misfits) != 4 {
		t.Fatalf("%d frames were seen to: %v", len(misfits), err)
	}
	x.wantHoles()
	x.wantHeld(1, 40)
}

// Whatever crash falls into a group, what is left of the hole can be closed.
func TestCrashInAGroup(t *testing.T) {
	for _, indexed := range []bool{true, false} {
		crashAtEveryStep(t, lost(t, indexed), func(x *fixture) error {
			for op := uint64(8); op <= 14; op++ {
				x.log.ReportDamage(op)
			}
			if _, err := x.log.Fill(x.frames[7:14]); err != nil {
				return err
			}
			return x.log.SyncMark()
		}, func(x *fixture, finished bool) {
			x.wantEnd(40, 40)
			for op := uint64(8); op <= 14; op++ {
				x.log.ReportDamage(op)
			}
			if finished {
				x.wantHoles()
			}
			if _, err := x.log.Fill(x.frames[7:14]); err != nil {
				t.Fatal(err)
			}
			x.wantHeld(1, 40)
		})
	}
}

// Whoever reads on passes over what is known to be damaged, and over what is trimmed.
func TestSound(t *testing.T) {
	x := lost(t, true)
	for op, want := range map[uint64]uint64{0: 1, 7: 7, 8: 15, 14: 15, 15: 15, 41: 41} {
		if got := x.log.Sound(op); got != want {
			t.Errorf("from op %d on the first sound one is %d, want %d", op, got, want)
		}
	}
	if n, err := x.log.Trim(29); n != 4 || err != nil {
		t.Fatalf("%d segments were trimmed: %v", n, err)
	}
	if got := x.log.Sound(1); got != 29 {
		t.Errorf("the first sound op is %d, the log begins at 29", got)
	}
}
