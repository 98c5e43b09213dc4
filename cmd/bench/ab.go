package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"rejoin/results"
	"rejoin/results/compare"
)

type abCommand struct {
	Rev      string       `arg:"" name:"rev" help:"Git revision to hold the working tree against: side A, the base. HEAD on a clean tree is an A/A test."`
	Scenario string       `help:"Built-in scenario or YAML file." default:"steady" placeholder:"NAME"`
	Duration durationFlag `help:"Length of the load of each run. Default: 20s." placeholder:"TIME"`
	Pairs    int          `help:"Pairs of runs; the tests need 7, with kills 8." default:"8" placeholder:"N"`
	Seed     uint64       `help:"Seed of the first pair; the next has one more. 0 draws one." placeholder:"N"`
	AA       []string     `name:"aa" help:"Runs of one build for the noise floor, see bench compare." placeholder:"RUN" sep:"none"`
	FailOn   []string     `name:"fail-on" help:"Exit with 6 if the working tree is beyond this bound, such as 'steady.p99>+10%'; may be repeated." placeholder:"BOUND" sep:"none"`
	Force    bool         `help:"Compare although the two builds' runs differ in machine or load."`
}

// Help is shown by bench ab --help.
func (abCommand) Help() string {
	return `Builds the revision in a temporary tree and the working tree as it is, both with -pgo=off, runs them in turn (ABBA…) with the same
scenario, and compares. A is the revision, B the working tree: "B is slower" says that your change made it slower.

Each build is driven by its own generator. Everything stays in results/ab-<utc>-<scenario>/: ab.json (order, seeds, builds), runs/, one log for
each run, comparison.html, comparison.json, compare.txt and the differences of profiles. Eight pairs of 20 s take about ten minutes. Ctrl-C
ends the present run and compares the pairs that are whole; the tree is removed in any case. A pair with a run that is invalid is left
out and named, and another made at the end.

Examples:
  bench ab HEAD                         what uncommitted changes cost
  bench ab main --pairs 12              the branch against main, with more evidence
  bench ab v1.2 --scenario quick --duration 64s --fail-on 'kill.primary.gap>+20%'
  make ab REV=HEAD

Exit codes: 0 compared (also when it cannot judge), 2 refused, 3 or 4 a run lost data or got stuck, 5 no whole pair, 6 a bound was broken,
130 interrupted.`
}

// abDuration is the load of one run unless the user says otherwise: with 5 s of warm-up 15 s count, 4,500 batches.
const abDuration = 20 * time.Second

// Run builds, runs and compares.
func (c *abCommand) Run(env *environment) error {
	bounds, err := parseBounds(c.FailOn)
	if err != nil {
		return usage("%w", err)
	}
	same, err := openRuns(env.results, c.AA)
	if err != nil {
		return usage("%w", err)
	}
	plan, err := c.plan()
	if err != nil {
		return usage("%w", err)
	}
	builds, err := newBuilds(env.ctx, c.Rev)
	if err != nil {
		if env.ctx.Err() != nil { // what git or go said of being killed is no news
			return &exitError{results.ExitInterrupted, errors.New("interrupted before both builds were there")}
		}
		return usage("%w", err)
	}
	defer builds.close()
	plan.A, plan.B = builds.a.abBuild, builds.b.abBuild
	group, err := results.CreateGroup(env.results, "ab", c.Scenario, time.Now())
	if err != nil {
		return usage("%w", err)
	}
	defer group.Close()
	dir := group.Dir
	t := abTest{plan: plan, dir: dir, binaries: map[byte]string{'A': builds.a.binary, 'B': builds.b.binary}, force: c.Force, launch: launchProcess,
		say: func(format string, args ...any) { fmt.Fprintf(env.out, format+"\n", args...) }}
	t.say("A: %s, B: %s; order %s, seeds from %d; %s", plan.A.text(), plan.B.text(), plan.Order, plan.Seed, dir)
	code, err := t.perform(env.ctx)
	if err != nil {
		return &exitError{code, err}
	}
	return t.finish(env, compare.Options{Bounds: bounds, Same: same, Force: c.Force, Now: time.Now()}, code)
}

// plan is what will be done, before anything is built.
func (c *abCommand) plan() (abPlan, error) {
	scenario, err := loadScenario(c.Scenario)
	if err != nil {
		return abPlan{}, err
	}
	if c.Pairs < 1 || c.Pairs > 1000 {
		return abPlan{}, fmt.Errorf("%d pairs: pass 1 to 1000", c.Pairs)
	}
	ref := c.Scenario
	if _, err := os.Stat(ref); err == nil { // a file: the builds run in other folders
		if ref, err = filepath.Abs(ref); err != nil {
			return abPlan{}, err
		}
	}
	load := abDuration
	if c.Duration.given {
		load = c.Duration.length
	}
	p := abPlan{CreatedAt: time.Now(), Scenario: scenario.Name, Pairs: c.Pairs, Order: abOrder(c.Pairs), Seed: c.Seed,
		Arguments: []string{"run", ref, "--duration", load.String()}}
	for p.Seed == 0 {
		if p.Seed, err = drawSeed(); err != nil {
			return p, err
		}
	}
	return p, nil
}

// abTest is the runs of a plan under way.
type abTest struct {
	plan     abPlan
	dir      string
	binaries map[byte]string // by side
	force    bool
	launch   launch
	say      func(format string, args ...any)
	began    time.Time
}

// perform makes all runs. It stops early at an interrupt (130), and with an error where going on would be a waste of time.
func (t *abTest) perform(ctx context.Context) (int, error) {
	if err := t.plan.write(t.dir); err != nil {
		return results.ExitUsage, err
	}
	t.began = time.Now()
	code := results.ExitPass
	for i := 0; i < len(t.plan.Order) || t.makeUp(); i++ {
		ended, err := t.one(ctx, i)
		switch {
		case ctx.Err() != nil || ended == results.ExitInterrupted:
			return results.ExitInterrupted, nil
		case err != nil:
			return ended, err
		case ended == results.ExitLoss || ended == results.ExitStuck:
			code = worseCode(code, ended)
		}
		if i == 1 && !t.force {
			if err := t.checkFirstPair(); err != nil {
				return results.ExitUsage, err
			}
		}
	}
	return code, nil
}

// makeUp adds a pair to the plan if the planned ones are done and some were left out; at most half as many as were asked for, because a
// machine that spoils more is none to measure on. What leaves a pair out is the generator's lateness, not what a build achieved.
func (t *abTest) makeUp() bool {
	done := len(t.plan.Order) / 2
	o, _ := t.plan.options(t.dir) // without a whole pair there is an error, and none in A
	if len(o.A) >= t.plan.Pairs || done >= t.plan.Pairs+(t.plan.Pairs+1)/2 {
		return false
	}
	t.plan.Order = abOrder(done + 1)
	t.say("%d of %d pairs are whole: one more", len(o.A), t.plan.Pairs)
	return true
}

// one is the i-th run.
func (t *abTest) one(ctx context.Context, i int) (int, error) {
	side, pair := t.plan.Order[i], i/2
	args := append(slices.Clone(t.plan.Arguments), "--seed", strconv.FormatUint(t.plan.Seed+uint64(pair), 10))
	ended, log, err := plannedRuns{t.dir, t.launch}.one(ctx, fmt.Sprintf("%02d-%c", i+1, side), t.binaries[side], args...)
	if err != nil {
		return ended.ExitCode, err
	}
	done := abRun{Pair: pair, Side: string(side), plannedRun: ended}
	t.plan.Runs = append(t.plan.Runs, done)
	if err := t.plan.write(t.dir); err != nil {
		return results.ExitUsage, err
	}
	if ended.ExitCode == results.ExitUsage {
		return ended.ExitCode, fmt.Errorf("build %c refused the run; %s ends: %s", side, log, lastLine(log))
	}
	t.tell(i, done)
	return ended.ExitCode, nil
}

// tell prints one line about a run that has ended.
func (t *abTest) tell(i int, done abRun) {
	text := fmt.Sprintf("exit code %d", done.ExitCode)
	if run, err := done.load(t.dir); err == nil {
		q := run.Summary.LatencyNs[string(results.Steady)]
		text = fmt.Sprintf("%s, steady p50 %s p99 %s", run.Summary.Verdict, nsText(q.P50), nsText(q.P99))
	}
	left := time.Since(t.began) / time.Duration(i+1) * time.Duration(len(t.plan.Order)-i-1)
	t.say("run %2d of %d, %s: %s; about %v left", i+1, len(t.plan.Order), done.Side, text, left.Round(time.Second))
}

// checkFirstPair finds out after two runs, not after all, that the builds' runs cannot be compared.
func (t *abTest) checkFirstPair() error {
	o, err := t.plan.options(t.dir)
	if err != nil {
		return nil // an invalid run: the next pairs may be better
	}
	var refused *compare.RefusedError
	if _, err = compare.Compare(o); errors.As(err, &refused) {
		return fmt.Errorf("%w\n  the two builds do not mean the same by this scenario: pass a YAML file by --scenario, or --force", err)
	}
	return nil
}

// finish compares what there is. code is the worst of the runs.
func (t *abTest) finish(env *environment, with compare.Options, code int) error {
	o, err := t.plan.options(t.dir)
	if err != nil {
		return &exitError{cmp.Or(code, results.ExitInvalid), err}
	}
	o.Bounds, o.Same, o.Force, o.Now = with.Bounds, with.Same, with.Force, with.Now
	if len(o.A) < t.plan.Pairs {
		o.Warnings = append(o.Warnings, fmt.Sprintf("%d of %d pairs are whole", len(o.A), t.plan.Pairs))
	}
	fmt.Fprintln(env.out)
	if _, err = compareAndTell(env, o, t.dir); err != nil && code == results.ExitPass {
		return err
	}
	if code != results.ExitPass {
		return &exitError{code, err}
	}
	return nil
}
