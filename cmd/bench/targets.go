package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"rejoin/loadgen"
	"rejoin/loadgen/target/builtin"
	"rejoin/results"
	"rejoin/server"
	"rejoin/server/wire"
)

// durabilityReplicated is the setting in which an acknowledged batch is not yet synced.
const durabilityReplicated = server.DurabilityReplicated

// Targets that `bench run` can drive.
const (
	targetBuiltin = "builtin"
	targetMemory  = "memory"
)

// frameBytesOf is the size of one of our frames.
func frameBytesOf(messages, payloadBytes int) int64 {
	return wire.HeaderBytes + bodyBytesOf(messages, payloadBytes)
}

// bodyBytesOf is the size of such a frame without its header.
func bodyBytesOf(messages, payloadBytes int) int64 {
	return int64(messages) * (wire.MessagePrefixBytes + int64(payloadBytes))
}

// bodyBytesMax is the largest body that the nodes of the scenario take.
func (s Scenario) bodyBytesMax() int64 {
	if s.Cluster.BatchBytes > 0 {
		return int64(min(s.Cluster.BatchBytes, wire.BodyBytesMax))
	}
	return wire.BodyBytesMax
}

// builtinSystem is our log: node processes of this binary, driven by the adapter.
type builtinSystem struct {
	*cluster
	log     *builtin.Target
	polling context.CancelFunc
	polled  chan struct{} // closed when the pollers have ended
}

func newBuiltinSystem(r *session, ports []int) (system, error) {
	c, err := newCluster(r.folder, r.scenario, ports, r.record, r.status, r.profiling.nodeFlag())
	if err != nil {
		return nil, err
	}
	log, err := newBuiltinTarget(r.scenario, c.clientAddresses())
	if err != nil {
		return nil, err
	}
	return &builtinSystem{cluster: c, log: log, polled: make(chan struct{})}, nil
}

func newBuiltinTarget(s Scenario, addresses []string) (*builtin.Target, error) {
	options := builtin.Options{Topic: topicName, Durability: s.Durability}
	for i, address := range addresses {
		options.Nodes = append(options.Nodes, builtin.Node{Name: results.NodeName(i), Client: address})
	}
	return builtin.New(options)
}

// start starts all nodes and waits until they agree on a primary and all answer.
func (b *builtinSystem) start(ctx context.Context) error {
	var polling context.Context
	polling, b.polling = context.WithCancel(context.WithoutCancel(ctx)) // pollers outlive the load: stop ends them
	go func() {
		defer close(b.polled)
		b.poll.run(polling)
	}()
	for i := range b.lives {
		if err := b.cluster.start(i); err != nil {
			return err
		}
	}
	return b.awaitReady(ctx)
}

func (b *builtinSystem) awaitReady(ctx context.Context) error {
	limit := time.Now().Add(readyLimit)
	for {
		waiting := b.notReady()
		if waiting == "" {
			return nil
		}
		if ended := b.surprises(); len(ended) > 0 {
			return errors.New(ended[0])
		}
		if time.Now().After(limit) {
			return fmt.Errorf("not ready within %v: %s; see %s", readyLimit, waiting, b.folder.Logs())
		}
		if !sleep(ctx, pollInterval) {
			return ctx.Err()
		}
	}
}

// notReady says what is missing until load may begin; empty when nothing is.
func (b *builtinSystem) notReady() string {
	all := b.status()
	primary, known := primaryOf(all)
	for i, s := range all {
		switch {
		case !s.Up:
			return s.Node + " does not answer"
		case !known:
			return "no node is primary"
		case s.State != "normal":
			return fmt.Sprintf("%s is in state %s", s.Node, s.State)
		case *s.View != *all[primary].View:
			return fmt.Sprintf("%s is in view %d, the primary in view %d", s.Node, *s.View, *all[primary].View)
		case i != primary && s.Role != results.RoleBackup:
			return s.Node + " has no role"
		}
	}
	return ""
}

func (b *builtinSystem) target() loadgen.Target   { return b.log }
func (b *builtinSystem) status() []results.Status { return b.poll.view() }
func (b *builtinSystem) catchingUp() []string     { return b.poll.catchingUp() }
func (b *builtinSystem) surprises() []string      { return b.ended() }
func (b *builtinSystem) rssMaxOf(node int) *int64 { return b.poll.rssMaxOf(node) }
func (b *builtinSystem) settings() any            { return b.effective }

func (b *builtinSystem) restart(node int) error { return b.cluster.start(node) }

// rounds: every replica by its own address, every replica alone with the others stopped, and the files of all after a SIGKILL.
func (b *builtinSystem) rounds(verifier *loadgen.Verifier) ([]verifyRound, error) {
	rounds := []verifyRound{{name: roundLive, source: b.log}}
	for i := range b.lives {
		rounds = append(rounds, verifyRound{name: roundAlone, replica: results.NodeName(i), source: b.log,
			prepare: func(ctx context.Context) (func() error, error) { return b.leaveAlone(i) }})
	}
	source, err := offlineSource(b.folder, len(b.lives), verifier.AckedEnd())
	if err != nil {
		return nil, err
	}
	return append(rounds, verifyRound{name: roundOffline, source: source, prepare: b.killAll}), nil
}

// leaveAlone stops all other nodes, so that one cannot answer by way of another.
func (b *builtinSystem) leaveAlone(node int) (undo func() error, err error) {
	var stopped []int
	undo = func() error {
		var errs []error
		for _, other := range stopped {
			errs = append(errs, b.resume(other))
		}
		return errors.Join(errs...)
	}
	for other := range b.lives {
		if other == node {
			continue
		}
		switch err := b.pause(other, ""); {
		case errors.Is(err, errNoProcess):
			continue // it is as silent as it can be
		case err != nil:
			return undo, err
		}
		stopped = append(stopped, other)
	}
	return undo, nil
}

// killAll ends all nodes without warning. Nodes that are profiled are asked to stop instead: a killed one leaves no profile.
func (b *builtinSystem) killAll(ctx context.Context) (func() error, error) {
	b.stopPolling()
	if b.profile != "" && b.profile != profileFlight {
		return nil, b.cluster.close()
	}
	var errs []error
	for node := range b.lives {
		if err := b.end(ctx, node); err != nil && !errors.Is(err, errNoProcess) {
			errs = append(errs, err)
		}
	}
	return nil, errors.Join(errs...)
}

// offlineSource reads the nodes' files up to an offset.
func offlineSource(folder results.Folder, nodes int, upTo uint64) (loadgen.Source, error) {
	options := builtin.FilesOptions{Topic: topicName, UpTo: upTo}
	for i := range nodes {
		options.Replicas = append(options.Replicas, builtin.ReplicaDir{Name: results.NodeName(i), Dir: folder.DataDir(i)})
	}
	return builtin.NewFiles(options)
}

// liveSource reads nodes that run by a cluster file.
func liveSource(file string, nodes int) (loadgen.Source, error) {
	config, err := server.LoadConfig(file)
	if err != nil {
		return nil, err
	}
	if len(config.Nodes) != nodes {
		return nil, fmt.Errorf("%s has %d nodes, the run had %d: name the cluster file of that run", file, len(config.Nodes), nodes)
	}
	token, err := secretOf(envToken)
	if err != nil {
		return nil, err
	}
	options := builtin.Options{Topic: topicName, Token: token, Durability: config.Topics[0].Durability}
	for i, n := range config.Nodes {
		options.Nodes = append(options.Nodes, builtin.Node{Name: results.NodeName(i), Client: n.Dial.Client})
	}
	return builtin.New(options)
}

// nodeEvents reads what every node recorded of itself.
func (b *builtinSystem) nodeEvents() (events []results.Event, problems []string) {
	base, _ := b.record.base()
	for i := range b.lives {
		path := filepath.Join(b.folder.DataDir(i), "events.ndjson")
		files, _ := filepath.Glob(b.folder.DataDir(i) + "-events-*.ndjson") // of directories that were wiped
		damaged := 0
		for _, file := range append(files, path) {
			n, err := builtin.ReadEvents(file, base, func(e results.Event) error {
				events = append(events, e)
				return nil
			})
			damaged += n
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				problems = append(problems, err.Error())
			}
		}
		// Each life that was killed may leave one torn line.
		if lives := b.killsOf(i); damaged > lives {
			problems = append(problems, fmt.Sprintf("%s holds %d damaged lines, %d kills explain as many", path, damaged, lives))
		}
	}
	for _, e := range events {
		if e.Kind == results.KindDropped {
			problems = append(problems, fmt.Sprintf("%s had no room for some of its events", e.Source))
		}
	}
	return events, problems
}

func (b *builtinSystem) stopPolling() {
	if b.polling != nil {
		b.polling()
		<-b.polled
	}
}

func (b *builtinSystem) stop() error {
	b.stopPolling()
	return b.cluster.close()
}
