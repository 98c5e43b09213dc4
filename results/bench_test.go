package results

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestWriteBench(t *testing.T) {
	f := newRun(t, t.TempDir(), "quick", testNow)
	s := Summary{Target: "builtin", Scenario: "quick", AckedBatches: 18_000, OfferedBatches: 18_000, BatchesPerS: 299.97,
		LatencyNs: map[string]Quantiles{"steady": {P50: new(int64(860_000)), Max: new(int64(2_700_000)), Count: 15_000}, "outage": {}},
		Kills:     []KillSummary{{Node: "n0", Role: RolePrimary, GapWithoutAckMs: 412.5, GapAtMs: new(8000.0)}, {Node: "n1", Role: RoleBackup, CaughtUpMs: new(7.0)}}}
	if err := f.WriteBench(Run{Found: Found{Arch: "amd64", CPU: "An  odd\nCPU"}}, s); err != nil {
		t.Fatal(err)
	}
	b, _ := os.ReadFile(f.Bench())
	text := string(b)
	for _, want := range []string{"goos: linux\n", "cpu: An odd CPU\n", "Unit p50-ns better=lower\n", "Unit batches/s better=higher\n",
		"BenchmarkRun 18000 299.97 batches/s", "BenchmarkBatch/phase=steady 15000 860000 p50-ns 2700000 max-ns\n",
		"BenchmarkKill/kill=0/role=primary 1 412500000 gap-ns 0 transfer-B\n",
		"BenchmarkKill/kill=1/role=backup 1 7000000 catchup-ns 0 transfer-B\n"} { // it came after the load
		if !strings.Contains(text, want) {
			t.Errorf("bench.txt lacks %q", want)
		}
	}
	if strings.Contains(text, "0 lost-batches") {
		t.Error("nothing was verified and 0 batches are lost")
	}
	if strings.Contains(text, "phase=outage") {
		t.Error("a phase without samples has a line")
	}
	line := regexp.MustCompile(`^Benchmark\S+ [1-9]\d*( [\d.]+ \S+)+$`)
	for l := range strings.Lines(text) {
		if l = strings.TrimSuffix(l, "\n"); strings.HasPrefix(l, "Benchmark") && !line.MatchString(l) {
			t.Errorf("not a benchmark line: %q", l)
		}
	}
}

// TestBenchOfLosses: 0 lost batches is a figure of a whole verification, any other of every one.
func TestBenchOfLosses(t *testing.T) {
	for _, c := range []struct {
		lost  int64
		whole bool
		want  string
	}{{0, true, " 0 lost-batches"}, {0, false, ""}, {2, false, " 2 lost-batches"}} {
		var b strings.Builder
		writeBenchRun(&b, Run{}, Summary{AckedBatches: 1, LostBatches: c.lost, VerificationWhole: &c.whole})
		if got := strings.Contains(b.String(), "lost-batches"); got != (c.want != "") || !strings.Contains(b.String(), c.want) {
			t.Errorf("%+v: %s", c, b.String())
		}
	}
}
