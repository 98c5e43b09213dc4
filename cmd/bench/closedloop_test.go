package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rejoin/results"
)

// trimScenario saturates real nodes whose retention takes the beginning of the log before it can be verified. Segments cannot be small, and what
// the ring holds is kept: so batches are large and the ring is short, and 150 batches are enough on whatever machine.
const trimScenario = `name: trimmed
producers: 4
batch_messages: 20
payload_bytes: 5000
closed_loop: true
warmup: 500ms
duration: 3s
quiet_max: 30s
cluster: {segment_bytes: 4194304, retention_bytes: 4194304, ring_ops: 16, pipeline_ops: 16}
demands: {acked_share_min: 0.99, late_p99_max: 10s, canary_change_max: 100}
`

// TestClosedLoopOverRetention: verification begins where each replica's log begins and says so, the books hold, and a batch has its cost in
// each role.
func TestClosedLoopOverRetention(t *testing.T) {
	root := t.TempDir()
	scenario := filepath.Join(root, "trimmed.yaml")
	if err := os.WriteFile(scenario, []byte(trimScenario), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out := bench(t, "--results", root, "run", scenario, "--keep")
	if code != results.ExitPass && code != results.ExitInvalid { // the machine may be too busy to judge
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
	if s.AckedBatches == 0 || s.AckedBatches != s.OfferedBatches || s.LostBatches != 0 || s.BatchesPerS <= 0 {
		t.Errorf("%d of %d acknowledged, %d lost, %.0f a second", s.AckedBatches, s.OfferedBatches, s.LostBatches, s.BatchesPerS)
	}
	for _, role := range []string{results.RolePrimary, results.RoleBackup, results.SourceGenerator} {
		if c := s.Cost.Role(role); c == nil || c.CPUNsPerBatch == nil || *c.CPUNsPerBatch <= 0 {
			t.Errorf("cost of a batch at the %s: %+v", role, c)
		}
	}
	if c := s.Cost.Role(results.RolePrimary); c != nil && (c.BatchesPerSync == nil || *c.BatchesPerSync < 1 || *c.BatchesPerSync > 4 || c.Batches > s.AckedBatches) {
		t.Errorf("the primary: %+v; at most 4 batches are under way", *c)
	}
	if !strings.Contains(out, "retention: the verification of n0 begins at offset") || !strings.Contains(strings.Join(s.Warnings, "\n"), "were trimmed") {
		t.Errorf("nothing says that the verification began late:\n%s", out)
	}
	if code, out := bench(t, "--results", root, "verify", "latest"); code != results.ExitPass || !strings.Contains(out, "begins at offset") {
		t.Errorf("verified again: exit code %d\n%s", code, out)
	}
}

// TestClosedLoopReadsBack: the effective scenario is a file that says the same.
func TestClosedLoopReadsBack(t *testing.T) {
	s, err := loadScenario("saturate")
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.toYAML()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := parseScenario("saturate", text); err != nil || !again.ClosedLoop || again.MessagesPerS != 0 || again.Cluster.RetentionBytes != 2<<30 {
		t.Errorf("%+v, error %v", again, err)
	}
	if code, out := bench(t, "run", "saturate", "--rate", "20000", "--print"); code != 0 || strings.Contains(out, "closed_loop: true") || !strings.Contains(out, "messages_per_s: 20000") {
		t.Errorf("at a rate: exit code %d\n%s", code, out)
	}
}

func TestParseMetrics(t *testing.T) {
	got, err := parseMetrics(strings.NewReader("# HELP a b\na{x=\"1 2\"} 3\na{x=\"2\"} 4.5e1\nb 7\n\nc_count 1\n"))
	if err != nil || got["a"] != 48 || got["b"] != 7 || got["c_count"] != 1 {
		t.Errorf("%v, error %v", got, err)
	}
	if _, err := parseMetrics(strings.NewReader("a many\n")); err == nil {
		t.Error("a word passed for a number")
	}
}

// TestRoleCosts: a node that was replaced in between has no cost, and what is divided by is what its node committed.
func TestRoleCosts(t *testing.T) {
	at := func(pid int, cpu, commits, flushes float64) *nodeCounters {
		return &nodeCounters{pid: pid, cpuNs: cpu, calls: 2 * commits, metrics: map[string]float64{metricCommits: commits, metricFlushes: flushes}}
	}
	c := &countedNodes{roles: []string{results.RoleBackup, results.RolePrimary, results.RoleBackup},
		begin: []*nodeCounters{at(1, 0, 0, 0), at(2, 1000, 100, 50), at(3, 0, 0, 0)}, end: []*nodeCounters{at(9, 500, 10, 10), at(2, 3000, 200, 75), at(3, 700, 70, 70)}}
	costs, uncounted := c.roleCosts()
	if len(costs) != 2 || costs[0].Role != results.RolePrimary || *costs[0].CPUNsPerBatch != 20 || *costs[0].BatchesPerSync != 4 || *costs[0].CallsPerBatch != 2 || costs[0].Batches != 100 {
		t.Errorf("%+v", costs)
	}
	if costs[1].Nodes != 1 || *costs[1].CPUNsPerBatch != 10 {
		t.Errorf("backups: %+v", costs[1])
	}
	if none, _ := (*countedNodes)(nil).roleCosts(); none != nil || uncounted != nil {
		t.Error("costs of nothing")
	}
}
