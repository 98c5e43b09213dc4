package server

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"testing"

	"rejoin/server/journal"
	"rejoin/server/partition"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// segments of a node's partition 0 of orders, oldest first.
func (c *cluster) segments(id int) []string {
	c.t.Helper()
	files, err := filepath.Glob(filepath.Join(c.dirs[id], "topics/orders/0/0*.seg"))
	if err != nil {
		c.t.Fatal(err)
	}
	sort.Strings(files)
	return files
}

// emptySegment takes all bytes from a node's first segment, which has an index, and returns its name. The node is stopped.
func (c *cluster) emptySegment(id int) string {
	c.t.Helper()
	first := c.segments(id)[0]
	eventually(c.t, "the first segment has an index", func() bool {
		_, err := os.Stat(strings.TrimSuffix(first, ".seg") + ".idx")
		return err == nil
	})
	c.stop(id)
	if err := os.Truncate(first, 0); err != nil {
		c.t.Fatal(err)
	}
	return first
}

// TestLostSegmentIsMendedAtOnce empties an early segment of a node that is down. The node finds that by reading one op
// after another; the whole comes back as fast as its peers can send it, with load off.
func TestLostSegmentIsMendedAtOnce(t *testing.T) {
	c := newCluster(t, 3, TopicConfig{Name: "orders", Partitions: 1})
	c.config.Limits.PipelineOps = 16 // what a start reads is short
	c.start(all(3)...)
	p := c.producer("orders", 0, 1)
	for range 200 {
		p.send()
	}
	c.expectEqual("orders", 0, 600)
	whole, err := os.ReadFile(c.segments(1)[0])
	if err != nil {
		t.Fatal(err)
	}
	first := c.emptySegment(1)
	c.start(1)
	want := strings.TrimRight(string(whole), "\x00")
	eventually(t, "the segment is whole again and node 1 healthy", func() bool {
		now, err := os.ReadFile(first)
		return err == nil && strings.TrimRight(string(now), "\x00") == want && c.health(1).OK
	})
	c.expectEqual("orders", 0, 600)
}

// TestScrubOfALostSegment: what it meets it tells one after another, at a pace, and what is known to be damaged
// it tells of as a whole from then on, once in a round.
func TestScrubOfALostSegment(t *testing.T) {
	c := newCluster(t, 1, TopicConfig{Name: "orders", Partitions: 1})
	c.config.Limits.SegmentBytes = 1 << 20
	c.start(0)
	p := c.producer("orders", 0, 1)
	for range 100 {
		p.send()
	}
	c.emptySegment(0)
	disk, rec, err := partition.OpenDisk(partition.DiskOptions{Journal: journal.Options{FS: journal.OS(c.dirs[0]), Dir: "topics/orders/0", Cluster: c.config.ClusterID(), SegmentBytes: c.config.Limits.SegmentBytes, Pipeline: 8, SameBoot: true}})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := wire.NewPool(1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = disk.Close()
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	}()
	g := newGroup(&node{config: c.config, pool: pool}, 0, TopicConfig{}, 0)
	var told []uint64
	var last vsr.Input
	g.inbox = newInbox(func(it *item) { told, last = append(told, it.in.ID.Op), it.in })
	g.inbox.begin()
	g.disk = disk
	g.readable.Store(rec.Held.Op)

	before := runtime.NumGoroutine()
	if op := g.scrubSome(context.Background(), 0, 10*wire.HeaderBytes); op != 11 || len(told) != 10 {
		t.Fatalf("with the budget of 10 headers it has come to op %d and tells of %d", op, len(told))
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	if op := g.scrubSome(stopped, 11, 1<<30); op != 11 {
		t.Errorf("told to stop it goes on to op %d", op)
	}
	end := g.scrubSome(context.Background(), 11, 1<<30)
	if end <= rec.Held.Op || runtime.NumGoroutine() > before {
		t.Errorf("it ended at op %d of %d, %d goroutines more", end, rec.Held.Op, runtime.NumGoroutine()-before)
	}
	holes := disk.Log().Holes()
	if len(holes) != 1 || holes[0] != (journal.OpRange{First: 1, Last: uint64(len(told))}) || len(told) < 20 {
		t.Errorf("told of %d ops; holes %v", len(told), holes)
	}
	for i, op := range told {
		if op != uint64(i)+1 {
			t.Fatalf("told of op %d for the %d. time or out of turn", op, i)
		}
	}
	known := len(told)
	if op := g.scrubSome(context.Background(), 0, wire.HeaderBytes); op != uint64(known)+1 || len(told) != known+1 || last.Hole != (vsr.OpRange{From: 1, To: uint64(known)}) {
		t.Errorf("the next round goes on at op %d, after %d inputs, the last %+v: want all known ops told of as one", op, len(told)-known, last)
	}
}
