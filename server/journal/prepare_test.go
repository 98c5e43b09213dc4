package journal_test

import (
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
	for used < segment/2 {
		used += x.appendOne()
		x.must(x.log.Prepare())
		if got, most := made(), min(segment, 2*used+2*journal.PrepareStepBytes); got < min(segment, 2*used) || got > most {
			t.Fatalf("%d bytes are made when %d are used, want %d to %d", got, used, 2*used, most)
		}
	}
	if got := made(); got != segment {
		t.Fatalf("%d bytes are made when half is used, want %d", got, segment)
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
