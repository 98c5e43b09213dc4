package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	walmetrics "github.com/hashicorp/raft-wal/metrics"
)

// nodeCommand is the word by which this program is started as a node.
const nodeCommand = "node"

// Counters of raft-wal.
const (
	entriesStored = "log_entries_written"
	groupsStored  = "log_appends"
)

// waitMax is how long a node waits for the others.
const waitMax = 30 * time.Second

// nodeSettings start a node.
type nodeSettings struct {
	ID        string `json:"id"`
	Dir       string `json:"dir"` // its own
	Producers int    `json:"producers"`
}

// member is a node as the others know it.
type member struct {
	ID      string `json:"id"`
	Address string `json:"address"`
}

// node is one of the three.
type node struct {
	settings  nodeSettings
	logger    hclog.Logger
	stored    *walmetrics.AtomicCollector
	log       *wal.WAL
	transport *raft.NetworkTransport
	state     *state
	raft      *raft.Raft // nil until it has joined
}

// serveNode is a node's process, until in ends.
func serveNode(text string, in io.Reader, out io.Writer, digest digester) (err error) {
	n := &node{state: newState(digest), stored: walmetrics.NewAtomicCollector(wal.MetricDefinitions)}
	if err := json.Unmarshal([]byte(text), &n.settings); err != nil {
		return fmt.Errorf("read the settings of a node: %w", err)
	}
	if err := n.open(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	return serve(in, out, handlers{
		"address": func(json.RawMessage) (any, error) { return n.transport.LocalAddr(), nil },
		"join":    with(n.join),
		"leader":  func(json.RawMessage) (any, error) { return n.leader() },
		"drive":   with(func(l load) (any, error) { return n.drive(l) }),
		"applied": with(func(wanted sum) (any, error) { return n.state.await(wanted, waitMax), nil }),
		"stop":    func(json.RawMessage) (any, error) { return nil, n.raft.Shutdown().Error() },
		"stored":  func(json.RawMessage) (any, error) { return n.readBack() },
	})
}

// open opens the log and the port.
func (n *node) open() (err error) {
	n.logger = hclog.New(&hclog.LoggerOptions{Name: n.settings.ID, Level: hclog.Warn, Output: os.Stderr})
	logDir := filepath.Join(n.settings.Dir, "log")
	if err := os.MkdirAll(logDir, 0o755); err != nil {
		return err
	}
	n.log, err = wal.Open(logDir, wal.WithLogger(n.logger), wal.WithMetricsCollector(n.stored))
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	n.transport, err = raft.NewTCPTransportWithConfig("127.0.0.1:0", nil,
		&raft.NetworkTransportConfig{MaxPool: pooledConns, MaxRPCsInFlight: raft.DefaultMaxRPCsInFlight, Timeout: ioTimeout, Logger: n.logger})
	if err != nil {
		return errors.Join(fmt.Errorf("listen: %w", err), n.log.Close())
	}
	return nil
}

// join starts Raft among the members, of which it is one.
func (n *node) join(members []member) (any, error) {
	cached, err := raft.NewLogCache(cachedEntries, n.log)
	if err != nil {
		return nil, err
	}
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(n.settings.Dir, 1, n.logger)
	if err != nil {
		return nil, err
	}
	var all raft.Configuration
	for _, m := range members {
		all.Servers = append(all.Servers, raft.Server{Suffrage: raft.Voter, ID: raft.ServerID(m.ID), Address: raft.ServerAddress(m.Address)})
	}
	config := raftConfig(n.settings.ID, n.settings.Producers, n.logger)
	if err := raft.BootstrapCluster(config, cached, n.log, snapshots, n.transport, all); err != nil {
		return nil, fmt.Errorf("bootstrap: %w", err)
	}
	n.raft, err = raft.NewRaft(config, n.state, cached, n.log, snapshots, n.transport)
	return nil, err
}

// leader waits until it knows who leads, and where it leads itself, until all that it found in its log is committed.
func (n *node) leader() (raft.ServerID, error) {
	seen := make(chan raft.Observation, 1) // one is enough to look again
	observer := raft.NewObserver(seen, false, func(o *raft.Observation) bool {
		_, ok := o.Data.(raft.LeaderObservation)
		return ok
	})
	n.raft.RegisterObserver(observer)
	defer n.raft.DeregisterObserver(observer)
	timer := time.NewTimer(waitMax)
	defer timer.Stop()
	for {
		if _, id := n.raft.LeaderWithID(); id != "" {
			if string(id) != n.settings.ID {
				return id, nil
			}
			return id, n.raft.Barrier(waitMax).Error()
		}
		select {
		case <-seen:
		case <-timer.C:
			return "", fmt.Errorf("nobody was elected within %v", waitMax)
		}
	}
}

// readBack reads all batches from the files, after a stop.
func (n *node) readBack() (found sum, err error) {
	first, err := n.log.FirstIndex()
	if err != nil {
		return found, err
	}
	last, err := n.log.LastIndex()
	if err != nil {
		return found, err
	}
	for index := first; index <= last; index++ {
		var entry raft.Log
		if err := n.log.GetLog(index, &entry); err != nil {
			return found, fmt.Errorf("read entry %d of %d to %d: %w", index, first, last, err)
		}
		if entry.Type == raft.LogCommand {
			found.add(digestOf, entry.Index, entry.Data)
		}
	}
	return found, nil
}

func (n *node) close() error {
	if n.raft == nil {
		return errors.Join(n.transport.Close(), n.log.Close())
	}
	return errors.Join(n.raft.Shutdown().Error(), n.log.Close()) // the transport goes with Raft
}
