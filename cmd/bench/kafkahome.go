//go:build !core

package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"rejoin/loadgen/target/kafka"
)

const envKafkaHome = "KAFKA_HOME"

// kafkaHint says what to do where there is no Kafka.
const kafkaHint = "name a distribution by --kafka-home, or let `make peers` fetch one, which needs Java 17 and Maven"

// findKafka looks for a distribution: the one that was named, KAFKA_HOME, or what `make peers` puts beside the bench binary.
func findKafka(named string) (kafka.Home, error) {
	fetched, err := peerProgram("kafka")
	if err != nil {
		return kafka.Home{}, err
	}
	dir, err := filepath.Abs(cmp.Or(named, os.Getenv(envKafkaHome), fetched))
	if err != nil {
		return kafka.Home{}, err
	}
	home, err := kafka.FindHome(dir)
	if err != nil && home.Version == "" {
		err = fmt.Errorf("%w; %s", err, kafkaHint)
	}
	return home, err
}

func kafkaHere(flags PeerFlags) error {
	_, err := findKafka(flags.KafkaHome)
	return err
}
