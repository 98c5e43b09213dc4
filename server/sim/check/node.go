package check

import "rejoin/server/vsr"

// Fail is told of a broken promise and does not return.
type Fail func(property, format string, args ...any)

// Node is what an observer sees of one replica at a tick.
type Node struct {
	Up     bool  // its process runs and takes part
	Linked uint8 // bit i: messages pass to replica i and back
	Status vsr.Status
}

// Cluster is what an observer sees of all replicas at one tick.
type Cluster struct {
	Nodes  []Node
	Commit uint64 // the group's commit: the highest op that anybody has committed
	Work   bool   // a client waits for an answer
}

func (c *Cluster) quorum() int { return len(c.Nodes)/2 + 1 }

// connected tells whether replica i is with a quorum.
func (c *Cluster) connected(i int) bool {
	if !c.Nodes[i].Up {
		return false
	}
	with := 1
	for j := range c.Nodes {
		if j != i && c.joined(i, j) {
			with++
		}
	}
	return with >= c.quorum()
}

func (c *Cluster) joined(i, j int) bool {
	a, b := &c.Nodes[i], &c.Nodes[j]
	return a.Up && b.Up && a.Linked>>j&1 == 1 && b.Linked>>i&1 == 1
}

// caughtUp tells whether replica i is one of a quorum that can go on.
func (c *Cluster) caughtUp(i int) bool {
	s := &c.Nodes[i].Status
	return c.connected(i) && s.State != "wiped" && s.State != "fenced" && s.Holes == 0 && s.Top == s.Head.Op && s.Head.Op >= c.Commit
}

// caughtUpQuorum tells whether so many replicas are caught up that writes must go on.
func (c *Cluster) caughtUpQuorum() bool {
	n := 0
	for i := range c.Nodes {
		if c.caughtUp(i) {
			n++
		}
	}
	return n >= c.quorum()
}

// led tells whether a connected replica leads.
func (c *Cluster) led() bool {
	for i := range c.Nodes {
		if c.connected(i) && c.Nodes[i].Status.Leading {
			return true
		}
	}
	return false
}

// Quorum tells whether enough replicas are connected for the group to work at all. Where they are not,
// being unavailable is right.
func (c *Cluster) Quorum() bool {
	n := 0
	for i := range c.Nodes {
		if c.connected(i) {
			n++
		}
	}
	return n >= c.quorum()
}
