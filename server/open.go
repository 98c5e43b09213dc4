package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rejoin/server/journal"
	"rejoin/server/partition"
	"rejoin/server/peer"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// openGroups recovers every partition and starts its goroutines.
func (n *node) openGroups() error {
	for _, g := range n.groups {
		if err := g.open(); err != nil {
			err = fmt.Errorf("topic %s, partition %d: %w", g.topic.Name, g.index, err)
			if fault := (*journal.FaultError)(nil); errors.As(err, &fault) {
				err = fmt.Errorf("%w; put right the disk, its mount or this file's owner and mode, and start again", err)
			}
			return err
		}
	}
	if err := n.dir.settled(); err != nil { // before any loop: nobody else saves the directory yet
		return fmt.Errorf("save on which machine the data directory is used: %w", err)
	}
	n.open()
	ctx := n.stopping
	for _, g := range n.groups {
		n.wg.Go(func() { g.loop(ctx) })
		n.wg.Go(func() { g.flush(ctx) })
		n.wg.Go(func() { g.keepPrepared(ctx) })
		n.wg.Go(func() { g.scrub(ctx) })
	}
	n.tellFormatted()
	n.wg.Go(func() { n.clock(ctx) })
	return nil
}

// open lets peers reach the groups. Who was present before is told first, and under the lock: a peer
// that comes back meanwhile would else be followed by its former self, and not be heard any more.
// The inboxes have room: nobody else could post so far.
func (n *node) open() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id := range n.config.Nodes {
		for _, g := range n.groups {
			if inc, ok := n.greeted[id]; ok {
				g.postInput(vsr.Input{Kind: vsr.InHello, Peer: uint8(id), Incarnation: inc})
			}
			if n.linked[id] {
				g.postInput(vsr.Input{Kind: vsr.InLinkUp, Peer: uint8(id)})
			}
		}
	}
	close(n.opened)
}

// clock ticks every group. A group that is late gets one tick, not all that it missed.
func (n *node) clock(ctx context.Context) {
	t := time.NewTicker(n.config.Limits.Tick)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			for _, g := range n.groups {
				g.tick()
			}
		}
	}
}

// leaseBytes is how much log a transfer to a peer may keep from being trimmed.
const leaseBytes = 1 << 30

// open recovers the partition. A log that damage has made untellable is forgotten, where there are
// peers to fetch it from.
func (g *group) open() error {
	err := g.recover()
	if partition.Untold(err) && len(g.node.config.Nodes) > 1 {
		g.node.log.Warn("the log cannot be told any more; forgetting it, to fetch it from the peers", "topic", g.topic.Name, "partition", g.index, "why", err)
		if e := partition.Forget(g.diskOptions()); e != nil {
			return fmt.Errorf("%w (%w); without it nobody knows what this replica has acknowledged: restore the files, or start this node with an empty data directory, which it fills from its peers", err, e)
		}
		err = g.recover()
	}
	return err
}

func (g *group) diskOptions() partition.DiskOptions {
	n, limits := g.node, &g.node.config.Limits
	return partition.DiskOptions{RetentionBytes: limits.RetentionBytes, LeaseBytes: leaseBytes,
		Journal: journal.Options{FS: n.dir.fs, Dir: fmt.Sprintf("topics/%s/%d", g.topic.Name, g.index), Cluster: n.config.ClusterID(), Group: g.number,
			SegmentBytes: limits.SegmentBytes, SegmentsReady: limits.SegmentsReady, ZerosOnDisk: n.zerosOnDisk(), Pipeline: uint64(limits.PipelineOps), SameBoot: n.dir.sameBoot}}
}

func (g *group) recover() error {
	n, limits := g.node, &g.node.config.Limits
	began := time.Now()
	disk, rec, err := partition.OpenDisk(g.diskOptions())
	if err != nil {
		return err
	}
	config := g.config()
	forgotten, err := g.hasForgotten(rec)
	var boot vsr.Boot
	if err == nil {
		boot, err = disk.Boot(rec, &config, partition.Past{SameBoot: n.dir.sameBoot, Forgotten: forgotten})
	}
	if err != nil {
		_ = disk.Close() // nothing was written that counts
		return err
	}
	g.disk = disk
	g.part, err = partition.New(partition.Options{Replica: config, Boot: boot, RingFrames: n.ringFrames(), RingBytes: n.ringBytes(), CheckpointBytes: limits.SegmentBytes, Outside: g})
	if err != nil {
		return err
	}
	g.readable.Store(boot.Commit.Op)
	g.publish()
	n.recorder.Emit(wire.Event{Kind: wire.EventRecovery, Topic: g.topic.Name, Partition: g.index, View: boot.State.View, LogView: boot.State.LogView,
		OpFrom: boot.Commit.Op, OpTo: boot.Head.Op, DurationNs: time.Since(began).Nanoseconds(), Detail: findings(rec)})
	return nil
}

// hasForgotten tells whether a log without a view of its own once had one: its directory was lost as a
// whole, or this log's part of one that was in use. From its first view on the group's own state says so.
func (g *group) hasForgotten(rec *journal.Recovered) (bool, error) {
	lost := rec.New && g.node.dir.format == peer.FormatUsed
	if lost && len(g.node.config.Nodes) == 1 {
		return false, errors.New("its files are gone from a data directory that was in use, and there is no peer to fetch them from; restore them, or start anew with an empty directory")
	}
	return lost || g.node.dir.format == peer.FormatWiped && rec.State.View == 0, nil
}

func findings(rec *journal.Recovered) string {
	text := fmt.Sprintf("mark %d, holes %d, rewritten %d ops", rec.Mark.ID.Op, len(rec.Holes), rec.RewrittenOps)
	for _, f := range rec.Findings {
		text += "; " + f
	}
	return text
}

func (g *group) config() vsr.Config {
	n := g.node
	l := &n.config.Limits
	ticks := func(d time.Duration) uint64 { return max(uint64(d/l.Tick), 1) }
	c := vsr.Default()
	c.Self, c.Replicas, c.Group, c.Cluster = n.id, len(n.config.Nodes), g.number, n.config.ClusterID()
	c.RootSum, c.Seal, c.Incarnation = wire.RootSum(c.Cluster, g.number), wire.Seal, n.dir.incarnation
	c.PipelineOps, c.RingOps = uint64(l.PipelineOps), uint64(l.RingOps)
	c.SyncRequired = g.topic.Durability == DurabilityPersisted
	c.BeatTicks, c.SuspectTicks, c.SuspectTicksMax, c.HoldTicks = ticks(l.Heartbeat), ticks(l.Suspect), ticks(l.SuspectMax), ticks(l.AppendHold)
	return c
}
