//go:build !core

package main

import (
	"context"
	"errors"
	"fmt"
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

// kafkaTopic is the topic that a run writes, wherever the brokers are.
type kafkaTopic struct {
	kafkaAsker
	topic   kafka.TopicOptions
	brokers int
	created bool
}

func newKafkaTopic(name string, brokers []kafka.Broker, sync kafka.Sync, batchMessages int) (kafkaTopic, error) {
	n := len(brokers)
	t := kafkaTopic{topic: kafka.TopicOptions{Name: name, MinInSync: n/2 + 1, Sync: sync}, brokers: n}
	for _, b := range brokers {
		t.topic.Replicas = append(t.topic.Replicas, b.ID)
	}
	var err error
	t.kafkaAsker, err = newKafkaAsker(kafka.Options{Brokers: brokers, Topic: name, ReplicationFactor: n, MinInSync: n/2 + 1, Sync: sync}, batchMessages)
	return t, err
}

// missing waits for the brokers, makes the topic, and waits until every broker holds it in sync.
func (t *kafkaTopic) missing(ctx context.Context, all []results.Status) string {
	if !t.created {
		return t.create(ctx)
	}
	if _, led := primaryOf(all); !led {
		return "no broker leads the topic"
	}
	for _, s := range all {
		if !s.Up || s.State != stateNormal {
			return s.Node + " does not hold the topic in sync"
		}
	}
	return ""
}

func (t *kafkaTopic) create(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, kafkaAskLimit)
	defer cancel()
	cluster, err := kafka.DescribeCluster(ctx, t.log.Addresses()[0], t.topic.Name, 0)
	if err != nil {
		return "n0 does not answer yet"
	}
	if n := len(cluster.Brokers); n < t.brokers {
		return fmt.Sprintf("%d of %d brokers have registered", n, t.brokers)
	}
	err = kafka.CreateTopic(ctx, t.log.Addresses(), t.topic)
	if err != nil && !errors.Is(err, kafka.ErrTopicExists) { // it exists where an answer was lost: nobody else knows its name
		return err.Error()
	}
	t.created = true
	return "the topic was just made"
}
