package journal_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"rejoin/server/journal"
	"rejoin/server/journal/faultfs"
)

// A file system may say at any step that it has no room: it has given out all inodes, or finds out only when it writes.
// Nothing is lost by it, and nothing is in doubt: the step is tried again.
func TestFullDiskAtEachStep(t *testing.T) {
	for _, name := range []string{".idx.tmp", ".tab.tmp", "next.seg"} {
		for _, verb := range []faultfs.Verb{faultfs.VerbCreate, faultfs.VerbWrite, faultfs.VerbSync, faultfs.VerbClose, faultfs.VerbRename} {
			if name == "next.seg" && verb == faultfs.VerbClose {
				continue // it stays open
			}
			t.Run(name+" "+string(verb), func(t *testing.T) {
				x := newFixture(t)
				x.fs.Inject(faultfs.Fault{Verb: verb, Name: name, Err: syscall.EDQUOT, DropDirty: true, Sticky: true})
				full := 0
				try := func(do func() error) {
					err := do()
					if errors.Is(err, journal.ErrDiskFull) {
						full++
						if name == "next.seg" {
							x.fs.Heal()
							err = do()
						}
					}
					if err != nil && !errors.Is(err, journal.ErrDiskFull) {
						t.Fatal(err)
					}
				}
				for _, f := range x.make(20, 2000) {
					try(func() error { return x.log.Append([]journal.Frame{f}) })
					x.frames = append(x.frames, f)
					x.sync() // the indexes, too
				}
				try(func() error { return x.log.SaveTable(journal.Table{ID: x.frames[2].Header.ID()}) })
				names, err := x.fs.List(dir)
				x.must(err)
				all := strings.Join(names, " ")
				switch {
				case strings.Contains(all, ".tmp"):
					t.Fatalf("half-made files take room: %s", all)
				case name == ".idx.tmp" && strings.Contains(all, ".idx"):
					t.Fatalf("an index was written: %s", all)
				case name != ".idx.tmp" && full == 0:
					t.Fatal("the disk was never full")
				}
				x.fs.Heal()
				x.sync()
				x.must(x.log.SaveTable(journal.Table{ID: x.frames[2].Header.ID()}))
				x.crash()
				x.wantEnd(20, 20)
				x.wantHeld(1, 20)
				for _, first := range []string{"01", "08"} {
					if _, err := x.fs.Open(dir + "/000000000000000000" + first + ".idx"); err != nil {
						t.Fatalf("no index once there was room: %v", err)
					}
				}
				if x.rec.Table() == nil {
					t.Fatal("no checkpoint once there was room")
				}
			})
		}
	}
}

// A frame larger than a segment has its file made larger: also that may find out late that there is no room.
func TestFullDiskWhileASegmentIsWidened(t *testing.T) {
	x := newFixture(t)
	x.append(1, 500)
	x.must(x.log.Prepare())
	large := x.make(1, int(3*x.opts.SegmentBytes))
	x.fs.Inject(faultfs.Fault{Verb: faultfs.VerbSync, Name: "next.seg", Err: syscall.ENOSPC, DropDirty: true})
	if err := x.log.Append(large); !errors.Is(err, journal.ErrDiskFull) {
		t.Fatal(err)
	}
	x.must(x.log.Append(large))
	x.frames = append(x.frames, large...)
	x.sync()
	x.crash()
	x.wantHeld(1, 2)
}

// A roll in the middle of a group may find no room for its name alone. What was appended before it stays, and the rest can
// be tried again.
func TestFullDiskAtARollInTheMiddleOfAGroup(t *testing.T) {
	for name, fault := range map[string]faultfs.Fault{
		"the name":  {Verb: faultfs.VerbRename, Name: "next-1.seg", Err: syscall.EDQUOT},
		"the bytes": {Verb: faultfs.VerbWrite, Name: "008.seg", Err: syscall.ENOSPC, ShortBytes: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			x := newFixture(t)
			group := x.make(20, 2000) // three segments
			x.fs.Inject(fault)
			if err := x.log.Append(group); !errors.Is(err, journal.ErrDiskFull) || !errors.Is(err, fault.Err) {
				t.Fatal(err)
			}
			x.frames = group
			written := x.log.Written()
			if n := written.Op; n == 0 || n >= 20 || written != group[n-1].Header.ID() {
				t.Fatalf("op %d is the last one that is written, of 20 in three segments", n)
			}
			x.sync()
			crashed := *x
			crashed.fs = x.fs.Clone()
			crashed.opts.FS = crashed.fs
			crashed.crash()
			crashed.wantEnd(written.Op, written.Op)
			crashed.wantHeld(1, written.Op)
			x.must(x.log.Append(group[written.Op:]))
			x.sync()
			x.crash()
			x.wantEnd(20, 20)
			x.wantHeld(1, 20)
		})
	}
}

// Too few descriptors, or too little memory, for a file that is to be made are as a full disk is: the next try finds some.
func TestNoDescriptorForANewFile(t *testing.T) {
	for _, answer := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
		for _, name := range []string{".idx.tmp", ".tab.tmp", "next.seg"} {
			x := newFixture(t)
			x.fs.Inject(faultfs.Fault{Verb: faultfs.VerbCreate, Name: name, Err: answer, Sticky: true})
			var short error
			for _, f := range x.make(20, 2000) {
				if err := x.log.Append([]journal.Frame{f}); err != nil {
					short = err
					x.fs.Heal()
					x.must(x.log.Append([]journal.Frame{f}))
				}
				x.frames = append(x.frames, f)
				x.sync()
			}
			table := journal.Table{ID: x.frames[2].Header.ID()}
			if err := x.log.SaveTable(table); err != nil {
				short = err
			}
			if name != ".idx.tmp" && (!errors.Is(short, journal.ErrDiskFull) || !errors.Is(short, answer)) {
				t.Errorf("%v for %s: %v", answer, name, short)
			}
			x.fs.Heal()
			x.must(x.log.SaveTable(table))
			x.sync()
			x.crash()
			x.wantEnd(20, 20)
			x.wantHeld(1, 20)
			if x.rec.Table() == nil {
				t.Errorf("%v for %s: no checkpoint", answer, name)
			}
		}
	}
}
