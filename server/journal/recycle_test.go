package journal_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"strings"
	"syscall"
	"testing"

	"rejoin/server/journal"
	"rejoin/server/journal/faultfs"
	"rejoin/server/wire"
)

// files lists the log's files whose names begin or end so.
func (x *fixture) files(prefix, suffix string) (names []string) {
	x.Helper()
	all, err := x.fs.List(dir)
	x.must(err)
	for _, n := range all {
		if strings.HasPrefix(n, prefix) && strings.HasSuffix(n, suffix) {
			names = append(names, n)
		}
	}
	return names
}

// TestTrimmedFilesAreWrittenOver: a log that trims as much as it writes makes no zeros, and a start finds what was written and nothing else.
func TestTrimmedFilesAreWrittenOver(t *testing.T) {
	for _, how := range []string{"kill", "power cut"} {
		t.Run(how, func(t *testing.T) {
			x := segmented(t) // 7 ops a segment
			trim := func(op uint64) {
				t.Helper()
				_, err := x.log.Trim(op)
				x.must(err)
			}
			trim(15)
			zeroed := x.log.ZeroedBytes()
			for range 20 {
				x.append(7, 2000)
				x.sync()
				trim(x.log.Written().Op - 14)
				x.must(x.log.Prepare())
			}
			if n := x.log.ZeroedBytes() - zeroed; n > 0 {
				t.Errorf("%d bytes of zeros were written while files were there to write over", n)
			}
			if n := x.log.RecycledSegments(); n < 20 {
				t.Errorf("%d files were written over in 20 rolls", n)
			}
			start, end := x.log.Start(), x.log.Written().Op
			x.append(2, 2000)
			x.sync()
			if how == "kill" {
				x.kill()
			} else {
				x.crash()
			}
			x.wantEnd(end+2, end+2)
			x.wantHoles()
			if x.rec.CutBytes > 0 || len(x.rec.Findings) > 0 {
				t.Errorf("old frames were cut, %d bytes, and told of: %q", x.rec.CutBytes, x.rec.Findings)
			}
			if x.rec.Start != start || x.rec.TopUnknown || x.rec.Tail[len(x.rec.Tail)-1].Damaged {
				t.Errorf("start %d, want %d: %+v", x.rec.Start, start, x.rec)
			}
			x.wantHeld(start, end+2)
			x.append(10, 2000)
			x.sync()
			x.crash()
			x.wantEnd(end+12, end+12)
			x.wantHeld(start, end+12)
		})
	}
}

// TestOnlySoManyFilesAreKept: beyond what the next segments need, and where the disk has little room beyond the next one, files are removed.
func TestOnlySoManyFilesAreKept(t *testing.T) {
	for name, c := range map[string]struct {
		free int64 // segments
		want int
	}{"room": {100, 2}, "hardly any": {4, 1}} {
		t.Run(name, func(t *testing.T) {
			x := segmented(t)
			x.fs.CapacityBytes = 1 << 40
			free, err := x.fs.FreeBytes()
			x.must(err)
			x.fs.CapacityBytes += c.free*x.opts.SegmentBytes - int64(free)
			if n, err := x.log.Trim(30); n != 4 || err != nil {
				t.Fatal(n, err)
			}
			if next := x.files("next", ".seg"); len(next) != c.want || x.log.RecycledSegments() != int64(c.want) {
				t.Errorf("%d files are kept, want %d: %v", x.log.RecycledSegments(), c.want, next)
			}
			if old := x.files("0", ".seg"); len(old) != 2 {
				t.Errorf("left: %v", old)
			}
			x.append(30, 2000)
			x.sync()
			x.crash()
			x.wantHeld(29, 70)
		})
	}
}

// TestWhatIsReadIsNotWrittenOver: a reader that came before the trim finds what it was promised, whatever is appended meanwhile.
func TestWhatIsReadIsNotWrittenOver(t *testing.T) {
	x := segmented(t)
	span, err := x.log.Span(3, 5, 1<<20)
	x.must(err)
	_, err = x.log.Trim(8)
	x.must(err)
	x.append(20, 2000)
	x.sync()
	got, err := io.ReadAll(span.Reader())
	x.must(err)
	span.Release()
	if want := slicesOf(x, 3, 5); !bytes.Equal(got, want) {
		t.Error("a span that was taken before a trim reads other bytes after it")
	}
	if x.log.RecycledSegments() != 0 {
		t.Error("a file that somebody read was written over")
	}
}

// TestWhatWasLentIsAskedFor: also of a file that only a life before has lent.
func TestWhatWasLentIsAskedFor(t *testing.T) {
	for name, lend := range map[string]func(x *fixture){
		"lent": func(x *fixture) {
			span, err := x.log.Span(3, 5, 1<<20)
			x.must(err)
			span.Release()
		},
		"by a life before": func(x *fixture) { x.kill() },
		"never":            func(x *fixture) { _, _, err := x.log.ReadFrame(3, nil); x.must(err) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, still := range []bool{true, false} {
				x := segmented(t)
				lend(x)
				x.fs.StillLent = still
				_, err := x.log.Trim(8)
				x.must(err)
				if got := x.log.RecycledSegments() > 0; got == (still && name != "never") {
					t.Errorf("written over: %v, still on its way to readers: %v", got, still)
				}
			}
		})
	}
}

func slicesOf(x *fixture, from, to uint64) (b []byte) {
	for op := from; op <= to; op++ {
		b = append(b, x.frames[op-1].Bytes...)
	}
	return b
}

// TestCutFilesAreRemoved: the numbers of their ops are given again.
func TestCutFilesAreRemoved(t *testing.T) {
	x := segmented(t)
	x.must(x.log.Cut(10))
	if x.log.RecycledSegments() != 0 || len(x.files("next", ".seg")) != 0 {
		t.Errorf("%v", x.files("", ".seg"))
	}
}

// TestFilesOfAnotherSizeAreRemoved: the size of segments may have been another when they were made.
func TestFilesOfAnotherSizeAreRemoved(t *testing.T) {
	x := segmented(t)
	x.opts.SegmentBytes *= 2
	x.kill()
	if _, err := x.log.Trim(30); err != nil || x.log.RecycledSegments() != 0 {
		t.Errorf("%d files, %v", x.log.RecycledSegments(), err)
	}
}

// TestCrashBesideARecycledFile: the name of a file that is written over is gone before its content is.
func TestCrashBesideARecycledFile(t *testing.T) {
	var durable uint64
	do := func(x *fixture) error {
		durable = 40
		if _, err := x.log.Trim(30); err != nil {
			return err
		}
		for _, f := range x.make(20, 2000) {
			if err := x.log.Append([]journal.Frame{f}); err != nil {
				return err
			}
			x.frames = append(x.frames, f)
			id, err := x.log.Sync()
			if err != nil {
				return err
			}
			durable = id.Op
		}
		return x.log.SyncMark()
	}
	recycled := int64(0)
	crashAtEveryStep(t, segmented(t), func(x *fixture) error { err := do(x); recycled += x.log.RecycledSegments(); return err }, func(x *fixture, finished bool) {
		if x.rec.Held.Op < durable || x.rec.Held.Op > durable+1 || len(x.log.Holes()) > 0 || finished && x.rec.Start != 29 {
			t.Fatalf("held %d, durable were %d, holes %v, start %d", x.rec.Held.Op, durable, x.log.Holes(), x.rec.Start)
		}
		x.wantHeld(x.rec.Start, min(x.rec.Held.Op, uint64(len(x.frames))))
	})
	if recycled == 0 {
		t.Error("nothing was written over")
	}
}

// TestTornWritesOverOldFrames: whatever of un-synced writes a power cut leaves among the frames that were there before, of the same size or of
// others, a start ends the log where they do.
func TestTornWritesOverOldFrames(t *testing.T) {
	recycled := make([]int64, 4)
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 5))
		x := segmented(t)
		size := []int{2000, 500, 3000, 2000}[seed%4] // every fourth and first: frame stands on frame
		for round := range 12 {
			end := x.log.Written().Op
			if end > 25 {
				_, err := x.log.Trim(end - 15)
				x.must(err)
			}
			x.append(1+rng.IntN(9), size)
			x.sync()
			synced := x.log.Written().Op
			x.append(rng.IntN(6), size)
			recycled[seed%4] += x.log.RecycledSegments() // of this life, if it ends now
			switch rng.IntN(3) {
			case 0:
				x.fs.Crash(rng)
				x.opts.SameBoot = false
				x.reopen()
			case 1:
				x.kill()
			default:
				continue
			}
			held := x.rec.Held.Op
			if held < synced || held > uint64(len(x.frames)) || x.rec.Top != held || len(x.log.Holes()) > 0 {
				t.Fatalf("seed %d, round %d: held %d, top %d, synced were %d of %d, holes %v: %q", seed, round, held, x.rec.Top, synced, len(x.frames), x.log.Holes(), x.rec.Findings)
			}
			x.frames = x.frames[:held]
			x.wantHeld(x.rec.Start, held)
		}
	}
	for i, n := range recycled {
		if n == 0 {
			t.Errorf("nothing was written over by seeds %d, %d, …", i, i+4)
		}
	}
}

// beforeBorder is a payload with which a frame that stands at the beginning of a file ends so many bytes before the end of its first page.
func beforeBorder(bytes int) int { return 4096 - bytes - wire.HeaderBytes - wire.MessagePrefixBytes }

// TestLostMarkBesideOldFrames: old frames behind the end of a log are not taken for ops that were lost, and what may be one is.
func TestLostMarkBesideOldFrames(t *testing.T) {
	for name, c := range map[string]struct {
		sizes []int // appended to the file that is written over
		harm  func(x *fixture, file string, end int64)
		isOp  bool // what is behind may be one
	}{
		"old frames":                {sizes: []int{1700, 1700, 1700}},
		"frame upon frame":          {sizes: []int{2000, 2000, 2000}},
		"nothing written":           {},
		"on a page border":          {sizes: []int{beforeBorder(0)}},
		"two bytes before it":       {sizes: []int{beforeBorder(2)}},
		"a hundred bytes before it": {sizes: []int{beforeBorder(100)}},
		"a torn header":             {sizes: []int{1700}, harm: func(x *fixture, file string, end int64) { x.fs.Overwrite(file, end, []byte{7}) }, isOp: true},
		"a torn header at a border": {sizes: []int{beforeBorder(0)}, harm: func(x *fixture, file string, end int64) { x.fs.Overwrite(file, end, []byte{7}) }, isOp: true},
		"a later op behind":         {sizes: []int{1700}, harm: func(x *fixture, file string, end int64) { x.fs.Overwrite(file, end+5000, x.make(2, 100)[1].Bytes) }, isOp: true},
		"one of another group behind": {sizes: []int{1700}, harm: func(x *fixture, file string, end int64) {
			x.fs.Overwrite(file, end+5000, ofGroup(group+1, x.make(2, 100)[1]))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			x := segmented(t)
			_, err := x.log.Trim(30)
			x.must(err)
			for x.log.Written().Op < 49 {
				x.append(1, 2000)
			}
			for _, size := range c.sizes {
				x.append(1, size)
			}
			x.sync()
			held := x.log.Written().Op
			if len(c.sizes) == 0 { // the process died right after a roll
				x.must(x.fs.Rename(dir+"/next-1.seg", fmt.Sprintf("%s/%020d.seg", dir, held+1)))
				x.must(x.fs.SyncDir(dir))
			}
			if c.harm != nil {
				file, at := x.place(held)
				c.harm(x, file, at+int64(len(x.frames[held-1].Bytes)))
			}
			with := *x
			with.fs = x.fs.Clone()
			with.opts.FS = with.fs
			x.fs.Overwrite(dir+"/mark", 0, zeros(8192))
			for _, x := range []*fixture{x, &with} {
				x.crash()
				if x.rec.TopUnknown != (c.isOp && x.rec.MarkLost) || (x.rec.CutBytes > 0) != c.isOp {
					t.Errorf("mark lost: %v, unknown above: %v, %d bytes cut: %q", x.rec.MarkLost, x.rec.TopUnknown, x.rec.CutBytes, x.rec.Findings)
				}
				x.wantEnd(held, held)
				x.wantHeld(x.rec.Start, held)
				if x.crash(); x.rec.CutBytes > 0 {
					t.Errorf("%d bytes are cut at the second start", x.rec.CutBytes)
				}
			}
		})
	}
}

// ofGroup seals the header of a frame for another group.
func ofGroup(group uint32, f journal.Frame) []byte {
	h := f.Header
	h.Group = group
	wire.Seal(&h)
	wire.PutHeader(f.Bytes, &h)
	return f.Bytes
}

// TestLaterHeaderAnywhereBehind: also across the borders of what is read at a time, and where a part cannot be read.
func TestLaterHeaderAnywhereBehind(t *testing.T) {
	const window = 1 << 20
	for _, at := range []int64{window - 127, window - 60, window - 1, window, 2*window - 127 - 60} {
		x := &fixture{TB: t, fs: faultfs.New()}
		x.opts = options(x.fs)
		x.opts.SegmentBytes = 4 << 20
		x.reopen()
		x.append(6, 1_000_000-1) // four to a segment
		x.sync()
		file, off := x.place(6)
		end := off + int64(len(x.frames[5].Bytes))
		x.fs.Overwrite(file, end+8192, x.frames[0].Bytes[:wire.HeaderBytes]) // of an older op: the file was written over
		x.crash()
		if x.rec.CutBytes > 0 {
			t.Fatalf("%d bytes are cut because of an older op", x.rec.CutBytes)
		}
		x.fs.Overwrite(file, end+at, x.make(2, 100)[1].Bytes[:wire.HeaderBytes])
		x.crash()
		if x.rec.CutBytes == 0 {
			t.Errorf("the header of a later op %d bytes behind the end was not found", at)
		}
		x.wantEnd(6, 6)
	}
}

// TestTrimWaitsForNoZeros: who makes a file ahead of use may be at its sync.
func TestTrimWaitsForNoZeros(t *testing.T) {
	x := segmented(t)
	trimmed := 0
	x.fs.OnOp = func(_ int, verb faultfs.Verb, name string) {
		if verb == faultfs.VerbSync && strings.HasPrefix(path.Base(name), "next") && trimmed == 0 {
			var err error
			trimmed, err = x.log.Trim(8) // as the flusher does beside it
			x.must(err)
		}
	}
	x.append(6, 2000)
	x.must(x.log.Prepare())
	if trimmed != 1 || x.log.RecycledSegments() != 0 {
		t.Fatalf("%d segments were trimmed while the next was synced, %d were kept", trimmed, x.log.RecycledSegments())
	}
	x.append(20, 2000)
	x.sync()
	x.crash()
	x.wantHeld(8, x.log.Written().Op)
}

// TestDamagedFilesAreRemoved: their place on the disk is not worth having once more.
func TestDamagedFilesAreRemoved(t *testing.T) {
	x := segmented(t)
	name, at := x.place(3)
	x.fs.Overwrite(name, at, zeros(500))
	if _, _, err := x.log.ReadFrame(3, nil); err == nil {
		t.Fatal("op 3 is not damaged")
	}
	if n, err := x.log.Trim(8); n != 1 || err != nil || x.log.RecycledSegments() != 0 {
		t.Errorf("%d files of %d, %v", x.log.RecycledSegments(), n, err)
	}
}

// TestNoRoomForAName: a file that cannot be renamed for want of room is removed, as a trim is there to do.
func TestNoRoomForAName(t *testing.T) {
	x := segmented(t)
	x.fs.Inject(faultfs.Fault{Verb: faultfs.VerbRename, Err: syscall.ENOSPC})
	if n, err := x.log.Trim(8); n != 1 || err != nil || x.log.RecycledSegments() != 0 {
		t.Errorf("%d files of %d, %v", x.log.RecycledSegments(), n, err)
	}
	x.append(10, 2000)
	x.sync()
	x.crash()
	x.wantHeld(8, 50)
}
