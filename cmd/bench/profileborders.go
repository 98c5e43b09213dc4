package main

import (
	"slices"

	"rejoin/results"
)

// borderState is what was last seen of the things that begin phases.
type borderState struct {
	nodes    []nodeState
	behind   []string
	primary  bool
	silentNs int64 // since when there has been no primary; 0: there is one, or writes go on again
}

type nodeState struct {
	up   bool
	role string
}

// changed looks again and says whether a node has gone, come back, caught up or changed its role.
func (b *borderState) changed(s system) bool {
	all := s.status()
	nodes := make([]nodeState, len(all))
	for i := range all {
		nodes[i] = nodeState{all[i].Up, roleOf(all, i)}
	}
	behind := s.catchingUp()
	same := slices.Equal(nodes, b.nodes) && slices.Equal(behind, b.behind)
	b.nodes, b.behind = nodes, behind
	b.primary = slices.ContainsFunc(nodes, func(n nodeState) bool { return n.role == results.RolePrimary })
	return !same
}

// acknowledged says whether writes go on again after there was no primary: the last acknowledgement is then later than answers that a dead
// primary had sent.
func (b *borderState) acknowledged(lastAckNs, nowNs int64) bool {
	if !b.primary && b.silentNs == 0 {
		b.silentNs = nowNs
	}
	if b.silentNs == 0 || lastAckNs <= b.silentNs+int64(strayAfterExit) {
		return false
	}
	b.silentNs = 0
	return true
}
