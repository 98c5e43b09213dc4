package server

import (
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
