package main

import (
	"context"
	"fmt"

	"rejoin/loadgen"
	"rejoin/results"
)

// system is what a run drives: a target for the load, and nodes that can be killed, stopped and brought back. The schedule, the verdict and
// the folder are the same for all systems.
type system interface {
	// start brings everything up and returns when load may begin.
	start(ctx context.Context) error

	target() loadgen.Target

	// status is the last known state of every node, in order.
	status() []results.Status

	// askedSince tells whether what status tells was asked for at this time, by CLOCK_MONOTONIC, or later: of every node.
	askedSince(monoNs int64) bool

	// lagOf is how many ops a node's last answer was behind the highest commit that any node had shown when it was asked; nil without one.
	lagOf(node int) *int64

	// kill ends a node without warning and returns when it is gone; role is what it was.
	kill(ctx context.Context, node int, role string) error
	// terminate asks a node to stop, and returns when it is gone.
	terminate(ctx context.Context, node int, role string) error
	// wipe removes the data of a node that is gone.
	wipe(node int) error
	restart(node int) error
	pause(node int, role string) error
	resume(node int) error

	// catchingUp names restarted nodes that have not caught up.
	catchingUp() []string

	// rounds are the readings by which the verifier is to convince itself.
	rounds(verifier *loadgen.Verifier) ([]verifyRound, error)

	// surprises are the ends of nodes that nobody of the run asked for.
	surprises() []surprise

	// nodeEvents are what the nodes recorded themselves, translated; called after the last round.
	nodeEvents() ([]results.Event, []string)

	rssMaxOf(node int) *int64

	// dataBytesOf is what a node's data directory takes on the disk now, nil if it has none here.
	dataBytesOf(node int) *int64

	// settings are the target's effective settings, for run.json.
	settings() any

	// stop ends every node by SIGTERM, and by SIGKILL if that does not help.
	stop() error
}

// verifyRound is one reading of replicas: prepare makes the situation, and returns what undoes it.
type verifyRound struct {
	name    string // one of the names below
	replica string // of an alone round
	source  loadgen.Source
	prepare func(context.Context) (undo func() error, err error)
}

// Names of rounds.
const (
	roundLive    = "live"    // every replica by its own address
	roundAlone   = "alone"   // one replica while the others are stopped
	roundOffline = "offline" // the files of dead nodes
	roundRestart = "restart" // every replica by its own address, after all were killed and started again
)

// primaryOf is the primary of the first partition.
func primaryOf(all []results.Status) (int, bool) { return leaderOf(all, 0) }

// leaderOf is the node that calls itself primary of a partition in the highest view; false if none does. A system that numbers no views has one
// primary, or two for a moment, of which the first counts.
func leaderOf(all []results.Status, partition int) (int, bool) {
	best, highest := -1, int64(-1)
	for i, s := range all {
		view := int64(0)
		if views := s.PartitionViews(); partition < len(views) {
			view = views[partition]
		}
		if s.Up && s.Leads(partition) && view > highest {
			best, highest = i, view
		}
	}
	return best, best >= 0
}

// backupsOf are the nodes that backup means: those that are one in every partition. While there is none, because each node leads some, those that
// are one in partition 0, of which primary means the primary.
func backupsOf(all []results.Status) []int {
	var ofAll, ofFirst []int
	for i, s := range all {
		switch {
		case roleOf(all, i) == results.RoleBackup:
			ofAll = append(ofAll, i)
		case s.Up && s.Role == results.RolePrimary && !s.Leads(0):
			ofFirst = append(ofFirst, i)
		}
	}
	if len(ofAll) > 0 {
		return ofAll
	}
	return ofFirst
}

// partitionsOf is how many partitions the nodes tell of, at least one.
func partitionsOf(all []results.Status) int {
	most := 1
	for _, s := range all {
		most = max(most, s.PartitionCount())
	}
	return most
}

// inPartition names a partition where there are several.
func inPartition(partition, partitions int) string {
	if partitions == 1 {
		return ""
	}
	return fmt.Sprintf(" in partition %d", partition)
}

// roleOf is what a node is at the moment: primary if it is that of any partition, backup if it is one in all.
func roleOf(all []results.Status, node int) string {
	for partition := range partitionsOf(all) {
		if leader, known := leaderOf(all, partition); known && leader == node {
			return results.RolePrimary
		}
	}
	if all[node].Up && all[node].Role == results.RoleBackup {
		return results.RoleBackup
	}
	return results.RoleUnknown
}
