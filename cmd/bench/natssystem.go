//go:build !core

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"rejoin/loadgen"
	"rejoin/loadgen/target/nats"
	"rejoin/results"
)

// targetNats is NATS JetStream. Its other names add the sync_interval or the way in which batches are published.
const targetNats = "nats"

// natsKinds are the four ways of driving JetStream: two guarantees, two ways of publishing a batch.
func natsKinds() []targetKind {
	var kinds []targetKind
	for _, sync := range []string{nats.SyncDefault, nats.SyncAlways} {
		for _, batches := range []string{nats.Atomic, nats.Async} {
			name := targetNats
			if sync == nats.SyncAlways {
				name += ":always"
			}
			if batches == nats.Async {
				name += ":async"
			}
			open := func(r *session, ports []int) (system, error) {
				return newNatsSystem(r, ports, nats.Options{Name: name, Batches: batches, SyncInterval: sync})
			}
			remote := func(_ Scenario, flags ExternalFlags) (product, error) {
				return newRemoteNats(flags, nats.Options{Name: name, Batches: batches, SyncInterval: sync})
			}
			// A message is kept in the stream's files, and for a while in the Raft log's.
			kinds = append(kinds, targetKind{name: name, ports: 3, diskFactor: 3, forgetful: true, here: natsHere, open: open, external: remote})
		}
	}
	return kinds
}

func natsHere(flags PeerFlags) error {
	_, _, err := findNatsServer(flags.NatsServer)
	return err
}

// natsServers is NATS JetStream as a product: real nats-server processes, and a stream on as many replicas as there are nodes.
type natsServers struct {
	natsStream
	folder  results.Folder
	path    string // of nats-server
	version string
	servers []nats.Server
}

// natsStream is what is alike wherever the servers run.
type natsStream struct {
	*nats.Target
	made bool // the stream is there
}

func newNatsSystem(r *session, ports []int, options nats.Options) (system, error) {
	path, version, err := findNatsServer(r.command.NatsServer)
	if err != nil {
		return nil, err
	}
	n := &natsServers{folder: r.folder, path: path, version: version}
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	var routes []string
	for i := range r.scenario.Nodes {
		routes = append(routes, at(3*i+1))
	}
	for i := range r.scenario.Nodes {
		store, err := filepath.Abs(r.folder.DataDir(i))
		if err != nil {
			return nil, err
		}
		node := nats.Node{Name: results.NodeName(i), Client: at(3 * i), Monitor: at(3*i + 2)}
		n.servers = append(n.servers, nats.Server{Node: node, Route: routes[i], Routes: routes, StoreDir: store, SyncInterval: options.SyncInterval,
			BatchesInFlight: 2 * r.scenario.Producers})
		options.Nodes = append(options.Nodes, node)
	}
	options.Stream = topicName
	if n.Target, err = nats.New(options); err != nil {
		return nil, err
	}
	return newProcessSystem(r, n), nil
}

// findNatsServer is the path of the program and what it says of its version. Without a path it is the one that make peers builds.
func findNatsServer(path string) (found, version string, err error) {
	cure := "run make peers, which builds it beside bench, or name your own by --nats-server PATH"
	if path == "" {
		if path, err = peerProgram("nats-server"); err != nil {
			return "", "", err
		}
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", "", fmt.Errorf("there is no nats-server at %s: %s", path, cure)
	}
	ctx, cancel := context.WithTimeout(context.Background(), exitLimit)
	defer cancel()
	text, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", "", fmt.Errorf("%s --version: %w; %s", path, err, cure)
	}
	return path, strings.TrimSpace(string(text)), nil
}

func (n *natsServers) configPath(node int) string {
	return filepath.Join(n.folder.Dir, "nats-"+results.NodeName(node)+".conf")
}

// prepare writes the server's configuration; the server makes its directory itself.
func (n *natsServers) prepare(node int) error {
	return os.WriteFile(n.configPath(node), []byte(n.servers[node].Config()), 0o644)
}

func (n *natsServers) program(node int) (program, error) {
	return program{path: n.path, args: []string{"-c", n.configPath(node)}, address: n.servers[node].Client}, nil
}

// ask implements asker.
func (n *natsStream) ask(ctx context.Context, node int) (results.Status, error) {
	return n.Status(ctx, node)
}

// makeLimit is how long one attempt to make the stream may take.
const makeLimit = 2 * time.Second

// missing: all servers answer, the stream is made, one server leads it and the others follow.
func (n *natsStream) missing(ctx context.Context, all []results.Status) string {
	for _, s := range all {
		if !s.Up {
			return fmt.Sprintf("%s does not answer", s.Node)
		}
	}
	if !n.made {
		limited, cancel := context.WithTimeout(ctx, makeLimit)
		defer cancel()
		if err := n.Prepare(limited); err != nil {
			return fmt.Sprintf("the stream is not made: %v", err)
		}
		n.made = true
	}
	if _, known := primaryOf(all); !known {
		return "no server leads the stream"
	}
	for _, s := range all {
		if s.Role == "" {
			return s.Node + " has no part in the stream"
		}
	}
	return ""
}

func (n *natsStream) target() loadgen.Target { return n.Target }

// rounds: every replica by a consumer that lies on its server, and once more after all servers were killed and started again. No server is read
// while the others are stopped: without a majority it makes no consumer.
func (n *natsStream) rounds(s *nodeSystem, _ *loadgen.Verifier) ([]verifyRound, error) {
	return s.liveRounds(n.Target), nil
}

// nodeEvents: the servers record nothing in a form that could be merged; their logs are in the folder.
func (n *natsServers) nodeEvents(*nodeSystem) ([]results.Event, []string) { return nil, nil }

// settings are what the servers were told, the stream as it was asked for, and which server it is.
func (n *natsServers) settings() any {
	return map[string]any{"server": n.version, "path": n.path, "configuration": n.servers[0].Config(), "stream": n.StreamConfig(),
		"ops": "entries of the stream's Raft log, each with the messages of one or several batches"}
}

func (n *natsStream) close() error { return n.Target.Close() }

// remoteNats is NATS JetStream, elsewhere. Its servers must be called n0, n1, … by their server_name.
type remoteNats struct {
	elsewhere
	natsStream
}

func newRemoteNats(flags ExternalFlags, options nats.Options) (product, error) {
	if len(flags.Monitors) != len(flags.Addresses) {
		return nil, fmt.Errorf("--monitors names %d servers and --addresses %d: pass the address of each server's HTTP monitoring, too, in the same order",
			len(flags.Monitors), len(flags.Addresses))
	}
	for i, address := range flags.Addresses {
		options.Nodes = append(options.Nodes, nats.Node{Name: results.NodeName(i), Client: address, Monitor: flags.Monitors[i]})
	}
	options.Stream = topicName
	target, err := nats.New(options)
	return &remoteNats{elsewhere{flags}, natsStream{Target: target}}, err
}
