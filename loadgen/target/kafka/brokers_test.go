package kafka

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"rejoin/loadgen/targettest"
)

// testHome is the Kafka that the tests start: what make peers fetched, or KAFKA_HOME.
func testHome(t *testing.T) Home {
	t.Helper()
	dir := os.Getenv("KAFKA_HOME")
	if dir == "" {
		dir = "../../../bin/peers/kafka"
	}
	dir, err := filepath.Abs(dir)
	var home Home
	if err == nil {
		home, err = FindHome(dir)
	}
	if err != nil {
		t.Skipf("there is no Kafka to test against (%v): run make peers, or name a distribution in KAFKA_HOME", err)
	}
	return home
}

// brokers are three real Kafka processes.
type brokers struct {
	t     *testing.T
	home  Home
	dir   string
	told  []Server
	lives []*exec.Cmd
	made  int // topics
}

// quickStart lets a Java program spend little on its start: what it runs is compiled once, and not well.
var quickStart = []string{"-Xms64m", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"}

func startBrokers(t *testing.T) *brokers {
	t.Helper()
	b := &brokers{t: t, home: testHome(t), dir: t.TempDir(), lives: make([]*exec.Cmd, 3)}
	at := targettest.KafkaPorts.Free(t, 6)
	var voters []string
	for i := range 3 {
		s := Server{ID: i, Client: at[2*i], Controller: at[2*i+1], LogDir: filepath.Join(b.dir, fmt.Sprintf("n%d", i))}
		b.told, voters = append(b.told, s), append(voters, s.Voter())
	}
	t.Cleanup(func() {
		for i := range b.lives {
			b.kill(i)
		}
	})
	if err := os.WriteFile(b.logging(), []byte(Logging), 0o644); err != nil {
		t.Fatal(err)
	}
	id := make([]byte, 16)
	rand.Read(id)
	var formats sync.WaitGroup
	errs := make([]error, len(b.told))
	for i := range b.told {
		b.told[i].Voters = voters
		if err := os.WriteFile(b.properties(i), []byte(b.told[i].Properties()), 0o644); err != nil {
			t.Fatal(err)
		}
		formats.Go(func() {
			errs[i] = b.home.Format(t.Context(), b.logging(), b.properties(i), base64.RawURLEncoding.EncodeToString(id))
		})
	}
	formats.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for i := range b.told {
		b.start(i)
	}
	return b
}

func (b *brokers) properties(i int) string {
	return filepath.Join(b.dir, fmt.Sprintf("n%d.properties", i))
}
func (b *brokers) log(i int) string { return filepath.Join(b.dir, fmt.Sprintf("n%d.log", i)) }
func (b *brokers) logging() string  { return filepath.Join(b.dir, "log4j2.properties") }

func (b *brokers) start(i int) {
	b.t.Helper()
	log, err := os.OpenFile(b.log(i), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		b.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(b.home.Java, b.home.BrokerArgs(quickStart, b.logging(), b.properties(i))...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.lives[i] = cmd
}

func (b *brokers) kill(i int) {
	if cmd := b.lives[i]; cmd != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		b.lives[i] = nil
	}
}

// newTopic makes a target with a topic of its own, once all brokers are there, and waits until each holds it in sync.
func (b *brokers) newTopic(t *testing.T, flush Sync) *Target {
	t.Helper()
	b.made++
	name := fmt.Sprintf("t%d", b.made)
	options := Options{Topic: name, ReplicationFactor: len(b.told), MinInSync: 2, Sync: flush}
	wanted := TopicOptions{Name: name, MinInSync: 2, Sync: flush}
	for i, s := range b.told {
		options.Brokers = append(options.Brokers, Broker{Name: fmt.Sprintf("n%d", i), ID: int32(i), Address: s.Client})
		wanted.Replicas = append(wanted.Replicas, int32(i))
	}
	target, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	b.until(t, "the brokers know each other", b.registered)
	b.until(t, "the topic is made", func(ctx context.Context) error {
		err := CreateTopic(ctx, target.Addresses(), wanted)
		if errors.Is(err, ErrTopicExists) { // an answer was lost: nobody else knows its name
			return nil
		}
		return err
	})
	for _, replica := range target.Replicas() {
		b.until(t, replica+" holds the topic in sync", func(ctx context.Context) error { return inSync(ctx, target, replica) })
	}
	return target
}

// registered fails until every broker answers and knows all.
func (b *brokers) registered(ctx context.Context) error {
	for _, s := range b.told {
		cluster, err := DescribeCluster(ctx, s.Client, "none", 0)
		if err != nil {
			return err
		}
		if n := len(cluster.Brokers); n < len(b.told) {
			return fmt.Errorf("%s knows %d of %d brokers", s.Client, n, len(b.told))
		}
	}
	return nil
}

func inSync(ctx context.Context, target *Target, replica string) error {
	o, err := target.NewObserver(replica)
	if err != nil {
		return err
	}
	defer o.Close()
	seen, err := o.Observe(ctx, time.Now().Add(2*time.Second))
	if err == nil && !seen.InSync {
		err = errors.New("it is not in sync")
	}
	return err
}

// until tries a step until it succeeds.
func (b *brokers) until(t *testing.T, what string, step func(context.Context) error) {
	t.Helper()
	var err error
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		err = step(ctx)
		cancel()
		if err == nil {
			return
		}
	}
	log, _ := os.ReadFile(b.log(0))
	t.Fatalf("%s: not within two minutes: %v; the log of n0 ends: %s", what, err, log[max(0, len(log)-2000):])
}

// TestConformanceOfBrokers runs the suite against real brokers, each of which is a controller, too. All cases share them, each has a topic of its own.
func TestConformanceOfBrokers(t *testing.T) {
	b := startBrokers(t)
	targettest.Run(t, func(t *testing.T) targettest.System {
		return targettest.System{
			Target:   b.newTopic(t, SyncEach),
			Sessions: true,
			Freeze:   func(address int) { targettest.Stop(t, b.lives[address].Process) },
			Refuse: func(address int) {
				t.Cleanup(func() { b.start(address) })
				b.kill(address)
			},
		}
	})
}
