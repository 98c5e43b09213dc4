package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
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
		if s.Raft.Duration > 0 && (parsed.Producers != s.Raft.Producers || frameBytesOf(parsed.BatchMessages, parsed.PayloadBytes) != int64(s.Raft.FrameBytes) ||
			time.Duration(parsed.Duration-parsed.Warmup) != s.Raft.Duration) {
			t.Errorf("%s: the run has %d producers of %d x %d bytes and %v of %v to warm up, hashicorp/raft %+v", s.Name, parsed.Producers, parsed.BatchMessages, parsed.PayloadBytes,
				parsed.Duration, parsed.Warmup, s.Raft)
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

// TestGoalsBesideRaft: both programs run, one first in every other sample; what fails, or is not there, makes no sample and says why.
func TestGoalsBesideRaft(t *testing.T) {
	dir := t.TempDir()
	var ran []string
	var out bytes.Buffer
	said, code := `{"batches": 20000, "seconds": 10, "batches_per_s": 2000, "producers": 12, "frame_bytes": 26928, "checked_batches": 20000}`, results.ExitPass
	g := sampler{what: "goals", dir: dir, samples: goals.Folder{Dir: dir}, binary: "bench", raft: filepath.Join(dir, goals.RaftProgram), out: &out}
	g.launch = func(_ context.Context, binary string, args []string, to io.Writer) (int, error) {
		ran = append(ran, filepath.Base(binary))
		if binary == g.raft {
			_, err := io.WriteString(to, said)
			return code, err
		}
		f, err := results.Create(args[1], "builtin", "goal", time.Now())
		if err != nil {
			return 0, err
		}
		return results.ExitPass, errors.Join(f.WriteRun(results.Run{Status: results.StatusFinished}), f.WriteProof(results.Proof{}),
			f.WriteSummary(results.Summary{Verdict: results.Pass, BatchesPerS: 5000, FrameBytes: 26_928}))
	}
	series := slices.DeleteFunc(goals.AllSeries(goals.Plan{}), func(s goals.Series) bool { return s.Name != goals.SeriesRaft })
	measure := func(pairs int) {
		series[0].Pairs = pairs
		if err := g.measure(t.Context(), series); err != nil {
			t.Fatal(err)
		}
	}
	measure(1)
	if len(ran) > 0 || !strings.Contains(out.String(), "make peers builds the program") {
		t.Errorf("ran %q without the program: %s", ran, &out)
	}
	if err := os.WriteFile(g.raft, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	measure(2)
	if want := []string{goals.RaftProgram, "bench", "bench", goals.RaftProgram}; !slices.Equal(ran, want) {
		t.Errorf("ran %q, want %q", ran, want)
	}
	said, code = "node n1 applied 9 batches", results.ExitMissed
	measure(3)
	if g.samples.Has(goals.SeriesRaft, 3) || !strings.Contains(out.String(), said) {
		t.Errorf("a failed check made a sample: %s", &out)
	}
	samples, err := g.samples.Read(goals.SeriesRaft)
	if err != nil || len(samples) != 2 || samples[1].Raft.BatchesPerS != 2000 || !strings.Contains(out.String(), "pass, 5000 batches/s, hashicorp/raft 2000") {
		t.Errorf("%+v, error %v: %s", samples, err, &out)
	}
}

func TestGoalsRefuses(t *testing.T) {
	for _, args := range [][]string{{"--only", "luck"}, {"--again", "luck"}, {"--pairs", "0"}, {"--elections", "1s"}} {
		if code, out := bench(t, append([]string{"--results", t.TempDir(), "goals", "--table"}, args...)...); code != results.ExitUsage {
			t.Errorf("%v: exit code %d\n%s", args, code, out)
		}
	}
}
