package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rejoin/loadgen"
	"rejoin/results"
)

// TestVerifyWithoutData: only of a run that passed is it known that it removed its data itself.
func TestVerifyWithoutData(t *testing.T) {
	for _, test := range []struct {
		verdict   results.Verdict
		arguments []string
		want      string
	}{
		{results.Pass, []string{"run", "quick"}, "removed after a pass"},
		{results.Pass, []string{"run", "quick", "--keep"}, "the run was given --keep and left them, so they were removed since"},
		{results.Interrupted, nil, "verdict is interrupted, so it did not remove them itself"},
		{"", nil, "left no verdict"},
	} {
		verdict, want := test.verdict, test.want
		root := t.TempDir()
		folder, err := results.Create(root, targetBuiltin, "quick", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if err := folder.WriteRun(results.Run{Status: results.StatusFinished, Asked: results.Asked{Target: targetBuiltin, Arguments: test.arguments}}); err != nil {
			t.Fatal(err)
		}
		if verdict != "" {
			if err := folder.WriteSummary(results.Summary{Verdict: verdict}); err != nil {
				t.Fatal(err)
			}
		}
		if code, out := bench(t, "--results", root, "verify"); code != results.ExitUsage || !strings.Contains(out, want) {
			t.Errorf("%q: exit code %d, want %q in\n%s", verdict, code, want, out)
		}
	}
}

// TestLiveSourceIsOfTheRun: another cluster's file is refused before anything is read, also one with fewer partitions than the run wrote to.
func TestLiveSourceIsOfTheRun(t *testing.T) {
	s := scenarioDefaults()
	s.Partitions = 2
	_, text, err := clusterConfig(s, []int{17001, 17002, 17003, 17004, 17005, 17006, 17007, 17008, 17009})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cluster.yaml")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		nodes, partitions int
		want              string
	}{{3, 2, ""}, {5, 2, "has 3 nodes, the run had 5"}, {3, 3, "no topic bench of 3 partitions"}, {3, 0, "no topic bench of 1 partition,"}} {
		if _, err := liveSource(file, c.nodes, c.partitions); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d nodes, %d partitions: %v, want %q", c.nodes, c.partitions, err, c.want)
		}
	}
}

// TestVerifyOfACrashedRun: a node that was down when its run ended is not stuck, and nothing is proved by it either; what no node has is lost all the same.
func TestVerifyOfACrashedRun(t *testing.T) {
	behind := &loadgen.ReplicaReport{Replica: "n0", ReadTo: 90, EndOffset: 90, BehindBatches: 2}
	torn := &loadgen.ReplicaReport{Replica: "n1", ReadTo: 80, Unreadable: "the file ends inside a frame"}
	whole := &loadgen.ReplicaReport{Replica: "n2", ReadTo: 100}
	for _, test := range []struct {
		replicas []*loadgen.ReplicaReport
		unrested bool
		reached  uint64
		code     int
		want     string
	}{
		{[]*loadgen.ReplicaReport{behind, torn, whole}, true, 100, results.ExitInvalid, "n0 ends at offset 90: 2 acknowledged batches cannot be read there; the run ended before"},
		{[]*loadgen.ReplicaReport{behind, torn, whole}, true, 100, results.ExitInvalid, "n1 could not be read to its end: the file ends inside a frame; the run ended before"},
		{[]*loadgen.ReplicaReport{behind, torn, whole}, false, 100, results.ExitStuck, "n0 ends at offset 90"},
		{[]*loadgen.ReplicaReport{behind, torn}, true, 90, results.ExitLoss, "no replica can be read beyond offset 90"},
		{[]*loadgen.ReplicaReport{whole}, true, 100, results.ExitPass, ""},
	} {
		var judge results.Judge
		judgeCommand(&judge, &loadgen.Report{Replicas: test.replicas}, test.unrested)
		judgeFiles(&judge, []uint64{test.reached}, []uint64{100})
		if _, code := judge.Verdict(); code != test.code || !strings.Contains(strings.Join(judge.Reasons(), "\n"), test.want) {
			t.Errorf("exit code %d, want %d: %q", code, test.code, judge.Reasons())
		}
	}
}
