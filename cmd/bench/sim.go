package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rejoin/results"
	"rejoin/server/sim"
)

type simCommand struct {
	Seed  uint64  `help:"First seed; the same seed gives the same run, step by step. Alone it plays just this one. Default: 1." placeholder:"N"`
	Seeds *uint64 `help:"How many seeds to play. Default: 500, or 1 when a seed is named." placeholder:"N"`
	Trace bool    `help:"Print every step of the seed on the standard output."`
}

// Help is shown by bench sim --help.
func (simCommand) Help() string {
	return `Plays whole clusters inside this process: the code of the server over a clock, a network, disks and processes that exist only here.
Each seed draws what its run is like and which faults it meets; after each step the promises of the log are checked, and once the faults
have stopped, that the cluster comes to rest by itself. The first seed that fails ends the campaign, with the property, the end of the
trace and the command that repeats it: exit code 3 for a promise of safety, 4 for one of progress. Exit code 7: the seeds passed and met
too little to mean anything.

Examples:
  bench sim --seeds 2000
  bench sim --seed 28 --trace`
}

// simSeeds are played when nothing is said.
const simSeeds = 500

// Run plays one seed or many.
func (c *simCommand) Run(env *environment) error {
	first, count := max(c.Seed, 1), uint64(simSeeds)
	switch {
	case c.Seeds != nil && *c.Seeds == 0:
		return usage("--seeds 0 plays nothing; pass at least 1")
	case c.Seeds != nil:
		count = *c.Seeds
	case c.Seed != 0:
		count = 1
	}
	if c.Trace {
		if count != 1 {
			return usage("--trace prints one run; pass --seed N without --seeds")
		}
		return c.playTraced(env, first)
	}
	return (&simCampaign{first: first, end: first + count, began: time.Now()}).run(env)
}

func (c *simCommand) playTraced(env *environment, seed uint64) error {
	fmt.Fprintln(env.out, sim.Legend)
	report, err := sim.Run(seed, sim.Options{Trace: env.out})
	if err != nil {
		return &exitError{failureCode(err), err}
	}
	fmt.Fprintf(env.out, "seed %d passes: %s\n%s\ntrace hash %016x\n", seed, report.Setup, wrapped(report.Coverage.String(), simLineRunes), report.TraceHash)
	return nil
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

// simCampaign plays seeds on every core, each run on one goroutine, until one fails.
type simCampaign struct {
	first uint64
	end   uint64 // the seed after the last
	began time.Time
	next  atomic.Uint64

	mu     sync.Mutex
	sum    sim.Coverage
	failed error
}

func (c *simCampaign) run(env *environment) error {
	c.next.Store(c.first)
	ctx, stop := context.WithCancel(env.ctx)
	defer stop()
	var players, teller sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		players.Go(func() {
			if err := c.play(ctx); err != nil {
				c.fail(err)
				stop()
			}
		})
	}
	ended := make(chan struct{})
	teller.Go(func() { c.tell(env.errs, ended) })
	players.Wait()
	close(ended)
	teller.Wait()
	if c.failed != nil {
		return &exitError{failureCode(c.failed), c.failed}
	}
	if err := env.ctx.Err(); err != nil {
		return &exitError{code: results.ExitInterrupted}
	}
	fmt.Fprintf(env.out, "all promises held: %s\n", wrapped(c.sum.String(), simLineRunes))
	if short := c.sum.Short(); len(short) > 0 && c.sum.Runs >= simFloorSeeds {
		return &exitError{results.ExitVacuous, fmt.Errorf("the campaign is vacuous: %s", short[0])}
	}
	return nil
}

// simLineRunes is where the counts of a campaign are broken into lines.
const simLineRunes = 100

// wrapped breaks a list at commas, so that no line is longer than it must be; later lines are indented.
func wrapped(list string, width int) string {
	var b strings.Builder
	column := 0
	for i, item := range strings.Split(list, ", ") {
		switch {
		case i == 0:
		case column+2+len(item) > width:
			b.WriteString(",\n  ")
			column = 2
		default:
			b.WriteString(", ")
			column += 2
		}
		b.WriteString(item)
		column += len(item)
	}
	return b.String()
}

// simFloorSeeds: fewer seeds may by chance meet little.
const simFloorSeeds = 300

func (c *simCampaign) play(ctx context.Context) error {
	arena, err := sim.NewArena()
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		seed := c.next.Add(1) - 1
		if seed >= c.end {
			return arena.Close()
		}
		report, err := sim.Run(seed, sim.Options{Arena: arena})
		if err != nil {
			return err
		}
		c.mu.Lock()
		c.sum.Add(&report.Coverage)
		c.mu.Unlock()
	}
	return arena.Close()
}

// fail keeps the failure of the lowest seed that is known.
func (c *simCampaign) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var now, before *sim.Failure
	if c.failed == nil || errors.As(err, &now) && errors.As(c.failed, &before) && now.Seed < before.Seed {
		c.failed = err
	}
}

// tell writes a line of progress every few seconds.
func (c *simCampaign) tell(out io.Writer, ended <-chan struct{}) {
	each := time.NewTicker(5 * time.Second)
	defer each.Stop()
	for {
		select {
		case <-ended:
			return
		case <-each.C:
		}
		c.mu.Lock()
		sum := c.sum
		c.mu.Unlock()
		took := time.Since(c.began)
		fmt.Fprintf(out, "%.0fs: %d of %d seeds, %.0f virtual seconds a second; %d kills, %d power cuts, %d view changes, %d transfers\n", took.Seconds(), sum.Runs,
			c.end-c.first, float64(sum.VirtualNs)/float64(took.Nanoseconds()), sum.Kills, sum.PowerCuts, sum.ViewChanges, sum.Transfers)
	}
}
