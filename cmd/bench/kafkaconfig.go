package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"rejoin/results"
)

// kafkaHeap is each broker's. Kafka's own scripts give 1 GiB, three of which are much on a small machine; what a broker holds of the log lies
// in the page cache, not in its heap.
var kafkaHeap = []string{"-Xms256m", "-Xmx512m"}

// kafkaPerformance is what Kafka's own scripts start a broker with (KAFKA_JVM_PERFORMANCE_OPTS of bin/kafka-run-class.sh).
var kafkaPerformance = []string{"-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35",
	"-XX:+ExplicitGCInvokesConcurrent", "-XX:MaxInlineLevel=15", "-Djava.awt.headless=true"}

// kafkaLogging lets a broker write its log to stderr, which is a file of the run folder, at the level of Kafka's own configuration.
const kafkaLogging = `rootLogger.level = info
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = [%d] %p %m (%c)%n
`

// formatLimit is how long formatting a directory may take: a Java program that starts and ends.
const formatLimit = 60 * time.Second

// kafkaNode is the configuration of one broker that is its own controller.
type kafkaNode struct {
	id, client, controller int // client and controller are ports
}

// address is where clients connect.
func (n kafkaNode) address() string { return loopback(n.client) }

func loopback(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

// settings are all that differs from Kafka's defaults, by Kafka's names.
func (k *kafkaProduct) nodeSettings(node int) map[string]string {
	n := k.nodes[node]
	var voters []string
	for _, other := range k.nodes {
		voters = append(voters, fmt.Sprintf("%d@%s", other.id, loopback(other.controller)))
	}
	return map[string]string{
		"process.roles":                  "broker,controller",
		"node.id":                        strconv.Itoa(n.id),
		"controller.quorum.voters":       strings.Join(voters, ","),
		"controller.listener.names":      "CONTROLLER",
		"listeners":                      fmt.Sprintf("PLAINTEXT://%s,CONTROLLER://%s", loopback(n.client), loopback(n.controller)),
		"advertised.listeners":           "PLAINTEXT://" + loopback(n.client),
		"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"log.dirs":                       k.dataDir(node),
		"auto.create.topics.enable":      "false", // the harness makes its topic
	}
}

func (k *kafkaProduct) dataDir(node int) string {
	dir, err := filepath.Abs(k.folder.DataDir(node))
	if err != nil {
		return k.folder.DataDir(node)
	}
	return dir
}

func (k *kafkaProduct) configFile(node int) string {
	return filepath.Join(k.folder.Dir, results.NodeName(node)+".properties")
}

func (k *kafkaProduct) loggingFile() string { return filepath.Join(k.folder.Dir, "log4j2.properties") }

// propertiesText is a Java properties file. Values are ours: paths, ports and words without a line break.
func propertiesText(settings map[string]string) string {
	var names []string
	for name := range settings {
		names = append(names, name)
	}
	slices.Sort(names)
	var text strings.Builder
	for _, name := range names {
		fmt.Fprintf(&text, "%s=%s\n", name, strings.ReplaceAll(settings[name], `\`, `\\`))
	}
	return text.String()
}

// prepare writes a node's configuration and formats its directory by Kafka's own tool.
func (k *kafkaProduct) prepare(node int) error {
	if err := os.WriteFile(k.configFile(node), []byte(propertiesText(k.nodeSettings(node))), 0o644); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	if err := os.WriteFile(k.loggingFile(), []byte(kafkaLogging), 0o644); err != nil {
		return fmt.Errorf("write configuration of the log: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), formatLimit)
	defer cancel()
	args := append(k.javaArgs([]string{"-Xmx128m", "-XX:TieredStopAtLevel=1"}), "kafka.tools.StorageTool", "format",
		"--cluster-id", k.clusterID, "--config", k.configFile(node))
	if out, err := exec.CommandContext(ctx, k.home.java, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("format its directory: %w: %s", err, lastText(out))
	}
	return nil
}

// lastText is the last line of a program's output.
func lastText(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

func (k *kafkaProduct) javaArgs(options []string) []string {
	return append(slices.Clone(options), "-Dlog4j2.configurationFile="+k.loggingFile(), "-cp", k.home.classPath())
}

// A broker that is told to stop hands its partitions over first, and a Java program that a signal ended says so by its exit code.
const (
	kafkaStopLimit    = 30 * time.Second
	javaCodeOnSIGTERM = 128 + 15
)

func (k *kafkaProduct) program(node int) (program, error) {
	args := append(k.javaArgs(slices.Concat(kafkaHeap, kafkaPerformance)), "kafka.Kafka", k.configFile(node))
	return program{path: k.home.java, args: args, address: k.nodes[node].address(), stopLimit: kafkaStopLimit, stopCodes: []int{0, javaCodeOnSIGTERM}}, nil
}
