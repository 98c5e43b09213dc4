package server

import (
	"fmt"
	"slices"
	"strings"

	"rejoin/server/peer"
)

// away is what keeps the other nodes from this one.
type away struct {
	refusals []string // a sentence for each whose handshake is refused
	silent   []int    // those that are not heard at all
	disowned bool     // one refuses this node's directory for good
	quorum   bool     // this node and those that it has a link to are one
}

func (n *node) away() (a away) {
	n.mu.Lock()
	linked := slices.Clone(n.linked)
	n.mu.Unlock()
	reached := 1
	for i := range n.config.Nodes {
		if i == n.id {
			continue
		}
		refusal := n.network.Refusal(i)
		switch {
		case linked[i]:
			reached++
		case refusal == nil:
			a.silent = append(a.silent, i)
		default:
			a.refusals = append(a.refusals, refusalText(i, refusal))
			a.disowned = a.disowned || disowns(refusal)
		}
	}
	a.quorum = reached > len(n.config.Nodes)/2
	return a
}

// disowned tells that no node is linked and one refuses this one's directory for good: nothing that this node does counts any
// more.
func (n *node) disowned() bool {
	n.mu.Lock()
	alone := !slices.Contains(n.linked, true)
	n.mu.Unlock()
	if !alone {
		return false
	}
	for i := range n.config.Nodes {
		if disowns(n.network.Refusal(i)) {
			return true
		}
	}
	return false
}

// disowns tells of a refusal that no redial can overcome: a later life of this node has been known than its directory tells of.
func disowns(r *peer.RefusedError) bool {
	return r != nil && r.ByPeer && r.Reason == peer.RefusedBoot
}

func refusalText(from int, r *peer.RefusedError) string {
	switch {
	case disowns(r):
		return fmt.Sprintf("node %d refuses this node: %s; stop this node and start it with an empty directory, which it fills from the others", from, r.Text)
	case r.ByPeer:
		return fmt.Sprintf("node %d refuses this node: %s", from, r.Text)
	}
	return fmt.Sprintf("this node refuses node %d: %s", from, r.Text)
}

// nodesText names nodes; empty for none.
func nodesText(ids []int) string {
	var names []string
	for _, id := range ids {
		names = append(names, fmt.Sprint(id))
	}
	switch last := len(names) - 1; {
	case last < 0:
		return ""
	case last == 0:
		return "node " + names[0]
	default:
		return "nodes " + strings.Join(names[:last], ", ") + " and " + names[last]
	}
}

// silentText says who does not answer, as an addition to a sentence.
func (a *away) silentText() string {
	switch len(a.silent) {
	case 0:
		return ""
	case 1:
		return "; " + nodesText(a.silent) + " does not answer"
	}
	return "; " + nodesText(a.silent) + " do not answer"
}
