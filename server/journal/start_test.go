package journal_test

import (
	"errors"
	"syscall"
	"testing"

	"rejoin/server/journal"
	"rejoin/server/journal/faultfs"
)

// B4: the first segment's file is lost, and with it perhaps its index. That is a hole to be filled, and not
// the start of a log that was trimmed.
func TestFirstSegmentIsLost(t *testing.T) {
	for name, lost := range map[string][]string{
		"one":       {"00000000000000000001.seg"},
		"and index": {"00000000000000000001.seg", "00000000000000000001.idx"},
		"two":       {"00000000000000000001.seg", "00000000000000000001.idx", "00000000000000000008.seg", "00000000000000000008.idx"},
	} {
		t.Run(name, func(t *testing.T) {
			x := segmented(t)
			for _, name := range lost {
				x.fs.Delete(dir + "/" + name)
			}
			last := uint64(7)
			if name == "two" {
				last = 14
			}
			x.crash()
			x.crash() // what was found must be found again
			if x.rec.Start != 1 {
				t.Fatalf("the log begins at op %d", x.rec.Start)
			}
			if _, _, err := x.log.ReadFrame(3, nil); err == nil {
				t.Error("op 3 was read")
			}
			x.wantEnd(40, 40)
			x.wantHeld(last+1, 40)
			x.wantHoles(opRange{1, last})
			for op := uint64(1); op <= last; op++ {
				x.fill(op)
			}
			x.wantHoles()
			x.must(x.log.SyncMark())
			x.crash()
			x.wantHoles()
			x.wantHeld(1, 40)
		})
	}
}

// TestTrimmedIsNotLost: what was trimmed is not missing, also when the file that says so is.
func TestTrimmedIsNotLost(t *testing.T) {
	x := segmented(t)
	if n, err := x.log.Trim(20); n != 2 || err != nil {
		t.Fatalf("%d segments were trimmed: %v", n, err)
	}
	expect := func() {
		t.Helper()
		x.crash()
		if x.rec.Start != 15 || len(x.rec.Holes) > 0 {
			t.Fatalf("the log begins at op %d, holes %v", x.rec.Start, x.rec.Holes)
		}
		x.wantHeld(15, 40)
	}
	expect()
	x.fs.Delete(dir + "/start")
	expect()
	x.fs.Delete(dir + "/00000000000000000015.seg")
	x.crash()
	if x.rec.Start != 15 {
		t.Fatalf("the log begins at op %d", x.rec.Start)
	}
	if _, _, err := x.log.ReadFrame(15, nil); err == nil {
		t.Error("op 15 was read")
	}
	x.wantEnd(40, 40)
}

// TestTrimOnAFullDisk: a trim makes room, and must not ask for any.
func TestTrimOnAFullDisk(t *testing.T) {
	x := segmented(t)
	x.fs.Delete(dir + "/start")
	x.fs.Inject(faultfs.Fault{Verb: faultfs.VerbCreate, Name: "start.tmp", Err: syscall.ENOSPC, Sticky: true})
	x.crash()
	if n, err := x.log.Trim(20); n != 2 || err != nil {
		t.Fatalf("%d segments were trimmed: %v", n, err)
	}
	x.crash()
	if x.rec.Start != 15 || len(x.rec.Holes) > 0 {
		t.Fatalf("the log begins at op %d, holes %v", x.rec.Start, x.rec.Holes)
	}
	x.wantHeld(15, 40)
}

// TestBorder: where the log begins after a trim is known before.
func TestBorder(t *testing.T) {
	x := segmented(t)
	for op, want := range map[uint64]uint64{0: 1, 7: 1, 8: 8, 20: 15, 22: 22, 40: 36, 99: 36} {
		if got := x.log.Border(op); got != want {
			t.Errorf("below op %d the log would begin at op %d, want %d", op, got, want)
		}
	}
	x.append(10, 100) // not synced: the segment it fills stays
	if got := x.log.Border(46); got != 36 {
		t.Errorf("the log would begin at op %d, above what is not synced", got)
	}
	if _, err := x.log.Trim(20); err != nil || x.log.Start() != 15 || x.log.Border(20) != 15 {
		t.Errorf("the log begins at op %d: %v", x.log.Start(), err)
	}
}

// A file of ops that is made anew needs room. Where there is none the hole stays, and is closed later.
func TestFillOnAFullDisk(t *testing.T) {
	x := segmented(t)
	x.fs.Delete(dir + "/00000000000000000001.seg")
	x.fs.Delete(dir + "/00000000000000000001.idx")
	x.crash()
	x.wantHoles(opRange{1, 7})
	x.fs.CapacityBytes = 1
	if err := x.fillOne(x.frames[0]); !errors.Is(err, journal.ErrDiskFull) {
		t.Fatalf("filled without room: %v", err)
	}
	x.wantHoles(opRange{1, 7})
	x.fs.CapacityBytes = 0
	x.fill(1, 2, 3, 4, 5, 6, 7)
	x.wantHoles()
	x.wantHeld(1, 40)
}

// Two files next to one another are gone, and nothing tells where the second began. A log that is told to begin
// within that hole does, and what is left of the hole is closed as ever, whatever crashes fall in between.
func TestBeginsWithinAHoleWithoutBorders(t *testing.T) {
	lost := func(t *testing.T) *fixture {
		x := segmented(t) // segments begin at 1, 8, 15, 22, 29, 36
		for _, name := range []string{"08", "15"} {
			x.fs.Delete(dir + "/000000000000000000" + name + ".seg")
			x.fs.Delete(dir + "/000000000000000000" + name + ".idx")
		}
		x.crash()
		x.wantHoles(opRange{8, 21})
		return x
	}
	for name, crash := range map[string]func(*fixture){"no crash": func(*fixture) {}, "a crash": (*fixture).crash, "a kill": (*fixture).kill} {
		t.Run(name, func(t *testing.T) {
			x := lost(t)
			for op, want := range map[uint64]uint64{7: 1, 8: 8, 15: 15, 18: 18, 21: 21, 22: 22} {
				if got := x.log.Border(op); got != want {
					t.Errorf("below op %d the log would begin at op %d, want %d", op, got, want)
				}
			}
			x.must(x.log.Divide(15))
			x.must(x.log.Divide(15)) // it is done
			crash(x)
			x.wantHoles(opRange{8, 21})
			if n, err := x.log.Trim(15); n != 1 || err != nil || x.log.Start() != 15 {
				t.Fatalf("%d segments were trimmed, the log begins at op %d: %v", n, x.log.Start(), err)
			}
			crash(x)
			x.wantHoles(opRange{15, 21})
			if x.log.EarliestOffset() > x.frames[14].Header.BaseOffset {
				t.Errorf("the log says that it begins at message %d; op 15 does at %d", x.log.EarliestOffset(), x.frames[14].Header.BaseOffset)
			}
			x.log.NoteCommit(x.frames[13].Header.ID()) // of the op before it nothing is known
			for op := uint64(15); op <= 21; op++ {
				x.fill(op)
				crash(x)
			}
			x.wantHoles()
			x.must(x.log.SyncMark())
			crash(x)
			x.wantHeld(15, 40)
			x.wantEnd(40, 40)
		})
	}
	t.Run("where the hole begins", func(t *testing.T) {
		x := lost(t)
		x.must(x.log.Divide(8))
		if n, err := x.log.Trim(8); n != 1 || err != nil {
			t.Fatalf("%d segments were trimmed: %v", n, err)
		}
		x.crash()
		x.wantHoles(opRange{8, 21})
		if err := x.fillOne(x.frames[8]); !errors.Is(err, journal.ErrNoPlace) {
			t.Errorf("op 9 was filled in before op 8: %v", err)
		}
	})
	t.Run("on a full disk", func(t *testing.T) {
		x := lost(t)
		x.fs.Inject(faultfs.Fault{Verb: faultfs.VerbCreate, Err: syscall.ENOSPC})
		if err := x.log.Divide(15); !errors.Is(err, journal.ErrDiskFull) {
			t.Fatalf("divided without room: %v", err)
		}
		x.wantHoles(opRange{8, 21})
		x.must(x.log.Divide(15))
	})
}

// A log whose only segment does not know what comes before it cannot be gone on with: nothing tells what the next
// op follows.
func TestNothingBeforeTheOnlySegment(t *testing.T) {
	x := segmented(t)
	for _, name := range []string{"08", "15"} {
		x.fs.Delete(dir + "/000000000000000000" + name + ".seg")
		x.fs.Delete(dir + "/000000000000000000" + name + ".idx")
	}
	x.crash()
	x.must(x.log.Divide(15))
	if _, err := x.log.Trim(15); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"22", "29", "36"} {
		x.fs.Delete(dir + "/000000000000000000" + name + ".seg")
		x.fs.Delete(dir + "/000000000000000000" + name + ".idx")
	}
	x.fs.CrashHard()
	if _, _, err := journal.Open(x.opts); !errors.Is(err, journal.ErrUnreadable) {
		t.Errorf("opened: %v", err)
	}
}
