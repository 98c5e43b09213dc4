package loadgen

import (
	"context"
	"errors"
	"fmt"
)

// A topic may have several partitions, each a log with offsets of its own. A producer writes to one of them; each is verified by itself against
// the ledgers of its producers, so that a batch of any other partition is foreign there.

// PartitionOf is the partition that a producer writes to.
func PartitionOf(producer, partitions int) int { return producer % max(partitions, 1) }

// PartitionedSource is a source of a topic with several partitions.
type PartitionedSource interface {
	Source
	// Partition is one of them, as a source by itself.
	Partition(partition int) Source
}

// Partitions make one source of the sources of all partitions. Each has the same replicas.
type Partitions []Source

var _ PartitionedSource = Partitions{}

// Partition implements PartitionedSource.
func (p Partitions) Partition(partition int) Source { return p[partition] }

// Replicas implements Source.
func (p Partitions) Replicas() []string { return p[0].Replicas() }

// ReadReplica implements Source. Offsets of several logs are no order, so they are read one by one.
func (p Partitions) ReadReplica(context.Context, string, func(ReadBatch) error) (ReadEnd, error) {
	return ReadEnd{}, errors.New("a topic of several partitions is read partition by partition")
}

// notPartitioned is what is read of a source that has no partitions, where there should be some.
type notPartitioned struct{ Source }

func (n notPartitioned) ReadReplica(context.Context, string, func(ReadBatch) error) (ReadEnd, error) {
	return ReadEnd{}, errors.New("the source does not tell its partitions apart")
}

// partitionOf is a partition of a source, and the source itself where a topic has only one.
func partitionOf(source Source, partition, partitions int) Source {
	if partitions == 1 {
		return source
	}
	if p, ok := source.(PartitionedSource); ok {
		return p.Partition(partition)
	}
	return notPartitioned{source}
}

// sumUp makes one report of those of a replica's partitions: counts are sums, and so are offsets, which then say how many messages.
func (r *ReplicaReport) sumUp(parts []*ReplicaReport) {
	*r = *newReplicaReport(r.Replica, r.examplesMax)
	for partition, p := range parts {
		for kind, n := range p.Findings {
			r.Findings[kind] += n
		}
		for _, f := range p.Examples {
			f.Text = fmt.Sprintf("partition %d: %s", partition, f.Text)
			r.Examples = append(r.Examples, f)
		}
		r.Messages += p.Messages
		r.EarliestOffset, r.EndOffset, r.ReadTo = r.EarliestOffset+p.EarliestOffset, r.EndOffset+p.EndOffset, r.ReadTo+p.ReadTo
		r.VerifiedBatches, r.UnknownPresentBatches = r.VerifiedBatches+p.VerifiedBatches, r.UnknownPresentBatches+p.UnknownPresentBatches
		r.LateUnknownBatches += p.LateUnknownBatches
		r.DisorderedBatches, r.PartialBatches = r.DisorderedBatches+p.DisorderedBatches, r.PartialBatches+p.PartialBatches
		r.BehindBatches, r.TrimmedBatches, r.UnreadBatches = r.BehindBatches+p.BehindBatches, r.TrimmedBatches+p.TrimmedBatches, r.UnreadBatches+p.UnreadBatches
		if p.Unreadable != "" && r.Unreadable == "" {
			r.unreadable(fmt.Sprintf("partition %d: %s", partition, p.Unreadable))
			r.Interrupted = p.Interrupted
		}
	}
}
