package main

import (
	"fmt"
	"math"
	"runtime/debug"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
)

const (
	patience      = 2 * time.Second // until a leader counts as gone: nothing that a loaded machine does to a heartbeat takes as long
	cachedEntries = 512
	never         = 1000 * time.Hour
	ioTimeout     = 10 * time.Second
	pooledConns   = 3
)

// raftConfig is how a node runs. settingsOf tells it.
func raftConfig(id string, producers int, logger hclog.Logger) *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(id)
	c.Logger = logger
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = patience, patience, patience
	c.BatchApplyCh = true
	c.MaxAppendEntries = max(c.MaxAppendEntries, 2*producers)
	c.SnapshotThreshold, c.SnapshotInterval = math.MaxUint64, never
	c.NoLegacyTelemetry = true
	return c
}

// setting is one of the libraries', as the figures tell it.
type setting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Default string `json:"default"` // of the library
	Why     string `json:"why"`
}

// settingsOf tells what was set, and what was left on purpose.
func settingsOf(producers int) (all []setting) {
	set, usual := raftConfig("any", producers, hclog.NewNullLogger()), raft.DefaultConfig()
	add := func(name string, value, usual any, why string) {
		all = append(all, setting{name, fmt.Sprint(value), fmt.Sprint(usual), why})
	}
	add("Config.BatchApplyCh", set.BatchApplyCh, usual.BatchApplyCh, "batches that wait together are stored by one sync")
	add("Config.MaxAppendEntries", set.MaxAppendEntries, usual.MaxAppendEntries, "all that the producers have under way fits into one group")
	add("Config.HeartbeatTimeout", set.HeartbeatTimeout, usual.HeartbeatTimeout, "no election under load")
	add("Config.ElectionTimeout", set.ElectionTimeout, usual.ElectionTimeout, "no election under load")
	add("Config.LeaderLeaseTimeout", set.LeaderLeaseTimeout, usual.LeaderLeaseTimeout, "the leader stays")
	add("Config.SnapshotThreshold", set.SnapshotThreshold, usual.SnapshotThreshold, "no snapshot is taken")
	add("Config.SnapshotInterval", set.SnapshotInterval, usual.SnapshotInterval, "no snapshot is taken")
	add("Config.NoLegacyTelemetry", set.NoLegacyTelemetry, usual.NoLegacyTelemetry, "no figure is counted twice")
	add("FSM", "BatchingFSM", "FSM", "a group is applied by one call")
	add("LogCache", cachedEntries, "none", "the leader sends and the followers apply from memory what they have just stored")
	add("NetworkTransportConfig.MaxRPCsInFlight", raft.DefaultMaxRPCsInFlight, raft.DefaultMaxRPCsInFlight, "as recommended: more delays commits under load")
	add("wal.WithSegmentSize", wal.DefaultSegmentSize, wal.DefaultSegmentSize, "as it comes")
	add("logging", hclog.Warn, hclog.Debug, "nothing is written while all is well")
	return all
}

// libraries are the modules whose versions matter.
var libraries = []string{"github.com/hashicorp/raft", "github.com/hashicorp/raft-wal"}

// versions are those of the libraries, and of Go, that this program was built with.
func versions() map[string]string {
	found := map[string]string{}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return found
	}
	found["go"] = build.GoVersion
	for _, m := range build.Deps {
		for _, library := range libraries {
			if m.Path == library {
				found[library] = m.Version
			}
		}
	}
	return found
}
