package journal_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"rejoin/server/journal"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

type opRange = journal.OpRange

// segmented is a log of 40 ops in segments of 7, all durable, the sealed ones with an index.
func segmented(t testing.TB) *fixture {
	x := newFixture(t)
	x.append(40, 2000)
	x.sync()
	if name, off := x.place(8); off != 0 {
		t.Fatalf("op 8 is at %s:%d, not where a segment begins", name, off)
	}
	return x
}

// B4: damage in a sealed segment is a hole with its exact ends, not the end of the log.
func TestDamageInASealedSegment(t *testing.T) {
	for name, damage := range map[string]func(x *fixture, op uint64){
		"zeroed header": func(x *fixture, op uint64) { n, off := x.place(op); x.fs.Overwrite(n, off, zeros(128)) },
		"bit in a body": func(x *fixture, op uint64) { n, off := x.place(op); x.fs.Rot(n, off+1000, 4) },
		"bit in length": func(x *fixture, op uint64) { n, off := x.place(op); x.fs.Rot(n, off+48, 1) },
		"other record": func(x *fixture, op uint64) {
			n, off := x.place(op)
			x.fs.Overwrite(n, off, x.frames[op-3].Bytes)
		},
		"unreadable sector": func(x *fixture, op uint64) {
			n, off := x.place(op)
			x.fs.Overwrite(n, off+512, zeros(512))
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := segmented(t)
			damage(x, 10)
			damage(x, 37) // among the last ops: met at Open
			x.crash()
			x.wantEnd(40-4, 40) // op 37 is in the last segment, which has no index
			if len(x.rec.Holes) != 0 {
				t.Fatalf("boot read op 10: %v", x.rec.Holes)
			}
			if _, _, err := x.log.ReadFrame(10, nil); !errors.Is(err, journal.ErrDamaged) {
				t.Fatal(err)
			}
			x.wantHoles(opRange{10, 10})
			x.wantHeld(1, 9)
			x.wantHeld(11, 36)
			x.fill(10)
			x.wantHoles()
			x.must(x.log.Append(x.frames[36:]))
			x.sync()
			x.crash()
			x.wantEnd(40, 40)
			x.wantHeld(1, 40)
			if len(x.rec.Findings) != 0 {
				t.Fatalf("findings after repair: %q", x.rec.Findings)
			}
		})
	}
}

func TestDamageAmongTheLastOpsIsMetAtOpen(t *testing.T) {
	x := segmented(t)
	n, off := x.place(34)
	x.fs.Rot(n, off+300, 1)
	x.crash()
	x.wantEnd(40, 40)
	x.wantHoles(opRange{34, 34})
	for _, op := range x.rec.Tail {
		if op.Damaged != (op.Op == 34) || op.Damaged && (!op.SumKnown || op.Header.Sum != x.frames[33].Header.Sum) {
			t.Fatalf("tail %+v", op)
		}
	}
	wrong := makeFrame(x.frames[32].Header.ID(), 33, 9, []byte("other"))
	if err := x.fillOne(wrong); !errors.Is(err, journal.ErrMismatch) {
		t.Fatalf("fill of another frame: %v", err)
	}
	x.fill(34, 34)
	x.crash()
	x.wantEnd(40, 40)
	x.wantHoles()
}

// Without an index the far end of a hole is where the next segment begins, and its ops have no place
// until the lower ones are there.
func TestDamageWithoutAnIndex(t *testing.T) {
	x := segmented(t)
	x.fs.Delete(dir + "/00000000000000000008.idx")
	n, off := x.place(10)
	x.fs.Overwrite(n, off, zeros(128))
	x.crash()
	x.wantEnd(40, 40)
	x.wantHoles(opRange{10, 14})
	x.wantHeld(15, 40)
	if op, err := x.log.OpOf(12); err != nil || op != 10 {
		t.Fatalf("message 12 is in op %d, %v", op, err)
	}
	if err := x.fillOne(x.frames[11]); !errors.Is(err, journal.ErrNoPlace) {
		t.Fatalf("fill before its place is known: %v", err)
	}
	other := makeFrame(x.frames[8].Header.ID(), 8, 1, []byte("x"))
	if err := x.fillOne(other); !errors.Is(err, journal.ErrMismatch) {
		t.Fatalf("fill with a frame that does not chain: %v", err)
	}
	x.fill(10, 11, 12, 13)
	if err := x.fillOne(makeFrame(x.frames[12].Header.ID(), 13, 8, []byte("x"))); !errors.Is(err, journal.ErrMismatch) {
		t.Fatalf("fill with a frame that is not the parent of the next: %v", err)
	}
	x.fill(14)
	x.wantRepaired(40)
}

func TestLostSegmentFile(t *testing.T) {
	x := segmented(t)
	x.fs.Delete(dir + "/00000000000000000008.seg")
	x.crash()
	x.wantEnd(40, 40)
	x.wantHoles(opRange{8, 14})
	x.fill(8, 9, 10, 11, 12, 13, 14)
	x.wantHeld(1, 40)
	x.must(x.log.SyncMark())
	x.crash()
	x.wantEnd(40, 40)
	x.wantHoles()
	x.wantHeld(1, 40)
}

func TestLostIndexIsRebuilt(t *testing.T) {
	x := segmented(t)
	x.fs.Rot(dir+"/00000000000000000015.idx", 70, 1)
	x.fs.Delete(dir + "/00000000000000000001.idx")
	x.crash()
	x.wantEnd(40, 40)
	x.wantHeld(1, 40)
	x.crash()
	if len(x.rec.Findings) != 0 {
		t.Fatalf("findings at the second start: %q", x.rec.Findings)
	}
}

// B5: the tail of segment N is broken, N+1 is whole: exactly the broken ops are missing.
func TestBrokenTailOfAMiddleSegment(t *testing.T) {
	x := segmented(t)
	n, off := x.place(20)
	x.fs.Resize(n, off+100)
	x.crash()
	x.wantEnd(40, 40)
	for _, op := range []uint64{20, 21} {
		if !x.log.ReportDamage(op) {
			t.Fatalf("op %d is not found damaged", op)
		}
	}
	if x.log.ReportDamage(22) {
		t.Fatal("a good op is taken for damaged")
	}
	x.wantHoles(opRange{20, 21})
	x.wantHeld(22, 40)
}

// Above the mark the same damage is a torn group: the log ends there, whatever follows.
func TestDamageAboveTheMark(t *testing.T) {
	x := newFixture(t)
	x.append(8, 2000)
	x.sync()
	x.append(20, 2000) // over several segments, not synced
	n, off := x.place(17)
	x.fs.Rot(n, off+700, 1)
	x.kill()
	x.wantEnd(16, 16)
	x.wantHeld(1, 16)
	if x.rec.RewrittenOps != 8 {
		t.Fatalf("%d ops were written again, want 8", x.rec.RewrittenOps)
	}
	x.crash()
	x.wantEnd(16, 16)
	x.must(x.log.Append(x.frames[16:]))
	x.sync()
	x.crash()
	x.wantHeld(1, 28)
}

// In the last segment, which has no index, damage at or below the mark leaves everything from there
// to the mark on record as damaged.
func TestDamageInTheLastSegment(t *testing.T) {
	x := newFixture(t)
	x.append(5, 1000)
	x.sync()
	n, off := x.place(3)
	x.fs.Rot(n, off+700, 1)
	x.crash()
	x.wantEnd(2, 5)
	last := x.rec.Tail[len(x.rec.Tail)-1]
	if !last.Damaged || !last.SumKnown || last.Header.Sum != x.frames[4].Header.Sum {
		t.Fatalf("the mark names the top: %+v", last)
	}
	x.crash()
	x.wantEnd(2, 5)
	x.must(x.log.Append(x.frames[2:4]))
	x.sync()
	x.crash()
	x.wantEnd(4, 5) // op 5 is not forgotten by a sync below it
	x.must(x.log.Cut(4))
	x.crash()
	x.wantEnd(4, 4)
}

func TestPayloadHoldsAWholeFrame(t *testing.T) {
	x := newFixture(t)
	x.append(2, 500)
	next := x.make(2, 300)
	// Op 3 carries in its payload a valid op 4 that continues the log.
	h := x.frames[1].Header
	outer := makeFrame(h.ID(), h.NextOffset(), 1, next[1].Bytes)
	x.must(x.log.Append([]journal.Frame{outer}))
	x.frames = append(x.frames, outer)
	x.append(1, 300)
	x.sync()
	n, off := x.place(3)
	x.fs.Overwrite(n, off, zeros(128))
	x.crash()
	x.wantEnd(2, 4)
	x.wantHeld(1, 2)
}

// A valid record that does not continue the log is a leftover: the log ends before it.
func TestLeftoverEndsTheLog(t *testing.T) {
	next := func(x *fixture) vsr.Header { return x.make(1, 100)[0].Header }
	for name, change := range map[string]func(h *vsr.Header){
		"parent":  func(h *vsr.Header) { h.Parent++ },
		"cluster": func(h *vsr.Header) { h.Cluster++ },
		"group":   func(h *vsr.Header) { h.Group++ },
		"op":      func(h *vsr.Header) { h.Op++ },
		"offset":  func(h *vsr.Header) { h.BaseOffset++ },
	} {
		t.Run(name, func(t *testing.T) {
			x := newFixture(t)
			x.append(3, 100)
			x.sync()
			h := next(x)
			change(&h)
			wire.Seal(&h)
			b := append(zeros(128), x.make(1, 100)[0].Bytes[128:]...)
			wire.PutHeader(b, &h)
			n, off := x.place(3)
			x.fs.Overwrite(n, off+int64(len(x.frames[2].Bytes)), b)
			x.crash()
			x.wantEnd(3, 3)
			if x.rec.CutBytes == 0 {
				t.Fatal("the leftover is still there")
			}
			x.append(1, 200)
			x.sync()
			x.crash()
			x.wantHeld(1, 4)
		})
	}
}

// B6: whatever a crash makes of the last group, at every byte: what was durable stays, the rest goes.
func TestTornLastGroupAtEveryByte(t *testing.T) {
	x := newFixture(t)
	x.append(3, 300)
	x.sync()
	x.append(2, 150) // not synced
	n, from := x.place(4)
	end := from + int64(2*len(x.frames[3].Bytes))
	garbage := rand.NewChaCha8([32]byte{1})
	base := x.fs
	for at := from; at < end; at++ {
		kept := uint64(3)
		if at >= from+int64(len(x.frames[3].Bytes)) {
			kept = 4
		}
		rest := zeros(int(end - at))
		for _, tear := range []string{"truncate", "zero", "garbage"} {
			x.fs = base.Clone()
			switch tear {
			case "truncate":
				x.fs.Resize(n, at)
			case "garbage":
				_, _ = garbage.Read(rest) // never fails
				rest[0] = ^x.frames[kept].Bytes[at-from-int64(kept-3)*int64(len(x.frames[3].Bytes))]
				fallthrough
			default:
				x.reachesDisk(n)
				x.fs.Overwrite(n, at, rest)
			}
			x.opts.FS = x.fs
			x.crash()
			if x.rec.Held.Op != kept || x.rec.Top != kept {
				t.Fatalf("%s at byte %d: held %d top %d, want %d", tear, at, x.rec.Held.Op, x.rec.Top, kept)
			}
			if tear != "truncate" && at%32 != 0 {
				continue
			}
			x.wantHeld(1, kept)
			x.must(x.log.Append(x.frames[kept:]))
			x.sync()
			x.crash()
			x.wantEnd(5, 5)
			x.wantHeld(1, 5)
		}
	}
}

// B6: page k of the last group is missing while page k+1 is there.
func TestMissingPageInTheLastGroup(t *testing.T) {
	x := newFixture(t)
	x.opts.SegmentBytes = 64 << 10
	x.crash()
	x.append(1, 200)
	x.sync()
	x.append(3, 9000)
	n, _ := x.place(2)
	base := x.fs
	for page := int64(0); page < 6; page++ {
		x.fs = base.Clone()
		from := max(page*4096, int64(len(x.frames[0].Bytes)))
		x.reachesDisk(n)
		x.fs.Overwrite(n, from, zeros(int((page+1)*4096-from)))
		x.opts.FS = x.fs
		x.crash()
		_, off3 := x.place(3)
		_, off4 := x.place(4)
		want := uint64(1)
		for i, off := range []int64{off3, off4} {
			if page*4096 >= off {
				want = uint64(2 + i)
			}
		}
		x.wantEnd(want, want)
		x.wantHeld(1, want)
	}
}
