package journal_test

import (
	"strings"
	"testing"

	"rejoin/server/journal"
	"rejoin/server/journal/faultfs"
)

// The next segment is made little by little, in step with the log: never more than twice what the last
// one holds and one step, and whole when that is half full, so that a roll finds it ready.
func TestPrepareGoesAlongWithTheLog(t *testing.T) {
	const segment = 8 << 20
	x := &fixture{TB: t, fs: faultfs.New()}
	x.opts = options(x.fs)
	x.opts.SegmentBytes = segment
	x.reopen()
	made := func() int64 {
		b, err := x.fs.ReadFile(dir + "/next.seg")
		x.must(err)
		return int64(len(b))
	}
	x.must(x.log.Prepare())
	if got := made(); got != journal.PrepareStepBytes {
		t.Fatalf("%d bytes are made ahead of an empty segment, want one step of %d", got, journal.PrepareStepBytes)
	}
	used := int64(0)
	for used < segment*8/9 {
		used += x.appendOne()
		x.must(x.log.Prepare())
		least := min(segment, used*9/8)
		if got, most := made(), min(segment, least+2*journal.PrepareStepBytes); got < least || got > most {
			t.Fatalf("%d bytes are made when %d are used, want %d to %d", got, used, least, most)
		}
	}
	if got := made(); got != segment {
		t.Fatalf("%d bytes are made when eight ninths are used, want %d", got, segment)
	}
	for used < segment {
		used += x.appendOne()
	}
	x.sync()
	x.must(x.log.Prepare())
	if got := made(); got >= segment {
		t.Fatalf("%d bytes are made behind a roll: all at once", got)
	}
	x.crash()
	x.wantHeld(1, uint64(len(x.frames)))
}

// A roll that comes before the next segment is whole makes the rest.
func TestARollFinishesWhatPrepareHasBegun(t *testing.T) {
	x := &fixture{TB: t, fs: faultfs.New()}
	x.opts = options(x.fs)
	x.opts.SegmentBytes = 4 << 20
	x.reopen()
	x.must(x.log.Prepare())
	x.append(60, 100_000)
	x.sync()
	x.crash()
	x.wantHeld(1, 60)
}

// appendOne appends a frame of about 100 KB and returns its length.
func (x *fixture) appendOne() int64 {
	x.append(1, 100_000)
	return int64(len(x.frames[len(x.frames)-1].Bytes))
}

// Segments beyond the next are made at rest, as many as were asked for, and a burst uses them without
// making one: until they are used up, Prepare has nothing to do.
func TestPrepareMoreMakesSegmentsForABurst(t *testing.T) {
	const segment, ready = 1 << 20, 4
	x := &fixture{TB: t, fs: faultfs.New()}
	x.opts = options(x.fs)
	x.opts.SegmentBytes, x.opts.SegmentsReady = segment, ready
	x.reopen()
	whole := func() (n int) {
		names, err := x.fs.List(dir)
		x.must(err)
		for _, name := range names {
			if b, err := x.fs.ReadFile(dir + "/" + name); err == nil && strings.HasPrefix(name, "next") && len(b) == segment {
				n++
			}
		}
		return n
	}
	for more := true; more; {
		var err error
		more, err = x.log.PrepareMore()
		x.must(err)
	}
	if got := whole(); got != ready {
		t.Fatalf("%d segments are ready, want %d", got, ready)
	}
	for used := ready - 1; used >= 1; used-- {
		for whole() > used {
			x.appendOne()
			x.must(x.log.Prepare())
		}
		if got := whole(); got != used {
			t.Fatalf("%d segments are ready after a roll, want %d", got, used)
		}
	}
	x.sync()
	x.crash()
	x.wantHeld(1, uint64(len(x.frames)))
	if more, err := x.log.PrepareMore(); err != nil || !more {
		t.Errorf("nothing is made ready after a start: %v, %v", more, err)
	}
}

// A disk with little room is left to the log: nothing is made ready beyond the next segment.
func TestPrepareMoreLeavesRoom(t *testing.T) {
	x := &fixture{TB: t, fs: faultfs.New()}
	x.opts = options(x.fs)
	x.opts.SegmentBytes, x.opts.SegmentsReady = 1<<20, 64
	x.reopen()
	x.fs.CapacityBytes = 16 << 20
	for more := true; more; {
		var err error
		more, err = x.log.PrepareMore()
		x.must(err)
	}
	if free, err := x.fs.FreeBytes(); err != nil || free < 7<<20 {
		t.Errorf("%d bytes are left of 16 MiB, %v", free, err)
	}
}
