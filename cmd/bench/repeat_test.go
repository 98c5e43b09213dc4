package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rejoin/results"
	"rejoin/results/compare"
)

// launchHere runs the command line in this process.
func launchHere(ctx context.Context, _ string, args []string, out io.Writer) (int, error) {
	return run(ctx, args, out, out), nil
}

func TestRepeatSumsUp(t *testing.T) {
	playedOnce(t, "whole runs")
	dir := groupIn(t, t.TempDir(), "repeat").Dir
	var out bytes.Buffer
	r := repetition{dir: dir, args: []string{"run", memoryScenario(t, "demands: {late_p99_max: 1s, canary_change_max: 100}"), "--quiet", "--duration", "1500ms"}, times: 3, seed: 5,
		launch: launchHere}
	code, err := r.perform(t.Context(), &out)
	if err != nil || code != results.ExitPass {
		t.Fatalf("exit code %d, %v\n%s", code, err, out.String())
	}
	var sum compare.Repetition
	raw, err := os.ReadFile(filepath.Join(dir, "repeat.json"))
	if err == nil {
		err = json.Unmarshal(raw, &sum)
	}
	if err != nil || len(sum.Runs) != 3 || sum.Runs[0].Seed != 5 || sum.Runs[2].Seed != 7 {
		t.Fatalf("%v: %+v", err, sum.Runs)
	}
	i := slices.IndexFunc(sum.Metrics, func(m compare.RepeatedMetric) bool { return m.Name == "kill.primary.gap" })
	if i < 0 || sum.Metrics[i].Estimate.N != 3 {
		t.Errorf("a kill in each of 3 runs: %+v", sum.Metrics)
	}
	if !strings.Contains(out.String(), "run 3 of 3") || !strings.Contains(out.String(), "3 of 3 runs came to an end (exit code 0)") {
		t.Errorf("printed\n%s", out.String())
	}
}

// TestRepeatWorstCode: one bad run decides, and the others are still made and counted.
func TestRepeatWorstCode(t *testing.T) {
	dir := groupIn(t, t.TempDir(), "repeat").Dir
	codes := []int{results.ExitMissed, results.ExitLoss, results.ExitInvalid, results.ExitPass}
	made := 0
	r := repetition{dir: dir, times: 4, quiet: true, launch: func(context.Context, string, []string, io.Writer) (int, error) {
		at := testTime(made)
		writtenRun(t, filepath.Join(dir, runsDir), at, 1, func(_ *results.Run, s *results.Summary) { s.ExitCode = codes[made] })
		made++
		return codes[made-1], nil
	}}
	if code, err := r.perform(t.Context(), io.Discard); code != results.ExitLoss || err != nil || made != 4 {
		t.Errorf("exit code %d after %d runs, %v", code, made, err)
	}
}

func TestRepeatStopsAtAnInterrupt(t *testing.T) {
	dir := groupIn(t, t.TempDir(), "repeat").Dir
	made := 0
	r := repetition{dir: dir, times: 4, quiet: true, launch: func(context.Context, string, []string, io.Writer) (int, error) {
		verdict, code := results.Pass, results.ExitPass
		if made == 1 {
			verdict, code = results.Interrupted, results.ExitInterrupted
		}
		writtenRun(t, filepath.Join(dir, runsDir), testTime(made), 1, func(_ *results.Run, s *results.Summary) { s.Verdict = verdict })
		made++
		return code, nil
	}}
	code, err := r.perform(t.Context(), io.Discard)
	if code != results.ExitInterrupted || err != nil || made != 2 {
		t.Errorf("exit code %d after %d runs, %v", code, made, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "repeat.json")); err != nil {
		t.Errorf("what was done is not summed up: %v", err)
	}
}

func TestWorseCode(t *testing.T) {
	order := []int{results.ExitInterrupted, results.ExitUsage, results.ExitLoss, results.ExitStuck, results.ExitInvalid, results.ExitMissed, results.ExitPass}
	for i, worse := range order {
		for _, better := range order[i:] {
			if a, b := worseCode(worse, better), worseCode(better, worse); a != worse || b != worse {
				t.Errorf("of %d and %d: %d, %d", worse, better, a, b)
			}
		}
	}
}

func TestWithoutFlags(t *testing.T) {
	got := withoutFlags([]string{"--results", "r", "run", "quick", "--repeat=3", "--seed", "7", "--quiet", "--rate", "100"}, "--repeat", "--seed", "--results")
	if want := []string{"run", "quick", "--quiet", "--rate", "100"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestRepeatRefusesNone(t *testing.T) {
	if code, out := bench(t, "--results", t.TempDir(), "run", "quick", "--repeat", "0"); code != results.ExitUsage || !strings.Contains(out, "--repeat 0") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
