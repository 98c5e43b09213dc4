package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"slices"
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

// kafkaProduct is Apache Kafka in KRaft mode on this host: each node is broker and controller.
type kafkaProduct struct {
	kafkaTopic

	folder    results.Folder
	home      kafkaHome
	clusterID string
	nodes     []kafkaNode
}

func newKafkaSystem(sync kafka.Sync) func(r *session, ports []int) (system, error) {
	return func(r *session, ports []int) (system, error) {
		home, err := findKafka(r.command.KafkaHome)
		if err != nil {
			return nil, err
		}
		k := &kafkaProduct{folder: r.folder, home: home}
		id := make([]byte, 16)
		rand.Read(id)
		k.clusterID = base64.RawURLEncoding.EncodeToString(id)
		var brokers []kafka.Broker
		for i := range r.scenario.Nodes {
			n := kafkaNode{id: i, client: ports[2*i], controller: ports[2*i+1]}
			k.nodes = append(k.nodes, n)
			brokers = append(brokers, kafka.Broker{Name: results.NodeName(i), ID: int32(i), Address: n.address()})
		}
		if k.kafkaTopic, err = newKafkaTopic(topicName, brokers, sync, r.scenario.BatchMessages); err != nil {
			return nil, err
		}
		s := newProcessSystem(r, k)
		s.readyLimit, s.poll.every = kafkaReadyLimit, kafkaPollInterval
		return s, nil
	}
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
	return map[string]any{"version": k.home.version, "java": k.home.java, "java_options": slices.Concat(kafkaHeap, kafkaPerformance),
		"topic": k.topic.Settings(), "brokers": brokers}
}

// remoteKafka is Kafka, or what speaks its protocol, elsewhere.
type remoteKafka struct {
	elsewhere
	kafkaTopic
}

// newRemoteKafka asks who the brokers are, so that an answer that names the leader by its id is understood and the topic lies on these. The topic
// has a name of its own, for the cluster may hold others, and stays when the run is over.
func newRemoteKafka(sync kafka.Sync) func(s Scenario, flags ExternalFlags) (product, error) {
	return func(s Scenario, flags ExternalFlags) (product, error) {
		topic := fmt.Sprintf("rejoin-%x", time.Now().UnixNano())
		ctx, cancel := context.WithTimeout(context.Background(), kafkaAskLimit)
		defer cancel()
		cluster, err := kafka.DescribeCluster(ctx, flags.Addresses[0], topic, 0)
		if err != nil {
			return nil, fmt.Errorf("ask %s for its cluster: %w", flags.Addresses[0], err)
		}
		var brokers []kafka.Broker
		for i, address := range flags.Addresses {
			at := slices.IndexFunc(cluster.Brokers, func(b kafka.Broker) bool { return b.Address == address })
			if at < 0 {
				return nil, fmt.Errorf("--addresses: %s is no broker of the cluster, which advertises %v: pass what it advertises", address, cluster.Addresses())
			}
			brokers = append(brokers, kafka.Broker{Name: results.NodeName(i), ID: cluster.Brokers[at].ID, Address: address})
		}
		of, err := newKafkaTopic(topic, brokers, sync, s.BatchMessages)
		return &remoteKafka{elsewhere{flags}, of}, err
	}
}

func (k *remoteKafka) rounds(s *nodeSystem, _ *loadgen.Verifier) ([]verifyRound, error) {
	return s.liveRounds(k.log), nil
}

// settings are those of the topic and what the run knows of the brokers.
func (k *remoteKafka) settings() any {
	return map[string]any{"topic_name": k.topic.Name, "topic": k.topic.Settings(), "nodes": k.elsewhere.settings()}
}
