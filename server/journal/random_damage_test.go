package journal_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"rejoin/server/journal"
)

// TestRandomDamage rots durable logs at random and checks, at each start, that no op is invented,
// that every acknowledged op is either held or on record as damaged, and that filling what is on
// record makes the log whole again.
func TestRandomDamage(t *testing.T) {
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 5))
		x := newFixture(t)
		x.append(20+rng.IntN(30), 200+rng.IntN(2500))
		x.sync()
		acked := uint64(len(x.frames))
		x.append(rng.IntN(6), 900) // not synced
		for range 1 + rng.IntN(4) {
			rotSomewhere(x, rng, acked)
		}
		if rng.IntN(2) == 0 {
			x.kill()
		} else {
			x.crash()
		}
		checkDamaged(x, seed, acked)
		first := fmt.Sprint(x.rec.Held, x.rec.Top, x.rec.Holes)
		x.crash()
		if again := fmt.Sprint(x.rec.Held, x.rec.Top, x.rec.Holes); again != first {
			t.Fatalf("seed %d: the second start finds %s, the first found %s", seed, again, first)
		}
		checkDamaged(x, seed, acked)
		repair(x, seed, acked)
		x.must(x.log.SyncMark())
		x.crash()
		if x.rec.Top < acked || len(x.rec.Holes) > 0 {
			t.Fatalf("seed %d: after repair: %+v", seed, x.rec)
		}
		x.wantHeld(1, acked)
	}
}

// rotSomewhere damages a frame, an index, or a whole stretch of a segment.
func rotSomewhere(x *fixture, rng *rand.Rand, acked uint64) {
	name, off := x.place(1 + rng.Uint64N(acked))
	switch rng.IntN(6) {
	case 0:
		x.fs.Rot(name, off+int64(rng.IntN(128)), 1<<rng.IntN(8))
	case 1:
		x.fs.Rot(name, off+128+int64(rng.IntN(200)), 1<<rng.IntN(8))
	case 2:
		x.fs.Overwrite(name, off/512*512, zeros(512*(1+rng.IntN(4))))
	case 3:
		x.fs.Overwrite(name, off, x.frames[rng.IntN(len(x.frames))].Bytes)
	default:
		names, err := x.fs.List(dir)
		x.must(err)
		for _, n := range names {
			if len(n) == 24 && n[20:] == ".idx" && rng.IntN(3) == 0 {
				x.fs.Rot(dir+"/"+n, int64(rng.IntN(88)), 1)
			}
		}
	}
}

func checkDamaged(x *fixture, seed, acked uint64) {
	x.Helper()
	if x.rec.Top < acked {
		x.Fatalf("seed %d: top %d, acknowledged %d: %q", seed, x.rec.Top, acked, x.rec.Findings)
	}
	for op := uint64(1); op <= x.log.Written().Op; op++ {
		h, b, err := x.log.ReadFrame(op, nil)
		switch {
		case errors.Is(err, journal.ErrDamaged):
		case err != nil:
			x.Fatalf("seed %d: op %d: %v", seed, op, err)
		case h != x.frames[op-1].Header || string(b) != string(x.frames[op-1].Bytes):
			x.Fatalf("seed %d: op %d is not what was appended", seed, op)
		}
	}
	for _, tail := range x.rec.Tail {
		if !tail.Damaged && tail.Header != x.frames[tail.Op-1].Header || tail.SumKnown && tail.Header.Sum != x.frames[tail.Op-1].Header.Sum {
			x.Fatalf("seed %d: tail %+v", seed, tail)
		}
	}
}

func repair(x *fixture, seed, acked uint64) {
	x.Helper()
	for _, h := range x.log.Holes() {
		for op := h.First; op <= h.Last; op++ {
			if err := x.fillOne(x.frames[op-1]); err != nil {
				x.Fatalf("seed %d: fill op %d: %v", seed, op, err)
			}
		}
	}
	if held := x.log.Written().Op; held < acked {
		x.must(x.log.Append(x.frames[held:acked]))
		_, err := x.log.Sync()
		x.must(err)
	}
	x.frames = x.frames[:x.log.Written().Op]
}
