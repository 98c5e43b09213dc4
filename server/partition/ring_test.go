package partition

import (
	"testing"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// ringRig is the ring of a partition, given frames of headers alone.
type ringRig struct {
	*testing.T
	pool *wire.Pool
	part *Partition
}

const ringBuffers = 64

func newRingRig(t *testing.T, frames int) *ringRig {
	pool, err := wire.NewCheckedPool(ringBuffers)
	if err != nil {
		t.Fatal(err)
	}
	c := vsr.Default()
	c.Replicas, c.PipelineOps, c.RingOps, c.Seal, c.RootSum = 3, 16, 32, wire.Seal, wire.RootSum(rigCluster, rigGroup)
	p, err := New(Options{Replica: c, RingFrames: frames, RingBytes: wire.FrameBytesMax, CheckpointBytes: 1, Outside: &rigNode{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.Close(); pool.Free() != ringBuffers {
			t.Error(pool.Leaks())
		}
	})
	return &ringRig{t, pool, p}
}

func (r *ringRig) put(from, to uint64, passing bool) {
	for op := from; op <= to; op++ {
		b := r.pool.Get(wire.OwnerTest)
		b.Header = vsr.Header{Op: op, Sum: op}
		b.SetFrame(wire.HeaderBytes)
		r.part.ring.put(b, passing)
		b.Release(wire.OwnerTest)
	}
}

func (r *ringRig) holds(when string, from, to uint64) {
	r.Helper()
	if held := ringBuffers - r.pool.Free(); held != int(to-from+1) {
		r.Errorf("%s: %d frames are held, want %d", when, held, to-from+1)
	}
	for op := uint64(1); op <= ringBuffers; op++ {
		if got, want := r.part.ring.find(vsr.ID{Op: op, Sum: op}) != nil, op >= from && op <= to; got != want {
			r.Errorf("%s: op %d is held: %v", when, op, got)
		}
	}
}

// A ring holds as many frames as a node can spare, and else all that repair is made of; the last ones stay.
func TestRingHoldsSoManyFrames(t *testing.T) {
	for given, want := range map[int]uint64{0: 32, 8: 8, 1: 1} {
		r := newRingRig(t, given)
		for op := uint64(1); op <= 50; op++ {
			r.put(op, op, false)
			r.part.ring.wrote(vsr.ID{Op: op, Sum: op})
		}
		r.holds("all is written", 51-want, 50)
	}
}

// What the disk has not written nobody else may have: it stays, however small the ring.
func TestRingHoldsWhatIsNotWritten(t *testing.T) {
	for _, frames := range []int{1, 3, 8} {
		r := newRingRig(t, frames)
		r.put(1, 40, false)
		r.holds("nothing is written", 1, 40)
		r.part.ring.wrote(vsr.ID{Op: 20, Sum: 20})
		r.holds("half is written", 21, 40)
		r.part.ring.wrote(vsr.ID{Op: 30, Sum: 99})
		r.holds("another op 30 was written", 21, 40)
		r.part.ring.cut(35)
		r.part.ring.wrote(vsr.ID{Op: 40, Sum: 40})
		r.holds("what was cut was written", 21, 35)
		r.put(36, 45, false)
		r.holds("it goes on after the cut", 21, 45)
		r.part.ring.wrote(vsr.ID{Op: 45, Sum: 45})
		r.holds("all is written", uint64(46-frames), 45)
	}
}

// What the disk says of ops that a queued cut is about to take is not said of those that stand there by now.
func TestRingWaitsForCuts(t *testing.T) {
	r := newRingRig(t, 1)
	r.put(1, 10, false)
	r.part.ring.cut(4)
	r.part.readable.cut(4)
	r.put(5, 10, false)
	r.part.Handle(&vsr.Input{Kind: vsr.InWritten, ID: vsr.ID{Op: 10, Sum: 10}}, nil)
	r.holds("the first ones were written", 1, 10)
}

// The frames of a transfer are more than a ring holds, and new memory to each costs more than the copy: they go when they are written.
func TestRingLetsTransfersPass(t *testing.T) {
	r := newRingRig(t, 8)
	r.put(1, 20, true)
	r.holds("nothing is written", 1, 20)
	r.part.ring.wrote(vsr.ID{Op: 15, Sum: 15})
	r.holds("some is written", 16, 20)
	r.put(21, 24, false)
	r.part.ring.wrote(vsr.ID{Op: 24, Sum: 24})
	r.holds("others follow", 21, 24)
}
