package kafka

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Home is where Kafka's jars are, and a Java to run them.
type Home struct {
	Dir     string // holds libs/
	Java    string // path of the java command
	Version string // of the broker's own jar
}

// Heap is each broker's. Kafka's own scripts give 1 GiB, three of which are much on a small machine; what a broker holds of the log lies in the
// page cache, not in its heap.
func Heap() []string { return []string{"-Xms256m", "-Xmx512m"} }

// Performance is what Kafka's own scripts start a broker with (KAFKA_JVM_PERFORMANCE_OPTS of bin/kafka-run-class.sh).
func Performance() []string {
	return []string{"-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35",
		"-XX:+ExplicitGCInvokesConcurrent", "-XX:MaxInlineLevel=15", "-Djava.awt.headless=true"}
}

// Logging is a configuration of log4j 2 by which a broker writes its log to stderr, at the level of Kafka's own configuration.
const Logging = `rootLogger.level = info
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = [%d] %p %m (%c)%n
`

// FindHome looks into a distribution, or a folder whose libs hold the jars of one.
func FindHome(dir string) (Home, error) {
	const jar = "kafka_2.13-"
	jars, err := filepath.Glob(filepath.Join(dir, "libs", jar+"*.jar"))
	if err != nil {
		return Home{}, err
	}
	home := Home{Dir: dir}
	for _, path := range jars {
		version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), jar), ".jar")
		if version[0] >= '0' && version[0] <= '9' && !strings.Contains(version, "-") { // not its sources or tests
			home.Version = version
		}
	}
	if home.Version == "" {
		return Home{}, fmt.Errorf("no Kafka in %s: libs/%s*.jar is not there", dir, jar)
	}
	home.Java, err = findJava()
	return home, err
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

// BrokerArgs are java's for a broker: options of the Java machine, the file that holds Logging, the file that holds its properties.
func (h Home) BrokerArgs(options []string, logging, properties string) []string {
	return append(h.args(options, logging), "kafka.Kafka", properties)
}

func (h Home) args(options []string, logging string) []string {
	return append(slices.Clone(options), "-Dlog4j2.configurationFile="+logging, "-cp", filepath.Join(h.Dir, "libs", "*"))
}

// formatLimit is how long formatting a directory may take: a Java program that starts and ends.
const formatLimit = 60 * time.Second

// Format formats the directory of a server by Kafka's own tool, which must be done once before its first start.
func (h Home) Format(ctx context.Context, logging, properties, clusterID string) error {
	ctx, cancel := context.WithTimeout(ctx, formatLimit)
	defer cancel()
	args := append(h.args([]string{"-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"}, logging), "kafka.tools.StorageTool", "format",
		"--cluster-id", clusterID, "--config", properties)
	if out, err := exec.CommandContext(ctx, h.Java, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("format its directory: %w: %s", err, lastText(out))
	}
	return nil
}

// lastText is the last line of a program's output.
func lastText(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}
