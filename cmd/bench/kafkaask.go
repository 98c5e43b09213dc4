package main

import (
	"context"
	"time"

	"rejoin/loadgen"
	"rejoin/loadgen/target/kafka"
	"rejoin/results"
)

// stateNormal is that of a node that lacks nothing; stateOutOfSync that of a Kafka broker which the leader does not wait for.
const (
	stateNormal    = "normal"
	stateOutOfSync = "out_of_sync"
)

// kafkaAsker asks each broker what it says of its own replica. Offsets count messages; ops are batches, so they are divided by the size of one.
type kafkaAsker struct {
	log           *kafka.Target
	observers     []*kafka.Observer // each is used by one poller
	batchMessages uint64
}

func newKafkaAsker(options kafka.Options, batchMessages int) (kafkaAsker, error) {
	a := kafkaAsker{batchMessages: uint64(batchMessages)}
	var err error
	if a.log, err = kafka.New(options); err != nil {
		return a, err
	}
	for _, replica := range a.log.Replicas() {
		o, err := a.log.NewObserver(replica)
		if err != nil {
			return a, err
		}
		a.observers = append(a.observers, o)
	}
	return a, nil
}

// ask implements asker.
func (a kafkaAsker) ask(ctx context.Context, node int) (results.Status, error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(pollTimeout)
	}
	seen, err := a.observers[node].Observe(ctx, deadline)
	if err != nil {
		return results.Status{}, err
	}
	s := results.Status{Role: results.RoleBackup, State: stateNormal, View: &seen.Epoch, HeadOp: new(int64(seen.EndOffset / a.batchMessages)),
		CommitOp: new(int64(seen.Watermark / a.batchMessages))}
	if seen.Leads {
		s.Role = results.RolePrimary
	}
	if !seen.InSync {
		s.State = stateOutOfSync
	}
	return s, nil
}

func (a kafkaAsker) target() loadgen.Target { return a.log }

func (a kafkaAsker) close() error {
	for _, o := range a.observers {
		o.Close()
	}
	return a.log.Close()
}
