package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"rejoin/results"
	"rejoin/results/compare"
)

func testTime(i int) time.Time { return time.Date(2026, 1, 2, 3, i, 0, 0, time.UTC) }

// groupIn makes a group's folder that this process holds to the end of the test, or until it is closed.
func groupIn(t *testing.T, root, kind string) *results.Group {
	t.Helper()
	group, err := results.CreateGroup(root, kind, "steady", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { group.Close() })
	return group
}

// newABTest is a test of pairs pairs whose runs are made by each, which is told side and number.
func newABTest(t *testing.T, pairs int, each func(root string, side byte, i int) int) *abTest {
	t.Helper()
	dir := groupIn(t, t.TempDir(), "ab").Dir
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

// tinyCheckout is a git checkout of testdata/tinybench, whose command is built in a second, with one change that is in no commit.
func tinyCheckout(t *testing.T) string {
	t.Helper()
	needGit(t)
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS("testdata/tinybench")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "."},
		{"-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false", "commit", "--quiet", "-m", "begin"}} {
		if _, err := git(t.Context(), root, args...); err != nil {
			t.Fatal(err)
		}
	}
	source := filepath.Join(root, "cmd", "bench", "main.go")
	text, err := os.ReadFile(source)
	if err == nil {
		err = os.WriteFile(source, bytes.Replace(text, []byte("as committed"), []byte("as changed"), 1), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// TestABBuilds builds a revision and the working tree, runs a pair in processes of their own, and leaves nothing behind. What is built is
// small; git, go build and the processes are the real ones.
func TestABBuilds(t *testing.T) {
	prepared := writtenRun(t, t.TempDir(), testTime(0), 1, nil)
	checkout, root, scratch := tinyCheckout(t), t.TempDir(), t.TempDir()
	t.Chdir(checkout)
	t.Setenv("TMPDIR", scratch)
	t.Setenv("PREPARED_RUN", prepared.Dir)
	code, out := bench(t, "--results", root, "ab", "HEAD", "--pairs", "1")
	if code != results.ExitPass || !strings.Contains(out, "cannot judge: 1 pair") || !strings.Contains(out, "order AB") {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	group := groupOf(t, root)
	plan, err := readPlan(group)
	if err != nil {
		t.Fatal(err)
	}
	o, err := plan.options(group)
	if err != nil || plan.A.Commit == "" || o.A[0].Run.Found.Commit != plan.A.Commit || plan.A.Dirty || !plan.B.Dirty {
		t.Errorf("%v: the run of A is of commit %q; built were %+v and %+v", err, o.A[0].Run.Found.Commit, plan.A, plan.B)
	}
	for name, want := range map[string]string{"01-A.log": "as committed", "02-B.log": "as changed"} {
		if text, err := os.ReadFile(filepath.Join(group, name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %q, %v; want a build of the tree %s", name, text, err, want)
		}
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
	group := groupIn(t, root, "ab")
	dir := group.Dir
	run := writtenRun(t, filepath.Join(dir, runsDir), testTime(0), 1, nil)
	if err := os.MkdirAll(run.DataDir(0), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{{"--all"}, {"--all", "--data"}} { // between two runs of the test
		args := append([]string{"--results", root, "clean"}, flags...)
		if code, out := bench(t, args...); code != 0 || !run.HasData() || out != "kept      "+filepath.Base(dir)+": it is still under way\n" {
			t.Errorf("under way: exit code %d\n%s", code, out)
		}
	}
	if code, out := bench(t, "--results", root, "list"); code != 0 || !strings.Contains(out, "running") || !strings.Contains(out, filepath.Base(dir)) {
		t.Errorf("list: exit code %d\n%s", code, out)
	}
	if err := group.Close(); err != nil {
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

// TestGroupsAreListedAndCleanedByName, as runs are.
func TestGroupsAreListedAndCleanedByName(t *testing.T) {
	root := t.TempDir()
	var names []string
	for _, kind := range []string{"compare", "repeat"} {
		group := groupIn(t, root, kind)
		if err := group.Close(); err != nil {
			t.Fatal(err)
		}
		names = append(names, filepath.Base(group.Dir))
	}
	run := writtenRun(t, filepath.Join(root, names[1], runsDir), testTime(0), 1, nil)
	if err := os.WriteFile(filepath.Join(run.Logs(), "n0.log"), make([]byte, 2<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	_, out := bench(t, "--results", root, "list")
	for _, want := range []string{`(?m)^compare +0\.0 MiB +0 min  ` + names[0] + `$`, `(?m)^repeat +2\.0 MiB +0 min  ` + names[1] + `$`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("list says\n%s", out)
		}
	}
	if code, out := bench(t, "--results", root, "clean", "--data", names[1]); code != 0 || out != "no data   of "+names[1]+" was there\n" {
		t.Errorf("exit code %d\n%s", code, out)
	}
	link := filepath.Join(t.TempDir(), "other-way")
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}
	for i, refs := range [][]string{{names[0] + "/", names[0]}, {filepath.Join(link, names[1])}} {
		if code, out := bench(t, append([]string{"--results", root, "clean"}, refs...)...); code != 0 || out != "removed   "+names[i]+"\n" {
			t.Errorf("exit code %d\n%s", code, out)
		}
	}
	if code, out := bench(t, "--results", root, "clean", names[0]); code != results.ExitUsage || !strings.Contains(out, "no run folder") {
		t.Errorf("once more: exit code %d\n%s", code, out)
	}
}

// TestInterruptedBuildIsNoRefusal: Ctrl-C while the builds are made is an interruption, not a mistake of the user.
func TestInterruptedBuildIsNoRefusal(t *testing.T) {
	needGit(t)
	checkout := t.TempDir()
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"}} {
		if _, err := git(t.Context(), checkout, args...); err != nil {
			t.Fatal(err)
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

// needGit skips where there is none: bench ab works in a checkout only, and make test needs only Go and make.
func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skipf("%v: apt-get install git", err)
	}
}
