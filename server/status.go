package server

import (
	"fmt"
	"time"

	"rejoin/server/api"
	"rejoin/server/wire"
)

var _ api.Node = (*node)(nil)

// stuckAfter is how long work may be pending without a commit before /health says so.
const stuckAfter = 5 * time.Second

// Cluster tells what this node knows of itself and of the others.
func (n *node) Cluster() api.ClusterStatus {
	c := api.ClusterStatus{Cluster: n.config.Cluster, Node: n.id, TMonoNs: wire.MonoNow()}
	n.mu.Lock()
	linked := append([]bool(nil), n.linked...)
	n.mu.Unlock()
	for i := range n.config.Nodes {
		s := api.NodeStatus{Node: i, Client: n.clientAddress(i), Connected: i == n.id || linked[i]}
		if n.isOpen() {
			for _, g := range n.groups {
				s.Partitions = append(s.Partitions, g.statusOf(i))
			}
		}
		c.Nodes = append(c.Nodes, s)
	}
	return c
}

// unheardTicks is when what a peer told last says nothing of now any more. Backups tell the primary, not
// each other.
const unheardTicks = 100

// statusOf is the own status exactly, and that of others as far as their messages told it.
func (g *group) statusOf(id int) api.Status {
	own := g.Status()
	if id == g.node.id {
		return own
	}
	snap := g.snapshot.Load()
	p := snap.Peers[id]
	s := api.Status{Topic: own.Topic, Partition: own.Partition, Role: api.RoleNone, State: api.StateViewChange, View: p.View, LogView: p.LogView,
		Head: p.Head, Commit: p.Commit, KnownCommit: own.KnownCommit, Primary: own.Primary}
	if p.SilentTicks > unheardTicks {
		s.State, s.Primary = api.StateUnknown, ""
		return s
	}
	if p.View > 0 && p.View == p.LogView {
		s.State, s.Role = api.StateNormal, api.RoleBackup
	}
	if snap.Primary == id {
		s.Role = api.RolePrimary
	}
	return s
}

// Topics lists the topics of the cluster file.
func (n *node) Topics() []api.TopicStatus {
	var out []api.TopicStatus
	for _, t := range n.config.Topics {
		out = append(out, api.TopicStatus{Name: t.Name, Partitions: t.Partitions, Durability: t.Durability})
	}
	return out
}

// Partition finds a partition. The client plane listens only once all have recovered.
func (n *node) Partition(topic []byte, index int) (api.Partition, bool) {
	for _, g := range n.groups {
		if g.topic.Name == string(topic) && g.index == index {
			return g, true
		}
	}
	return nil, false
}

// Health judges from progress, not from roles and connections.
func (n *node) Health() api.Health {
	h := api.Health{OK: true}
	if !n.isOpen() {
		return api.Health{Reasons: []string{"starting: the data directory is being formatted or recovered"}}
	}
	for _, g := range n.groups {
		if why := g.unhealthy(); why != "" {
			h.OK = false
			h.Reasons = append(h.Reasons, fmt.Sprintf("%s/%d: %s", g.topic.Name, g.index, why))
		}
	}
	return h
}

func (g *group) unhealthy() string {
	s := g.snapshot.Load()
	stuck := time.Duration(wire.MonoNow() - s.progressMonoNs)
	switch {
	case s.State == "fenced":
		return "fenced"
	case s.Waiting:
		return fmt.Sprintf("view %d cannot start: %s", s.View, progress(s))
	case s.Holes > 0:
		return fmt.Sprintf("%d damaged ranges at or below op %d wait for a peer", s.Holes, s.Commit.Op)
	case s.DiskFull:
		return "disk full: this replica takes nothing new"
	case stuck < stuckAfter:
		return ""
	case s.Primary < 0:
		return fmt.Sprintf("no primary in view %d for %d s", s.View, int(stuck.Seconds()))
	case s.Head.Op > s.Commit.Op || s.KnownCommit > s.Commit.Op || s.Parked+s.Queued > 0:
		return fmt.Sprintf("op %d in view %d has not committed for %d s (%s)", s.Commit.Op+1, s.View, int(stuck.Seconds()), s.State)
	}
	return ""
}
