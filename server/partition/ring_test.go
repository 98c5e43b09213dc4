package partition

import (
	"testing"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// A ring holds as many frames as a node can spare, and else all that repair is made of; the last ones stay.
func TestRingHoldsSoManyFrames(t *testing.T) {
	pool, err := wire.NewCheckedPool(64)
	if err != nil {
		t.Fatal(err)
	}
	c := vsr.Default()
	c.Replicas, c.PipelineOps, c.RingOps, c.Seal, c.RootSum = 3, 16, 32, wire.Seal, wire.RootSum(rigCluster, rigGroup)
	for given, want := range map[int]int{0: 32, 8: 8} {
		p, err := New(Options{Replica: c, RingFrames: given, RingBytes: wire.FrameBytesMax, CheckpointBytes: 1, Outside: &rigNode{}})
		if err != nil {
			t.Fatal(err)
		}
		for op := range uint64(50) {
			b := pool.Get(wire.OwnerTest)
			b.Header.Op = op + 1
			b.SetFrame(wire.HeaderBytes)
			p.ring.put(b)
			b.Release(wire.OwnerTest)
		}
		if held := 64 - pool.Free(); held != want || p.ring.find(vsr.ID{Op: 50}) == nil || p.ring.find(vsr.ID{Op: uint64(50 - want)}) != nil {
			t.Errorf("of a ring of %d frames: %d are held, want %d", given, held, want)
		}
		p.Close()
	}
	if pool.Free() != 64 {
		t.Error(pool.Leaks())
	}
}
