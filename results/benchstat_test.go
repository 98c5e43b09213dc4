package results

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"
)

// benchRuns writes eight runs of two builds and returns each build's bench.txt files as one, as a user joins them with cat.
func benchRuns(t *testing.T) (old, changed []byte) {
	t.Helper()
	root := t.TempDir()
	for i := range int64(8) {
		for _, side := range []struct {
			commit string
			factor int64
			to     *[]byte
		}{{"c0ffee", 100, &old}, {"decade", 130, &changed}} {
			ns := func(v int64) *int64 { return new((v + 1000*i) * side.factor / 100) }
			f := newRun(t, root, "quick", testNow)
			r := Run{Asked: Asked{BatchMessages: 100}, Found: Found{Arch: "amd64", CPU: "cpu: odd", Kernel: "6.1", FileSystem: "ext4", Commit: side.commit}}
			s := Summary{Target: "builtin", Scenario: "quick", Verdict: Pass, AckedBatches: 18_000, OfferedBatches: 18_000, BatchesPerS: 300,
				LatencyNs: map[string]Quantiles{"steady": {P50: ns(860_000), P99: ns(1_900_000), Max: ns(2_700_000), Count: 15_000}},
				Cost:      Cost{NodesCPUNs: ns(9e9), AckedMessages: 450_000},
				Kills:     []KillSummary{{Node: NodeName(int(i) % 3), Role: RolePrimary, GapWithoutAckMs: 412.5, CaughtUpMs: new(900.25)}}}
			if err := f.WriteBench(r, s); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(f.Bench())
			if err != nil {
				t.Fatal(err)
			}
			*side.to = append(*side.to, text...)
		}
	}
	return old, changed
}

// TestBenchIsRead by the library that benchstat is made of: every line is a result, a key or a unit, and units have their direction.
func TestBenchIsRead(t *testing.T) {
	text, _ := benchRuns(t)
	reader := benchfmt.NewReader(bytes.NewReader(text), "bench.txt")
	results := 0
	for reader.Scan() {
		switch r := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Errorf("line %v", r)
		case *benchfmt.Result:
			results++
			if r.GetConfig("commit")+r.GetConfig("verdict") != "" || r.GetConfig("kernel") != "6.1" {
				t.Errorf("keys %v", r.Config)
			}
		}
	}
	if err := reader.Err(); err != nil || results != 8*3 {
		t.Errorf("%d results, %v", results, err)
	}
	for _, u := range benchUnits {
		if better := reader.Units().GetBetter(u.unit); (better > 0) != (u.better == "higher") || better == 0 {
			t.Errorf("unit %s: direction %d", u.unit, better)
		}
	}
}

// TestBenchstat reads two builds' files with the real benchstat, and finds the difference in one table.
func TestBenchstat(t *testing.T) {
	if testing.Short() {
		t.Skip("builds benchstat; run without -short")
	}
	if out, err := exec.Command("go", "tool", "-n", "benchstat").CombinedOutput(); err != nil {
		t.Skipf("benchstat cannot be built here (%v: %s); with a network: go get -tool golang.org/x/perf/cmd/benchstat", err, bytes.TrimSpace(out))
	}
	old, changed := benchRuns(t)
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "old.txt"), filepath.Join(dir, "new.txt")}
	for i, text := range [][]byte{old, changed} {
		if err := os.WriteFile(paths[i], text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command("go", "tool", "benchstat", paths[0], paths[1]).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("benchstat: %v\n%s", err, exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	text := string(out)
	for _, want := range []string{"Batch/phase=steady", "p50-sec", "p99-sec", "node-cpu-sec/msg", "gap-sec", "+30.00%", "p=0.000 n=8"} {
		if !strings.Contains(text, want) {
			t.Errorf("benchstat does not show %q", want)
		}
	}
	if tables := strings.Count(text, "p50-sec"); tables != 2 { // a column of each side
		t.Errorf("p50 stands %d times, want one table with two columns", tables)
	}
	if t.Failed() {
		t.Logf("benchstat says\n%s", text)
	}
}
