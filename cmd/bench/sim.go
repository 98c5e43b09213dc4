package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"rejoin/results"
	"rejoin/server/sim"
)

type simCommand struct {
	Seed      uint64        `help:"First seed; the same seed gives the same run, step by step. Alone it plays just this one. Default: 1; with --for a new one each time, which is printed." placeholder:"N"`
	Seeds     *uint64       `help:"How many seeds to play. Default: 500, or 1 when a seed is named." placeholder:"N"`
	For       time.Duration `help:"Play every kept seed and then seeds for so long, instead of a number of them." placeholder:"DURATION"`
	Trace     bool          `help:"Print every step of the seed on the standard output."`
	ShrinkFor time.Duration `help:"Look so long for a smaller run that fails alike; 0: do not." default:"30s" placeholder:"DURATION"`
	Faults    string        `help:"Of the faults that the seed draws only these happen, by their numbers in the trace: 3,7,12. none: none does." placeholder:"LIST"`
	LoadFor   time.Duration `help:"Faults and load end no later than this, in virtual time. Default: as drawn." placeholder:"DURATION"`
	Clients   int           `help:"So many clients at most. Default: as drawn." placeholder:"N"`
	Switch    []string      `help:"Every replica makes this mistake: is it found? The names and the exit codes stand above." placeholder:"NAME"`
	Without   []string      `help:"Mishaps that never happen: loss, twice, late (of messages), slow-sync." placeholder:"LIST"`
}

// Help is shown by bench sim --help.
func (simCommand) Help() string {
	return `Plays whole clusters inside this process: the code of the server over a clock, a network, disks and processes that exist only here.
Each seed draws what its run is like and which faults it meets; after each step the promises of the log are checked, and once the faults
have stopped, that the cluster comes to rest by itself. The first seed that fails ends the campaign, with the property, the end of the
trace and the command that repeats it; then a smaller run is looked for that fails alike, with the command that repeats that one. Exit
code 3 for a promise of safety, 4 for one of progress. Exit code 7: the seeds passed and met too little to mean anything.

Examples:
  bench sim --seeds 2000
  bench sim --for 2m
  bench sim --seed 28 --trace
  bench sim --seed 28 --faults 3,7 --clients 1 --without loss,late
  bench sim --switch HollowHead --seeds 2000

With --switch the campaign tells whether the simulator finds a known mistake. It stops at the first seed that fails, prints the property
and ends with exit code 1; exit code 0 says that the mistake was not found. The mistakes, none of which a node can be told to make:
` + switchList()
}

// switchList is a line for each mistake.
func switchList() string {
	var b strings.Builder
	for _, s := range sim.Switches() {
		fmt.Fprintf(&b, "  %-24s %s\n", s.Name, s.Text)
	}
	return strings.TrimRight(b.String(), "\n")
}

// Seeds that are played when nothing is said: to find a mistake more are needed.
const (
	simSeeds       = 500
	simSwitchSeeds = 2000
)

// Run plays one seed or many.
func (c *simCommand) Run(env *environment) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	first, count := max(c.Seed, 1), uint64(simSeeds)
	if len(c.Switch) > 0 {
		count = simSwitchSeeds
	}
	switch {
	case c.Seeds != nil && *c.Seeds == 0:
		return usage("--seeds 0 plays nothing; pass at least 1")
	case c.For < 0 || c.ShrinkFor < 0:
		return usage("--for and --shrink-for are not negative")
	case c.For > 0 && c.Seeds != nil:
		return usage("--for plays seeds until the time is over, --seeds a number of them; pass one")
	case c.Seeds != nil:
		count = *c.Seeds
	case c.Seed != 0 && c.For == 0:
		count = 1
	}
	if c.Trace {
		if count != 1 || c.For > 0 {
			return usage("--trace prints one run; pass --seed N without --seeds and --for")
		}
		return c.playTraced(env, first, o)
	}
	campaign := &simCampaign{first: first, end: first + count, options: o, shrinkFor: c.ShrinkFor, began: time.Now()}
	if c.For > 0 {
		campaign.lasts(c.For, c.Seed)
	}
	return campaign.run(env)
}

// options are what every run of the command leaves out.
func (c *simCommand) options() (o sim.Options, err error) {
	o.Reduced = sim.Reduction{LoadNs: c.LoadFor.Nanoseconds(), Clients: c.Clients, Without: c.Without}
	if o.Reduced.Faults, err = faultNumbers(c.Faults); err != nil {
		return o, usage("--faults %s: %v", c.Faults, err)
	}
	if err := o.Reduced.Validate(); err != nil {
		return o, usage("%v", err)
	}
	if o.Switches = c.Switch; !sim.KnowsSwitches(c.Switch) {
		return o, usage("--switch %s: there is no such mistake; there are\n%s", strings.Join(c.Switch, ","), switchList())
	}
	return o, nil
}

// faultNumbers reads a list like 3,7,12; nothing is all of them.
func faultNumbers(list string) ([]uint64, error) {
	switch list {
	case "":
		return nil, nil
	case "none":
		return []uint64{}, nil
	}
	var numbers []uint64
	for _, text := range strings.Split(list, ",") {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n == 0 {
			return nil, fmt.Errorf("%q is no number of a fault; they count from 1", text)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

func (c *simCommand) playTraced(env *environment, seed uint64, o sim.Options) error {
	fmt.Fprintln(env.out, sim.Legend)
	o.Trace = env.out
	report, err := sim.Run(seed, o)
	var f *sim.Failure
	if errors.As(err, &f) {
		return &exitError{codeOf(err, o), errors.New(f.Summary())} // the end of the trace has just been printed
	}
	if err != nil {
		return &exitError{failureCode(err), err}
	}
	fmt.Fprintf(env.out, "seed %d passes: %s\n%s\ntrace hash %016x\n", seed, report.Setup, wrapped(report.Coverage.String(), simLineRunes), report.TraceHash)
	return nil
}

// codeOf is the exit code of a run that failed, which is what a run with a mistake is for.
func codeOf(err error, o sim.Options) int {
	if len(o.Switches) > 0 && errors.As(err, new(*sim.Failure)) {
		return exitFound
	}
	return failureCode(err)
}

// failureCode is the exit code of a run that failed: what could not go on is stuck, everything else
// that the simulator finds is or hides a loss.
func failureCode(err error) int {
	f := (*sim.Failure)(nil)
	switch {
	case !errors.As(err, &f):
		return results.ExitInvalid
	case strings.HasPrefix(f.Property, "P"):
		return results.ExitStuck
	}
	return results.ExitLoss
}
