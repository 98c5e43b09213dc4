package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"rejoin/cmd/bench/goals"
	"rejoin/results"
)

// TestGoalScenarios: each series' scenario is one, with the kills that its rows count.
func TestGoalScenarios(t *testing.T) {
	for _, s := range goals.AllSeries(goals.Plan{Elections: 10 * time.Minute, LogBytes: 20 << 30}) {
		parsed, err := parseScenario(s.Name, s.File())
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		if s.Name == goals.SeriesPrimary && len(parsed.Faults) != 50 {
			t.Errorf("%s kills %d times", s.Name, len(parsed.Faults))
		}
		if s.Against != "" {
			other, err := parseScenario(s.AgainstName(), s.AgainstFile())
			if err != nil || other.Partitions != 1 || parsed.Partitions != 16 || other.Producers != parsed.Producers {
				t.Errorf("%s: %d partitions against %d, error %v", s.Name, parsed.Partitions, other.Partitions, err)
			}
		}
		if s.Shape.BatchesPerS > 0 && parsed.batchesPerS() != s.Shape.BatchesPerS {
			t.Errorf("%s: the run has %v batches/s, the shape %v", s.Name, parsed.batchesPerS(), s.Shape.BatchesPerS)
		}
	}
}

// TestGoalsGoOn: what is there is not measured again, a series that fails leaves the others, and the table names both.
func TestGoalsGoOn(t *testing.T) {
	dir := t.TempDir()
	var ran []string
	g := sampler{what: "goals", dir: dir, samples: goals.Folder{Dir: dir}, binary: "bench", out: io.Discard,
		launch: func(_ context.Context, _ string, args []string, _ io.Writer) (int, error) {
			ran = append(ran, args[3])
			if strings.Contains(args[3], "broken") {
				return results.ExitUsage, errors.New("it did not start")
			}
			f, err := results.Create(args[1], "builtin", "goal", time.Now())
			if err != nil {
				return 0, err
			}
			return results.ExitPass, errors.Join(f.WriteRun(results.Run{Status: results.StatusFinished, Found: results.Found{Commit: "abc", Dirty: true, BootID: "boot"}}), f.WriteProof(results.Proof{}),
				f.WriteSummary(results.Summary{Verdict: results.Pass, Kills: []results.KillSummary{{FirstAckMs: new(100.0)}}}))
		}}
	series := []goals.Series{{Name: "broken", Pairs: 2}, {Name: goals.SeriesPrimary, Pairs: 2}}
	for range 2 {
		if err := g.measure(t.Context(), series); err != nil {
			t.Fatal(err)
		}
	}
	if len(ran) != 4 { // the broken one once in each round, the other one twice in all
		t.Errorf("ran %q", ran)
	}
	table, err := g.judge()
	if err != nil || table.Counts()[goals.Met] < 2 || table.Counts()[goals.NoData] == 0 {
		t.Errorf("%+v, error %v", table.Counts(), err)
	}
	if want := []goals.SamplesOf{{Commit: "abc", Dirty: true, Samples: 2, Boots: 1}}; !slices.Equal(table.Builds, want) || table.Commit != "abc" {
		t.Errorf("made by %+v, commit %q: want %+v, the build of the runs", table.Builds, table.Commit, want)
	}
	text, err := os.ReadFile(dir + "/" + goalsMarkdown)
	if err != nil || !strings.Contains(string(text), "median of 50") || !strings.Contains(string(text), "commit abc, dirty") {
		t.Errorf("%s, error %v", text, err)
	}
}

func TestGoalsRefuses(t *testing.T) {
	for _, args := range [][]string{{"--only", "luck"}, {"--again", "luck"}, {"--pairs", "0"}, {"--elections", "1s"}} {
		if code, out := bench(t, append([]string{"--results", t.TempDir(), "goals", "--table"}, args...)...); code != results.ExitUsage {
			t.Errorf("%v: exit code %d\n%s", args, code, out)
		}
	}
}
