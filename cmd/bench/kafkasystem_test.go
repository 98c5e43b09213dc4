package main

import (
	"os"
	"path/filepath"
	"testing"

	"rejoin/results"
)

// fetchedKafka is what make peers has fetched; without it, or without a Java, the test is skipped.
func fetchedKafka(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../bin/peers/kafka")
	if err == nil {
		_, err = findKafka(dir)
	}
	if err != nil {
		t.Skipf("there is no Kafka to drive: %v", err)
	}
	return dir
}

// TestKafkaIsKilledAndVerified runs a short load against three real brokers, of which the leader is killed.
func TestKafkaIsKilledAndVerified(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster of three Java programs")
	}
	home := fetchedKafka(t)
	root := t.TempDir()
	scenario := filepath.Join(root, "short.yaml")
	text := `name: short
target: kafka
producers: 4
batch_messages: 10
messages_per_s: 500
duration: 20s
quiet_max: 120s
faults:
  - {at: 8s, kill: primary, restart_after: 1s}
demands: {late_p99_max: 5s, canary_change_max: 1000, killed_primaries_min: 1}
`
	if err := os.WriteFile(scenario, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out := bench(t, "--results", root, "run", scenario, "--kafka-home", home, "--profile", "none")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	folder, err := results.Open(root, "latest")
	if err != nil {
		t.Fatal(err)
	}
	s, err := folder.ReadSummary()
	if err != nil {
		t.Fatal(err)
	}
	if s.AckedBatches == 0 || s.LostBatches+s.DuplicatedBatches+s.ReorderedBatches != 0 {
		t.Errorf("%d acknowledged, %d lost, %d duplicated, %d reordered", s.AckedBatches, s.LostBatches, s.DuplicatedBatches, s.ReorderedBatches)
	}
	if len(s.Kills) != 1 || s.Kills[0].Role != results.RolePrimary || s.Kills[0].FirstAckMs == nil || s.Kills[0].CaughtUpMs == nil {
		t.Errorf("kills %+v, want the leader's, with its recovery", s.Kills)
	}
	readings := map[string]int{}
	for _, v := range s.Verification {
		readings[v.Name]++
	}
	if readings[roundLive] != 3 || readings[roundAlone] != 3 || readings[roundOffline] != 3 {
		t.Errorf("readings %v, want each replica live, alone and from its files", readings)
	}
	for _, r := range s.Replicas {
		if r.VerifiedBatches != s.AckedBatches || r.RssAnonMaxBytes == nil || r.DataBytes == nil {
			t.Errorf("%s: %d of %d batches, memory %v, bytes on disk %v", r.Node, r.VerifiedBatches, s.AckedBatches, r.RssAnonMaxBytes, r.DataBytes)
		}
	}
}
