package journal_test

import (
	"errors"
	"syscall"
	"testing"

	"rejoin/server/journal"
	"rejoin/server/journal/faultfs"
	"rejoin/server/vsr"
)

func wantFault(t testing.TB, err error, verb string) {
	t.Helper()
	var fault *journal.FaultError
	if !errors.As(err, &fault) || fault.Verb != verb || fault.File == "" {
		t.Fatalf("want a fault of %s, got %v", verb, err)
	}
}

// B7: a full disk refuses the append, changes nothing, lets votes and reads through, boots, and the
// append goes through once there is room.
func TestFullDisk(t *testing.T) {
	x := newFixture(t)
	x.fs.CapacityBytes = 80 << 10
	for {
		f := x.make(1, 2000)
		err := x.log.Append(f)
		if errors.Is(err, journal.ErrDiskFull) {
			break
		}
		x.must(err)
		x.frames = append(x.frames, f...)
		x.sync()
	}
	full := uint64(len(x.frames))
	if full < 21 || x.log.Written().Op != full {
		t.Fatalf("full at op %d, written %d", full, x.log.Written().Op)
	}
	x.wantHeld(1, full)
	before := x.fs.Ops()
	for range 3 { // it is asked again and again: it must not fill the rest of the disk each time
		if err := x.log.Prepare(); !errors.Is(err, journal.ErrDiskFull) {
			t.Fatalf("prepare: %v", err)
		}
	}
	if ops := x.fs.Ops(); ops != before {
		t.Fatalf("prepare changed a full disk %d times", ops-before)
	}
	x.must(x.log.SaveState(journal.State{View: 9, LogView: 8}))
	if err := x.log.SaveTable(journal.Table{ID: x.frames[2].Header.ID(), Bytes: zeros(64 << 10)}); !errors.Is(err, journal.ErrDiskFull) {
		t.Fatalf("table: %v", err)
	}
	x.crash()
	x.wantEnd(full, full)
	x.wantHeld(1, full)
	if x.rec.State.View != 9 || x.rec.Table() != nil {
		t.Fatalf("%+v", x.rec)
	}
	x.must(x.log.Cut(full - 3)) // a view change needs no space
	if err := x.log.Append(x.frames[full-3:]); err != nil {
		t.Fatal(err)
	}
	if err := x.log.Append(x.make(1, 2000)); !errors.Is(err, journal.ErrDiskFull) {
		t.Fatal(err)
	}
	x.fs.CapacityBytes = 0
	x.append(10, 2000)
	x.sync()
	x.crash()
	x.wantHeld(1, full+10)
}

// A group that needs several new segments is refused before its first byte.
func TestFullDiskInTheMiddleOfAGroup(t *testing.T) {
	x := newFixture(t)
	x.append(3, 2000)
	x.sync()
	x.fs.CapacityBytes = 60 << 10
	group := x.make(30, 2000)
	if err := x.log.Append(group); !errors.Is(err, journal.ErrDiskFull) {
		t.Fatal(err)
	}
	if x.log.Written().Op != 3 {
		t.Fatalf("written %d", x.log.Written().Op)
	}
	x.fs.CapacityBytes = 0
	x.must(x.log.Append(group))
	x.frames = append(x.frames, group...)
	x.sync()
	x.crash()
	x.wantHeld(1, 33)
}

// A group with a frame that is larger than a segment is refused before its first byte, too.
func TestFullDiskUnderAFrameLargerThanASegment(t *testing.T) {
	x := newFixture(t)
	x.append(1, 500)
	x.sync()
	x.must(x.log.Prepare())
	const endless = int64(1) << 40
	x.fs.CapacityBytes = endless
	free, err := x.fs.FreeBytes()
	x.must(err)
	x.fs.CapacityBytes = endless - int64(free) + x.opts.SegmentBytes + 1000 // a segment fits, and no more
	group := x.make(1, 500)
	prev := group[0].Header
	group = append(group, makeFrame(prev.ID(), prev.NextOffset(), 1, payload(int(3*x.opts.SegmentBytes), 9)))
	if err := x.log.Append(group); !errors.Is(err, journal.ErrDiskFull) {
		t.Fatal(err)
	}
	if x.log.Written().Op != 1 {
		t.Fatalf("written %d", x.log.Written().Op)
	}
	x.fs.CapacityBytes = 0
	x.must(x.log.Append(group))
	x.frames = append(x.frames, group...)
	x.sync()
	x.crash()
	x.wantHeld(1, 3)
}

// B8: a short write that ends in a full disk leaves the log as it was.
func TestShortWrite(t *testing.T) {
	x := newFixture(t)
	x.append(2, 500)
	x.sync()
	x.fs.Inject(faultfs.Fault{Verb: faultfs.VerbWrite, Name: ".seg", Err: syscall.ENOSPC, ShortBytes: 100})
	refused := x.make(3, 600)
	if err := x.log.Append(refused); !errors.Is(err, journal.ErrDiskFull) {
		t.Fatal(err)
	}
	if x.log.Written().Op != 2 {
		t.Fatalf("written %d", x.log.Written().Op)
	}
	crashed := *x
	crashed.fs = x.fs.Clone()
	crashed.opts.FS = crashed.fs
	crashed.kill()
	crashed.wantEnd(2, 2)
	x.append(3, 700) // others than the refused ones
	x.sync()
	x.crash()
	x.wantEnd(5, 5)
	x.wantHeld(1, 5)
}

// Every failure of the disk is a fault, and the log does nothing after it.
func TestFaultsStick(t *testing.T) {
	type verb = faultfs.Verb
	for name, c := range map[string]struct {
		fault faultfs.Fault
		want  string
	}{
		"write":         {faultfs.Fault{Verb: faultfs.VerbWrite, Name: ".seg"}, "write"},
		"sync":          {faultfs.Fault{Verb: faultfs.VerbSync, Name: ".seg"}, "sync"},
		"mark":          {faultfs.Fault{Verb: faultfs.VerbWrite, Name: "mark"}, "write"},
		"mark sync":     {faultfs.Fault{Verb: faultfs.VerbSync, Name: "mark"}, "sync"},
		"create":        {faultfs.Fault{Verb: faultfs.VerbCreate, Name: "next.seg"}, "create"},
		"prepare":       {faultfs.Fault{Verb: faultfs.VerbWrite, Name: "next.seg"}, "write"},
		"prepare sync":  {faultfs.Fault{Verb: faultfs.VerbSync, Name: "next.seg"}, "sync"},
		"rename":        {faultfs.Fault{Verb: faultfs.VerbRename, Name: "next.seg"}, "rename"},
		"directory":     {faultfs.Fault{Verb: faultfs.VerbSyncDir}, "sync"},
		"truncate":      {faultfs.Fault{Verb: faultfs.VerbTruncate}, "truncate"},
		"remove":        {faultfs.Fault{Verb: faultfs.VerbRemove, Name: ".seg"}, "remove"},
		"index":         {faultfs.Fault{Verb: faultfs.VerbClose, Name: ".idx.tmp"}, "close"},
		"state":         {faultfs.Fault{Verb: faultfs.VerbSync, Name: "state"}, "sync"},
		"table rename":  {faultfs.Fault{Verb: faultfs.VerbRename, Name: ".tab.tmp"}, "rename"},
		"mkdir is done": {faultfs.Fault{Verb: faultfs.VerbSync, Name: "table-00000000000000000003.tab.tmp"}, "sync"},
	} {
		t.Run(name, func(t *testing.T) {
			x := newFixture(t)
			c.fault.Err = syscall.EIO
			x.fs.Inject(c.fault)
			err := everything(x)
			wantFault(t, err, c.want)
			if !errors.Is(err, syscall.EIO) {
				t.Fatalf("the cause is lost: %v", err)
			}
			ops := x.fs.Ops()
			_, syncErr := x.log.Sync()
			for _, again := range []error{x.log.Append(x.make(1, 10)), syncErr, x.log.SyncMark(), x.log.Cut(0),
				x.log.SaveState(journal.State{}), x.log.SaveTable(journal.Table{}), x.log.Prepare(), x.fillOne(journal.Frame{}), x.log.Unfence()} {
				if !errors.Is(again, syscall.EIO) {
					t.Fatalf("after a fault: %v", again)
				}
			}
			if x.fs.Ops() != ops {
				t.Fatal("the disk was touched after a fault")
			}
		})
	}
}

// everything does each thing once and returns the first error.
func everything(x *fixture) error {
	for _, f := range x.make(20, 2000) {
		if err := x.log.Append([]journal.Frame{f}); err != nil {
			return err
		}
		x.frames = append(x.frames, f)
		if _, err := x.log.Sync(); err != nil {
			return err
		}
	}
	for _, do := range []func() error{
		x.log.SyncMark,
		func() error { return x.log.SaveState(journal.State{View: 1}) },
		func() error { return x.log.SaveTable(journal.Table{ID: x.frames[2].Header.ID()}) },
		x.log.Prepare,
		func() error { return x.log.Cut(3) },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// B2: a sync fails, the kernel calls the pages clean, the next sync would succeed.
func TestFailedSyncThatDropsPages(t *testing.T) {
	for name, fence := range map[string]bool{"fenced": true, "killed before it could": false} {
		t.Run(name, func(t *testing.T) {
			x := newFixture(t)
			x.append(3, 3000)
			x.sync()
			x.append(3, 3000)
			x.fs.Inject(faultfs.Fault{Verb: faultfs.VerbSync, Name: ".seg", Err: syscall.EIO, DropDirty: true})
			id, err := x.log.Sync()
			wantFault(t, err, "sync")
			if id.Op != 3 || x.log.Durable().Op != 3 {
				t.Fatalf("durable %d after a failed sync", id.Op)
			}
			want := uint64(6) // the pages are still in the cache, and are written again
			if fence {
				x.log.Fence(err)
				want = 3
			}
			x.kill()
			if x.rec.WasFenced != fence {
				t.Fatalf("fenced: %v", x.rec.WasFenced)
			}
			x.wantEnd(want, want)
			x.crash() // what Open reported as held must be on the disk
			x.wantEnd(want, want)
			x.wantHeld(1, want)
			if x.rec.WasFenced != fence {
				t.Fatalf("fenced, at the next start: %v", x.rec.WasFenced)
			}
			x.must(x.log.Unfence())
			x.frames = x.frames[:want]
			x.append(1, 3000)
			x.kill()
			if x.rec.WasFenced {
				t.Fatal("still fenced")
			}
		})
	}
}

// B11: a disk that lies about syncs loses acknowledged ops. They are not denied.
func TestLyingSync(t *testing.T) {
	x := newFixture(t)
	x.append(3, 3000)
	x.sync()
	x.fs.Inject(faultfs.Fault{Verb: faultfs.VerbSync, Name: ".seg", Lie: true, Sticky: true})
	x.append(2, 3000)
	x.sync()
	x.fs.Heal()
	x.crash()
	x.wantEnd(3, 5)
	last := x.rec.Tail[len(x.rec.Tail)-1]
	if !last.SumKnown || last.Header.Sum != x.frames[4].Header.Sum {
		t.Fatalf("the lost top is not named: %+v", last)
	}
	x.must(x.log.Append(x.frames[3:]))
	x.sync()
	x.crash()
	x.wantEnd(5, 5)
}

// B12: a read-only disk refuses everything and loses nothing; unreadable state is never taken for
// blank.
func TestReadOnlyDisk(t *testing.T) {
	x := newFixture(t)
	x.append(3, 1000)
	x.sync()
	x.must(x.log.SaveState(journal.State{View: 4, LogView: 4}))
	x.fs.ReadOnly = true
	err := x.log.SaveState(journal.State{View: 5, LogView: 4})
	wantFault(t, err, "write")
	if !errors.Is(err, syscall.EROFS) {
		t.Fatal(err)
	}
	x.wantHeld(1, 3)
	x.fs.Kill()
	if _, _, err := journal.Open(x.opts); !errors.Is(err, syscall.EROFS) {
		t.Fatalf("open: %v", err)
	}
	x.fs.ReadOnly = false
	x.kill()
	if x.rec.New || x.rec.State.View != 4 {
		t.Fatalf("%+v", x.rec)
	}
	x.append(1, 1000)
	x.wantHeld(1, 4)
}

func TestUnreadableStateIsNotBlank(t *testing.T) {
	for name, damage := range map[string]func(fs *faultfs.FS){
		"both copies rot": func(fs *faultfs.FS) { fs.Rot(dir+"/state", 30, 1); fs.Rot(dir+"/state", 4096+30, 1) },
		"gone":            func(fs *faultfs.FS) { fs.Delete(dir + "/state") },
		"empty":           func(fs *faultfs.FS) { fs.Resize(dir+"/state", 0) },
	} {
		t.Run(name, func(t *testing.T) {
			x := newFixture(t)
			x.append(3, 1000)
			x.sync()
			damage(x.fs)
			before := x.fs.String()
			if _, _, err := journal.Open(x.opts); !errors.Is(err, journal.ErrUnreadable) {
				t.Fatalf("open: %v", err)
			}
			if after := x.fs.String(); after != before {
				t.Fatalf("a refused Open changed files:\n%s\n%s", before, after)
			}
		})
	}
}

func TestOneRottenCopyOfTheState(t *testing.T) {
	for _, off := range []int64{40, 4096 + 40} {
		x := newFixture(t)
		x.must(x.log.SaveState(journal.State{View: 4, LogView: 3, Commit: vsr.ID{Op: 1, Sum: 2}, Wiped: true, WipedAbove: 7, Lives: vsr.Lives{1, 2, 3, 4, 5}}))
		x.fs.Rot(dir+"/state", off, 1)
		for range 2 {
			x.crash()
			if want := (journal.State{View: 4, LogView: 3, Commit: vsr.ID{Op: 1, Sum: 2}, Wiped: true, WipedAbove: 7, Lives: vsr.Lives{1, 2, 3, 4, 5}}); x.rec.State != want {
				t.Fatalf("%+v", x.rec.State)
			}
			off = 4096 - off + 80 // the other copy, next time: the first was written again
			x.fs.Rot(dir+"/state", max(off, 40), 1)
		}
	}
}

// Without a mark all damage is a hole, and bytes behind the end are ops that cannot be counted.
func TestLostMark(t *testing.T) {
	for name, damage := range map[string]func(fs *faultfs.FS){
		"rot":  func(fs *faultfs.FS) { fs.Rot(dir+"/mark", 30, 1); fs.Rot(dir+"/mark", 4096+30, 1) },
		"gone": func(fs *faultfs.FS) { fs.Delete(dir + "/mark") },
	} {
		t.Run(name, func(t *testing.T) {
			x := segmented(t)
			damage(x.fs)
			x.crash()
			if !x.rec.MarkLost || x.rec.TopUnknown {
				t.Fatalf("%+v", x.rec)
			}
			x.wantEnd(40, 40)
			x.crash()
			if x.rec.MarkLost {
				t.Fatal("the mark was not made anew")
			}
			x.fs.Delete(dir + "/00000000000000000008.idx")
			n, off := x.place(12)
			x.fs.Rot(n, off, 1)
			n, off = x.place(39)
			x.fs.Rot(n, off, 1)
			damage(x.fs)
			x.crash()
			if !x.rec.MarkLost || !x.rec.TopUnknown {
				t.Fatalf("%+v", x.rec)
			}
			x.wantEnd(38, 38)
			x.wantHoles(opRange{12, 14})
			x.crash()
			if x.rec.MarkLost || !x.rec.TopUnknown {
				t.Fatal("a start forgot that the top is unknown")
			}
			x.must(x.log.Unfence())
			x.crash()
			if x.rec.TopUnknown {
				t.Fatal("still unknown")
			}
			x.wantEnd(38, 38)
		})
	}
}
