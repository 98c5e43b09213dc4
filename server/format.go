package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"rejoin/server/partition"
	"rejoin/server/peer"
)

// formatting settles what an empty data directory is: new, when every node of the cluster is blank
// or was never used; wiped, as soon as one answers otherwise: then this node has forgotten what it
// acknowledged.
type formatting struct {
	mu        sync.Mutex
	open      bool          // this node's directory is blank, and waits for the verdict
	formats   []peer.Format // by node; 0: not heard
	knownBoot uint64        // highest boot counter that anyone knew of this node
	changed   chan struct{} // one slot: something above has changed
}

func newFormatting(nodes int) *formatting {
	return &formatting{formats: make([]peer.Format, nodes), changed: make(chan struct{}, 1)}
}

// heard takes what a handshake, or its refusal, told.
func (f *formatting) heard(node int, format peer.Format, knownBoot uint64) {
	f.mu.Lock()
	if node >= 0 && format != 0 {
		f.formats[node] = format
	}
	f.knownBoot = max(f.knownBoot, knownBoot)
	f.mu.Unlock()
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// verdict on this node's blank directory; 0 while it is open.
func (f *formatting) verdict(self int) (peer.Format, uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fresh := 1
	for i, format := range f.formats {
		switch {
		case i == self:
		case format == peer.FormatUsed || format == peer.FormatWiped:
			return peer.FormatWiped, f.knownBoot
		case format == peer.FormatBlank || format == peer.FormatUnused:
			fresh++
		}
	}
	if fresh == len(f.formats) { // an earlier life that nobody has used is nothing to remember
		return peer.FormatUnused, f.knownBoot
	}
	return 0, 0
}

// waiting lists the nodes without which no verdict is possible yet; none once there is one.
func (f *formatting) waiting(self int) (nodes []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, format := range f.formats {
		if f.open && i != self && format == 0 {
			nodes = append(nodes, i)
		}
	}
	return nodes
}

// wiped lists the other nodes that were formatted after their directory was lost.
func (f *formatting) wiped(self int) (nodes []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, format := range f.formats {
		if i != self && format == peer.FormatWiped {
			nodes = append(nodes, i)
		}
	}
	return nodes
}

func (f *formatting) setOpen(open bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = open
}

// allFormatted tells whether every other node has formatted its directory.
func (f *formatting) allFormatted(self int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, format := range f.formats {
		if i != self && (format == 0 || format == peer.FormatBlank) {
			return false
		}
	}
	return true
}

// use marks the directory as used, durably, before the first view of any group is saved: from then on
// whoever comes with an empty directory has forgotten something.
func (n *node) use(jobs []partition.Job) error {
	first := false
	for i := range jobs {
		first = first || jobs[i].Kind == partition.JobState && jobs[i].State.View > 0
	}
	n.dirMu.Lock()
	defer n.dirMu.Unlock()
	if !first || n.dir.format != peer.FormatUnused {
		return nil
	}
	n.dir.format = peer.FormatUsed
	if err := n.dir.save(); err != nil {
		return fmt.Errorf("mark the data directory as used: %w", err)
	}
	n.network.SetFormat(peer.FormatUsed)
	return nil
}

// bootOf numbers a life in a directory that was blank, above every life that was here before: one of those may have
// voted, and its vote must not pass for this one's. Who has answered may not have met the latest of them. The clock
// has: counters begin with it where a directory was lost, and rise by one with each start.
func bootOf(verdict peer.Format, own, known uint64, now time.Time) uint64 {
	switch {
	case verdict == peer.FormatWiped:
		return max(own, known+1, uint64(max(now.UnixMilli(), 0)))
	case known > own: // else what they know is this life
		return known + 1
	}
	return own
}

// format waits for the verdict on a blank directory and makes it durable.
func (n *node) format(ctx context.Context) error {
	if n.dir.format != peer.FormatBlank {
		return nil
	}
	n.formats.setOpen(true)
	defer n.formats.setOpen(false)
	if len(n.config.Nodes) > 1 {
		n.log.Info("data directory is empty; asking all nodes whether it is new", "nodes", len(n.config.Nodes))
	}
	for {
		verdict, known := n.formats.verdict(n.id)
		if verdict != 0 {
			n.dir.format = verdict
			n.dir.incarnation.Boot = bootOf(verdict, n.dir.incarnation.Boot, known, time.Now())
			break
		}
		select {
		case <-n.formats.changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := n.dir.save(); err != nil {
		return fmt.Errorf("format the data directory: %w", err)
	}
	n.log.Info("data directory formatted", "as", n.dir.format.String(), "boot", n.dir.incarnation.Boot)
	n.network.SetLocal(peer.Local{Incarnation: n.dir.incarnation, Format: n.dir.format})
	return nil
}
