//go:build !core

package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
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
	home      kafka.Home
	clusterID string
	servers   []kafka.Server
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
		if k.servers, err = kafkaServers(r.folder, ports, r.scenario.Nodes); err != nil {
			return nil, err
		}
		var brokers []kafka.Broker
		for i, s := range k.servers {
			brokers = append(brokers, kafka.Broker{Name: results.NodeName(i), ID: int32(i), Address: s.Client})
		}
		if k.kafkaTopic, err = newKafkaTopic(topicName, brokers, sync, r.scenario.BatchMessages); err != nil {
			return nil, err
		}
		s := newProcessSystem(r, k)
		s.readyLimit, s.poll.every = kafkaReadyLimit, kafkaPollInterval
		return s, nil
	}
}

// kafkaServers are the servers of a run, of which each takes two ports.
func kafkaServers(folder results.Folder, ports []int, nodes int) ([]kafka.Server, error) {
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	var all []kafka.Server
	var voters []string
	for i := range nodes {
		dir, err := filepath.Abs(folder.DataDir(i))
		if err != nil {
			return nil, err
		}
		all = append(all, kafka.Server{ID: i, Client: at(2 * i), Controller: at(2*i + 1), LogDir: dir})
		voters = append(voters, all[i].Voter())
	}
	for i := range all {
		all[i].Voters = voters
	}
	return all, nil
}

func (k *kafkaProduct) propertiesFile(node int) string {
	return filepath.Join(k.folder.Dir, results.NodeName(node)+".properties")
}

func (k *kafkaProduct) loggingFile() string { return filepath.Join(k.folder.Dir, "log4j2.properties") }

// prepare writes a node's configuration and formats its directory by Kafka's own tool.
func (k *kafkaProduct) prepare(node int) error {
	if err := os.WriteFile(k.propertiesFile(node), []byte(k.servers[node].Properties()), 0o644); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	if err := os.WriteFile(k.loggingFile(), []byte(kafka.Logging), 0o644); err != nil {
		return fmt.Errorf("write configuration of the log: %w", err)
	}
	return k.home.Format(context.Background(), k.loggingFile(), k.propertiesFile(node), k.clusterID)
}

// A broker that is told to stop hands its partitions over first, and a Java program that a signal ended says so by its exit code.
const (
	kafkaStopLimit    = 30 * time.Second
	javaCodeOnSIGTERM = 128 + 15
)

func (k *kafkaProduct) program(node int) (program, error) {
	args := k.home.BrokerArgs(javaOptions(), k.loggingFile(), k.propertiesFile(node))
	return program{path: k.home.Java, args: args, address: k.servers[node].Client, stopLimit: kafkaStopLimit, stopCodes: []int{0, javaCodeOnSIGTERM}}, nil
}

func javaOptions() []string { return slices.Concat(kafka.Heap(), kafka.Performance()) }

// rounds: every replica by its own broker, every replica alone with the others stopped, and the segment files of all after a SIGKILL.
func (k *kafkaProduct) rounds(s *nodeSystem, verifier *loadgen.Verifier) ([]verifyRound, error) {
	options := kafka.FilesOptions{Topic: topicName, UpTo: new(verifier.AckedEnd())}
	for i := range k.servers {
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
	for i, s := range k.servers {
		brokers[results.NodeName(i)] = s.Settings()
	}
	return map[string]any{"version": k.home.Version, "java": k.home.Java, "java_options": javaOptions(),
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

// settings are those of the topic, which the run made.
func (k *remoteKafka) settings() any {
	return map[string]any{"topic_name": k.topic.Name, "topic": k.topic.Settings()}
}
