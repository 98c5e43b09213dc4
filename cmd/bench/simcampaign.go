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

// simCampaign plays seeds on every core, each run on one goroutine, until one fails.
type simCampaign struct {
	kept      []uint64 // played before the others
	first     uint64
	end       uint64 // the seed after the last
	options   sim.Options
	limit     time.Duration // 0: until the last seed
	shrinkFor time.Duration
	began     time.Time
	next      atomic.Uint64 // how many have been taken

	mu     sync.Mutex
	sum    sim.Coverage
	failed error
}

// lasts makes a campaign one of the kept seeds, and then of others for a given time: of new ones, so
// that no two campaigns are alike, unless the first is named.
func (c *simCampaign) lasts(limit time.Duration, first uint64) {
	if first == 0 {
		first = uint64(c.began.UnixMilli())
	}
	c.limit, c.kept, c.first, c.end = limit, sim.Kept(), first, ^uint64(0)
}

func (c *simCampaign) run(env *environment) error {
	ctx, stop := context.WithCancel(env.ctx)
	defer stop()
	if c.limit > 0 {
		fmt.Fprintf(env.errs, "%d kept seeds, then seeds from %d on, for %v\n", len(c.kept), c.first, c.limit)
	}
	c.playAll(ctx, stop, env.errs)
	if err := env.ctx.Err(); c.failed == nil && err != nil {
		return &exitError{code: results.ExitInterrupted}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.options.Switches) > 0 {
		return c.found(env)
	}
	if c.failed != nil {
		return &exitError{failureCode(c.failed), c.shrunk(env)}
	}
	took := time.Since(c.began)
	fmt.Fprintf(env.out, "all promises held: %s\n%.0f virtual seconds a second\n", wrapped(c.sum.String(), simLineRunes), float64(c.sum.VirtualNs)/float64(took.Nanoseconds()))
	if short := c.sum.Short(); len(short) > 0 && c.sum.Runs >= simFloorSeeds {
		return &exitError{results.ExitVacuous, fmt.Errorf("the campaign is vacuous: %s", strings.Join(short, "; "))}
	}
	return nil
}

// playAll plays on every core and tells of it until all have ended.
func (c *simCampaign) playAll(ctx context.Context, stop context.CancelFunc, out io.Writer) {
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
	teller.Go(func() { c.tell(out, ended) })
	players.Wait()
	close(ended)
	teller.Wait()
}

// shrunk is the failure to end with: the first one or, after telling of that, a smaller one; nil when
// all has been told.
func (c *simCampaign) shrunk(env *environment) error {
	var f *sim.Failure
	if !errors.As(c.failed, &f) || c.shrinkFor == 0 {
		return c.failed
	}
	fmt.Fprintf(env.errs, "%v\n\nlooking for a smaller run that fails alike, for at most %v\n", f, c.shrinkFor)
	began := time.Now()
	smallest, runs := sim.Shrink(f, c.options, func() bool { return time.Since(began) >= c.shrinkFor || env.ctx.Err() != nil })
	fmt.Fprintf(env.errs, "%d runs in %.1f s\n", runs, time.Since(began).Seconds())
	if smallest == f {
		fmt.Fprintln(env.errs, "nothing could be left out")
		return nil
	}
	fmt.Fprintf(env.errs, "the smaller run:\n")
	return smallest
}

// simFloorSeeds: fewer seeds may by chance meet little.
const simFloorSeeds = 300

// take returns the next seed; false when there is none, or the time is over.
func (c *simCampaign) take() (uint64, bool) {
	n := c.next.Add(1) - 1
	if n < uint64(len(c.kept)) {
		return c.kept[n], true
	}
	seed := c.first + n - uint64(len(c.kept))
	return seed, seed < c.end && (c.limit == 0 || time.Since(c.began) < c.limit)
}

func (c *simCampaign) play(ctx context.Context) error {
	o := c.options
	arena, err := sim.NewArena()
	if err != nil {
		return err
	}
	o.Arena = arena
	for ctx.Err() == nil {
		seed, ok := c.take()
		if !ok {
			break
		}
		report, err := sim.Run(seed, o)
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
		fmt.Fprintln(out, c.progress(&sum, time.Since(c.began)))
	}
}

func (c *simCampaign) progress(sum *sim.Coverage, took time.Duration) string {
	of := fmt.Sprintf("of %d seeds", c.end-c.first)
	if c.limit > 0 {
		of = fmt.Sprintf("seeds, of %v", c.limit)
	}
	return fmt.Sprintf("%.0fs: %d %s, %.2f virtual hours, %.0f virtual seconds a second; %d kills, %d power cuts, %d view changes, %d repairs, %d transfers, %d table answers",
		took.Seconds(), sum.Runs, of, float64(sum.VirtualNs)/3.6e12, float64(sum.VirtualNs)/float64(took.Nanoseconds()),
		sum.Kills, sum.PowerCuts, sum.ViewChanges, sum.Repairs, sum.Transfers, sum.TableAnswers)
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
