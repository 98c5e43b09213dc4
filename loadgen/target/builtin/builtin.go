// Package builtin is the adapter for our own server: it speaks the client plane over HTTP/1.1, and it
// reads a node's data directory without any code of the server but the frame codec.
//
// A caller makes a [Target] with [New] from the client addresses of the nodes, or [Files] with
// [NewFiles] from their data directories once they are dead. A producer has one connection to each
// address it has asked, sends POST only, and makes exactly one request for each try: a request that
// may have left is never sent again behind the caller's back. Everything read is held against the
// checksums and the hash chain of the frames before it is passed on.
//
// It is the only package outside server that imports server/wire, and the one that turns a node's
// events into the neutral results.Event.
package builtin

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"rejoin/loadgen"
	"rejoin/server/wire"
)

// Node is one node as clients reach it.
type Node struct {
	Name   string // n0, n1, …
	Client string // host:port to dial; compared with the hints of answers
}

// Options of a Target.
type Options struct {
	Nodes      []Node
	Topic      string
	Partition  int
	Partitions int    // if more than 1: of the whole topic, from 0 on; Partition is 0 then
	Token      string // bearer token; "" sends none
	Durability string // persisted or replicated, for the guarantee in words

	ReadBytes   int           // most bytes of one read; 2 MiB, of a consumer at most 1 MiB
	ReadTimeout time.Duration // of one read, and of waiting for a replica that says "not now"; 10 s
}

func (o Options) withDefaults() Options {
	if o.ReadBytes == 0 {
		o.ReadBytes = 2 << 20 // more leaves the caches
	}
	if o.ReadTimeout == 0 {
		o.ReadTimeout = 10 * time.Second
	}
	if o.Durability == "" {
		o.Durability = durabilityPersisted
	}
	return o
}

const (
	durabilityPersisted  = "persisted"
	durabilityReplicated = "replicated"
)

func (o Options) validate() error {
	if len(o.Nodes) == 0 {
		return errors.New("builtin target: no nodes")
	}
	names := map[string]bool{}
	for _, n := range o.Nodes {
		if n.Name == "" || n.Client == "" || names[n.Name] {
			return fmt.Errorf("builtin target: node %q at %q: each needs a name of its own and an address", n.Name, n.Client)
		}
		names[n.Name] = true
		if strings.ContainsAny(n.Client, "\r\n \t/") {
			return fmt.Errorf("builtin target: address %q: pass host:port", n.Client)
		}
	}
	if strings.ContainsAny(o.Token, "\r\n") {
		return errors.New("builtin target: the token holds a line break")
	}
	if o.Durability != durabilityPersisted && o.Durability != durabilityReplicated {
		return fmt.Errorf("builtin target: durability %q: pass %s or %s", o.Durability, durabilityPersisted, durabilityReplicated)
	}
	if o.ReadBytes < 0 || o.ReadTimeout < 0 {
		return fmt.Errorf("builtin target: reads of %d bytes within %v: pass positive numbers", o.ReadBytes, o.ReadTimeout)
	}
	if o.Partitions < 0 || o.Partitions > 1 && o.Partition != 0 {
		return fmt.Errorf("builtin target: partition %d of %d partitions: pass one partition, or how many", o.Partition, o.Partitions)
	}
	return checkPartition(o.Topic, o.Partition)
}

// checkPartition refuses names that could lead elsewhere in a path or a URL.
func checkPartition(topic string, partition int) error {
	ok := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-' }
	if topic == "" || len(topic) > 64 || strings.ContainsFunc(topic, func(r rune) bool { return !ok(r) }) {
		return fmt.Errorf("builtin target: topic %q: pass 1 to 64 characters of a-z, 0-9, _ and -", topic)
	}
	if partition < 0 {
		return fmt.Errorf("builtin target: partition %d", partition)
	}
	return nil
}

// Target is a partition of a running cluster, or all partitions of a topic.
type Target struct {
	options Options

	batches, sessions, frames string // paths

	partitions []*Target // each by itself, this one the first
}

var (
	_ loadgen.Target            = (*Target)(nil)
	_ loadgen.PartitionedSource = (*Target)(nil)
)

// New makes a target. It connects to nobody yet.
func New(options Options) (*Target, error) {
	o := options.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	first := newPartition(o)
	first.partitions = []*Target{first}
	for o.Partition = 1; o.Partition < o.Partitions; o.Partition++ {
		first.partitions = append(first.partitions, newPartition(o))
	}
	return first, nil
}

func newPartition(o Options) *Target {
	partition := fmt.Sprintf("/v1/topics/%s/partitions/%d", o.Topic, o.Partition)
	return &Target{options: o, batches: partition + "/batches", sessions: partition + "/sessions", frames: partition + "/frames"}
}

// Partition implements loadgen.PartitionedSource.
func (t *Target) Partition(partition int) loadgen.Source { return t.partitions[partition] }

// Name implements loadgen.Target.
func (t *Target) Name() string { return "builtin" }

// Guarantee implements loadgen.Target.
func (t *Target) Guarantee() string {
	n := len(t.options.Nodes)
	how := "synced to disk (fdatasync)"
	if t.options.Durability == durabilityReplicated {
		how = "written, not synced,"
	}
	return fmt.Sprintf("%s: %s on %d of %d replicas before the acknowledgement", t.options.Durability, how, n/2+1, n)
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
func (t *Target) Close() error { return nil }

// OpenProducer implements loadgen.Target.
func (t *Target) OpenProducer(_ context.Context, o loadgen.ProducerOptions) (loadgen.Producer, error) {
	body := o.BatchMessages * (wire.MessagePrefixBytes + o.MessageBytes)
	if o.BatchMessages > wire.MessagesMax || body > wire.BodyBytesMax {
		return nil, fmt.Errorf("builtin target: batches of %d messages in %d bytes: the server takes at most %d messages in %d bytes",
			o.BatchMessages, body, wire.MessagesMax, wire.BodyBytesMax)
	}
	if o.Partition < 0 || o.Partition >= len(t.partitions) {
		return nil, fmt.Errorf("builtin target: no partition %d of %d", o.Partition, len(t.partitions))
	}
	t = t.partitions[o.Partition]
	p := &producer{target: t, frame: make([]byte, wire.HeaderBytes, wire.HeaderBytes+body)}
	p.lay(o.BatchMessages, o.MessageBytes)
	var id [16]byte
	rand.Read(id[:])
	id[0] |= 1 // not all zero
	p.client.Hi, p.client.Lo = binary.BigEndian.Uint64(id[:]), binary.BigEndian.Uint64(id[8:])
	for _, n := range t.options.Nodes {
		p.links = append(p.links, t.newLink(n.Client))
	}
	return p, nil
}

func (t *Target) nodeNamed(replica string) (Node, error) {
	i := slices.IndexFunc(t.options.Nodes, func(n Node) bool { return n.Name == replica })
	if i < 0 {
		return Node{}, fmt.Errorf("builtin target: no replica %q", replica)
	}
	return t.options.Nodes[i], nil
}

// addressOf is the roster index of a hint, or loadgen.NoHint.
func (t *Target) addressOf(client string) int {
	return slices.IndexFunc(t.options.Nodes, func(n Node) bool { return n.Client == client })
}
