package server

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"rejoin/server/peer"
)

// TestAStrangerDecidesNothing leaves a node of an earlier cluster at the address of one of three new ones. The other two meet it,
// say what is wrong, and must not take from it that they have forgotten anything: once it is gone they form their cluster.
func TestAStrangerDecidesNothing(t *testing.T) {
	c := newCluster(t, 3, TopicConfig{Name: "orders", Partitions: 1})
	earlier := c.earlierCluster("earlier")
	earlier.start(all(3)...)
	earlier.producer("orders", 0, 1).send()
	earlier.stopAll()
	earlier.start(1)
	said := []*lines{0: {}, 2: {}}
	for _, id := range []int{0, 2} {
		c.logTo = said[id]
		c.start(id)
		eventually(t, "the stranger is named", func() bool { return said[id].contain("belong to different clusters") })
	}
	for _, id := range []int{0, 2} {
		eventually(t, "health says who is waited for, and what is wrong", func() bool {
			h := c.health(id)
			text := strings.Join(h.Reasons, "\n")
			return !h.OK && strings.Contains(text, "waiting for node 1\n") && strings.Contains(text, "belong to different clusters; compare the cluster's name")
		})
	}
	earlier.stop(1)
	c.logTo = nil
	c.start(1)
	c.producer("orders", 0, 1).send()
	c.expectEqual("orders", 0, 3)
	for id := range 3 {
		if format := c.format(id); format != peer.FormatUsed {
			t.Errorf("node %d is formatted as %v", id, format)
		}
	}
}

// earlierCluster is one of another life, and perhaps another name, at the addresses of this one.
func (c *cluster) earlierCluster(name string) *cluster {
	earlier := &cluster{t: c.t, config: c.config, nodes: make([]*runningNode, len(c.nodes))}
	earlier.config.Cluster = name
	for _, dir := range c.dirs {
		earlier.dirs = append(earlier.dirs, dir+".earlier")
	}
	c.t.Cleanup(earlier.stopAll)
	return earlier
}

// TestTwoHistoriesMeet puts the directory of an earlier cluster of the same name in the place of one node's. Who finds out stops,
// names the other and the op, and does not say what would lose the cluster its data; with the stranger emptied it goes on.
func TestTwoHistoriesMeet(t *testing.T) {
	c := newCluster(t, 3, TopicConfig{Name: "orders", Partitions: 1})
	c.config.Limits.PipelineOps = 8 // what lies that far below the head counts as committed at a restart
	earlier := c.earlierCluster(c.config.Cluster)
	earlier.start(all(3)...)
	p := earlier.producer("orders", 0, 1)
	for range 3 { // lives, views and ops beyond those of the other cluster
		earlier.stop(1)
		for range 20 {
			p.send()
		}
		earlier.start(1)
		p.send()
	}
	earlier.expectEqual("orders", 0, 3*63)
	earlier.stopAll()

	c.start(all(3)...)
	right := c.producer("orders", 0, 2)
	for range 20 {
		right.send()
	}
	c.expectEqual("orders", 0, 60)
	c.stopAll()
	if err := errors.Join(os.RemoveAll(c.dirs[1]), os.Rename(earlier.dirs[1], c.dirs[1])); err != nil {
		t.Fatal(err)
	}
	c.start(0, 1) // no quorum without the stranger, whose view is the later one
	fenced := c.firstEnd()
	if !errors.Is(fenced, ErrFenced) || !regexp.MustCompile(`two histories meet under one cluster name: node \d .* another op \d+ than this log`).MatchString(fenced.Error()) {
		t.Errorf("the node ended with %v", fenced)
	}
	if text := fenced.Error(); !strings.Contains(text, "Do not empty") || strings.Contains(text, "replace the disk") {
		t.Errorf("the advice is %q", text)
	}

	if err := os.RemoveAll(c.dirs[1]); err != nil {
		t.Fatal(err)
	}
	c.start(all(3)...)
	right.send()
	c.expectEqual("orders", 0, 63)
}

// firstEnd waits until a node ends by itself, tells why, and ends the others.
func (c *cluster) firstEnd() (why error) {
	eventually(c.t, "a node ends by itself", func() bool {
		for id, n := range c.nodes {
			if n == nil {
				continue
			}
			select {
			case why = <-n.done:
				c.nodes[id] = nil
				return true
			default:
			}
		}
		return false
	})
	for id, n := range c.nodes {
		if n != nil {
			n.stop()
			if err := <-n.done; err != nil && !errors.Is(err, ErrFenced) && !errors.Is(err, context.Canceled) {
				c.t.Errorf("node %d ended with %v", id, err)
			}
			c.nodes[id] = nil
		}
	}
	return why
}
