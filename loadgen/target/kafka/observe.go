package kafka

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Observation is what one broker says of its own replica of the partition.
type Observation struct {
	Leads  bool
	Epoch  int64 // the leader's, as this broker knows it
	InSync bool  // this broker counts itself among the in-sync replicas

	EndOffset uint64 // of its log: log end offset
	Watermark uint64 // committed, as far as it knows: high watermark
}

// Observer asks one broker again and again over one connection. It belongs to one goroutine.
type Observer struct {
	options Options
	broker  Broker
	link    *link

	cluster     Cluster
	describedAt time.Time
}

// describeEvery is how often an observer asks who leads: the answer costs a broker more than the
// offsets do.
const describeEvery = 100 * time.Millisecond

// NewObserver makes an observer of one of the target's replicas.
func (t *Target) NewObserver(replica string) (*Observer, error) {
	broker, err := t.brokerNamed(replica)
	if err != nil {
		return nil, err
	}
	return &Observer{options: t.options, broker: broker, link: newLink(broker.Address)}, nil
}

// Close closes the connection.
func (o *Observer) Close() { o.link.close() }

// Observe asks: who leads, where its log ends, and, by a fetch at that end, its high watermark.
func (o *Observer) Observe(ctx context.Context, deadline time.Time) (Observation, error) {
	if time.Since(o.describedAt) >= describeEvery {
		cluster, err := describe(ctx, o.link, o.options.Topic, o.options.Partition, deadline)
		if err != nil {
			return Observation{}, err
		}
		o.cluster, o.describedAt = cluster, time.Now()
	}
	const latest = -1
	end, err := listOffset(ctx, o.link, o.options, latest, deadline)
	if err != nil {
		return Observation{}, err
	}
	at := o.options
	at.ReadBytes = 1 // what came between the two questions is not wanted: a broker sends one batch at least
	part, err := fetchOnce(ctx, o.link, at, end, 0, deadline)
	if err == nil {
		err = kerr.ErrorForCode(part.ErrorCode)
	}
	if err != nil {
		return Observation{}, err
	}
	watermark := uint64(max(0, part.HighWatermark))
	return Observation{Leads: o.cluster.Leader == o.broker.ID, Epoch: int64(o.cluster.Epoch), InSync: slices.Contains(o.cluster.InSync, o.broker.ID),
		EndOffset: max(end, watermark), Watermark: watermark}, nil
}
