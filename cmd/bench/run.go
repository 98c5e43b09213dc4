package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"rejoin/results"
)

type runCommand struct {
	Scenario string `arg:"" optional:"" help:"Built-in scenario (quick, rejoin-360, primary-rejoin, steady, saturate, search) or a YAML file. Default: quick."`
	Target   string `help:"System to drive: builtin (our log, as node processes), memory (this process; tries the harness itself) or another system, see docs/targets.md. Default: the scenario's." placeholder:"NAME"`
	PeerFlags
	ExternalFlags
	Rate     rateFlag     `help:"Offered messages a second, all producers together. Default: the scenario's." placeholder:"N"`
	Duration durationFlag `help:"Length of the load, such as 90s. Default: the scenario's." placeholder:"TIME"`
	Seed     uint64       `help:"Seed of payload, jitter and arrivals; 0, the default, draws one and prints it." placeholder:"N"`
	From     string       `help:"Repeat a run by its run.json: a folder, its name, or latest. Nodes elsewhere and their commands are those of that run, and so are programs that it was told of. Other flags override." placeholder:"RUN"`
	Repeat   *int         `help:"Run it so many times, each in a process and a folder of its own, and sum up: medians with intervals, over kills for recovery. Default: the scenario's repetitions." placeholder:"N"`
	Keep     bool         `help:"Keep the nodes' data directories after a pass (quick: about 1.7 GB)."`
	Profile  string       `help:"Profile harness and nodes also by mem, mutex, block, trace, goroutine or clock; flight: keep the nodes' last seconds of trace; cpu: CPU time over the whole life instead of by phase; none: no profiler at all. Default: CPU time by phase." placeholder:"MODE[,flight]"`

	Limits     bool     `help:"Measure before and after the run what the machine can do at most, about half a minute each; the report then shows each figure beside its limit (docs/limits.md)."`
	FlightOver duration `help:"With --profile flight: a batch that takes longer is an occasion to save what the nodes have kept." default:"250ms" placeholder:"TIME"`
	Print      bool     `help:"Print the effective scenario as YAML, flags taken in and every default filled in, and run nothing."`
	JSON       bool     `help:"Print events, progress and verdict on stdout, one JSON object a line (docs/watching.md); text for people goes to stderr." name:"json"`
	HTTP       string   `help:"Serve the run live as a page, with /metrics for Prometheus, at this address; a port alone is on loopback. Beyond loopback a token is needed: REJOIN_TOKEN or REJOIN_TOKEN_FILE." name:"http" placeholder:"[HOST]:PORT"`
	Quiet      bool     `help:"Print only the verdict and its reasons." short:"q"`
}

// Help is shown by bench run --help.
func (runCommand) Help() string {
	return `One run: preflight, a baseline of the generator alone, nodes up, load with faults, a quiet phase, every replica read and compared with what
was acknowledged (live, alone, and from the files after a SIGKILL of all), plots, verdict. Everything lands in results/<utc>-<target>-<scenario>/. The nodes' data is removed after a pass and kept otherwise.

A scenario is a YAML file; docs/scenarios.md tells every field, unit and default, and --print shows the effective one. A flag that shortens the
load or changes rate or target leaves out, with a line for each, the faults and floors that then have no meaning.

On a terminal a block is drawn over four times a second; elsewhere a line of progress is printed each second:
  load: 29/64s    300 batches/s  p50 620µs  p99 1.04ms  waiting 0  n0 backup  n1 down  n2 primary  | n1 killed
  load: 30/64s    300 batches/s  p50 660µs  p99 2.44ms  waiting 0  n0 backup  n1 none -1595 (transferring 0%)  n2 primary

Batches a second are those acknowledged in the last second, p50 and p99 their latency from due; waiting are batches that are due and have no
outcome yet; behind the bar stands what a fault has done to a node. n1 came back between the two: it has no role in a view yet, its commit is
1595 ops behind the highest that any node had shown, and of the transfer nothing has arrived. A lag of up to 7 ops at 300 batches a second is
none and not shown (docs/watching.md).

Examples:
  bench run                             three nodes, each killed once; about 80 s
  bench run rejoin-360                  the reference schedule; about eight minutes and 9 GB of disk
  bench run steady --rate 60000         no faults, twice the load
  bench run quick --target memory       tries the harness without a cluster
  bench run quick --target nats         NATS JetStream instead; make peers first
  bench run --from latest               the last run again, same seed
  bench run quick --print               what quick means in full
  bench run quick --repeat 5            five runs, and medians over 15 kills
  bench run --http :8080                watch it at http://127.0.0.1:8080/
  bench run --json | jq .type           for programs

Ctrl-C stops the nodes, writes and draws what is known, and exits 130; a second one ends at once.`
}

// Run runs a scenario and exits with its verdict.
func (c *runCommand) Run(env *environment) error {
	s, seed, leftOut, err := c.asked(env)
	if err != nil {
		return usage("%w", err)
	}
	if c.Print {
		text, err := s.toYAML()
		if err == nil {
			_, err = env.out.Write(text)
		}
		return err
	}
	if err := c.ExternalFlags.validate(s); err != nil {
		return usage("%w", err)
	}
	profiling, err := parseProfiling(c.Profile)
	if err != nil {
		return usage("%w", err)
	}
	times := s.Repetitions
	if c.Repeat != nil {
		times = *c.Repeat
	}
	if times != 1 && c.JSON {
		return usage("--json tells of one run; pass --repeat 1 and start it several times")
	}
	if times != 1 {
		return c.repeat(env, s.Name, seed, times)
	}
	if err := s.kind().needs(c.PeerFlags); err != nil && !c.external() {
		return usage("target %s: %w", s.Target, err)
	}
	run, err := newSession(env, c, s, seed, profiling)
	if err != nil {
		return usage("%w", err)
	}
	for _, sentence := range leftOut {
		run.note("left out: %s", sentence)
	}
	defer run.closeSay()
	code, err := run.perform(env.ctx)
	if err != nil {
		return &exitError{code, err}
	}
	if code != results.ExitPass {
		return &exitError{code: code}
	}
	return nil
}

// asked settles scenario and seed: a named one or that of an earlier run, then the flags. leftOut says what of the scenario the flags
// have made pointless.
func (c *runCommand) asked(env *environment) (s Scenario, seed uint64, leftOut []string, err error) {
	s, seed, err = c.base(env)
	if err != nil {
		return s, 0, nil, err
	}
	if c.Target != "" {
		s.Target = c.Target
	}
	if c.Rate.given {
		if len(s.Load) > 0 {
			leftOut = append(leftOut, "the steps of load: --rate is one rate")
		}
		if s.ClosedLoop {
			leftOut = append(leftOut, "the closed loop: --rate is a timetable")
		}
		s.MessagesPerS, s.Load, s.ClosedLoop = c.Rate.messagesPerS, nil, false
	}
	if c.Duration.given {
		leftOut = append(leftOut, s.setDuration(c.Duration.length)...)
	}
	if err := s.validateLoad(); err != nil { // what can be reached is asked of a load that can be
		return s, 0, nil, fmt.Errorf("scenario %s with these flags: %w", s.Name, err)
	}
	if c.Target != "" || c.Rate.given || c.Duration.given {
		leftOut = append(leftOut, s.dropUnreachable()...)
	}
	if c.Seed != 0 {
		seed = c.Seed
	}
	for seed == 0 {
		if seed, err = drawSeed(); err != nil {
			return s, 0, nil, err
		}
	}
	if err := s.validate(); err != nil {
		return s, 0, nil, fmt.Errorf("scenario %s with these flags: %w", s.Name, err)
	}
	return s, seed, leftOut, nil
}

// drawSeed is short enough to type; 0, which means none, is possible.
func drawSeed() (uint64, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 0, fmt.Errorf("draw a seed: %w", err)
	}
	return binary.LittleEndian.Uint64(b[:]) >> 16, nil
}

func (c *runCommand) base(env *environment) (Scenario, uint64, error) {
	if c.From == "" {
		name := c.Scenario
		if name == "" {
			name = defaultScenario
		}
		s, err := loadScenario(name)
		if err != nil {
			err = hintAtFrom(env.results, name, err)
		}
		return s, 0, err
	}
	if c.Scenario != "" {
		return Scenario{}, 0, errors.New("pass either a scenario or --from RUN")
	}
	folder, err := results.Open(env.results, c.From)
	if err != nil {
		return Scenario{}, 0, err
	}
	before, err := folder.ReadRun()
	if err != nil {
		return Scenario{}, 0, err
	}
	s, err := parseScenario("scenario of "+folder.Name(), before.Asked.Scenario)
	if err != nil {
		return Scenario{}, 0, err
	}
	c.PeerFlags.repeat(before.Asked.Programs)
	if c.Target == "" || c.Target == s.Target { // another system does not listen there
		c.ExternalFlags.repeat(before.Asked.Elsewhere)
	}
	return s, before.Asked.Seed, nil
}

// hintAtFrom says how a run is repeated where one was named instead of a scenario.
func hintAtFrom(root, name string, err error) error {
	if _, openErr := results.Open(root, name); openErr != nil {
		return err
	}
	return fmt.Errorf("%s is a run and no scenario; bench run --from %s repeats it", name, name)
}

// perform is the run from end to end. Whatever happens after the folder exists is written into it. The code is the verdict's; the error,
// if any, is what kept the run from reaching one.
func (r *session) perform(ctx context.Context) (code int, err error) {
	steps := []struct {
		name string
		do   func(context.Context) error
	}{
		{"preflight", r.preflight},
		{"limits", r.limitsBefore}, // before the priority is raised: the parts run at the ordinary one
		{"priority", r.takePriority},
		{"canaries", r.canariesBefore},
		{"baseline", r.baseline},
		{"start", r.start},
		{stepLoad, r.load},
		{stepQuiet, r.quiet},
		{"verify", r.verify},
	}
	for _, step := range steps {
		r.say.show(r.newView(step.name))
		if err = step.do(ctx); err != nil || ctx.Err() != nil {
			break
		}
	}
	if ctx.Err() != nil {
		r.judge.Interrupt("interrupted by the user")
		err = nil
	}
	if refused(err) {
		return r.refuse(err)
	}
	return r.conclude(ctx, err)
}
