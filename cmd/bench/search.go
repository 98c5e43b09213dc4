package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"rejoin/results"
)

type searchCommand struct {
	Scenario  string        `arg:"" optional:"" help:"Scenario of one step, with at least one kill that comes back. Default: search, 26 s with one kill of the primary."`
	P99       time.Duration `help:"Highest p99 of the steady phase, from due to acknowledged." name:"p99" default:"20ms" placeholder:"TIME"`
	Recovery  time.Duration `help:"Longest recovery after any kill: until nothing waits that was due before, and from a node's restart until it has caught up." default:"5s" placeholder:"TIME"`
	From      rateFlag      `help:"Lowest rate to try, messages a second. Default: 5000." placeholder:"N"`
	To        rateFlag      `help:"Highest rate to try. Default: 500000." placeholder:"N"`
	Precision float64       `help:"Stop when the rates reached and not reached differ by no more than this share." default:"0.1" placeholder:"SHARE"`
	Runs      int           `help:"Runs at most, repetitions of invalid ones included." default:"12" placeholder:"N"`
	Within    time.Duration `help:"Time at most: a run begins only if one as long as the longest so far still fits." default:"30m" placeholder:"TIME"`
	Seed      uint64        `help:"Seed of the first run, the next has one more; 0 draws one." placeholder:"N"`
	Target    string        `help:"System to drive, as in bench run. Default: the scenario's." placeholder:"NAME"`

	launch launch
}

// Help is shown by bench search --help.
func (searchCommand) Help() string {
	return `Looks for the highest rate at which the log keeps its word while a node dies: real runs at one rate after the other, by bisection. A rate is
reached when its run passes, the p99 of its steady phase is at most --p99, and every kill's recovery at most --recovery. Each step is a run
folder; results/search-<utc>-<scenario>/ holds them with search.json and search.txt. A run that is invalid (the machine was too busy to tell)
is repeated once; a rate at which both are counts as not reached, and the answer says so.

Exit codes: 0 a rate was found, 1 no rate was reached, 3 data was lost, 5 no step could be believed, 130 interrupted.

Examples:
  bench search                                 p99 20 ms, recovery 5 s; at most 12 runs and half an hour
  bench search --p99 5ms --recovery 2s --to 100000
  bench search mine.yaml --runs 6`
}

// Run searches.
func (c *searchCommand) Run(env *environment) error {
	s, bounds, err := c.asked()
	if err != nil {
		return usage("%w", err)
	}
	r := searchRun{command: c, scenario: s, bounds: bounds, seed: c.Seed, out: env.out, launch: c.launch}
	if r.launch == nil {
		r.launch = launchProcess
		if r.binary, err = os.Executable(); err != nil {
			return usage("find the bench binary: %w", err)
		}
	}
	for r.seed == 0 {
		if r.seed, err = drawSeed(); err != nil {
			return usage("%w", err)
		}
	}
	group, err := results.CreateGroup(env.results, "search", s.Name, time.Now())
	if err != nil {
		return usage("%w", err)
	}
	defer group.Close()
	r.dir = group.Dir
	answer, err := r.perform(env.ctx)
	if err != nil || answer.ExitCode != results.ExitPass {
		return &exitError{answer.ExitCode, err}
	}
	return nil
}

// asked settles and checks what to search.
func (c *searchCommand) asked() (Scenario, searchBounds, error) {
	name := c.Scenario
	if name == "" {
		name = "search"
	}
	b := searchBounds{from: 5_000, to: 500_000, precision: c.Precision, runs: c.Runs, within: c.Within}
	if c.From.given {
		b.from = c.From.messagesPerS
	}
	if c.To.given {
		b.to = c.To.messagesPerS
	}
	s, err := loadScenario(name)
	if err != nil {
		return s, b, err
	}
	if c.Target != "" {
		s.Target = c.Target
	}
	comesBack := false
	for _, f := range s.Faults {
		comesBack = comesBack || f.ends() && !f.end().Never
	}
	switch {
	case !comesBack:
		return s, b, fmt.Errorf("scenario %s kills no node that comes back, so there is no recovery to judge; add one, or name another scenario", s.Name)
	case len(s.Load) > 0 || s.saturates():
		return s, b, fmt.Errorf("scenario %s changes its own rate, or has none; a search needs one rate a run", s.Name)
	case c.P99 <= 0 || c.Recovery <= 0 || c.Within <= 0:
		return s, b, fmt.Errorf("--p99 %v, --recovery %v, --within %v: pass more than 0", c.P99, c.Recovery, c.Within)
	case !(c.Precision >= 0.01 && c.Precision <= 1):
		return s, b, fmt.Errorf("--precision %v: pass 0.01 to 1", c.Precision)
	case c.Runs < 1 || c.Runs > 100:
		return s, b, fmt.Errorf("--runs %d: pass 1 to 100", c.Runs)
	case b.from >= b.to:
		return s, b, fmt.Errorf("--from %d is not below --to %d", b.from, b.to)
	}
	for _, rate := range []int{b.from, b.to} {
		s.MessagesPerS = rate
		if err := s.validateLoad(); err != nil {
			return s, b, fmt.Errorf("scenario %s at %d messages a second: %w", s.Name, rate, err)
		}
	}
	return s, b, nil
}

// searchRun is a search under way.
type searchRun struct {
	command  *searchCommand
	scenario Scenario
	bounds   searchBounds
	seed     uint64
	dir      string
	binary   string
	launch   launch
	out      io.Writer
}

// Files of a search's folder, beside runs/.
const (
	searchFile = "search.json"
	searchText = "search.txt"
)

func (r *searchRun) perform(ctx context.Context) (searchAnswer, error) {
	fmt.Fprintf(r.out, "search %s: scenario %s, steady p99 at most %v, recovery at most %v, %d to %d messages a second\n",
		r.dir, r.scenario.Name, r.command.P99, r.command.Recovery, r.bounds.from, r.bounds.to)
	answer := bisect(ctx, r.bounds, func(rate, runsLeft int) searchStep { return r.step(ctx, rate, runsLeft) })
	answer.ExitCode = answer.code(ctx.Err() != nil)
	fmt.Fprint(r.out, answer.conclusion())
	err := results.WriteJSON(filepath.Join(r.dir, searchFile), answer)
	if err == nil {
		err = os.WriteFile(filepath.Join(r.dir, searchText), []byte(answer.text()), 0o644)
	}
	return answer, err
}

// step runs one rate, and once more if the run could not be believed.
func (r *searchRun) step(ctx context.Context, rate, runsLeft int) searchStep {
	step := searchStep{MessagesPerS: rate, Runs: []string{}}
	for try := range 2 {
		if try == 1 && runsLeft < 2 {
			break
		}
		r.once(ctx, &step)
		fmt.Fprintf(r.out, "%s\n", step.line())
		if step.Result != stepUnreliable || ctx.Err() != nil {
			break
		}
	}
	return step
}

func (r *searchRun) once(ctx context.Context, step *searchStep) {
	root := filepath.Join(r.dir, runsDir)
	name := r.command.Scenario
	if name == "" {
		name = r.scenario.Name
	}
	args := []string{"--results", root, "run", name, "--quiet", "--repeat", "1", "--rate", strconv.Itoa(step.MessagesPerS), "--seed", strconv.FormatUint(r.seed, 10)}
	if r.command.Target != "" {
		args = append(args, "--target", r.command.Target)
	}
	r.seed++
	before := latestOf(root)
	code, err := r.launch(ctx, r.binary, args, io.Discard)
	folder := latestOf(root)
	if err != nil || folder.Dir == "" || folder == before {
		step.Result, step.ExitCode, step.Why = stepAborted, code, fmt.Sprintf("the run left no folder (exit code %d): %v", code, err)
		return
	}
	step.Runs = append(step.Runs, folder.Dir)
	summary, err := folder.ReadSummary()
	if err != nil {
		step.Result, step.ExitCode, step.Why = stepAborted, code, err.Error()
		return
	}
	step.judge(summary, r.command.P99, r.command.Recovery)
}
