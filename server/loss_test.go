package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rejoin/server/journal"
	"rejoin/server/wire"
)

// eventually waits until ok holds, within a minute.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// TestLostLogIsForgotten takes the log from under a directory that was in use, and leaves the node's own
// state: it has forgotten what it acknowledged and must not help to make a quorum.
func TestLostLogIsForgotten(t *testing.T) {
	c := newCluster(t, 3, TopicConfig{Name: "orders", Partitions: 1})
	c.start(all(3)...)
	p := c.producer("orders", 0, 1)
	for range 20 {
		p.send()
	}
	c.stopAll()
	if err := os.RemoveAll(filepath.Join(c.dirs[2], "topics")); err != nil {
		t.Fatal(err)
	}
	c.start(2, 0)
	eventually(t, "node 2 says that it is wiped", func() bool { return c.status(2).State == "wiped" })
	eventually(t, "node 0 misses a primary", func() bool { s := c.status(0); return s.View > 0 && s.Role != "primary" })
	c.start(1)
	p.send()
	c.expectEqual("orders", 0, 63)
	eventually(t, "node 2 earns its vote back", func() bool { return c.status(2).State == "normal" })
}

// TestLostLogOfOneNode: with no peer to ask, the node says so instead of starting from nothing.
func TestLostLogOfOneNode(t *testing.T) {
	c := newCluster(t, 1, TopicConfig{Name: "orders", Partitions: 1})
	c.start(0)
	c.producer("orders", 0, 1).send()
	c.stop(0)
	if err := os.RemoveAll(filepath.Join(c.dirs[0], "topics")); err != nil {
		t.Fatal(err)
	}
	err := Run(context.Background(), Options{Config: c.config, ID: 0, Dir: c.dirs[0]})
	if err == nil || !strings.Contains(err.Error(), "gone from a data directory that was in use") {
		t.Errorf("the node ended with %v", err)
	}
}

// damage zeroes the header of the frame that holds an offset, in the file of a running node.
func (c *cluster) damage(id int, offset uint64) {
	c.t.Helper()
	first := c.readFrom(id, "orders", 0, offset, offset+1)
	h, err := wire.ParseSealed(first)
	if err != nil {
		c.t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(c.dirs[id], "topics/orders/0/*.seg"))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			c.t.Fatal(err)
		}
		at := strings.Index(string(text), string(first[:wire.HeaderBytes]))
		if at < 0 {
			continue
		}
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			c.t.Fatal(err)
		}
		_, err = f.WriteAt(make([]byte, wire.HeaderBytes), int64(at))
		if err := errors.Join(err, f.Close()); err != nil {
			c.t.Fatal(err)
		}
		return
	}
	c.t.Fatalf("no file of node %d holds op %d", id, h.Op)
}

// TestRotMetByAReader damages a frame of a running node that the scrub will not come to for long: whoever
// reads it must not be shown the same bytes for ever, nor an end of the log.
func TestRotMetByAReader(t *testing.T) {
	c := newCluster(t, 3, TopicConfig{Name: "orders", Partitions: 1})
	c.start(all(3)...)
	p := c.producer("orders", 0, 1)
	for range 30 {
		p.send()
	}
	c.readAll(2, "orders", 0, 90)
	c.damage(2, 45)
	eventually(t, "node 2 shows offset 45 again", func() bool {
		url := fmt.Sprintf("http://%s/v1/topics/orders/partitions/0/frames?offset=45", c.config.Nodes[2].Listen.Client)
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode == http.StatusOK && len(body) == 0 {
			t.Fatal("damage in the middle was shown as the end of the log")
		}
		h, err := wire.ParseSealed(body)
		return resp.StatusCode == http.StatusOK && err == nil && wire.CheckBody(&h, body[wire.HeaderBytes:wire.HeaderBytes+int(h.BodyBytes)]) == nil
	})
	c.expectEqual("orders", 0, 90)
	c.stop(2)
	log, rec, err := journal.Open(journal.Options{FS: journal.OS(c.dirs[2]), Dir: "topics/orders/0", Cluster: c.config.ClusterID(), SegmentBytes: c.config.Limits.SegmentBytes, SameBoot: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(rec.Holes) > 0 {
		t.Errorf("holes %v are left on the disk", rec.Holes)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

// TestReplicatedAfterFence fences a node of a replicated topic: what it had written and not synced is
// dropped, and it has acknowledged that. It must earn its vote back.
func TestReplicatedAfterFence(t *testing.T) {
	c := newCluster(t, 3, TopicConfig{Name: "orders", Partitions: 1, Durability: DurabilityReplicated})
	c.start(all(3)...)
	p := c.producer("orders", 0, 1)
	for range 20 {
		p.send()
	}
	c.stopAll()
	log, _, err := journal.Open(journal.Options{FS: journal.OS(c.dirs[2]), Dir: "topics/orders/0", Cluster: c.config.ClusterID(), SegmentBytes: c.config.Limits.SegmentBytes, SameBoot: true})
	if err != nil {
		t.Fatal(err)
	}
	log.Fence(errors.New("the disk has failed"))
	_ = log.Close() // it is fenced
	c.start(0, 2)
	eventually(t, "node 2 says that it is wiped", func() bool { return c.status(2).State == "wiped" })
	c.start(1)
	eventually(t, "node 2 earns its vote back", func() bool { return c.status(2).State == "normal" })
	p.send()
	c.expectEqual("orders", 0, 63)
}
