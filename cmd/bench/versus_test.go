package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rejoin/plots/report"
	"rejoin/results"
	"rejoin/results/compare"
)

// newVersus is a comparison whose runs are made by each, which is told the target, the seed and the number of the run.
func newVersus(t *testing.T, targets []string, repeats int, each func(root, target, seed string, out io.Writer, i int) int) *versus {
	t.Helper()
	made := 0
	return &versus{dir: groupIn(t, t.TempDir(), "versus").Dir, say: t.Logf,
		plan: versusPlan{Scenario: "quick", Targets: targets, Repeats: repeats, Seed: 7, Arguments: []string{"run", "quick", "--repeat", "1", "--profile", "none"}},
		launch: func(_ context.Context, _ string, args []string, out io.Writer) (int, error) {
			made++
			return each(args[1], args[slices.Index(args, "--target")+1], args[slices.Index(args, "--seed")+1], out, made-1), nil
		}}
}

// targetRun writes the run of a target.
func targetRun(t *testing.T, root, target string, i int, verdict results.Verdict) {
	t.Helper()
	writtenRun(t, root, testTime(i), 1, func(r *results.Run, s *results.Summary) {
		r.Asked.Target, r.Asked.Guarantee, s.Target, s.Verdict = target, "promise of "+target, target, verdict
	})
}

func finishVersus(t *testing.T, v *versus, code int) (int, string) {
	t.Helper()
	var out bytes.Buffer
	return exitCode(v.finish(&out, code), &out), out.String()
}

func TestVersusTakesTurns(t *testing.T) {
	var order, seeds []string
	v := newVersus(t, []string{"builtin", "nats", "kafka"}, 3, func(root, target, seed string, _ io.Writer, i int) int {
		order, seeds = append(order, target), append(seeds, seed)
		verdict, code := results.Pass, results.ExitPass
		if target == "kafka" {
			verdict, code = results.Fail, results.ExitMissed // a demand of ours
		}
		targetRun(t, root, target, i, verdict)
		return code
	})
	code, err := v.perform(t.Context())
	if err != nil || code != results.ExitPass {
		t.Fatalf("exit code %d, %v: a demand that another system misses is no failure of the comparison", code, err)
	}
	if got := strings.Join(order, " "); got != "builtin nats kafka nats kafka builtin kafka builtin nats" {
		t.Errorf("order %s", got)
	}
	if got := strings.Join(seeds, " "); got != "7 7 7 8 8 8 9 9 9" {
		t.Errorf("seeds %s", got)
	}
	code, out := finishVersus(t, v, code)
	if code != results.ExitPass || !strings.Contains(out, "(3 runs)") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	for _, name := range []string{versusPlanFile, versusFile, versusMarkdown, report.VersusFile, "01-builtin.log", "03-kafka.log"} {
		if _, err := os.Stat(filepath.Join(v.dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// A system whose programs are not here is asked once, named with its own words, and left out; the others go on.
func TestVersusNamesWhatIsNotHere(t *testing.T) {
	asked := 0
	v := newVersus(t, []string{"builtin", "kafka"}, 2, func(root, target, _ string, out io.Writer, i int) int {
		if target == "kafka" {
			asked++
			fmt.Fprintln(out, "bench: no java to run Kafka")
			return results.ExitUsage
		}
		targetRun(t, root, target, i, results.Pass)
		return results.ExitPass
	})
	code, err := v.perform(t.Context())
	if err != nil || asked != 1 {
		t.Fatalf("asked %d times, err %v", asked, err)
	}
	code, out := finishVersus(t, v, code)
	if code != results.ExitPass || !strings.Contains(out, "no java to run Kafka") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// An interrupted comparison sums up what it has; resumed, it makes what is missing and what was invalid, and nothing else.
func TestVersusResumes(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	v := newVersus(t, []string{"builtin", "nats"}, 2, func(root, target, _ string, _ io.Writer, i int) int {
		switch i {
		case 1:
			targetRun(t, root, target, i, results.Invalid)
			return results.ExitInvalid
		case 2:
			stop()
			targetRun(t, root, target, i, results.Interrupted)
			return results.ExitInterrupted
		}
		targetRun(t, root, target, i, results.Pass)
		return results.ExitPass
	})
	code, err := v.perform(ctx)
	if err != nil || code != results.ExitInterrupted {
		t.Fatalf("exit code %d, %v", code, err)
	}
	if code, _ := finishVersus(t, v, code); code != results.ExitInterrupted {
		t.Errorf("summed up with exit code %d", code)
	}
	plan, err := readVersusPlan(v.dir)
	if err != nil {
		t.Fatal(err)
	}
	var again []string
	next := newVersus(t, nil, 0, func(root, target, seed string, _ io.Writer, i int) int {
		again = append(again, target+seed)
		targetRun(t, root, target, 10+i, results.Pass)
		return results.ExitPass
	})
	next.dir, next.plan = v.dir, plan
	if code, err := next.perform(t.Context()); err != nil || code != results.ExitPass {
		t.Fatalf("resumed: exit code %d, %v", code, err)
	}
	if got := strings.Join(again, " "); got != "nats7 nats8 builtin8" {
		t.Errorf("made again: %s", got)
	}
	if code, out := finishVersus(t, next, results.ExitPass); code != results.ExitPass || !strings.Contains(strings.Join(strings.Fields(out), " "), "is invalid: it gives no reason; it is not counted") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	var sum compare.Versus
	text, err := os.ReadFile(filepath.Join(v.dir, versusFile))
	if err == nil {
		err = json.Unmarshal(text, &sum)
	}
	if err != nil || sum.Contenders[1].Counted != 2 {
		t.Errorf("nats: %d counted, %v", sum.Contenders[1].Counted, err)
	}
}

func TestVersusRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"versus", "--targets", "builtin,nosuch"}, `"nosuch" is unknown`},
		{[]string{"versus", "--targets", "builtin,builtin"}, "stands there twice"},
		{[]string{"versus", "--repeat", "0"}, "pass 1 to"},
		{[]string{"versus", "nosuch"}, "nosuch"},
		{[]string{"versus", "--resume", t.TempDir()}, "is no folder that bench versus made"},
		{[]string{"versus", "quick", "--resume", t.TempDir()}, "leave scenario"},
	} {
		code, out := bench(t, append([]string{"--results", t.TempDir()}, c.args...)...)
		if code != results.ExitUsage || !strings.Contains(out, c.want) {
			t.Errorf("%v: exit code %d, want %d and %q:\n%s", c.args, code, results.ExitUsage, c.want, out)
		}
	}
}

// TestVersusForReal runs the harness's own target twice, as processes would, from the command line to the page.
func TestVersusForReal(t *testing.T) {
	playedOnce(t, "whole runs")
	dir := groupIn(t, t.TempDir(), "versus").Dir
	v := versus{dir: dir, say: t.Logf, launch: launchHere, plan: versusPlan{Scenario: "quick", Targets: []string{targetMemory}, Repeats: 2, Seed: 5,
		Arguments: []string{"run", "quick", "--repeat", "1", "--profile", "none", "--duration", "2s"}}}
	code, err := v.perform(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	code, out := finishVersus(t, &v, code)
	if code != results.ExitPass && code != results.ExitInvalid { // a busy machine spoils a run of 2 s
		t.Errorf("exit code %d\n%s", code, out)
	}
	page, err := os.ReadFile(filepath.Join(dir, report.VersusFile))
	if err != nil || !strings.Contains(string(page), "acknowledged batches live in this process") {
		t.Errorf("the page lacks the target's promise: %v", err)
	}
}
