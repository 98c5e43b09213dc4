package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"rejoin/cmd/bench/goals"
	"rejoin/results"
)

type goalsCommand struct {
	Pairs     int      `help:"Samples of each series that is no single long run." default:"5" placeholder:"N"`
	Only      []string `help:"Measure these series only: burst, sustained, raft, steady, primary-kills, backup-kills, return, singles, partitions, partitions-few, elections, log." placeholder:"SERIES,…"`
	Again     []string `help:"Forget the samples of these series, or of all, and measure them again." placeholder:"SERIES,…"`
	Elections duration `help:"How long the log is saturated to count false elections." default:"30m" placeholder:"TIME"`
	Table     bool     `help:"Measure nothing: judge what is there."`
}

// Help is shown by bench goals --help.
func (goalsCommand) Help() string {
	return `Measures every goal of speed, unattended, in about 75 minutes, and writes goals.json and goals.md into the folder goals under --results. Most figures
are ratios of runs next to one another on this machine, mostly to the shape (bench limits), one to hashicorp/raft (make peers builds its program, make goals too), in turn before and after it; some are times or counts. The
value is the median of what was measured, or the worst where the row says so: of --pairs samples, or of the kills or the time of one long run. What has
been measured is kept there, one file a sample, so that an interrupted measurement goes on where it ended; --again measures anew. Runs that prove
nothing do not count. Rows that cannot be measured here say why. Exit code 1: a figure is below its floor.

Examples:
  bench goals                           all of it, or what is missing
  bench goals --only burst,steady --again burst
  bench goals --table                   the table of what is there`
}

// goalsDir and the names in it, under the folder of results.
const (
	goalsDir      = "goals"
	goalsFile     = "goals.json"
	goalsMarkdown = "goals.md"
)

// Run measures what is missing and writes the table.
func (c *goalsCommand) Run(env *environment) error {
	plan := goals.Plan{Elections: time.Duration(c.Elections), LogBytes: logBytes(env.results)}
	series, err := c.series(plan)
	if err != nil {
		return usage("%w", err)
	}
	var again []goals.Series
	for _, s := range goals.AllSeries(plan) {
		if slices.Contains(c.Again, everySeries) || slices.Contains(c.Again, s.Name) {
			again = append(again, s)
		}
	}
	g, err := newSampler(env, goalsDir, again)
	if err != nil {
		return usage("%w", err)
	}
	if !c.Table {
		if err := g.measure(env.ctx, series); err != nil {
			return usage("%w", err)
		}
	}
	table, err := g.judge()
	if err != nil {
		return usage("%w", err)
	}
	for _, row := range table.Rows {
		fmt.Fprintln(env.out, row.Line())
	}
	fmt.Fprintf(env.out, "written to %s and %s\n", filepath.Join(g.dir, goalsMarkdown), goalsFile)
	switch {
	case env.ctx.Err() != nil:
		return &exitError{code: results.ExitInterrupted}
	case table.Counts()[goals.BelowFloor] > 0:
		return &exitError{code: results.ExitMissed}
	}
	return nil
}

const goalPairsMax = 50

// logBytes is how long the large log may become on the disk under the results.
func logBytes(dir string) int64 {
	if free := diskFree(dir); free != nil {
		return goals.LogBytes(*free)
	}
	return 0
}

// diskFree is what the disk under a folder has free, or that under what is there of its path yet; nil: not known.
func diskFree(dir string) *int64 {
	for {
		if found := results.Probe(dir); found.DiskFreeBytes != nil {
			return found.DiskFreeBytes
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil
		}
		dir = parent
	}
}

// series are those that are asked for, with as many samples as are asked for.
func (c *goalsCommand) series(plan goals.Plan) (wanted []goals.Series, err error) {
	if c.Pairs < 1 || c.Pairs > goalPairsMax {
		return nil, fmt.Errorf("--pairs %d: pass 1 to %d", c.Pairs, goalPairsMax)
	}
	if c.Elections < duration(10*time.Second) {
		return nil, fmt.Errorf("--elections %v: pass at least 10s", c.Elections)
	}
	var names []string
	for _, s := range goals.AllSeries(plan) {
		names = append(names, s.Name)
		if s.Pairs == 0 {
			s.Pairs = c.Pairs
		}
		if len(c.Only) == 0 || slices.Contains(c.Only, s.Name) {
			wanted = append(wanted, s)
		}
	}
	return wanted, knownNames("series", names, c.Only, c.Again)
}

// judge holds all samples against all rows and writes the table.
func (g *sampler) judge() (goals.Table, error) {
	table := goals.Table{SchemaVersion: results.SchemaVersion}
	table.Machine = machineText(g.dir)
	var all []goals.Sample
	read := map[string]bool{}
	for _, row := range goals.Rows() {
		samples, err := g.samples.Read(row.Series)
		if err != nil {
			return table, err
		}
		if !read[row.Series] {
			read[row.Series], all = true, append(all, samples...)
		}
		table.Rows = append(table.Rows, goals.Judge(row, samples))
	}
	table.Builds = g.builds(all)
	table.Commit = goals.CommitOf(table.Builds)
	err := results.WriteJSON(filepath.Join(g.dir, goalsFile), table)
	if err == nil {
		err = os.WriteFile(filepath.Join(g.dir, goalsMarkdown), []byte(table.Markdown()), 0o644)
	}
	return table, err
}
