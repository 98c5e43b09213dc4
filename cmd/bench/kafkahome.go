package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// kafkaHome is where Kafka's jars and a Java to run them are.
type kafkaHome struct {
	dir     string // holds libs/
	java    string // path of the java command
	version string // of the broker's own jar
}

const envKafkaHome = "KAFKA_HOME"

// kafkaHint says what to do where there is no Kafka.
const kafkaHint = "name a distribution by --kafka-home, or let `make peers` fetch one, which needs Java 17 and Maven"

// findKafka looks for a distribution: the one that was named, KAFKA_HOME, or what `make peers` puts beside the bench binary.
func findKafka(named string) (kafkaHome, error) {
	fetched, err := peerProgram("kafka")
	if err != nil {
		return kafkaHome{}, err
	}
	dir, err := filepath.Abs(cmp.Or(named, os.Getenv(envKafkaHome), fetched))
	if err != nil {
		return kafkaHome{}, err
	}
	const jar = "kafka_2.13-"
	jars, err := filepath.Glob(filepath.Join(dir, "libs", jar+"*.jar"))
	if err != nil {
		return kafkaHome{}, err
	}
	home := kafkaHome{dir: dir}
	for _, path := range jars {
		version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), jar), ".jar")
		if version[0] >= '0' && version[0] <= '9' && !strings.Contains(version, "-") { // not its sources or tests
			home.version = version
		}
	}
	if home.version == "" {
		return kafkaHome{}, fmt.Errorf("no Kafka in %s: libs/%s*.jar is not there; %s", dir, jar, kafkaHint)
	}
	if home.java, err = findJava(); err != nil {
		return kafkaHome{}, err
	}
	return home, nil
}

func kafkaHere(flags PeerFlags) error {
	_, err := findKafka(flags.KafkaHome)
	return err
}

func findJava() (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		return filepath.Join(home, "bin", "java"), nil
	}
	path, err := exec.LookPath("java")
	if errors.Is(err, exec.ErrNotFound) {
		return "", errors.New("no java to run Kafka: neither JAVA_HOME nor the PATH has one; install a Java 17 runtime (default-jre-headless on Debian)")
	}
	return path, err
}

// classPath is what java wants to know.
func (h kafkaHome) classPath() string { return filepath.Join(h.dir, "libs", "*") }
