//go:build !core

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"rejoin/results"
)

// runningKafka is a cluster of three brokers that runs before the run and after it, in this process. Its followers answer fetches of whatever
// topic is made.
func runningKafka(t *testing.T) *kfake.Cluster {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(3))
	if err != nil {
		t.Fatal(err)
	}
	made := make(chan string, 16)
	cluster.ControlKey(int16(kmsg.CreateTopics), func(r kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		for _, topic := range r.(*kmsg.CreateTopicsRequest).Topics {
			made <- topic.Topic
		}
		return nil, nil, false
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for topic := range made { // the request is seen before the topic is there
			for end := time.Now().Add(10 * time.Second); cluster.TopicInfo(topic) == nil && time.Now().Before(end); time.Sleep(time.Millisecond) {
			}
			cluster.SetFollowers(topic, 0, []int32{0, 1, 2})
		}
	}()
	t.Cleanup(func() {
		close(made)
		<-done
		cluster.Close()
	})
	return cluster
}

// TestRunningKafkaIsMeasured: a cluster that runs already is measured without faults, under a topic of the run's own, and no process is touched.
func TestRunningKafkaIsMeasured(t *testing.T) {
	playedOnce(t, "whole runs")
	cluster := runningKafka(t)
	root := t.TempDir()
	file := filepath.Join(root, "elsewhere.yaml")
	text := `name: elsewhere
target: kafka
producers: 4
batch_messages: 10
messages_per_s: 2000
warmup: 100ms
duration: 1s
quiet_max: 10s
demands: {acked_share_min: 1, late_p99_max: 5s, canary_change_max: 1000}
`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	addresses := cluster.ListenAddrs()
	code, out := bench(t, "--results", root, "run", file, "--addresses", strings.Join(addresses, ","))
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	folder, err := results.Open(root, "latest")
	if err != nil {
		t.Fatal(err)
	}
	run, err := folder.ReadRun()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(run.Asked.Guarantee, "synced or not as the cluster is set up") {
		t.Errorf("guarantee %q: how others sync is not known", run.Asked.Guarantee)
	}
	s, err := folder.ReadSummary()
	if err != nil {
		t.Fatal(err)
	}
	if s.AckedBatches != 200 || len(s.Replicas) != 3 || len(s.Kills) != 0 || s.Cost.NodesCPUNs != nil {
		t.Errorf("%d of 200 acknowledged, %d replicas, kills %+v, CPU time of nodes %v", s.AckedBatches, len(s.Replicas), s.Kills, s.Cost.NodesCPUNs)
	}
	for _, r := range s.Replicas {
		if r.VerifiedBatches != s.AckedBatches || r.RssAnonMaxBytes != nil || r.DataBytes != nil {
			t.Errorf("%s: %d of %d batches read; figures of a process that is not ours: %+v", r.Node, r.VerifiedBatches, s.AckedBatches, r)
		}
	}
	for _, v := range s.Verification {
		if v.Name != roundLive {
			t.Errorf("reading %s: nothing may be stopped", v.Name)
		}
	}
	// A second run finds the cluster by the record of the first. It has a topic of its own, and finds nothing of what the first wrote.
	if code, out := bench(t, "--results", root, "run", "--from", "latest"); code != 0 || !strings.Contains(out, "3 nodes run elsewhere, at "+strings.Join(addresses, ", ")) {
		t.Errorf("again: exit code %d\n%s", code, out)
	}
	wrong := strings.Join(append([]string{"127.0.0.1:1"}, addresses[1:]...), ",")
	if code, out := bench(t, "--results", root, "run", file, "--addresses", wrong); code != results.ExitUsage || !strings.Contains(out, "ask 127.0.0.1:1 for its cluster") {
		t.Errorf("an address where nobody is: exit code %d\n%s", code, out)
	}
	wrong = strings.Join(append(addresses[:2:2], "127.0.0.1:1"), ",")
	if code, out := bench(t, "--results", root, "run", file, "--addresses", wrong); code != results.ExitUsage || !strings.Contains(out, "127.0.0.1:1 is no broker of the cluster") {
		t.Errorf("an address that the cluster does not advertise: exit code %d\n%s", code, out)
	}
}
