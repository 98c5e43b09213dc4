package server

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"rejoin/server/journal"
	"rejoin/server/peer"
	"rejoin/server/vsr"
)

// TestPowerCutThenFailedStart restarts the machine of a node of a replicated topic. Its first start
// cannot recover another group, and ends; the next one is on the same machine as that, and must
// still know that what was acknowledged before may be lost.
func TestPowerCutThenFailedStart(t *testing.T) {
	c := newCluster(t, 3, TopicConfig{Name: "first", Partitions: 1}, TopicConfig{Name: "orders", Partitions: 1, Durability: DurabilityReplicated})
	c.start(all(3)...)
	p := c.producer("orders", 0, 1)
	for range 20 {
		p.send()
	}
	c.stopAll()
	c.forgetMachine(2)
	state := filepath.Join(c.dirs[2], "topics/first/0/state")
	good, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(state, make([]byte, len(good)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Run(context.Background(), Options{Config: c.config, ID: 2, Dir: c.dirs[2]}); !errors.Is(err, journal.ErrUnreadable) {
		t.Fatalf("with an unreadable group the node ended with %v", err)
	}
	if err := os.WriteFile(state, good, 0o644); err != nil {
		t.Fatal(err)
	}
	c.start(0, 2)
	eventually(t, "node 2 says that it is wiped", func() bool { return c.statusOf(2, 1).State == "wiped" })
	c.start(1)
	eventually(t, "node 2 earns its vote back", func() bool { return c.statusOf(2, 1).State == "normal" })
	p.send()
	c.expectEqual("orders", 0, 63)
}

// TestUnreadableFilesAreNamed: a start that cannot open a file names it once, and says what to do.
func TestUnreadableFilesAreNamed(t *testing.T) {
	c := newCluster(t, 1, TopicConfig{Name: "orders", Partitions: 1})
	c.start(0)
	c.producer("orders", 0, 1).send()
	c.stop(0)
	for file, want := range map[string]string{"events.ndjson": "move it away", "topics/orders/0/00000000000000000001.seg": "put right the disk"} {
		path := filepath.Join(c.dirs[0], file)
		if err := errors.Join(os.Rename(path, path+".kept"), os.Mkdir(path, 0o755)); err != nil {
			t.Fatal(err)
		}
		err := Run(context.Background(), Options{Config: c.config, ID: 0, Dir: c.dirs[0]})
		if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "open events file") > 1 {
			t.Errorf("%s: the node ended with %v", file, err)
		}
		if err := errors.Join(os.Remove(path), os.Rename(path+".kept", path)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMachineIsSavedLast: whatever is saved before all groups have recovered, it keeps the machine that
// the directory was used on before.
func TestMachineIsSavedLast(t *testing.T) {
	root, c := t.TempDir(), testConfig(1, 1)
	start := func(want bool, do func(d *directory) error) {
		t.Helper()
		d, err := openDirectory(root, c, 0)
		if err != nil {
			t.Fatal(err)
		}
		if d.sameBoot != want {
			t.Errorf("same boot %v, want %v", d.sameBoot, want)
		}
		if err := errors.Join(do(d), d.close()); err != nil {
			t.Fatal(err)
		}
	}
	start(false, func(d *directory) error { d.format = peer.FormatUnused; return d.save() })
	start(false, (*directory).settled)
	start(true, (*directory).settled)
	start(true, func(d *directory) error { d.machine = "another boot of this machine........"; return d.save() })
	start(false, (*directory).save)
	start(false, (*directory).settled)
	start(true, (*directory).settled)
}

// TestHelloWhileTheGroupsOpen lets a peer come back at the moment at which the groups open: each group
// hears of its present life last.
func TestHelloWhileTheGroupsOpen(t *testing.T) {
	const peerID, groups = 1, 8
	former, present := vsr.Incarnation{Boot: 1, Nonce: 1}, vsr.Incarnation{Boot: 2, Nonce: 2}
	for range 500 {
		n := &node{config: *testConfig(3, groups), formats: newFormatting(3), opened: make(chan struct{}), stopping: t.Context(),
			greeted: map[int]vsr.Incarnation{peerID: former}, linked: make([]bool, 3)}
		for i := range groups {
			n.groups = append(n.groups, newGroup(n, uint32(i), n.config.Topics[0], i))
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for !n.isOpen() {
				runtime.Gosched()
			}
			n.Hello(peerID, peer.Hello{Incarnation: present})
		}()
		n.open()
		<-done
		for _, g := range n.groups {
			told := g.inbox.items // nobody has begun to handle them
			if len(told) != 2 || told[0].in.Incarnation != former || told[1].in.Incarnation != present {
				t.Fatalf("the group heard of %d lives: %+v", len(told), told)
			}
		}
	}
}
