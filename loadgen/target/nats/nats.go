// Package nats is the adapter for NATS JetStream: one replicated stream, kept in files, on real nats-server processes. It is the only importer of
// the client library.
//
// A caller makes a [Target] with [New] from the addresses of the servers, and calls [Target.Prepare] until the stream is there. A producer has
// one connection to each server that it has asked. The client library never reconnects and never repeats by itself: what is tried again, and where,
// is decided by loadgen alike for all targets. What comes in late, after its try was given up, is told from a repetition by its message id.
//
// A batch is published in one of two ways. [Atomic]: as one of JetStream's atomic batches, all messages or none, one behind the other. [Async]: as so many
// messages, published without waiting for each other, all acknowledgements awaited; messages of several producers then stand between each
// other in the stream. Either way a message id lets the server tell a repetition for two minutes.
//
// A replica is read by a consumer that has one replica itself and lies on the server in question: see [Target.ReadReplica].
package nats

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"rejoin/loadgen"
)

// Node is one server.
type Node struct {
	Name    string // its server_name
	Client  string // host:port of its clients
	Monitor string // host:port of its HTTP monitoring, which is asked for its own state
}

// How a batch is published.
const (
	Atomic = "atomic"
	Async  = "async"
)

// Values of the server's sync_interval that have a guarantee of their own.
const (
	SyncDefault = "2m"
	SyncAlways  = "always"
)

// Options of a Target.
type Options struct {
	Name   string // of the target; nats
	Nodes  []Node
	Stream string // also the first token of its subjects

	Batches      string // Atomic, the default, or Async
	SyncInterval string // of the servers, for the guarantee in words; SyncDefault

	ReadTimeout time.Duration // without any message of a read; 10 s
}

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = "nats"
	}
	if o.Batches == "" {
		o.Batches = Atomic
	}
	if o.SyncInterval == "" {
		o.SyncInterval = SyncDefault
	}
	if o.ReadTimeout == 0 {
		o.ReadTimeout = 10 * time.Second
	}
	return o
}

func (o Options) validate() error {
	if len(o.Nodes) == 0 {
		return errors.New("nats target: no servers")
	}
	names := map[string]bool{}
	for _, n := range o.Nodes {
		if n.Name == "" || names[n.Name] {
			return fmt.Errorf("nats target: server name %q: each needs one of its own", n.Name)
		}
		names[n.Name] = true
		for _, address := range []string{n.Client, n.Monitor} {
			if _, _, err := net.SplitHostPort(address); err != nil {
				return fmt.Errorf("nats target: address of %s: %w; pass host:port", n.Name, err)
			}
		}
	}
	if o.Stream == "" || strings.ContainsAny(o.Stream, " \t\r\n.*>/\\") {
		return fmt.Errorf("nats target: stream name %q: pass one without spaces and without . * > / \\", o.Stream)
	}
	if o.Batches != Atomic && o.Batches != Async {
		return fmt.Errorf("nats target: batches %q: pass %s or %s", o.Batches, Atomic, Async)
	}
	return nil
}

// Target is a stream on running servers.
type Target struct {
	options Options
	monitor *http.Client
	group   groupName
}

var _ loadgen.Target = (*Target)(nil)

// New makes a target. It connects to nobody yet.
func New(options Options) (*Target, error) {
	o := options.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	return &Target{options: o, monitor: &http.Client{}}, nil
}

// Name implements loadgen.Target.
func (t *Target) Name() string { return t.options.Name }

// Guarantee implements loadgen.Target.
func (t *Target) Guarantee() string {
	n := len(t.options.Nodes)
	durable := fmt.Sprintf("written on %d of %d replicas before the acknowledgement, not synced: each server syncs every %s", n/2+1, n, t.options.SyncInterval)
	if t.options.SyncInterval == SyncAlways {
		durable = fmt.Sprintf("synced to disk on %d of %d replicas before the acknowledgement", n/2+1, n)
	}
	whole := "a batch is all there or not at all"
	if t.options.Batches == Async {
		whole = "each message by itself: of a batch that is not acknowledged some messages may be there"
	}
	return fmt.Sprintf("JetStream, sync_interval %s: %s; %s", t.options.SyncInterval, durable, whole)
}

// Addresses implements loadgen.Target.
func (t *Target) Addresses() []string {
	var all []string
	for _, n := range t.options.Nodes {
		all = append(all, n.Client)
	}
	return all
}

// Replicas implements loadgen.Source.
func (t *Target) Replicas() []string {
	var all []string
	for _, n := range t.options.Nodes {
		all = append(all, n.Name)
	}
	return all
}

// Close implements loadgen.Target; connections belong to producers and reads.
func (t *Target) Close() error {
	t.monitor.CloseIdleConnections()
	return nil
}

// batchMessagesMax is how many messages the server takes in an atomic batch.
const batchMessagesMax = 1000

// OpenProducer implements loadgen.Target.
func (t *Target) OpenProducer(_ context.Context, o loadgen.ProducerOptions) (loadgen.Producer, error) {
	if t.options.Batches == Atomic && o.BatchMessages > batchMessagesMax {
		return nil, fmt.Errorf("nats target: batches of %d messages: an atomic batch of JetStream holds at most %d; send smaller ones, or drive target nats:async",
			o.BatchMessages, batchMessagesMax)
	}
	return newProducer(t, o), nil
}

func (t *Target) nodeNamed(replica string) (Node, error) {
	i := t.addressOf(replica)
	if i < 0 {
		return Node{}, fmt.Errorf("nats target: no replica %q", replica)
	}
	return t.options.Nodes[i], nil
}

// addressOf is the roster index of a server's name, or loadgen.NoHint.
func (t *Target) addressOf(name string) int {
	return slices.IndexFunc(t.options.Nodes, func(n Node) bool { return n.Name == name })
}
