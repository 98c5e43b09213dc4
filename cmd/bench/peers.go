//go:build !core

package main

import "rejoin/loadgen/target/kafka"

// peerKinds are the systems of others. A build with the tag core has none, and none of their client libraries: docs/targets.md says what that saves.
func peerKinds() []targetKind {
	kafkas := []targetKind{
		{name: targetKafka, ports: 2, diskFactor: 1, tails: true, here: kafkaHere, open: newKafkaSystem(kafka.SyncLater), external: newRemoteKafka(kafka.SyncUnknown)},
		{name: targetKafkaFlush, ports: 2, diskFactor: 1, tails: true, here: kafkaHere, open: newKafkaSystem(kafka.SyncEach), external: newRemoteKafka(kafka.SyncEach)},
	}
	return append(kafkas, natsKinds()...)
}
