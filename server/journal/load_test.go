package journal_test

import (
	"errors"
	"syscall"
	"testing"

	"rejoin/server/journal"
	"rejoin/server/journal/faultfs"
)

const (
	secondSegment = dir + "/00000000000000000008.seg" // of segmented: ops 8..14
	secondIndex   = dir + "/00000000000000000008.idx"
)

// wantDamage checks what a reader of op is told.
func (x *fixture) wantDamage(op uint64, hole opRange) {
	x.Helper()
	var damage *journal.DamageError
	if _, _, err := x.log.ReadFrame(op, nil); !errors.As(err, &damage) || damage.Op != op || damage.Hole != hole {
		x.Fatalf("op %d: %v, want damage with hole %v", op, err, hole)
	}
}

// An index that rots under a running log, and an op of the segment after it: what lies before that op is read, the
// rest is a hole as a start would make it, and closed from the lowest up.
func TestDamageMetWhileASegmentIsLoaded(t *testing.T) {
	for met, read := range map[string]func(x *fixture){
		"by who reads a lost op":  func(x *fixture) { x.wantDamage(12, opRange{10, 14}) },
		"by who reads another op": func(x *fixture) { x.wantHeld(9, 9) },
		"by who reads a message": func(x *fixture) {
			if op, err := x.log.OpOf(12); err != nil || op != 10 {
				x.Fatalf("message 12 is in op %d, %v", op, err)
			}
		},
	} {
		t.Run(met, func(t *testing.T) {
			x := segmented(t)
			x.crash()
			n, off := x.place(10)
			x.fs.Rot(n, off+300, 1)
			x.fs.Rot(secondIndex, 80, 1)
			read(x)
			x.wantDamage(11, opRange{10, 14})
			x.wantHeld(1, 9)
			x.wantHeld(15, 40)
			x.wantHoles(opRange{10, 14})
			if err := x.fillOne(x.frames[11]); !errors.Is(err, journal.ErrNoPlace) {
				t.Fatalf("fill before its place is known: %v", err)
			}
			x.fill(10, 11, 12, 13, 14)
			x.wantHoles()
			x.wantHeld(1, 40)
			x.wantRepaired(40)
		})
	}
}

// A hole that turns out to be larger when it is to be closed is told of, and no failure.
func TestFillMeetsMoreDamage(t *testing.T) {
	x := newFixture(t)
	x.append(120, 2000) // more segments than stay loaded
	x.sync()
	x.crash()
	for _, op := range []uint64{10, 12} {
		n, off := x.place(op)
		x.fs.Rot(n, off+300, 1)
	}
	x.wantDamage(12, opRange{12, 12})
	x.wantHeld(15, 120) // the segment of op 12 is let go
	x.fs.Rot(secondIndex, 80, 1)
	var damage *journal.DamageError
	if err := x.fillOne(x.frames[11]); !errors.As(err, &damage) || damage.Op != 12 || damage.Hole != (opRange{10, 14}) {
		t.Fatalf("the fill ends with %v", err)
	}
	x.fill(10, 11, 12, 13, 14)
	x.wantHoles()
	x.wantHeld(1, 120)
}

// A file of ops that is removed under a running log, or cannot be opened for once, is a hole that is closed while it
// runs. Its index tells the places, if it is there.
func TestASegmentFileGoesWhileTheLogRuns(t *testing.T) {
	for name, harm := range map[string]func(x *fixture){
		"removed":                func(x *fixture) { x.fs.Delete(secondSegment) },
		"removed with its index": func(x *fixture) { x.fs.Delete(secondSegment); x.fs.Delete(secondIndex) },
		"unreadable": func(x *fixture) {
			x.fs.Inject(faultfs.Fault{Verb: faultfs.VerbOpen, Name: secondSegment, Err: syscall.EIO})
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := segmented(t)
			x.crash()
			harm(x)
			x.wantDamage(12, opRange{8, 14})
			x.wantHoles(opRange{8, 14})
			if op, err := x.log.OpOf(12); err != nil || op < 8 || op > 13 {
				t.Fatalf("message 12 is in op %d, %v", op, err)
			}
			x.wantHeld(1, 7)
			x.wantHeld(15, 40)
			misfits, err := x.log.Fill(x.frames[7:14])
			x.must(err)
			x.must(errors.Join(misfits...))
			x.wantHoles()
			x.wantHeld(1, 40)
			x.wantRepaired(40)
		})
	}
}

// A log is trimmed and cut at a segment whose file is gone, or cannot be opened, as at any other.
func TestATrimOfASegmentThatIsGone(t *testing.T) {
	x := segmented(t)
	x.crash()
	x.fs.Delete(secondSegment)
	x.wantDamage(12, opRange{8, 14})
	_, err := x.log.Trim(15)
	x.must(err)
	x.wantHoles()
	x.wantHeld(15, 40)
	x.crash()
	x.wantEnd(40, 40)
	x.wantHeld(15, 40)
}

func TestACutIntoASegmentThatIsGone(t *testing.T) {
	for name, index := range map[string]bool{"its places are known": true, "they are not": false} {
		t.Run(name, func(t *testing.T) {
			x := segmented(t)
			x.crash()
			x.fs.Delete(secondSegment)
			if !index {
				x.fs.Delete(secondIndex)
			}
			x.wantDamage(12, opRange{8, 14})
			x.must(x.log.Cut(12))
			end := x.log.Written().Op
			if want := map[bool]uint64{true: 12, false: 7}[index]; end != want {
				t.Fatalf("the log ends at op %d, want %d", end, want)
			}
			for op := uint64(8); op <= end; op++ {
				x.fill(op)
			}
			x.wantHoles()
			x.wantHeld(1, end)
			x.frames = x.frames[:end]
			x.append(10, 2000)
			x.sync()
			x.crash()
			x.wantHeld(1, end+10)
		})
	}
}

// A segment that cannot be opened for good stays a hole, and nothing else: what comes for it does not fit, the file
// stays, and the next start finds the ends of the log by the index.
func TestASegmentThatStaysUnreadable(t *testing.T) {
	x := segmented(t)
	x.crash()
	unreadable := faultfs.Fault{Verb: faultfs.VerbOpen, Name: secondSegment, Err: syscall.EUCLEAN, Sticky: true}
	x.fs.Inject(unreadable)
	x.wantDamage(12, opRange{8, 14})
	for range 2 {
		var damage *journal.DamageError
		if err := x.fillOne(x.frames[11]); !errors.As(err, &damage) || damage.Hole != (opRange{8, 14}) {
			t.Fatalf("the fill ends with %v", err)
		}
	}
	x.wantHoles(opRange{8, 14})
	x.wantHeld(1, 7)
	x.append(2, 2000)
	x.sync()
	x.kill()
	x.fs.Inject(unreadable)
	x.wantEnd(42, 42)
	x.wantDamage(12, opRange{8, 14})
	x.fs.Heal()
	x.fill(8, 9, 10, 11, 12, 13, 14)
	x.wantHoles()
	x.wantHeld(1, 42)
}

// A start goes on where a segment near the end of the log cannot be opened: its index tells what is asked of it.
func TestAStartWithAnUnreadableSegmentNearTheEnd(t *testing.T) {
	for name, sticky := range map[string]bool{"once": false, "for good": true} {
		t.Run(name, func(t *testing.T) {
			x := segmented(t)
			name, _ := x.place(33)
			x.fs.CrashHard()
			x.fs.Inject(faultfs.Fault{Verb: faultfs.VerbOpen, Name: name, Err: syscall.EIO, Sticky: sticky})
			x.reopen()
			x.wantEnd(40, 40)
			holes := x.log.Holes()
			if len(holes) != 1 || holes[0].First > 33 || holes[0].Last < 33 {
				t.Fatalf("the holes are %v", holes)
			}
			x.fs.Heal() // the last segment of a log needs a file
			x.must(x.log.CutKeeping(holes[0].Last, x.log.Written()))
			for op := holes[0].First; op <= holes[0].Last; op++ {
				x.fill(op)
			}
			x.wantHoles()
			x.wantHeld(1, holes[0].Last)
		})
	}
}

// Two readers that meet the same damage: who comes second finds what is left, be the file there or gone, and closed
// again meanwhile.
func TestAReaderThatComesSecondToDamage(t *testing.T) {
	for name, first := range map[string]func(x *fixture){
		"the rest is lost": func(x *fixture) {
			n, off := x.place(10)
			x.fs.Rot(n, off+300, 1)
			x.fs.Rot(secondIndex, 80, 1)
		},
		"all is lost": func(x *fixture) { x.fs.Delete(secondSegment); x.fs.Delete(secondIndex) },
	} {
		t.Run(name, func(t *testing.T) {
			x, fs := unopened(t)
			first(x)
			fs.happens = func() {
				if _, _, err := x.log.ReadFrame(11, nil); !errors.Is(err, journal.ErrDamaged) {
					t.Errorf("who comes first is told %v", err)
				}
				if name == "all is lost" {
					x.fill(8)
				}
			}
			if _, _, err := x.log.ReadFrame(12, nil); !errors.Is(err, journal.ErrDamaged) {
				t.Errorf("who comes second is told %v", err)
			}
			x.wantHeld(1, 7)
		})
	}
}

// An index that has rotted is written again once somebody has met it: the segment is not read whole each time it
// is needed.
func TestARottenIndexIsWrittenAgain(t *testing.T) {
	x := segmented(t)
	x.crash()
	good, err := x.fs.ReadFile(secondIndex)
	x.must(err)
	x.fs.Rot(secondIndex, 80, 1)
	x.wantHeld(8, 14)
	x.must(x.log.SyncMark())
	if now, err := x.fs.ReadFile(secondIndex); err != nil || string(now) != string(good) {
		t.Errorf("the index is as it was found: %v", err)
	}
	x.wantHeld(1, 40)
	x.wantHoles()
}

// No index is written of a segment that was trimmed, or has become the last one, since it was met.
func TestNoIndexOfWhatIsGone(t *testing.T) {
	x := segmented(t)
	x.crash()
	x.fs.Delete(dir + "/00000000000000000001.idx")
	x.fs.Rot(secondIndex, 80, 1)
	x.wantHeld(1, 14)
	_, err := x.log.Trim(8)
	x.must(err)
	x.must(x.log.Cut(13))
	x.must(x.log.SyncMark())
	for _, name := range []string{dir + "/00000000000000000001.idx", secondIndex} {
		if _, err := x.fs.ReadFile(name); err == nil {
			t.Errorf("%s is there", name)
		}
	}
	x.frames = x.frames[:13]
	x.append(20, 2000)
	x.sync()
	x.crash()
	x.wantHeld(8, 33)
}
