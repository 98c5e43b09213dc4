package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rejoin/cmd/bench/goals"
	"rejoin/cmd/bench/scaling"
	"rejoin/results"
)

// TestScalingScenarios: each point is a scenario that differs from the usual one as its name says.
func TestScalingScenarios(t *testing.T) {
	points := 0
	for _, d := range scaling.Dimensions() {
		for _, p := range d.Points {
			points++
			s, err := parseScenario(p.Series.Name, p.Series.File())
			if err != nil {
				t.Errorf("%s: %v", p.Series.Name, err)
				continue
			}
			if got := map[string]int{"producers": s.Producers, "batch": s.BatchMessages, "payload": s.PayloadBytes, "nodes": s.Nodes, "partitions": s.Partitions}[d.Name]; got != p.X || !s.ClosedLoop {
				t.Errorf("%s has %d", p.Series.Name, got)
			}
		}
	}
	if points < 20 {
		t.Errorf("only %d points", points)
	}
}

// TestScalingWrites: tables and figures of what is there; what is not there says so.
func TestScalingWrites(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, scalingDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, x := range []string{"1", "12", "192"} {
		s := goals.Sample{Series: "producers-" + x, Number: 1, Summary: results.Summary{Verdict: results.Pass, BatchesPerS: 1000, FrameBytes: 26_928, MeasuredNs: 3e9, Cost: results.Cost{AckedMessages: 300_000},
			LatencyNs: map[string]results.Quantiles{string(results.Steady): {P50: new(int64(2e6)), P99: new(int64(9e6)), Count: 3000}}}}
		if err := (goals.Folder{Dir: dir}).Write(s); err != nil {
			t.Fatal(err)
		}
	}
	code, out := bench(t, "--results", root, "scaling", "--table")
	if code != 0 || !strings.Contains(out, "| 12 | 1000 | 100000 | 26.9 | 2.00 | 9.00 |") || !strings.Contains(out, "It bends at 1: 12 bring 1.00 times") || !strings.Contains(out, "Not measured: a log of 20 GiB") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	for _, name := range []string{"producers-rate.png", "producers-latency.svg", scalingFile, scalingMarkdown} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "batch-rate.png")); err == nil {
		t.Error("a figure of nothing")
	}
	if code, out := bench(t, "--results", root, "scaling", "--only", "luck"); code != results.ExitUsage || !strings.Contains(out, "payload") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
