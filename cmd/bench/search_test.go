package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rejoin/results"
)

// capacity makes a step of a log that reaches every rate up to a limit, in 30 s a run of a fake clock (synctest).
func capacity(limit int, unreliable func(rate int) bool) func(rate, left int) searchStep {
	return func(rate, _ int) searchStep {
		time.Sleep(30 * time.Second)
		s := searchStep{MessagesPerS: rate, Result: stepMissed, Runs: []string{"r"}, Why: "slow"}
		switch {
		case unreliable != nil && unreliable(rate):
			time.Sleep(30 * time.Second)
			s.Result, s.Runs = stepUnreliable, []string{"r", "r2"}
		case rate <= limit:
			s.Result = stepReached
		}
		return s
	}
}

func TestBisection(t *testing.T) {
	bounds := searchBounds{from: 5000, to: 500_000, precision: 0.1, runs: 20, within: time.Hour}
	for _, test := range []struct {
		name       string
		limit      int
		bounds     func(*searchBounds)
		unreliable func(int) bool
		ended      string
		code       int
		says       string
	}{
		{"in the middle", 42_000, nil, nil, "narrow enough", 0, "messages a second; reached there, not reached at"},
		{"none", 10, nil, nil, "even the lowest", 1, "no rate reached it, not even 5000 messages a second"},
		{"all", 1_000_000, nil, nil, "the highest rate was reached", 0, "at least 500000 messages a second"},
		{"few runs", 42_000, func(b *searchBounds) { b.runs = 4 }, nil, "all runs", 0, "not reached at"},
		{"little time", 42_000, func(b *searchBounds) { b.within = 2 * time.Minute }, nil, "no further run fits", 0, "not reached at"},
		{"unreliable above", 42_000, nil, func(rate int) bool { return rate > 100_000 }, "narrow enough", 0, "unreliable at 500000"},
		{"unreliable everywhere", 42_000, nil, func(int) bool { return true }, "even the lowest", 5, "no run could be believed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := bounds
				if test.bounds != nil {
					test.bounds(&b)
				}
				began := time.Now()
				a := bisect(t.Context(), b, capacity(test.limit, test.unreliable))
				runs := 0
				for _, s := range a.Steps {
					runs += len(s.Runs)
				}
				if took := time.Since(began); runs > b.runs || took > b.within {
					t.Errorf("%d runs in %v", runs, took)
				}
				if a.Reached > test.limit && test.limit < b.to || a.Above > 0 && test.unreliable == nil && a.Above <= test.limit {
					t.Errorf("the bracket %d to %d does not hold %d", a.Reached, a.Above, test.limit)
				}
				if a.EndedBy == "the bracket is narrow enough" && float64(a.Above-a.Reached) > 0.1*float64(a.Reached) {
					t.Errorf("the bracket is %d to %d", a.Reached, a.Above)
				}
				if got := a.code(false); got != test.code || !strings.Contains(a.EndedBy, test.ended) || !strings.Contains(a.text(), test.says) {
					t.Errorf("exit code %d, want %d; ended by %q\n%s", got, test.code, a.EndedBy, a.text())
				}
			})
		})
	}
}

func TestSearchJudgesARun(t *testing.T) {
	ms := func(v float64) *float64 { return &v }
	good := func() results.Summary {
		return results.Summary{LatencyNs: map[string]results.Quantiles{string(results.Steady): {P99: new(int64(9e6))}},
			Kills: []results.KillSummary{{Node: "n0", DownMs: ms(1000), CaughtUpMs: ms(800), Recovery: &results.Recovery{Outside: results.RecoveryTimes{BacklogDrained: ms(1900)}}}}}
	}
	for name, test := range map[string]struct {
		change func(*results.Summary)
		want   stepResult
		why    string
	}{
		"good": {func(*results.Summary) {}, stepReached, "recovery 1900 ms"},
		"slow": {func(s *results.Summary) {
			s.LatencyNs[string(results.Steady)] = results.Quantiles{P99: new(int64(21e6))}
		}, stepMissed, "steady p99 21ms"},
		"no p99":     {func(s *results.Summary) { s.LatencyNs = nil }, stepUnreliable, "too few batches"},
		"long":       {func(s *results.Summary) { s.Kills[0].Recovery.Outside.BacklogDrained = ms(5001) }, stepMissed, "recovery 5001 ms"},
		"never":      {func(s *results.Summary) { s.Kills[0].CaughtUpMs = nil }, stepMissed, "never caught up"},
		"backlog":    {func(s *results.Summary) { s.Kills[0].Recovery.Outside.BacklogDrained = nil }, stepMissed, "never worked off"},
		"no kill":    {func(s *results.Summary) { s.Kills = nil }, stepMissed, "no node was killed"},
		"missed":     {func(s *results.Summary) { s.ExitCode, s.Reasons = 1, []string{"few"} }, stepMissed, "few"},
		"stuck":      {func(s *results.Summary) { s.ExitCode = 4 }, stepMissed, ""},
		"invalid":    {func(s *results.Summary) { s.ExitCode, s.Reasons = 5, []string{"busy"} }, stepUnreliable, "invalid: busy"},
		"loss":       {func(s *results.Summary) { s.ExitCode = 3 }, stepAborted, ""},
		"interrupts": {func(s *results.Summary) { s.ExitCode = 130 }, stepAborted, ""},
	} {
		summary := good()
		test.change(&summary)
		var step searchStep
		step.judge(summary, 20*time.Millisecond, 5*time.Second)
		if step.Result != test.want || !strings.Contains(step.Why, test.why) {
			t.Errorf("%s: %s (%s), want %s (%s)", name, step.Result, step.Why, test.want, test.why)
		}
	}
}

// TestSearchRuns is a search from end to end over real runs of the memory target, in this process.
func TestSearchRuns(t *testing.T) {
	playedOnce(t, "whole runs")
	root := t.TempDir()
	path := filepath.Join(t.TempDir(), "step.yaml")
	text := `name: step
target: memory
producers: 4
batch_messages: 10
warmup: 200ms
duration: 3s
messages_per_s: 4000
quiet_max: 1s
faults: [{at: 1s, kill: primary, restart_after: 100ms}]
demands: {late_p99_max: 2s, canary_change_max: 100}
`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	here := func(ctx context.Context, _ string, args []string, runOut io.Writer) (int, error) {
		if code, said := bench(t, "--results", root, "clean", "--all"); code != 0 || !strings.Contains(said, "kept      search-") {
			t.Errorf("cleaning under a search: exit code %d\n%s", code, said)
		}
		return run(ctx, args, runOut, runOut), nil
	}
	c := &searchCommand{Scenario: path, P99: 5 * time.Second, Recovery: 5 * time.Second, From: rateFlag{true, 4000}, To: rateFlag{true, 8000},
		Precision: 0.5, Runs: 4, Within: 5 * time.Minute, Seed: 3, launch: here}
	err := c.Run(&environment{ctx: t.Context(), out: &out, errs: &out, results: root})
	if err != nil || !strings.Contains(out.String(), "answer: at least 8000 messages a second") {
		t.Fatalf("%v\n%s", err, out.String())
	}
	files, _ := filepath.Glob(filepath.Join(root, "search-*", "search.json"))
	runs, _ := filepath.Glob(filepath.Join(root, "search-*", "runs", "*", "summary.json"))
	if len(files) != 1 || len(runs) < 2 {
		t.Errorf("files %v, runs %v", files, runs)
	}
}

func TestSearchRefuses(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"steady"}, "kills no node that comes back"}, {[]string{"--from", "9000", "--to", "8000"}, "not below"},
		{[]string{"--from", "10"}, "less than one batch"}, {[]string{"--p99", "0s"}, "more than 0"}, {[]string{"--precision", "7"}, "0.01 to 1"},
		{[]string{"--runs", "0"}, "1 to 100"}, {[]string{"quack"}, "built in are"},
	} {
		code, out := bench(t, append([]string{"--results", t.TempDir(), "search"}, test.args...)...)
		if code != results.ExitUsage || !strings.Contains(out, test.want) {
			t.Errorf("%v: exit code %d, want %q in %s", test.args, code, test.want, out)
		}
	}
}
