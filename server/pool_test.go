package server

import (
	"testing"

	"rejoin/server/partition"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// TestPoolOfManyPartitions: every number of partitions that a cluster file may have gets a pool.
func TestPoolOfManyPartitions(t *testing.T) {
	for _, partitions := range []int{1, 8, partitionsMax} {
		n := &node{config: *testConfig(5, partitions)}
		pool, err := wire.NewPool(n.poolBuffers())
		if err != nil {
			t.Errorf("%d partitions: %v", partitions, err)
			continue
		}
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestPoolIsShared: rings, what is kept beyond heads and what pulls leave to others never take a pool whole, however many
// partitions there are and however much of them is uncommitted: a log that catches up gets its buffers in the end, and so
// does a client. Where no pool is large enough the cluster file is refused.
func TestPoolIsShared(t *testing.T) {
	refused := 0
	for partitions := 1; partitions <= partitionsMax; partitions++ {
		for pipeline := 1; pipeline <= pipelineOpsMax; pipeline++ {
			n := &node{config: *testConfig(3, partitions)}
			limits := &n.config.Limits
			limits.PipelineOps = pipeline
			for _, limits.RingOps = range []int{pipeline, 1024} {
				pool := n.poolBuffers()
				if err := n.config.validatePool(); err != nil {
					refused++
					if 4*pipeline*partitions <= poolBuffersLimit {
						t.Fatalf("%d partitions, pipeline_ops %d: %v", partitions, pipeline, err)
					}
					continue
				}
				if n.ringFrames() < pipeline {
					t.Fatalf("%d partitions: a ring of %d frames does not hold what is uncommitted, %d", partitions, n.ringFrames(), pipeline)
				}
				if held := partitions * (n.ringFrames() + pipeline); held+n.sparedBuffers()+partition.TransferChunkOps > pool {
					t.Fatalf("%d partitions, pipeline_ops %d: rings and what is kept beyond heads take %d, %d are spared, and a chunk of %d has no room in a pool of %d",
						partitions, pipeline, held, n.sparedBuffers(), partition.TransferChunkOps, pool)
				}
				if limits.PoolBuffers = pool; n.config.validatePool() != nil {
					t.Fatalf("%d partitions, pipeline_ops %d: the pool of %d that 0 makes is refused", partitions, pipeline, pool)
				}
				limits.PoolBuffers = 0
			}
		}
	}
	if refused == 0 {
		t.Error("no pool was too large")
	}
}

// TestRingsShareBytes: what the rings of all partitions may keep is what one of a lone partition may, or one frame each.
func TestRingsShareBytes(t *testing.T) {
	for _, partitions := range []int{1, 3, 16, partitionsMax} {
		n := &node{config: *testConfig(3, partitions)}
		all := int64(n.ringBytes()) * int64(partitions)
		if want := n.config.Limits.RingBytes; all > max(want, int64(partitions)*wire.FrameBytesMax) || all < want-int64(partitions) {
			t.Errorf("%d partitions: rings keep %d bytes in all, want %d", partitions, all, want)
		}
	}
}

// TestZerosOfManyPartitionsAreOnDiskAlone: four next segments of 64 MiB may lie in memory.
func TestZerosOfManyPartitionsAreOnDiskAlone(t *testing.T) {
	for partitions, want := range map[int]bool{1: false, 4: false, 5: true, 16: true} {
		n := &node{config: *testConfig(3, partitions)}
		n.config.Limits.SegmentBytes = 64 << 20
		if n.zerosOnDisk() != want {
			t.Errorf("%d partitions: %v, want %v", partitions, n.zerosOnDisk(), want)
		}
		if n.config.Limits.SegmentsReady = 2; n.zerosOnDisk() {
			t.Errorf("%d partitions: segments made ready for bursts are not in memory", partitions)
		}
	}
}

// TestPoolHoldsAPull: a lone partition that catches up, by chunks as large as they come, leaves clients and peers theirs.
func TestPoolHoldsAPull(t *testing.T) {
	n := &node{config: *testConfig(3, 1)}
	g, limits := &group{node: n}, n.config.Limits
	if n.ringFrames() != limits.RingOps {
		t.Errorf("its ring holds %d frames, want %d", n.ringFrames(), limits.RingOps)
	}
	for _, transfer := range []bool{false, true} {
		ops, _ := g.chunkEnd(&partition.Chunk{From: 1, To: 1 << 40, Transfer: transfer})
		pull := (&vsr.Config{RingOps: uint64(limits.RingOps)}).PullOps(ops)
		held := limits.RingOps + limits.PipelineOps + int(pull) + inboxItems
		if others := limits.ClientConnections + 2*peerQueueFrames; held+others > n.poolBuffers() {
			t.Errorf("with chunks of %d ops it may hold %d buffers, others %d, of a pool of %d", ops, held, others, n.poolBuffers())
		}
	}
}
