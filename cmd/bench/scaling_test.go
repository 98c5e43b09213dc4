package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rejoin/cmd/bench/goals"
	"rejoin/cmd/bench/scaling"
	"rejoin/results"
)

// TestScalingScenarios: each point is a scenario that differs from the usual one as its name says.
func TestScalingScenarios(t *testing.T) {
	points := 0
	for _, d := range scaling.Dimensions() {
		if d.Growth != nil {
			whole, err := parseScenario(d.Name, d.Growth.Whole.File())
			bounded, errBounded := parseScenario(d.Name, d.Growth.Bounded.File())
			written := whole.batchesOffered(0, time.Duration(whole.Duration)) * float64(frameBytesOf(whole.BatchMessages, whole.PayloadBytes))
			wanted := float64(d.Growth.Whole.LogBytes)
			if err := errors.Join(err, errBounded); err != nil || whole.ClosedLoop || written < wanted || written > 1.05*wanted || d.Growth.Whole.Took < time.Duration(whole.Duration) {
				t.Errorf("%s writes %.0f bytes of %.0f, error %v", d.Name, written, wanted, err)
			}
			if bounded.Cluster.RetentionBytes != scaling.BoundedGiB<<30 || whole.Cluster.RetentionBytes != 0 || bounded.MessagesPerS != whole.MessagesPerS || bounded.Duration != whole.Duration {
				t.Errorf("%s: beside it %+v", d.Name, bounded)
			}
		}
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
	if code != 0 || !strings.Contains(out, "| 12 | 1000 | 100000 | 26.9 | 2.00 | 9.00 |") || !strings.Contains(out, "It bends at 1: 12 bring 1.00 times") {
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

// TestScalingWithoutRoom: a log that the disk cannot hold is left out with the reason, and what was measured of it before stays.
func TestScalingWithoutRoom(t *testing.T) {
	dimensions := scaling.Dimensions()
	free := int64(10 << 30)
	if err := leaveOutWithoutRoom(dimensions, &free, "results"); err != nil {
		t.Fatal(err)
	}
	for _, d := range dimensions {
		if grows := d.Growth != nil; (d.Missing != "") != grows {
			t.Errorf("%s with 10 GiB free: %q", d.Name, d.Missing)
		}
	}
	wanted, err := (&scalingCommand{Samples: 1}).series(dimensions)
	for _, s := range wanted {
		if s.Windows {
			t.Errorf("%s is measured without room", s.Name)
		}
	}
	if err != nil || len(wanted) == 0 {
		t.Errorf("%d series, error %v", len(wanted), err)
	}
	free = 300 << 30
	dimensions = scaling.Dimensions()
	if err := leaveOutWithoutRoom(dimensions, &free, "results"); err != nil || slices.ContainsFunc(dimensions, func(d scaling.Dimension) bool { return d.Missing != "" }) {
		t.Errorf("left out with room, error %v", err)
	}
}
