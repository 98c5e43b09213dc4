package sim

import (
	"fmt"
	"io"
	"strings"
)

// Options of a run.
type Options struct {
	Trace   io.Writer // every line of the trace; nil for none
	Arena   *Arena    // memory that runs after one another may share; nil: the run makes its own
	Reduced Reduction // what the run leaves out of what its seed draws

	Switches []string // mistakes that every replica makes, by the names of Switches

	atEnd func(w *world) // what a test demands of a run beside the promises
}

// Coverage counts what a run has met, so that a campaign can tell that it tested something.
type Coverage struct {
	Runs, Steps       uint64
	VirtualNs         int64
	Committed         uint64 // ops
	Acknowledged      uint64 // requests
	ViewChanges       uint64 // views that started after the first
	Repairs           uint64
	Transfers         uint64
	Installs          uint64 // transfers that did not connect: their chain took the log's place
	Kills             uint64
	PowerCuts         uint64
	TornBoots         uint64 // recoveries that dropped or rewrote a tail
	Recycled          uint64 // segments whose files are written over
	CrashesInRecovery uint64
	Wiped             uint64 // directories lost
	WipedRecoveries   uint64 // wiped replicas that earned their vote back
	TableAnswers      uint64 // retries answered from the client table
	Evictions         uint64
	ReadsLatest       uint64
	StepDowns         uint64
	Holes             uint64
	Rots              uint64 // bits that flipped
	HolesFilled       uint64
	HolesTrimmed      uint64 // holes that others had trimmed: a log began behind them
	TrimmedAtStart    uint64 // starts that found more than retention keeps
	LostSegments      uint64 // files of ops that were gone at a start
	SmallRots         uint64 // files beside the segments that rotted
	DiskErrors        uint64 // operations of a disk that failed once
	DiskFull          uint64
	Fences            uint64 // nodes that fenced themselves over a disk error
	Waitings          uint64 // views that waited for another replica
	Overflows         uint64 // messages that found the queue of their link full
	Clogs             uint64 // directions that held everything back for a while
	Cuts              uint64 // directions that carried nothing for a while
	Pauses            uint64
	Stalls            uint64 // disks of which no sync came back for a while
	ReadOnly          uint64 // disks that refused every change for a while
	ServersKilled     uint64 // nodes killed while they served a pull
	ReceiversKilled   uint64 // nodes killed while they installed a chain
	Gone              uint64 // replicas that stayed dead
	LastWords         uint64 // lives whose last words came after the next life was known
	LateVotes         uint64 // votes for a later view that come when a life has been counted on that had voted before, and forgotten it
	VotesForgotten    uint64 // replicas that lost their directory right after they had voted, and then met another primary than they had voted for
	Returns           uint64 // clients that came back with a request that they had given up
	Excused           uint64 // runs that ended unavailable, as they had to: what was lost is proven
}

// Add sums up.
func (c *Coverage) Add(o *Coverage) {
	for i, v := range o.fields() {
		*c.fields()[i].at += *v.at
	}
	c.VirtualNs += o.VirtualNs
}

type counted struct {
	name  string
	at    *uint64
	least float64 // of a hundred runs, below which they have tested nothing: so far below what is usual that chance alone does
	// not miss it; the floor of so many runs is rounded down
}

// Short names what so many runs should have met more often.
func (c *Coverage) Short() []string {
	var short []string
	for _, f := range c.fields() {
		if floor := uint64(f.least * float64(c.Runs) / 100); *f.at < floor {
			short = append(short, fmt.Sprintf("%d %s in %d runs, at least %d were expected", *f.at, f.name, c.Runs, floor))
		}
	}
	return short
}

func (c *Coverage) fields() []counted {
	return []counted{
		{"runs", &c.Runs, 0}, {"steps", &c.Steps, 0}, {"committed", &c.Committed, 5000}, {"acknowledged", &c.Acknowledged, 5000},
		{"view changes", &c.ViewChanges, 50}, {"repairs", &c.Repairs, 200}, {"transfers", &c.Transfers, 50}, {"installs", &c.Installs, 5},
		{"kills", &c.Kills, 100}, {"power cuts", &c.PowerCuts, 100}, {"torn boots", &c.TornBoots, 10}, {"recycled segments", &c.Recycled, 300}, {"crashes in recovery", &c.CrashesInRecovery, 50},
		{"wiped", &c.Wiped, 10}, {"wiped recoveries", &c.WipedRecoveries, 10}, {"table answers", &c.TableAnswers, 30},
		{"evictions", &c.Evictions, 100}, {"latest reads", &c.ReadsLatest, 50}, {"step-downs", &c.StepDowns, 10},
		{"holes", &c.Holes, 5}, {"rots", &c.Rots, 5}, {"holes filled", &c.HolesFilled, 5}, {"holes trimmed", &c.HolesTrimmed, 0}, {"trimmed at a start", &c.TrimmedAtStart, 1}, {"disk full", &c.DiskFull, 20},
		{"lost segments", &c.LostSegments, 2}, {"small files rotten", &c.SmallRots, 15}, {"disk errors", &c.DiskErrors, 20},
		{"stalled disks", &c.Stalls, 20}, {"read-only disks", &c.ReadOnly, 4}, {"fences", &c.Fences, 20}, {"waitings", &c.Waitings, 2},
		{"overflows", &c.Overflows, 10}, {"clogs", &c.Clogs, 20}, {"cuts", &c.Cuts, 200}, {"pauses", &c.Pauses, 20},
		{"servers killed", &c.ServersKilled, 3}, {"receivers killed", &c.ReceiversKilled, 1}, {"gone for good", &c.Gone, 5},
		{"last words", &c.LastWords, 10}, {"votes forgotten", &c.VotesForgotten, 2},
		{"late votes", &c.LateVotes, 0.1}, // one in a hundred runs, by chance: 300 may meet none, 1000 have met one
		{"late returns", &c.Returns, 1},
		{"rightly unavailable", &c.Excused, 0}, // only reckless runs may be
	}
}

// String lists the counts.
func (c *Coverage) String() string {
	var b strings.Builder
	for i, f := range c.fields() {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d %s", *f.at, f.name)
	}
	fmt.Fprintf(&b, ", %.1f virtual hours", float64(c.VirtualNs)/3.6e12)
	return b.String()
}

// Report is what a run was.
type Report struct {
	Seed      uint64
	Setup     string // what was drawn, in words
	TraceHash uint64 // of every line, written or not
	Coverage  Coverage
}
