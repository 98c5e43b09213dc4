package server

import (
	"fmt"
	"slices"
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
	away := n.away()
	if !n.isOpen() {
		return api.Health{Reasons: append([]string{n.starting()}, away.refusals...)}
	}
	h := api.Health{OK: !away.disowned && (away.quorum || len(away.refusals) == 0), Reasons: away.refusals}
	for _, g := range n.groups {
		if why := g.unhealthy(&away); why != "" {
			h.OK = false
			h.Reasons = append(h.Reasons, fmt.Sprintf("%s/%d: %s", g.topic.Name, g.index, why))
		}
	}
	return h
}

// starting says what a node that has no partitions yet is busy with.
func (n *node) starting() string {
	if waiting := n.formats.waiting(n.id); len(waiting) > 0 {
		return "starting: the data directory is empty, and whether it is new all nodes must tell: waiting for " + nodesText(waiting)
	}
	return "starting: the partitions are being recovered from the data directory"
}

func (g *group) unhealthy(away *away) string {
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
		return fmt.Sprintf("no primary in view %d for %d s%s%s", s.View, int(stuck.Seconds()), away.silentText(), g.wipedText(s))
	case s.Head.Op > s.Commit.Op || s.KnownCommit > s.Commit.Op || s.Parked+s.Queued > 0:
		return fmt.Sprintf("op %d in view %d has not committed for %d s (%s)%s", s.Commit.Op+1, s.View, int(stuck.Seconds()), s.State, away.silentText())
	}
	return ""
}

// wipedText says what a wiped replica waits for, and when it waits in vain.
func (g *group) wipedText(s *snapshot) string {
	if s.State != string(api.StateWiped) {
		return ""
	}
	text := "; this replica has lost its log, and joins a view only that a quorum of others which have kept theirs is in"
	nodes := len(g.node.config.Nodes)
	wiped := slices.DeleteFunc(g.node.formats.wiped(g.node.id), func(id int) bool { return s.Peers[id].View > 0 }) // who has earned its vote back has a view
	if kept, quorum := nodes-1-len(wiped), nodes/2+1; kept < quorum && len(wiped) > 0 {
		text += fmt.Sprintf(". That cannot be, for %s lost its log too: bring back one of the lost directories, or give up what was acknowledged and start all nodes with empty ones", nodesText(wiped))
	}
	return text
}
