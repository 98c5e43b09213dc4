package journal_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"rejoin/server/journal"
	"rejoin/server/journal/faultfs"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// A cut is durable when it returns, wherever it falls, and the log goes on with other ops.
func TestCutAnywhere(t *testing.T) {
	for to := uint64(0); to <= 40; to++ {
		x := segmented(t)
		x.must(x.log.Cut(to))
		x.frames = x.frames[:to]
		x.wantHeld(1, to)
		if _, err := x.log.Header(to + 1); !errors.Is(err, journal.ErrNotHeld) {
			t.Fatalf("cut to %d: %v", to, err)
		}
		if x.log.Durable().Op != to || x.log.Top() != to || x.log.NextOffset() != to {
			t.Fatalf("cut to %d: durable %v top %d offset %d", to, x.log.Durable(), x.log.Top(), x.log.NextOffset())
		}
		x.crash()
		x.wantEnd(to, to)
		x.append(10, 1500)
		x.sync()
		x.crash()
		x.wantEnd(to+10, to+10)
		x.wantHeld(1, to+10)
	}
}

// A crash at any step of a cut leaves the old end, the new one, or one between; what was below stays.
func TestCrashInACut(t *testing.T) {
	for _, keep := range []uint64{0, 25} { // top stays on record up to there
		base := segmented(t)
		n, off := base.place(9)
		base.fs.Rot(n, off, 1)
		for k := 0; ; k++ {
			x := *base
			x.fs = base.fs.Clone()
			x.opts.FS = x.fs
			x.reopen()
			x.log.ReportDamage(9)
			x.fs.StopBefore(k)
			err := x.log.CutKeeping(10, vsr.ID{Op: keep, Sum: 77})
			stopped := errors.Is(err, faultfs.ErrStopped)
			if err != nil && !stopped {
				t.Fatal(err)
			}
			x.fs.Crash(rand.New(rand.NewPCG(uint64(k), keep)))
			x.opts.SameBoot = false
			x.reopen()
			held := x.rec.Held.Op
			if held < 10 || held > 40 || !stopped && held != 10 || x.rec.Top < max(held, keep) || !stopped && x.rec.Top != max(10, keep) {
				t.Fatalf("stop before %d: held %d top %d", k, held, x.rec.Top)
			}
			x.wantHeld(1, 8)
			x.wantHeld(10, held)
			if !x.log.ReportDamage(9) {
				t.Fatal("op 9 has healed by itself")
			}
			x.fill(9)
			if !stopped {
				break
			}
		}
	}
}

// What a cut has dropped is not back after a power cut: another log of the group has something else there.
func TestCutIsDurable(t *testing.T) {
	for seed := range uint64(20) {
		x := segmented(t)
		x.must(x.log.Cut(38))
		x.fs.Crash(rand.New(rand.NewPCG(seed, 1)))
		x.opts.SameBoot = false
		x.reopen()
		x.wantEnd(38, 38)
	}
}

// A cut into a sealed segment behind a hole keeps the place of what the hole holds.
func TestCutBehindAHole(t *testing.T) {
	x := segmented(t)
	n, off := x.place(17)
	x.fs.Overwrite(n, off, zeros(128))
	x.log.ReportDamage(17)
	x.must(x.log.Cut(19))
	x.frames = x.frames[:19]
	x.crash()
	x.wantEnd(19, 19)
	x.wantHoles(opRange{17, 17})
	x.fill(17)
	x.append(30, 1200)
	x.sync()
	x.crash()
	x.wantEnd(49, 49)
	x.wantHeld(1, 49)
}

// A cut to an op that is itself damaged leaves a mark that knows the number and not the sum.
func TestCutIntoTheDamagedTail(t *testing.T) {
	x := newFixture(t)
	x.append(6, 1000)
	x.sync()
	n, off := x.place(3)
	x.fs.Rot(n, off, 1)
	x.crash()
	x.wantEnd(2, 6)
	x.must(x.log.Cut(4))
	x.crash()
	x.wantEnd(2, 4)
	if last := x.rec.Tail[len(x.rec.Tail)-1]; last.SumKnown {
		t.Fatalf("%+v", last)
	}
}

// A span outlives the cut and the trim of its segment.
func TestSpanOutlivesItsSegment(t *testing.T) {
	x := segmented(t)
	late, err := x.log.Span(23, 40, 1<<20)
	x.must(err)
	early, err := x.log.Span(1, 3, 1<<20)
	x.must(err)
	if late.First != 23 || late.Last != 28 || early.Last != 3 {
		t.Fatalf("spans %d..%d, %d..%d", late.First, late.Last, early.First, early.Last)
	}
	x.must(x.log.Cut(15))
	trimmed, err := x.log.Trim(9)
	x.must(err)
	if trimmed != 1 || x.log.Start() != 8 || x.log.EarliestOffset() != 7 {
		t.Fatalf("trimmed %d, start %d", trimmed, x.log.Start())
	}
	for _, s := range []journal.Span{late, early} {
		b, err := io.ReadAll(s.Reader())
		x.must(err)
		want := ""
		for _, f := range x.frames[s.First-1 : s.Last] {
			want += string(f.Bytes)
		}
		if string(b) != want {
			t.Fatalf("span %d..%d reads back differently", s.First, s.Last)
		}
		s.Release()
	}
	if _, err := x.log.Header(7); !errors.Is(err, journal.ErrTrimmed) {
		t.Fatal(err)
	}
	if _, err := x.log.OpOf(6); !errors.Is(err, journal.ErrTrimmed) {
		t.Fatal(err)
	}
	x.crash()
	if x.rec.Start != 8 {
		t.Fatalf("start %d", x.rec.Start)
	}
	x.wantEnd(15, 15)
	x.wantHeld(8, 15)
}

func TestSpanStopsAtHolesAndLimits(t *testing.T) {
	x := segmented(t)
	n, off := x.place(12)
	x.fs.Rot(n, off, 1)
	x.log.ReportDamage(12)
	frame := int64(len(x.frames[0].Bytes))
	for _, c := range []struct {
		from, to uint64
		max      int64
		last     uint64
	}{
		{8, 40, 1 << 30, 11}, {13, 40, 1 << 30, 14}, {8, 9, 1 << 30, 9}, {8, 40, 1, 8}, {8, 40, 2*frame + 1, 9}, {8, 40, 2 * frame, 9}, {8, 8, 0, 8}, {9, 3, 1 << 30, 9},
	} {
		s, err := x.log.Span(c.from, c.to, c.max)
		x.must(err)
		if s.First != c.from || s.Last != c.last || s.Bytes != int64(c.last-c.from+1)*frame {
			t.Fatalf("%+v: span %d..%d of %d bytes", c, s.First, s.Last, s.Bytes)
		}
		next := x.frames[c.last-1].Header.NextOffset()
		if c.last+1 == 12 { // damaged, so that nobody vouches for where it begins
			next = 0
		}
		if s.NextOffset != next {
			t.Fatalf("%+v: the span ends before offset %d, want %d", c, s.NextOffset, next)
		}
		s.Release()
	}
	if _, err := x.log.Span(12, 40, 1); !errors.Is(err, journal.ErrDamaged) {
		t.Fatal(err)
	}
}

// A log that begins above op 1, as a transfer that does not connect makes it.
func TestBase(t *testing.T) {
	x := &fixture{TB: t, fs: faultfs.New()}
	x.opts = options(x.fs)
	x.opts.Base = journal.Base{ID: vsr.ID{Op: 100, Sum: 5}, NextOffset: 5000}
	x.reopen()
	x.wantEnd(100, 100)
	if x.rec.Start != 101 || !x.rec.New || len(x.rec.Tail) != 0 || x.log.EarliestOffset() != 5000 {
		t.Fatalf("%+v", x.rec)
	}
	f := makeFrame(vsr.ID{Op: 100, Sum: 5}, 5000, 1, []byte("x"))
	x.must(x.log.Append([]journal.Frame{f}))
	_, err := x.log.Sync()
	x.must(err)
	x.opts.Base = journal.Base{} // only needed once
	x.crash()
	x.wantEnd(101, 101)
	if op, err := x.log.OpOf(5000); err != nil || op != 101 {
		t.Fatalf("message 5000 is in op %d, %v", op, err)
	}
	x.must(x.log.Cut(100))
	x.crash()
	x.wantEnd(100, 100)
	x.must(x.log.Append([]journal.Frame{f}))
}

func TestForeignFiles(t *testing.T) {
	x := newFixture(t)
	x.append(3, 100)
	x.sync()
	x.fs.Kill()
	for _, change := range []func(o *journal.Options){func(o *journal.Options) { o.Cluster++ }, func(o *journal.Options) { o.Group++ }} {
		o := x.opts
		change(&o)
		if _, _, err := journal.Open(o); !errors.Is(err, journal.ErrForeign) {
			t.Fatal(err)
		}
	}
	x.kill()
	x.wantHeld(1, 3)
}

func TestAppendPanicsOnABrokenChain(t *testing.T) {
	x := newFixture(t)
	x.append(3, 100)
	good := x.make(1, 100)[0]
	for name, change := range map[string]func(f *journal.Frame){
		"op":     func(f *journal.Frame) { f.Header.Op++ },
		"parent": func(f *journal.Frame) { f.Header.Parent++ },
		"offset": func(f *journal.Frame) { f.Header.BaseOffset++ },
		"length": func(f *journal.Frame) { f.Bytes = f.Bytes[1:] },
		"group":  func(f *journal.Frame) { f.Header.Group++ },
	} {
		f := good
		change(&f)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("append with a wrong %s does not panic", name)
				}
			}()
			_ = x.log.Append([]journal.Frame{f}) // panics
		}()
	}
	x.must(x.log.Append([]journal.Frame{good}))
}

func TestTables(t *testing.T) {
	x := segmented(t)
	for _, op := range []int{5, 10, 15, 20} {
		h := &x.frames[op-1].Header
		x.must(x.log.SaveTable(journal.Table{ID: h.ID(), NextOffset: h.NextOffset(), Bytes: payload(op*1000, uint64(op))}))
	}
	x.crash()
	if x.rec.Table() == nil || x.rec.Table().ID != x.frames[19].Header.ID() || x.rec.Table().NextOffset != 20 || string(x.rec.Table().Bytes) != string(payload(20000, 20)) {
		t.Fatal("the newest table is not the one that was saved last")
	}
	x.fs.Rot(dir+"/table-00000000000000000020.tab", 10000, 1)
	x.crash()
	if x.rec.Table() == nil || x.rec.Table().ID.Op != 15 || len(x.rec.Findings) == 0 {
		t.Fatal("a rotten table is not skipped for the one before")
	}
	names, err := x.fs.List(dir)
	x.must(err)
	tables := 0
	for _, n := range names {
		if strings.HasPrefix(n, "table-") {
			tables++
		}
	}
	if x.kill(); tables > 3 { // a removal that a crash has undone is no harm
		t.Fatalf("%d tables", tables)
	}
}

// Ops that a cut leaves on record as damaged stay committed.
func TestCutKeepingKeepsTheCommit(t *testing.T) {
	x := segmented(t)
	commit, top := x.frames[29].Header.ID(), x.frames[34].Header.ID()
	x.log.NoteCommit(commit)
	x.must(x.log.CutKeeping(24, top))
	if x.log.Top() != 35 || x.log.Written().Op != 24 {
		t.Fatalf("written %d top %d", x.log.Written().Op, x.log.Top())
	}
	x.crash()
	x.wantEnd(24, 35)
	last := x.rec.Tail[len(x.rec.Tail)-1]
	if x.rec.Mark.Commit != commit || !last.SumKnown || last.Header.Sum != top.Sum {
		t.Fatalf("%+v", x.rec)
	}
	x.must(x.log.Append(x.frames[24:]))
	x.sync()
	x.crash()
	x.wantEnd(40, 40)
	x.wantHeld(1, 40)
}

// What a cut keeps on record outlasts a power cut right after it, also where the mark said the same
// before and was only written yet.
func TestCutKeepingSyncsTheMarkThatItRestsOn(t *testing.T) {
	x := newFixture(t)
	x.appendEmpty(vsr.Header{Kind: vsr.KindRegister, Client: vsr.Client{Hi: 1}, Parent: wire.RootSum(cluster, group), Cluster: cluster, Group: group, View: 1, Op: 1})
	if _, err := x.log.Sync(); err != nil { // writes the mark; it is synced once a second
		t.Fatal(err)
	}
	if err := x.log.CutKeeping(0, x.frames[0].Header.ID()); err != nil {
		t.Fatal(err)
	}
	x.fs.CrashHard()
	x.opts.SameBoot = false
	x.frames = nil
	x.reopen()
	if x.rec.Top != 1 {
		t.Fatalf("top is %d: what was held and is damaged is taken for never held", x.rec.Top)
	}
}

// A cut may end right behind a hole without a place, which is as high as the log is committed: the next segment
// tells what comes before it, and goes on empty.
func TestCutRightBehindAHoleWithoutAPlace(t *testing.T) {
	x := segmented(t)
	x.fs.Delete(dir + "/00000000000000000008.seg")
	x.fs.Delete(dir + "/00000000000000000008.idx")
	x.crash()
	x.wantHoles(opRange{8, 14})
	id := x.frames[13].Header.ID()
	x.must(x.log.Cut(14))
	if x.log.Written() != id || x.log.Top() != 14 {
		t.Fatalf("the log ends in %v, top %d, want %v", x.log.Written(), x.log.Top(), id)
	}
	x.wantHoles(opRange{8, 14})
	x.must(x.log.Cut(14))
	x.frames = x.frames[:14]
	x.append(3, 1200)
	x.sync()
	x.must(x.log.Cut(14)) // once more, with what stands there now
	x.frames = x.frames[:14]
	x.append(10, 1500)
	x.sync()
	x.crash()
	x.wantEnd(24, 24)
	x.wantHoles(opRange{8, 14})
	x.wantHeld(1, 7)
	x.wantHeld(15, 24)
	x.fill(8, 9, 10, 11, 12, 13, 14)
	x.must(x.log.SyncMark())
	x.crash()
	x.wantEnd(24, 24)
	x.wantHeld(1, 24)
}

// A crash after such a cut leaves an end that nothing can be appended to: the hole is on record, above it.
func TestCrashAfterACutBehindAHoleWithoutAPlace(t *testing.T) {
	x := segmented(t)
	x.fs.Delete(dir + "/00000000000000000008.seg")
	x.fs.Delete(dir + "/00000000000000000008.idx")
	x.crash()
	x.must(x.log.Cut(14))
	x.crash()
	x.wantEnd(7, 14)
	x.must(x.log.Append(x.frames[7:14]))
	x.frames = x.frames[:14]
	x.append(10, 1500)
	x.sync()
	x.crash()
	x.wantEnd(24, 24)
	x.wantHeld(1, 24)
}

// No index is written of the last segment, though it was sealed before a cut, and another one was after it.
func TestNoIndexOfASegmentThatIsOpenAgain(t *testing.T) {
	x := segmented(t)
	x.fs.Delete(dir + "/00000000000000000008.seg")
	x.fs.Delete(dir + "/00000000000000000008.idx")
	x.crash()
	x.append(5, 2000) // seals the segment of op 36
	_, err := x.log.Sync()
	x.must(err)
	x.fill(8, 9, 10, 11, 12, 13, 14)
	x.must(x.log.Cut(41))
	x.must(x.log.SyncMark())
	if _, err := x.fs.ReadFile(dir + "/00000000000000000036.idx"); err == nil {
		t.Error("the last segment has an index")
	}
}
