package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rejoin/results"
	"rejoin/results/compare"
)

func testTime(i int) time.Time { return time.Date(2026, 1, 2, 3, i, 0, 0, time.UTC) }

// newABTest is a test of pairs pairs whose runs are made by each, which is told side and number.
func newABTest(t *testing.T, pairs int, each func(root string, side byte, i int) int) *abTest {
	t.Helper()
	dir, err := results.CreateGroup(t.TempDir(), "ab", "steady", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	return &abTest{dir: dir, binaries: map[byte]string{'A': "A", 'B': "B"}, say: t.Logf,
		plan: abPlan{Scenario: "steady", Pairs: pairs, Order: abOrder(pairs), Seed: 3, A: abBuild{Label: "old"}, B: abBuild{Label: "new"}},
		launch: func(_ context.Context, binary string, args []string, _ io.Writer) (int, error) {
			made++
			if want := fmt.Sprint(3 + (made-1)/2); args[len(args)-1] != want {
				t.Errorf("run %d has the seed %s, want %s", made, args[len(args)-1], want)
			}
			return each(args[1], binary[0], made-1), nil
		}}
}

// finishAB compares what a test has made.
func finishAB(t *testing.T, a *abTest, code int) (int, string) {
	t.Helper()
	var out bytes.Buffer
	err := a.finish(&environment{ctx: t.Context(), out: &out, errs: &out}, compare.Options{}, code)
	return exitCode(err, &out), out.String()
}

func TestABFindsADifference(t *testing.T) {
	a := newABTest(t, 8, func(root string, side byte, i int) int {
		writtenRun(t, root, testTime(i), map[byte]float64{'A': 1, 'B': 1.25}[side]*(1+0.01*float64(i%5)), nil)
		return results.ExitPass
	})
	code, err := a.perform(t.Context())
	if err != nil || code != results.ExitPass {
		t.Fatalf("exit code %d, %v", code, err)
	}
	code, out := finishAB(t, a, code)
	if code != results.ExitPass || !strings.Contains(out, "B is worse: node CPU") || !strings.Contains(out, "ABBAABBAABBAABBA") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	for _, name := range []string{"ab.json", "comparison.json", "comparison.html", "compare.txt", "01-A.log", "16-A.log"} {
		if _, err := os.Stat(filepath.Join(a.dir, name)); err != nil {
			t.Error(err)
		}
	}
	// The folder can be compared once more, also by a bound.
	code, out = bench(t, "compare", a.dir, "--fail-on", "cpu.nodes>+10%")
	if code != results.ExitRegression {
		t.Errorf("once more: exit code %d\n%s", code, out)
	}
}

// TestABInterrupted: the whole pairs are compared, the exit code is 130.
func TestABInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	a := newABTest(t, 8, func(root string, _ byte, i int) int {
		if i == 6 {
			stop()
			writtenRun(t, root, testTime(i), 1, func(_ *results.Run, s *results.Summary) { s.Verdict = results.Interrupted })
			return results.ExitInterrupted
		}
		writtenRun(t, root, testTime(i), 1, nil)
		return results.ExitPass
	})
	code, err := a.perform(ctx)
	if err != nil || code != results.ExitInterrupted {
		t.Fatalf("exit code %d, %v", code, err)
	}
	code, out := finishAB(t, a, code)
	if code != results.ExitInterrupted || !strings.Contains(out, "3 pairs of runs") || !strings.Contains(out, "3 of 8 pairs are whole") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// TestABLeavesInvalidPairsOut and names them; loss decides the exit code.
func TestABLeavesInvalidPairsOut(t *testing.T) {
	a := newABTest(t, 3, func(root string, _ byte, i int) int {
		code, verdict := results.ExitPass, results.Pass
		switch i {
		case 2:
			code, verdict = results.ExitInvalid, results.Invalid
		case 4:
			code, verdict = results.ExitLoss, results.Fail
		}
		writtenRun(t, root, testTime(i), 1, func(_ *results.Run, s *results.Summary) { s.Verdict, s.ExitCode = verdict, code })
		return code
	})
	code, err := a.perform(t.Context())
	if err != nil || code != results.ExitLoss {
		t.Fatalf("exit code %d, %v", code, err)
	}
	code, out := finishAB(t, a, code)
	if code != results.ExitLoss || !strings.Contains(out, "pair 2 is left out") || !strings.Contains(out, "did not pass (fail, exit code 3)") ||
		!strings.Contains(out, "3 pairs of runs") || a.plan.Order != "ABBAABBA" {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// TestABGivesUp on a machine on which nothing is valid.
func TestABGivesUp(t *testing.T) {
	made := 0
	a := newABTest(t, 4, func(root string, _ byte, i int) int {
		made++
		writtenRun(t, root, testTime(i), 1, func(_ *results.Run, s *results.Summary) { s.Verdict, s.ExitCode = results.Invalid, results.ExitInvalid })
		return results.ExitInvalid
	})
	code, err := a.perform(t.Context())
	if err != nil || made != 12 {
		t.Fatalf("exit code %d after %d runs, %v", code, made, err)
	}
	if code, out := finishAB(t, a, code); code != results.ExitInvalid || !strings.Contains(out, "nothing to compare") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// TestABStopsAtTheFirstPair when the builds do not run the same scenario.
func TestABStopsAtTheFirstPair(t *testing.T) {
	made := 0
	a := newABTest(t, 8, func(root string, side byte, i int) int {
		made++
		writtenRun(t, root, testTime(i), 1, func(r *results.Run, _ *results.Summary) { r.Asked.Producers += int(side) })
		return results.ExitPass
	})
	if code, err := a.perform(t.Context()); code != results.ExitUsage || err == nil || !strings.Contains(err.Error(), "producers") || made != 2 {
		t.Errorf("exit code %d after %d runs: %v", code, made, err)
	}
}

// TestABBuilds builds this checkout and its HEAD and runs a pair of the memory target.
func TestABBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("builds twice; run without -short")
	}
	if err := exec.Command("git", "rev-parse", "HEAD").Run(); err != nil {
		t.Skipf("no git checkout around the tests (%v): clone the repository", err)
	}
	scenario := memoryScenario(t, "demands: {late_p99_max: 1s}")
	root, scratch := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", scratch)
	code, out := bench(t, "--results", root, "ab", "HEAD", "--pairs", "1", "--scenario", scenario, "--duration", "1s")
	if code != results.ExitPass || !strings.Contains(out, "cannot judge: 1 pair") || !strings.Contains(out, "order AB") {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	plan, err := readPlan(groupOf(t, root))
	if err != nil {
		t.Fatal(err)
	}
	o, err := plan.options(groupOf(t, root))
	if err != nil || o.A[0].Run.Found.Commit != plan.A.Commit || plan.A.Commit == "" {
		t.Errorf("%v: the runs of A are of commit %q, built was %q", err, o.A[0].Run.Found.Commit, plan.A.Commit)
	}
	if left, _ := filepath.Glob(filepath.Join(scratch, "rejoin-ab-*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	if code, out := bench(t, "--results", root, "ab", "no-such-revision"); code != results.ExitUsage || !strings.Contains(out, "is no revision") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// groupOf is the one A/B test under root.
func groupOf(t *testing.T, root string) string {
	t.Helper()
	groups, err := results.Groups(root)
	if err != nil || len(groups) != 1 {
		t.Fatalf("groups %v, %v", groups, err)
	}
	return groups[0]
}

// TestCleanKnowsGroups: --all --data frees the data of runs inside, --all removes the groups.
func TestCleanKnowsGroups(t *testing.T) {
	root := t.TempDir()
	dir, err := results.CreateGroup(root, "ab", "steady", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	run := writtenRun(t, filepath.Join(dir, runsDir), testTime(0), 1, nil)
	if err := os.MkdirAll(run.DataDir(0), 0o755); err != nil {
		t.Fatal(err)
	}
	if code, out := bench(t, "--results", root, "clean", "--all", "--data"); code != 0 || run.HasData() || !strings.Contains(out, "removed   data of "+run.Name()) {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if code, out := bench(t, "--results", root, "clean", "--all"); code != 0 || !strings.Contains(out, "removed   "+filepath.Base(dir)) {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the group is still there")
	}
}

// TestInterruptedBuildIsNoRefusal: Ctrl-C while the builds are made is an interruption, not a mistake of the user.
func TestInterruptedBuildIsNoRefusal(t *testing.T) {
	checkout := t.TempDir()
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"}} {
		if _, err := git(t.Context(), checkout, args...); err != nil {
			t.Skipf("needs git: %v", err)
		}
	}
	t.Chdir(checkout)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var out bytes.Buffer
	if code := run(ctx, []string{"ab", "HEAD", "--results", t.TempDir()}, &out, &out); code != results.ExitInterrupted {
		t.Errorf("exit code %d: %s", code, out.String())
	}
}
