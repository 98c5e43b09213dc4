package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rejoin/server/events"
	"rejoin/server/journal"
	"rejoin/server/partition"
	"rejoin/server/peer"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// TestDirectoryThatCannotBeSaved fences a node whose flusher cannot mark the directory as used: it keeps neither its turn at the disk
// from the others, nor the frames that it was to write from the pool.
func TestDirectoryThatCannotBeSaved(t *testing.T) {
	root := t.TempDir()
	recorder, err := events.Open(events.Options{Path: filepath.Join(root, eventsFile)})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := wire.NewCheckedPool(4)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{config: *testConfig(1, 1), log: slog.New(slog.DiscardHandler), recorder: recorder, pool: pool, started: time.Now()}
	n.stopping, n.stop = context.WithCancelCause(t.Context())
	n.turns = newDiskTurns(1, time.Hour, n.log)
	if n.dir, err = openDirectory(filepath.Join(root, "data"), &n.config, 0); err != nil {
		t.Fatal(err)
	}
	n.dir.format = peer.FormatUnused
	if err := errors.Join(n.dir.save(), n.dir.file.Close()); err != nil { // from here on it cannot be saved
		t.Fatal(err)
	}
	g := newGroup(n, 0, n.config.Topics[0], 0)
	n.groups = []*group{g}
	first := partition.Job{Kind: partition.JobState}
	first.State.View = 1
	g.jobs.put(first)
	g.jobs.put(partition.Job{Kind: partition.JobAppend, Frame: pool.Get(wire.OwnerJournal)})
	g.flush(n.stopping)
	if cause := context.Cause(n.stopping); !errors.Is(cause, ErrFenced) {
		t.Errorf("the node ends with %v", cause)
	}
	if !n.turns.take(nil, stoppedTimer()) {
		t.Error("the turn at the disk is gone")
	}
	n.closeLogs()
	if stats := pool.Stats(); stats.Free != stats.Buffers {
		t.Errorf("the pool is not whole: %+v %q", stats, pool.Leaks())
	}
	if err := errors.Join(recorder.Run(n.stopping), n.dir.lock.Close()); err != nil {
		t.Error(err)
	}
}

// TestStartThatFailsLetsGo: a node that cannot have one of its ports leaves the others, and its directory, to the next one.
func TestStartThatFailsLetsGo(t *testing.T) {
	c := newCluster(t, 3, TopicConfig{Name: "orders", Partitions: 1})
	own := c.config.Nodes[0].Listen
	taken, err := net.Listen("tcp", own.Admin)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	before := openFiles(t)
	for range 2 { // the second would find the first one's port and lock
		err := Run(t.Context(), Options{Config: c.config, ID: 0, Dir: c.dirs[0]})
		if err == nil || !strings.Contains(err.Error(), own.Admin) {
			t.Fatalf("started beside a taken port: %v", err)
		}
	}
	eventually(t, "its files are closed", func() bool { return openFiles(t) <= before })
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// TestFailedStartClosesOnce: what a start that fails has closed is not closed again, which would be told as another failure.
func TestFailedStartClosesOnce(t *testing.T) {
	c := newCluster(t, 1, TopicConfig{Name: "orders", Partitions: 1})
	c.start(0)
	c.producer("orders", 0, 1).send()
	c.stopAll()
	if err := os.RemoveAll(filepath.Join(c.dirs[0], "topics")); err != nil {
		t.Fatal(err)
	}
	log, _, err := journal.Open(journal.Options{FS: journal.OS(c.dirs[0]), Dir: "topics/orders/0", Cluster: c.config.ClusterID(), SegmentBytes: 1 << 20,
		Base: journal.Base{ID: vsr.ID{Op: 5, Sum: 1}, NextOffset: 5}}) // and no client table
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	var told bytes.Buffer
	err = Run(t.Context(), Options{Config: c.config, ID: 0, Dir: c.dirs[0], Logger: slog.New(slog.NewTextHandler(&told, nil))})
	if !errors.Is(err, partition.ErrTableLost) {
		t.Fatalf("a node without its client table ended with %v", err)
	}
	if strings.Contains(told.String(), "close the log") {
		t.Error(told.String())
	}
}
