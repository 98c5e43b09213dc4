package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"rejoin/plots/report"
	"rejoin/results"
	"rejoin/results/compare"
)

type versusCommand struct {
	Scenario string       `arg:"" optional:"" help:"Built-in scenario or YAML file. Default: quick."`
	Targets  []string     `help:"Systems to run, the first is what the others are held against. bench run --help tells the names." default:"builtin,nats,nats:always,kafka" placeholder:"NAMES"`
	Repeat   int          `help:"Runs of each system." default:"3" placeholder:"N"`
	Rate     rateFlag     `help:"Offered messages a second. Default: the scenario's." placeholder:"N"`
	Duration durationFlag `help:"Length of the load of each run. Default: the scenario's." placeholder:"TIME"`
	Seed     uint64       `help:"Seed of the first round; the next has one more. 0 draws one." placeholder:"N"`
	Resume   string       `help:"Go on with a folder that bench versus made: runs that are missing or invalid are made, then all are summed up." placeholder:"DIR"`
	PeerFlags
}

// Help is shown by bench versus --help.
func (versusCommand) Help() string {
	return `Runs the scenario against each system in turn, each round beginning with another one, every run a process of its own with its nodes as real
processes that are killed and restarted. All runs of a round have one seed; no run is profiled, since only our nodes could be.

Everything stays in results/versus-<utc>-<scenario>/: versus.html, versus.md, versus.json, plan.json (order, seeds), runs/, one log for each run.
A system whose programs are not here is named and left out; make peers fetches them. A run that misses a demand of the scenario counts: the
demands are ours. One that is invalid does not; --resume makes it again.

The systems do not promise the same: each column carries its promise. Settings, why, and how to change them: docs/fairness.md. Not in the default
list, for the time alone: nats:async, the usual way to publish, and kafka:flush, whose promise is the nearest to ours.

Examples:
  bench versus                                        quick against our log, NATS JetStream twice, and Kafka; about half an hour
  bench versus --targets builtin,kafka:flush --repeat 5
  bench versus saturate --targets builtin,nats:always  throughput and cost of full systems; no latency, which there is none of at such a load
  bench versus --resume results/versus-20261130T120000Z-quick

Exit codes: 0 summed up, 2 refused, 3 or 4 a run lost data or got stuck, 5 a system has no run that counts, 130 interrupted.`
}

// Run runs, sums up and draws.
func (c *versusCommand) Run(env *environment) error {
	plan, group, err := c.prepare(env)
	if err != nil {
		return usage("%w", err)
	}
	defer group.Close()
	self, err := os.Executable()
	if err != nil {
		return usage("find the bench binary: %w", err)
	}
	v := versus{plan: plan, dir: group.Dir, binary: self, launch: launchProcess,
		say: func(format string, args ...any) { fmt.Fprintf(env.out, format+"\n", args...) }}
	v.say("%s against %s, %d rounds, seeds from %d; %s", plan.Scenario, strings.Join(plan.Targets, ", "), plan.Repeats, plan.Seed, group.Dir)
	code, err := v.perform(env.ctx)
	if err != nil {
		return &exitError{code, err}
	}
	return v.finish(env.out, code)
}

// prepare makes a plan and its folder, or finds those that are to go on.
func (c *versusCommand) prepare(env *environment) (versusPlan, *results.Group, error) {
	found := results.Probe(".")
	if c.Resume != "" {
		if c.Scenario != "" || c.Rate.given || c.Duration.given || c.Seed != 0 {
			return versusPlan{}, nil, errors.New("--resume goes on with what was asked then: leave scenario, rate, duration and seed out")
		}
		plan, err := readVersusPlan(c.Resume)
		if err == nil && (plan.Commit != found.Commit || plan.Dirty != found.Dirty) {
			err = fmt.Errorf("%s was begun by build %s (dirty %v), this is %s (dirty %v): runs of two builds are no comparison; begin anew",
				c.Resume, plan.Commit, plan.Dirty, found.Commit, found.Dirty)
		}
		if err != nil {
			return plan, nil, err
		}
		plan.forgetRefusals()
		group, err := results.HoldGroup(c.Resume)
		return plan, group, err
	}
	plan, err := c.plan()
	if err != nil {
		return plan, nil, err
	}
	plan.Commit, plan.Dirty = found.Commit, found.Dirty
	group, err := results.CreateGroup(env.results, "versus", plan.Scenario, time.Now())
	return plan, group, err
}

func (c *versusCommand) plan() (versusPlan, error) {
	ref := c.Scenario
	if ref == "" {
		ref = defaultScenario
	}
	scenario, err := loadScenario(ref)
	if err != nil {
		return versusPlan{}, err
	}
	if c.Repeat < 1 || c.Repeat > repetitionsMax {
		return versusPlan{}, fmt.Errorf("--repeat %d: pass 1 to %d", c.Repeat, repetitionsMax)
	}
	p := versusPlan{CreatedAt: time.Now(), Scenario: scenario.Name, Targets: c.Targets, Repeats: c.Repeat, Seed: c.Seed,
		Arguments: append([]string{"run", ref, "--repeat", "1", "--profile", "none"}, c.PeerFlags.args()...)}
	for i, target := range p.Targets {
		if _, known := kindOf(target); !known {
			return p, fmt.Errorf("--targets: %q is unknown; there are %s", target, targetNames())
		}
		if slices.Contains(p.Targets[:i], target) {
			return p, fmt.Errorf("--targets: %s stands there twice", target)
		}
	}
	if c.Rate.given {
		p.Arguments = append(p.Arguments, "--rate", strconv.Itoa(c.Rate.messagesPerS))
	}
	if c.Duration.given {
		p.Arguments = append(p.Arguments, "--duration", c.Duration.length.String())
	}
	for p.Seed == 0 {
		if p.Seed, err = drawSeed(); err != nil {
			return p, err
		}
	}
	return p, nil
}

// versus is the runs of a plan under way.
type versus struct {
	plan   versusPlan
	dir    string
	binary string
	launch launch
	say    func(format string, args ...any)
}

// perform makes the runs that are missing. The code is the worst of those that lost data, got stuck or were interrupted: a demand that
// another system misses is a finding, not a failure.
func (v *versus) perform(ctx context.Context) (int, error) {
	if err := v.plan.write(v.dir); err != nil {
		return results.ExitUsage, err
	}
	code := results.ExitPass
	steps := v.plan.steps()
	for i, s := range steps {
		if v.plan.settled(v.dir, s) {
			continue
		}
		v.say("run %d of %d: %s", i+1, len(steps), s.target)
		ended, err := v.one(ctx, s)
		switch {
		case ctx.Err() != nil || ended == results.ExitInterrupted:
			return results.ExitInterrupted, nil
		case err != nil:
			return ended, err
		case ended == results.ExitLoss || ended == results.ExitStuck:
			code = worseCode(code, ended)
		}
	}
	return code, nil
}

// one makes one run.
func (v *versus) one(ctx context.Context, s versusStep) (int, error) {
	args := append(slices.Clone(v.plan.Arguments), "--target", s.target, "--seed", strconv.FormatUint(v.plan.Seed+uint64(s.round), 10))
	name := fmt.Sprintf("%02d-%s", s.round+1, strings.ReplaceAll(s.target, ":", "-"))
	ended, log, err := plannedRuns{v.dir, v.launch}.one(ctx, name, v.binary, args...)
	if err != nil {
		return ended.ExitCode, err
	}
	done := versusRun{Round: s.round, Target: s.target, plannedRun: ended}
	if ended.ExitCode == results.ExitUsage { // refused, or it could not be started
		done.Refused, done.Folder = lastLine(log), ""
	}
	v.plan.Runs = append(v.plan.Runs, done)
	if err := v.plan.write(v.dir); err != nil {
		return results.ExitUsage, err
	}
	v.tell(done)
	return ended.ExitCode, nil
}

// tell prints one line about a run that has ended.
func (v *versus) tell(done versusRun) {
	if done.Refused != "" {
		v.say("  not run: %s", done.Refused)
		return
	}
	run, err := done.load(v.dir)
	if err != nil {
		v.say("  no evidence: %v", err)
		return
	}
	v.say("  %s; %s; acknowledged %d of %d, lost %d, duplicated %d%s", run.Summary.Verdict, speedText(run),
		run.Summary.AckedBatches, run.Summary.OfferedBatches, run.Summary.LostBatches, run.Summary.DuplicatedBatches, verifiedText(run.Summary))
}

// speedText is a run's latency in steady state; under a load that is more than a system carries, where that means nothing, its throughput.
func speedText(run compare.Run) string {
	if run.Overload() {
		return fmt.Sprintf("%.0f batches/s", run.Summary.BatchesPerS)
	}
	q := run.Summary.LatencyNs[string(results.Steady)]
	return fmt.Sprintf("steady p50 %s p99 %s", nsText(q.P50), nsText(q.P99))
}

// Files of a folder that holds a comparison of systems.
const (
	versusFile     = "versus.json"
	versusMarkdown = "versus.md"
)

// finish sums up what there is. code is the worst of the runs.
func (v *versus) finish(out io.Writer, code int) error {
	entries, warnings := v.plan.entries(v.dir)
	sum, err := compare.CompareSystems(v.plan.Scenario, v.plan.Repeats, entries, time.Now())
	if err != nil {
		return usage("%w", err)
	}
	sum.Warnings = append(sum.Warnings, warnings...)
	err = errors.Join(results.WriteJSON(filepath.Join(v.dir, versusFile), sum),
		results.WriteFileAtomic(filepath.Join(v.dir, versusMarkdown), func(w io.Writer) error { return sum.WriteMarkdown(w) }),
		report.WriteVersus(v.dir, report.VersusPage{Versus: sum, Arguments: v.repeatArguments()}))
	if err != nil {
		return usage("write the comparison: %w", err)
	}
	fmt.Fprintln(out)
	if err := sum.WriteText(out); err != nil {
		return usage("print the comparison: %w", err)
	}
	fmt.Fprintf(out, "open %s\n", filepath.Join(v.dir, report.VersusFile))
	for _, c := range sum.Contenders {
		if c.Counted == 0 && c.NotRun == "" && code == results.ExitPass {
			code = results.ExitInvalid
		}
	}
	if code != results.ExitPass {
		return &exitError{code: code}
	}
	return nil
}

// repeatArguments are a command line that does the same again.
func (v *versus) repeatArguments() []string {
	args := []string{"versus"}
	for i := 1; i < len(v.plan.Arguments); i++ {
		switch v.plan.Arguments[i] {
		case "--repeat", "--profile": // versus says these itself
			i++
		default:
			args = append(args, v.plan.Arguments[i])
		}
	}
	return append(args, "--targets", strings.Join(v.plan.Targets, ","), "--repeat", strconv.Itoa(v.plan.Repeats), "--seed", strconv.FormatUint(v.plan.Seed, 10))
}
