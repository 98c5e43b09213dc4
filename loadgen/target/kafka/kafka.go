// Package kafka is the adapter for Apache Kafka, and for what speaks its protocol. It is the only
// importer of github.com/twmb/franz-go.
//
// A caller makes the topic with [CreateTopic], a [Target] with [New] from the brokers' addresses, or
// [Files] with [NewFiles] from their log directories once they are dead. [Observe] tells what one
// broker says of its own replica. Where the brokers are the caller's own, [Server] is what one is told and [Home] how it is
// started.
//
// # Appending
//
// franz-go's own producer repeats what failed, by rules of its own. Here the rules are those of
// package loadgen, the same for every target, so the adapter takes from franz-go the connections and
// the protocol and does by itself what an idempotent producer does: it registers (InitProducerId),
// gives each batch the sequence number after the last one, and sends one batch of a try as one record
// batch in one produce request with acks=all. A repetition carries the same producer id, epoch,
// sequence number and bytes, and the broker answers it with the offset of the first.
//
// A batch that was given up with its outcome open leaves the sequence open, too. The producer then
// raises its epoch and begins again at sequence 0, as KIP-360 lays down for idempotent producers; the
// leader refuses whatever still comes with the old epoch.
//
// # Reading a replica
//
// Brokers answer fetches of version 11 and later from their own log also when they are followers
// (KIP-392), up to the high watermark that they themselves know. The adapter names no rack, so no
// broker sends it elsewhere; a broker that tries is refused. No byte comes by way of another broker.
// Files reads the segment files, which hold the record batches as they travel.
package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"rejoin/loadgen"
)

// Broker is one broker as clients reach it.
type Broker struct {
	Name    string // n0, n1, …
	ID      int32  // node.id
	Address string // host:port
}

// Sync is when brokers sync what they append.
type Sync int

const (
	// SyncLater: as Kafka does by default: never before an acknowledgement.
	SyncLater Sync = iota
	// SyncEach: flush.messages=1, each batch before its acknowledgement.
	SyncEach
	// SyncUnknown: the brokers belong to others, and the protocol does not tell.
	SyncUnknown
)

func (s Sync) words() string {
	switch s {
	case SyncEach:
		return "synced to disk (flush.messages=1: fsync after each batch)"
	case SyncUnknown:
		return "written (synced or not as the cluster is set up, which its protocol does not tell)"
	}
	return "written, not synced (no fsync before the acknowledgement),"
}

// Options of a Target.
type Options struct {
	Brokers   []Broker
	Topic     string
	Partition int32

	// What the topic was made with, for the guarantee in words.
	ReplicationFactor int
	MinInSync         int
	Sync              Sync

	ReadBytes   int32         // most bytes of one fetch; 1 MiB
	ReadTimeout time.Duration // of one fetch, and of waiting for a replica that says "not now"; 10 s
}

func (o Options) withDefaults() Options {
	if o.ReadBytes == 0 {
		o.ReadBytes = 1 << 20
	}
	if o.ReadTimeout == 0 {
		o.ReadTimeout = 10 * time.Second
	}
	return o
}

func (o Options) validate() error {
	if len(o.Brokers) == 0 {
		return errors.New("kafka target: no brokers")
	}
	for i, b := range o.Brokers {
		if b.Name == "" {
			return fmt.Errorf("kafka target: the broker at %q has no name", b.Address)
		}
		if _, _, err := net.SplitHostPort(b.Address); err != nil {
			return fmt.Errorf("kafka target: address %q: %w; pass host:port", b.Address, err)
		}
		same := func(other Broker) bool {
			return other.Name == b.Name || other.ID == b.ID || other.Address == b.Address
		}
		if slices.ContainsFunc(o.Brokers[:i], same) {
			return fmt.Errorf("kafka target: broker %s: name, id and address must be its own", b.Name)
		}
	}
	if o.ReplicationFactor < 1 || o.MinInSync < 1 || o.MinInSync > o.ReplicationFactor {
		return fmt.Errorf("kafka target: %d replicas, of which %d must be in sync: pass what the topic has", o.ReplicationFactor, o.MinInSync)
	}
	if o.ReadBytes < 0 || o.ReadTimeout < 0 || o.Partition < 0 {
		return fmt.Errorf("kafka target: partition %d, reads of %d bytes within %v: pass positive numbers", o.Partition, o.ReadBytes, o.ReadTimeout)
	}
	return checkTopic(o.Topic)
}

// checkTopic holds to Kafka's own rule for names, which become directories.
func checkTopic(topic string) error {
	ok := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r)
	}
	if topic == "" || topic == "." || topic == ".." || len(topic) > 249 || strings.ContainsFunc(topic, func(r rune) bool { return !ok(r) }) {
		return fmt.Errorf("kafka target: topic %q: pass 1 to 249 letters, digits, '.', '_' and '-'", topic)
	}
	return nil
}

// Target is one partition of a running cluster.
type Target struct{ options Options }

var _ loadgen.Target = (*Target)(nil)

// New makes a target. It connects to nobody yet.
func New(options Options) (*Target, error) {
	o := options.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	return &Target{options: o}, nil
}

// Name implements loadgen.Target.
func (t *Target) Name() string { return "kafka" }

// Guarantee implements loadgen.Target.
func (t *Target) Guarantee() string {
	o := t.options
	return fmt.Sprintf("acks=all: %s on every in-sync replica, at least %d of %d, before the acknowledgement", o.Sync.words(), o.MinInSync, o.ReplicationFactor)
}

// Addresses implements loadgen.Target.
func (t *Target) Addresses() []string {
	var all []string
	for _, b := range t.options.Brokers {
		all = append(all, b.Address)
	}
	return all
}

// Replicas implements loadgen.Source.
func (t *Target) Replicas() []string {
	var all []string
	for _, b := range t.options.Brokers {
		all = append(all, b.Name)
	}
	return all
}

// Close implements loadgen.Target; connections belong to producers and reads.
func (t *Target) Close() error { return nil }

// OpenProducer implements loadgen.Target.
func (t *Target) OpenProducer(_ context.Context, o loadgen.ProducerOptions) (loadgen.Producer, error) {
	if most := batchBytesMax(o.BatchMessages, o.MessageBytes); most > requestBytesMax {
		return nil, fmt.Errorf("kafka target: batches of %d messages of %d bytes: they would take up to %d bytes, the adapter sends at most %d",
			o.BatchMessages, o.MessageBytes, most, requestBytesMax)
	}
	p := &producer{target: t, id: noProducerID}
	for _, b := range t.options.Brokers {
		p.links = append(p.links, newLink(b.Address))
	}
	return p, nil
}

func (t *Target) brokerNamed(replica string) (Broker, error) {
	i := slices.IndexFunc(t.options.Brokers, func(b Broker) bool { return b.Name == replica })
	if i < 0 {
		return Broker{}, fmt.Errorf("kafka target: no replica %q", replica)
	}
	return t.options.Brokers[i], nil
}

// addressOf is the roster index of a broker's id, or loadgen.NoHint.
func (t *Target) addressOf(id int32) int {
	return slices.IndexFunc(t.options.Brokers, func(b Broker) bool { return b.ID == id })
}
