package server

import (
	"rejoin/server/partition"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// peerQueueFrames may wait for a peer that is slow.
const peerQueueFrames = 512

// poolBuffers is the sum of everything that may hold a frame at once: per group the ring, a pipeline kept beyond the
// head, what a pull lets be on its way to the disk, what waits in the inbox; per peer a queue; one lent to each client
// connection; and some for what is read back from logs. A primary's pipeline on its way to the disk is in the ring, too.
//
// A group more than the first gets half of that, yet not less than poolBuffersMin asks for it, and all of them what a pool
// can have at most: not all are busy at once. Yet the rings of all are filled over time, and after an outage all may pull. So whatever the number, rings and
// what is kept beyond heads have half of the pool (ringFrames), but for what the disk has yet to write, and pulls leave a quarter to others (sparedBuffers) and
// wait: what they hold goes to the disk.
func (n *node) poolBuffers() int {
	l := &n.config.Limits
	if l.PoolBuffers > 0 {
		return l.PoolBuffers
	}
	replica := vsr.Config{RingOps: uint64(l.RingOps)}
	pull := int(replica.PullOps(uint64(max(l.RepairChunkOps, partition.TransferChunkOps))))
	one := l.RingOps + l.PipelineOps + pull + inboxItems
	const readBack = 256
	sum := one + (n.config.Partitions()-1)*one/2 + (len(n.config.Nodes)-1)*peerQueueFrames + l.ClientConnections + readBack
	return min(max(sum, n.config.poolBuffersMin()), poolBuffersLimit)
}

// ringFrames is how many frames a group's ring keeps in memory at most of what the disk has: its share of half the pool, without a pipeline
// that may be kept beyond the head; in a pool that is too small for that, half of its share.
func (n *node) ringFrames() int {
	share := n.poolBuffers() / 2 / n.config.Partitions()
	return max(1, min(n.config.Limits.RingOps, max(share-n.config.Limits.PipelineOps, share/2)))
}

// ringBytes is how many bytes of frames a group's ring keeps at most of what the disk has: its share of what all of a node keep, yet a frame of any size. Until
// a ring is full each frame takes memory that was never used, and the first touch of a page costs more than what is copied into it.
func (n *node) ringBytes() int {
	return max(wire.FrameBytesMax, int(n.config.Limits.RingBytes/int64(n.config.Partitions())))
}

// zerosInMemory is how much of the machine's memory the next segments of all partitions may take before they are written to.
const zerosInMemory = 256 << 20

// zerosOnDisk tells whether zeros ahead of use pass memory by. A log finds them there with less work, if it comes to them soon; those of many partitions
// would lie there for as long as each takes to fill a segment, in pages that the machine has to find first. Who has segments made ready for bursts wants to
// find them in memory.
func (n *node) zerosOnDisk() bool {
	l := &n.config.Limits
	return l.SegmentsReady <= 1 && int64(n.config.Partitions())*l.SegmentBytes > zerosInMemory
}

// sparedBuffers is how many buffers pulls leave to everybody else.
func (n *node) sparedBuffers() int { return n.poolBuffers() / 4 }
