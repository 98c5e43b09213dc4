//go:build !core

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rejoin/results"
)

// builtNatsServer is the server of make peers; without one the test is skipped.
func builtNatsServer(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../bin/peers/nats-server")
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Skipf("there is no nats-server to drive (%v): run make peers", err)
	}
	return path
}

// TestNatsIsKilledAndVerified runs a short load against three real servers, of which the leader and a follower are killed.
func TestNatsIsKilledAndVerified(t *testing.T) {
	playedOnce(t, "a whole run")
	server := builtNatsServer(t)
	text := `name: short
target: nats
producers: 4
batch_messages: 10
messages_per_s: 1000
duration: 14s
quiet_max: 60s
faults:
  - {at: 2s, kill: primary, restart_after: 2s}
  - {at: 11s, kill: backup, restart_after: 1s}
demands: {late_p99_max: 5s, canary_change_max: 1000, killed_primaries_min: 1}
`
	s, readings := runWithKills(t, text, "--nats-server", server)
	if len(s.Kills) != 2 || s.Kills[0].Role != results.RolePrimary || s.Kills[0].FirstAckMs == nil || s.Kills[0].CaughtUpMs == nil {
		t.Errorf("kills %+v, want the leader first, with its recovery", s.Kills)
	}
	if readings[roundLive] != 3 || readings[roundRestart] != 3 {
		t.Errorf("readings %v, want three live and three after a restart of all", readings)
	}
	if s.Cost.NodesCPUNs == nil || *s.Cost.NodesCPUNs <= 0 || s.Tells(results.UntoldRepairs) || s.ViewChanges < 1 {
		t.Errorf("cost %+v, untold %v, %d view changes", s.Cost, s.Untold, s.ViewChanges)
	}
}

// TestRefusedServersLeaveNoVerdict: what was told of servers elsewhere and cannot be used is refused input, and not a run that came to nothing.
func TestRefusedServersLeaveNoVerdict(t *testing.T) {
	root := t.TempDir()
	code, out := bench(t, "--results", root, "run", "steady", "--target", "nats", "--addresses", "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3")
	if code != results.ExitUsage || !strings.Contains(out, "--monitors names 0 servers and --addresses 3") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	folder, err := results.Open(root, "latest")
	if err != nil {
		t.Fatal(err)
	}
	if run, err := folder.ReadRun(); err != nil || run.Status != results.StatusFailed || !strings.Contains(run.Error, "--monitors") {
		t.Errorf("run.json says %q %q, %v", run.Status, run.Error, err)
	}
	if _, err := os.Stat(folder.SummaryFile()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a summary of what was not run: %v", err)
	}
}

// TestMissingNatsServerNamesTheCure: nothing is started, and the sentence says how to get one.
func TestMissingNatsServerNamesTheCure(t *testing.T) {
	code, out := bench(t, "--results", t.TempDir(), "run", "quick", "--target", "nats", "--nats-server", filepath.Join(t.TempDir(), "none"))
	if code == 0 || !strings.Contains(out, "make peers") {
		t.Errorf("exit code %d, output %s", code, out)
	}
}
