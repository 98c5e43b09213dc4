package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"rejoin/loadgen"
	"rejoin/loadgen/target/kafka"
	"rejoin/results"
)

// Targets that are Kafka: by default a broker syncs nothing before it acknowledges; with flush it syncs each batch.
const (
	targetKafka      = "kafka"
	targetKafkaFlush = "kafka:flush"
)

const (
	// kafkaReadyLimit is how long three Java programs may take to start and to agree on a controller; they share this machine's cores.
	kafkaReadyLimit = 3 * time.Minute

	// kafkaPollInterval is longer than that of our own nodes, because a sample is three requests: who leads, where the log ends, what is
	// committed.
	kafkaPollInterval = 50 * time.Millisecond

	kafkaAskLimit = 2 * time.Second // of a question that is asked before the load
)

// kafkaProduct is Apache Kafka in KRaft mode: each node is broker and controller.
type kafkaProduct struct {
	kafkaAsker

	folder    results.Folder
	home      kafkaHome
	clusterID string
	nodes     []kafkaNode
	sync      kafka.Sync
	created   bool // the topic
}

func newKafkaSystem(sync kafka.Sync) func(r *session, ports []int) (system, error) {
	return func(r *session, ports []int) (system, error) {
		home, err := findKafka(r.command.KafkaHome)
		if err != nil {
			return nil, err
		}
		k := &kafkaProduct{folder: r.folder, home: home, sync: sync}
		id := make([]byte, 16)
		rand.Read(id)
		k.clusterID = base64.RawURLEncoding.EncodeToString(id)
		options := kafka.Options{Topic: topicName, ReplicationFactor: r.scenario.Nodes, MinInSync: r.scenario.Nodes/2 + 1, Sync: sync}
		for i := range r.scenario.Nodes {
			n := kafkaNode{id: i, client: ports[2*i], controller: ports[2*i+1]}
			k.nodes = append(k.nodes, n)
			options.Brokers = append(options.Brokers, kafka.Broker{Name: results.NodeName(i), ID: int32(i), Address: n.address()})
		}
		if k.kafkaAsker, err = newKafkaAsker(options, r.scenario.BatchMessages); err != nil {
			return nil, err
		}
		s := newProcessSystem(r, k)
		s.readyLimit, s.poll.every = kafkaReadyLimit, kafkaPollInterval
		return s, nil
	}
}

// missing waits for the brokers, makes the topic, and waits until every broker holds it in sync.
func (k *kafkaProduct) missing(ctx context.Context, all []results.Status) string {
	if !k.created {
		return k.createTopic(ctx)
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

func (k *kafkaProduct) createTopic(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, kafkaAskLimit)
	defer cancel()
	cluster, err := kafka.DescribeCluster(ctx, k.nodes[0].address(), topicName, 0)
	if err != nil {
		return "n0 does not answer yet"
	}
	if n := len(cluster.Brokers); n < len(k.nodes) {
		return fmt.Sprintf("%d of %d brokers have registered", n, len(k.nodes))
	}
	err = kafka.CreateTopic(ctx, k.log.Addresses(), k.topicOptions())
	if err != nil && !errors.Is(err, kafka.ErrTopicExists) { // an answer that was lost; the cluster is this run's own
		return err.Error()
	}
	k.created = true
	return "the topic was just made"
}

func (k *kafkaProduct) topicOptions() kafka.TopicOptions {
	return kafka.TopicOptions{Name: topicName, ReplicationFactor: len(k.nodes), MinInSync: len(k.nodes)/2 + 1, Sync: k.sync}
}

// rounds: every replica by its own broker, every replica alone with the others stopped, and the segment files of all after a SIGKILL.
func (k *kafkaProduct) rounds(s *nodeSystem, verifier *loadgen.Verifier) ([]verifyRound, error) {
	options := kafka.FilesOptions{Topic: topicName, UpTo: verifier.AckedEnd()}
	for i := range k.nodes {
		options.Replicas = append(options.Replicas, kafka.ReplicaDir{Name: results.NodeName(i), Dir: k.folder.DataDir(i)})
	}
	files, err := kafka.NewFiles(options)
	if err != nil {
		return nil, err
	}
	rounds := append([]verifyRound{{name: roundLive, source: k.log}}, s.aloneRounds(k.log)...)
	return append(rounds, verifyRound{name: roundOffline, source: files, prepare: s.killAll}), nil
}

// nodeEvents: a broker tells what happens to it in its log, in words only.
func (k *kafkaProduct) nodeEvents(*nodeSystem) ([]results.Event, []string) { return nil, nil }

// settings are what the brokers and the topic were given beyond Kafka's defaults.
func (k *kafkaProduct) settings() any {
	brokers := map[string]map[string]string{}
	for i := range k.nodes {
		brokers[results.NodeName(i)] = k.nodeSettings(i)
	}
	return map[string]any{"version": k.home.version, "java": k.home.java, "java_options": append(append([]string{}, kafkaHeap...), kafkaPerformance...),
		"topic": k.topicOptions().Settings(), "brokers": brokers, "distribution": filepath.Base(k.home.dir)}
}
