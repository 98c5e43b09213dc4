package journal_test

import (
	"errors"
	"testing"

	"rejoin/server/journal"
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
	if err := x.log.Fill(x.frames[0]); !errors.Is(err, journal.ErrDiskFull) {
		t.Fatalf("filled without room: %v", err)
	}
	x.wantHoles(opRange{1, 7})
	x.fs.CapacityBytes = 0
	x.fill(1, 2, 3, 4, 5, 6, 7)
	x.wantHoles()
	x.wantHeld(1, 40)
}
