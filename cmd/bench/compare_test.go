package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rejoin/plots/report"
	"rejoin/results"
	"rejoin/results/compare"
)

// writtenRun writes a run folder of a healthy run whose latencies and costs are factor times the usual.
func writtenRun(t *testing.T, root string, at time.Time, factor float64, change func(*results.Run, *results.Summary)) results.Folder {
	t.Helper()
	folder, err := results.Create(root, "builtin", "steady", at)
	if err != nil {
		t.Fatal(err)
	}
	ns := func(v float64) *int64 { return new(int64(v * factor)) }
	run := results.Run{Status: results.StatusFinished, StartedAt: at, Asked: results.Asked{Target: "builtin", ScenarioName: "steady",
		Scenario: json.RawMessage(`{"name":"steady","duration":"20s"}`), Nodes: 3, Producers: 12, BatchMessages: 100, PayloadBytes: 256, MessagesPerS: 30_000},
		Found: results.Found{Cores: 4, Arch: "amd64", CPU: "A", Kernel: "6.1", FileSystem: "ext4", GoVersion: "go1.26", Commit: "c0ffee"}}
	s := results.Summary{Verdict: results.Pass, Target: "builtin", Scenario: "steady", OfferedBatches: 4500, AckedBatches: 4500, BatchesPerS: 300,
		MeasuredNs: 15e9, Cost: results.Cost{NodesCPUNs: ns(9e9), AckedMessages: 450_000},
		LatencyNs: map[string]results.Quantiles{"steady": {P50: ns(8.6e5), P90: ns(1.2e6), P99: ns(1.9e6), Max: ns(4e6), Count: 4500}}}
	if change != nil {
		change(&run, &s)
	}
	if err := folder.WriteRun(run); err != nil {
		t.Fatal(err)
	}
	if err := folder.WriteSummary(s); err != nil {
		t.Fatal(err)
	}
	if err := folder.WriteBench(run, s); err != nil {
		t.Fatal(err)
	}
	return folder
}

// writtenPairs writes n pairs in turn; B is factor times A. The names stand in the order of the command line.
func writtenPairs(t *testing.T, root string, n int, factor float64, changeB func(*results.Run, *results.Summary)) []string {
	t.Helper()
	var names []string
	for i := range n {
		at := time.Date(2026, 1, 2, 3, 2*i, 0, 0, time.UTC)
		noise := 1 + 0.01*float64(i%3)
		names = append(names, writtenRun(t, root, at, noise, nil).Name(), writtenRun(t, root, at.Add(time.Minute), noise*factor, changeB).Name())
	}
	return names
}

// TestCompareExitCodes (trap 39): one for each code.
func TestCompareExitCodes(t *testing.T) {
	for name, test := range map[string]struct {
		factor  float64
		pairs   int
		changeB func(*results.Run, *results.Summary)
		flags   []string
		code    int
		text    string
	}{
		"compared":         {1.3, 8, nil, nil, results.ExitPass, "B is worse: steady p50"},
		"equal":            {1, 8, nil, nil, results.ExitPass, "no difference found"},
		"too few":          {1.3, 2, nil, []string{"--fail-on", "steady.p99>+10%"}, results.ExitPass, "7 pairs are needed"},
		"beyond its bound": {1.3, 8, nil, []string{"--fail-on", "steady.p99>+10%"}, results.ExitRegression, "beyond a bound: steady.p99>+10%"},
		"within its bound": {1.3, 8, nil, []string{"--fail-on", "steady.p99>+40%"}, results.ExitPass, "held: 30.0 % slower"},
		"two bounds, one":  {1.3, 8, nil, []string{"--fail-on", "steady.p99>+40%", "--fail-on", "cpu.nodes>+5%"}, results.ExitRegression, "beyond a bound: cpu.nodes>+5%"},
		"bad bound":        {1, 1, nil, []string{"--fail-on", "steady.p77>+10%"}, results.ExitUsage, "  ^\n"},
		"other machine":    {1, 8, func(r *results.Run, _ *results.Summary) { r.Found.Cores = 8 }, nil, results.ExitUsage, "cores: 4"},
		"other machine, by force": {1, 8, func(r *results.Run, _ *results.Summary) { r.Found.Cores = 8 }, []string{"--force"}, results.ExitPass,
			"COMPARED BY FORCE"},
		"invalid run": {1, 8, func(_ *results.Run, s *results.Summary) { s.Verdict = results.Invalid }, nil, results.ExitUsage, "is invalid"},
		"race build": {1, 8, func(r *results.Run, _ *results.Summary) { r.Found.Race = true }, []string{"--force"}, results.ExitPass,
			"warning: B: race build"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			args := append([]string{"--results", root, "compare"}, writtenPairs(t, root, test.pairs, test.factor, test.changeB)...)
			code, out := bench(t, append(args, test.flags...)...)
			if code != test.code || !strings.Contains(out, test.text) {
				t.Errorf("exit code %d, want %d and %q\n%s", code, test.code, test.text, out)
			}
		})
	}
}

func TestCompareRefusesWhatIsNoPair(t *testing.T) {
	root := t.TempDir()
	names := writtenPairs(t, root, 2, 1, nil)
	crashed, err := results.Create(root, "builtin", "steady", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := crashed.WriteRun(results.Run{}); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"do not make pairs":        names[:3],
		"name at least two runs":   nil,
		"not both":                 {names[0], names[1], "--a", names[2]},
		"no run matches":           {"--a", "nothing*", "--b", names[0]},
		"no run folder":            {names[0], "nothing"},
		"has no summary.json":      {names[0], crashed.Name()},
		"that bench ab wrote":      {filepath.Join(root, names[0])},
		"at least two runs, A and": {"--a", names[0]},
	} {
		if code, out := bench(t, append([]string{"--results", root, "compare"}, args...)...); code != results.ExitUsage || !strings.Contains(out, want) {
			t.Errorf("%v: exit code %d, want %q\n%s", args, code, want, out)
		}
	}
}

// TestCompareRefusesDamage: what no run can have written, or has not written to its end, is no evidence.
func TestCompareRefusesDamage(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*results.Run, *results.Summary)
		proof  string // of proof.json
		want   string
	}{
		"rubbish for a proof": {nil, "\xff\x00", "has a proof that cannot be read"},
		"less than none":      {func(_ *results.Run, s *results.Summary) { s.AckedBatches, s.OfferedBatches = -4, 0 }, "", "books that do not balance: 0 batches offered, -4 acknowledged"},
		"nothing offered":     {func(_ *results.Run, s *results.Summary) { s.AckedBatches, s.OfferedBatches = 0, 0 }, "", "books that do not balance"},
		"a kill beyond time": {func(_ *results.Run, s *results.Summary) {
			s.Kills = []results.KillSummary{{Role: results.RolePrimary, GapWithoutAckMs: 1e300}}
		}, "", "kill.primary.gap, which nothing can measure"},
		"a latency before time": {func(_ *results.Run, s *results.Summary) {
			s.LatencyNs["steady"] = results.Quantiles{P50: new(int64(-1))}
		}, "", "gives -1 ns as steady.p50"},
		"a run that goes on": {func(r *results.Run, _ *results.Summary) {
			r.Status, r.Pid, r.StartedAt = results.StatusRunning, os.Getpid(), time.Now()
		}, "", "goes on (process"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			names := writtenPairs(t, root, 1, 1, test.change)
			if test.proof != "" {
				if err := os.WriteFile(filepath.Join(root, names[1], "proof.json"), []byte(test.proof), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if code, out := bench(t, append([]string{"--results", root, "compare"}, names...)...); code != results.ExitUsage || !strings.Contains(out, test.want) {
				t.Errorf("exit code %d, want %d and %q\n%s", code, results.ExitUsage, test.want, out)
			}
		})
	}
}

// TestCompareRunWithItself: by whatever path, and by force, one run on both sides is refused: there is nothing to compare.
func TestCompareRunWithItself(t *testing.T) {
	root := t.TempDir()
	name := writtenRun(t, root, testTime(0), 1, nil).Name()
	other := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Symlink(root, other); err != nil {
		t.Fatal(err)
	}
	for _, sides := range [][]string{{"latest", "latest"}, {name, filepath.Join(root, name)}, {"latest", filepath.Join(other, name)}, {"latest", name, "--force"},
		{"--a", name, "--b", "2026*"}} {
		code, out := bench(t, append([]string{"--results", root, "compare"}, sides...)...)
		if code != results.ExitUsage || !strings.Contains(out, "both sides are the same run, "+name) || strings.Contains(out, "pass --force") {
			t.Errorf("%v: exit code %d\n%s", sides, code, out)
		}
	}
	if groups, err := results.Groups(root); err != nil || len(groups) != 0 {
		t.Errorf("refused, and wrote %v (%v)", groups, err)
	}
}

// TestCompareRunNamedAgain: a pair named eight times is one pair. A set takes a folder once, by whatever paths, and no copy of it.
func TestCompareRunNamedAgain(t *testing.T) {
	root := t.TempDir()
	names := writtenPairs(t, root, 2, 1.3, nil)
	var pairs []string
	for range 8 {
		pairs = append(pairs, names[:2]...)
	}
	if err := os.CopyFS(filepath.Join(root, "copy"), os.DirFS(filepath.Join(root, names[1]))); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"run " + names[0] + " stands twice in A": append(pairs, "--fail-on", "steady.p99>+10%"),
		"run " + names[1] + " stands twice in B": {"--a", names[0], "--b", names[1], "--b", "copy"},
	} {
		if code, out := bench(t, append([]string{"--results", root, "compare"}, args...)...); code != results.ExitUsage || !strings.Contains(out, want) {
			t.Errorf("%v: exit code %d\n%s", args, code, out)
		}
	}
	args := []string{"--results", root, "compare", "--a", names[0], "--a", filepath.Join(root, names[0]), "--b", names[1], "--b", "latest", "--b", names[3]}
	if code, out := bench(t, args...); code != results.ExitPass || !strings.Contains(out, "cannot judge") {
		t.Errorf("one folder by two paths: exit code %d\n%s", code, out)
	}
	if code, out := bench(t, "--results", root, "compare", names[1], "copy"); code != results.ExitUsage || !strings.Contains(out, "both sides are the same run, "+names[1]) {
		t.Errorf("a copy: exit code %d\n%s", code, out)
	}
}

// TestCompareSets compares by pattern, unpaired, and writes what it found.
func TestCompareSets(t *testing.T) {
	root, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	for i := range 6 {
		writtenRun(t, root, time.Date(2026, 1, 1, i, 0, 0, 0, time.UTC), 1+0.01*float64(i), nil)
		writtenRun(t, root, time.Date(2026, 2, 1, i, 0, 0, 0, time.UTC), 1.5+0.01*float64(i), nil)
	}
	code, text := bench(t, "--results", root, "compare", "--a", "202601*", "--b", filepath.Join(root, "202602*"), "--out", out)
	if code != results.ExitPass || !strings.Contains(text, "6 runs of A, 6 of B, not paired") || !strings.Contains(text, "not interleaved") {
		t.Fatalf("exit code %d\n%s", code, text)
	}
	var c compare.Comparison
	raw, err := os.ReadFile(filepath.Join(out, "comparison.json"))
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	if err != nil || c.Verdict != compare.Different || len(c.A.Runs) != 6 || c.A.Runs[0].Name > c.A.Runs[5].Name {
		t.Errorf("%v: %+v", err, c)
	}
	if written, err := os.ReadFile(filepath.Join(out, "compare.txt")); err != nil || !strings.HasPrefix(text, string(written)) || !strings.Contains(text, "no comparison of profiles") {
		t.Errorf("compare.txt is not what was printed: %v", err)
	}
	page, err := os.ReadFile(filepath.Join(out, report.ComparisonFile))
	for _, want := range []string{"B is worse", c.Metrics[0].Difference.Words, "no profiles were compared", "--out"} {
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("the page does not say %q: %v", want, err)
		}
	}
}

// TestCompareAA takes a noise floor from A/A runs that were given.
func TestCompareAA(t *testing.T) {
	root := t.TempDir()
	names := writtenPairs(t, root, 8, 1.1, nil)
	args := append([]string{"--results", root, "compare"}, names...)
	for i := range 6 {
		factor := []float64{1, 1.4}[i%2]
		args = append(args, "--aa", writtenRun(t, root, time.Date(2026, 3, 1, i, 0, 0, 0, time.UTC), factor, nil).Name())
	}
	code, out := bench(t, args...)
	if code != results.ExitPass || !strings.Contains(out, "noise floor from 3 A/A pairs") || !strings.Contains(out, "below the noise floor of") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// TestCompareRealRuns compares two runs that were really made, of the memory target.
func TestCompareRealRuns(t *testing.T) {
	playedOnce(t, "whole runs")
	root := t.TempDir()
	scenario := memoryScenario(t, "demands: {late_p99_max: 1s, canary_change_max: 100}")
	var names []string
	for seed := range 2 {
		if code, out := bench(t, "--results", root, "run", scenario, "--quiet", "--seed", fmt.Sprint(seed+1)); code != results.ExitPass {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		folder, err := results.Open(root, "latest")
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, folder.Name())
	}
	code, out := bench(t, append([]string{"--results", root, "compare"}, names...)...)
	if code != results.ExitPass || !strings.Contains(out, "cannot judge: 1 pair") || !strings.Contains(out, "gap, primary") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
