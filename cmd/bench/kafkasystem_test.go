//go:build !core

package main

import (
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
	playedOnce(t, "a whole run")
	home := fetchedKafka(t)
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
	s, readings := runWithKills(t, text, "--kafka-home", home, "--profile", "none")
	if len(s.Kills) != 1 || s.Kills[0].Role != results.RolePrimary || s.Kills[0].FirstAckMs == nil || s.Kills[0].CaughtUpMs == nil {
		t.Errorf("kills %+v, want the leader's, with its recovery", s.Kills)
	}
	if readings[roundLive] != 3 || readings[roundAlone] != 3 || readings[roundOffline] != 3 {
		t.Errorf("readings %v, want each replica live, alone and from its files", readings)
	}
}
