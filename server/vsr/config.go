package vsr

import (
	"fmt"

	"rejoin/server/internal/mistake"
)

// Config is what a replica is told once. Times are in ticks of 10 ms.
type Config struct {
	Self        int
	Replicas    int // 1, 3 or 5
	Group       uint32
	Cluster     uint64
	RootSum     uint64        // parent of op 1
	Seal        func(*Header) // sets Sum of a header whose other fields are final
	Incarnation Incarnation

	PipelineOps  uint64 // op N is stamped only when op N-PipelineOps has committed; 256
	RingOps      uint64 // a gap beyond this is closed by transfer, not by repair; 1,024
	SessionsMax  int    // 65,536
	WaitingMax   int    // requests that wait for a primary or for room in the pipeline; 1,024
	SyncRequired bool   // durability persisted: the gate asks for synced, not only written

	BeatTicks       uint64 // 3
	SuspectTicks    uint64 // 50: how long a silent primary is not missed, at least
	SuspectTicksMax uint64 // 200
	HoldTicks       uint64 // 100: how long a request waits before it is told to come back
	StallTicks      uint64 // 100: a pull or fetch without progress goes to another peer
	LeaseTicks      uint64 // 1,000: a pull without traffic is forgotten by its server
	UnfitTicks      uint64 // 1,000: not fit to lead for so long after stepping down

	Mistakes mistake.Set // what the simulator wants done wrong; none in a node
}

// PullOps is how many ops a pull lets be on their way to the disk at most, where no chunk has more than so many:
// it allows its server another one while no more than half a ring waits.
func (c *Config) PullOps(chunkOps uint64) uint64 {
	return c.RingOps/2 + max(repairChunks, transferChunks)*chunkOps
}

// Default returns a Config with every limit at its documented default.
func Default() Config {
	return Config{PipelineOps: 256, RingOps: 1024, SessionsMax: 65_536, WaitingMax: 1024, SyncRequired: true,
		BeatTicks: 3, SuspectTicks: 50, SuspectTicksMax: 200, HoldTicks: 100, StallTicks: 100, LeaseTicks: 1000, UnfitTicks: 1000}
}

func (c *Config) validate() error {
	switch {
	case c.Replicas != 1 && c.Replicas != 3 && c.Replicas != 5:
		return fmt.Errorf("a group has 1, 3 or 5 replicas, not %d", c.Replicas)
	case c.Self < 0 || c.Self >= c.Replicas:
		return fmt.Errorf("replica %d is not one of %d", c.Self, c.Replicas)
	case c.Seal == nil:
		return fmt.Errorf("no function to seal headers")
	case c.PipelineOps == 0 || c.PipelineOps > windowOps/2:
		return fmt.Errorf("a pipeline of %d ops; 1 to %d are possible", c.PipelineOps, windowOps/2)
	case c.RingOps < c.PipelineOps:
		return fmt.Errorf("the ring (%d ops) must hold the pipeline (%d ops)", c.RingOps, c.PipelineOps)
	case c.BeatTicks == 0 || c.SuspectTicks < 2*c.BeatTicks || c.SuspectTicksMax < c.SuspectTicks:
		return fmt.Errorf("suspicion after %d to %d ticks does not fit a beat each %d", c.SuspectTicks, c.SuspectTicksMax, c.BeatTicks)
	case c.SessionsMax < 1 || c.WaitingMax < 1 || c.HoldTicks < 1 || c.StallTicks < 1 || c.LeaseTicks < 1:
		return fmt.Errorf("limits must be positive")
	}
	return nil
}

// Boot is what recovery found on disk.
type Boot struct {
	State  State
	Commit ID        // the larger of the saved commit and Top-PipelineOps; its offset below
	Offset uint64    // message offset that follows op Commit
	Top    ID        // the highest op the log may contain, damaged or not
	Head   ID        // everything from the log's start up to here is held, but for Holes
	Tail   []Header  // held headers, consecutive, ending in Head; at least all of (Commit, Head] and Commit itself unless 0
	Holes  []OpRange // damaged committed ops
	Table  Table
	Start  uint64 // the first op the log holds; 1 unless trimmed
}

// OpRange is a range of ops, both ends included.
type OpRange struct{ From, To uint64 }
