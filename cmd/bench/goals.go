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

	"rejoin/cmd/bench/goals"
	"rejoin/cmd/bench/limits"
	"rejoin/cmd/bench/limits/shape"
	"rejoin/results"
)

type goalsCommand struct {
	Pairs     int      `help:"Samples of each series that is no single long run." default:"5" placeholder:"N"`
	Only      []string `help:"Measure these series only: burst, sustained, steady, primary-kills, backup-kills, return, singles, elections." placeholder:"SERIES,…"`
	Again     []string `help:"Forget the samples of these series, or of all, and measure them again." placeholder:"SERIES,…"`
	Elections duration `help:"How long the log is saturated to count false elections." default:"30m" placeholder:"TIME"`
	Table     bool     `help:"Measure nothing: judge what is there."`
}

// Help is shown by bench goals --help.
func (goalsCommand) Help() string {
	return `Measures every goal of speed, unattended, in about 70 minutes, and writes goals.json and goals.md into the folder goals under --results. Every figure is
a ratio of runs next to one another on this machine, mostly to the shape (bench limits), in turn before and after it; the value is the median of at
least five. What has been measured is kept there, one file a sample, so that an interrupted measurement goes on where it ended; --again measures
anew. Rows that cannot be measured here say why. Exit code 1: a figure is below its floor.

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
	series, err := c.series()
	if err != nil {
		return usage("%w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return usage("find the bench binary: %w", err)
	}
	dir := filepath.Join(env.results, goalsDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return usage("%w", err)
	}
	g := goalsRun{dir: dir, samples: goals.Folder{Dir: dir}, binary: self, launch: launchProcess, out: env.out}
	for _, name := range c.Again {
		for _, s := range goals.AllSeries(time.Duration(c.Elections)) {
			if name == "all" || name == s.Name {
				if err := g.samples.Forget(s.Name); err != nil {
					return usage("%w", err)
				}
			}
		}
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
	fmt.Fprintf(env.out, "written to %s and %s\n", filepath.Join(dir, goalsMarkdown), goalsFile)
	switch {
	case env.ctx.Err() != nil:
		return &exitError{code: results.ExitInterrupted}
	case table.Counts()[goals.BelowFloor] > 0:
		return &exitError{code: results.ExitMissed}
	}
	return nil
}

const goalPairsMax = 50

// series are those that are asked for, with as many samples as are asked for.
func (c *goalsCommand) series() (wanted []goals.Series, err error) {
	if c.Pairs < 1 || c.Pairs > goalPairsMax {
		return nil, fmt.Errorf("--pairs %d: pass 1 to %d", c.Pairs, goalPairsMax)
	}
	if c.Elections < duration(10*time.Second) {
		return nil, fmt.Errorf("--elections %v: pass at least 10s", c.Elections)
	}
	var names []string
	for _, s := range goals.AllSeries(time.Duration(c.Elections)) {
		names = append(names, s.Name)
		if s.Pairs == 0 {
			s.Pairs = c.Pairs
		}
		if len(c.Only) == 0 || slices.Contains(c.Only, s.Name) {
			wanted = append(wanted, s)
		}
	}
	for _, name := range append(slices.Clone(c.Only), c.Again...) {
		if !slices.Contains(append(names, "all"), name) {
			return nil, fmt.Errorf("there is no series %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	return wanted, nil
}

// goalsRun is one `bench goals` under way.
type goalsRun struct {
	dir     string
	samples goals.Folder
	binary  string
	launch  launch
	out     io.Writer
}

// measure makes the samples that are missing.
func (g *goalsRun) measure(ctx context.Context, series []goals.Series) error {
	left := time.Duration(0)
	for _, s := range series {
		for n := 1; n <= s.Pairs; n++ {
			if !g.samples.Has(s.Name, n) {
				left += s.Took
			}
		}
	}
	fmt.Fprintf(g.out, "goals: about %v to measure\n", left.Round(time.Minute))
	for _, s := range series {
		for n := 1; n <= s.Pairs && ctx.Err() == nil; n++ {
			if g.samples.Has(s.Name, n) {
				continue
			}
			began := time.Now()
			sample, err := g.sample(ctx, s, n)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil { // the other series may do
				fmt.Fprintf(g.out, "%s %d of %d: %v\n", s.Name, n, s.Pairs, err)
				break
			}
			if err := g.samples.Write(sample); err != nil {
				return err
			}
			fmt.Fprintf(g.out, "%s %d of %d: %s, %.0f batches/s%s, %v\n", s.Name, n, s.Pairs, sample.Summary.Verdict, sample.Summary.BatchesPerS, shapeRateText(sample.Shape),
				time.Since(began).Round(time.Second))
		}
	}
	return nil
}

func shapeRateText(s *results.ShapeLimit) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf(", the shape %.0f", s.BatchesPerS)
}

// sample runs the scenario, and the shape in turn before and after it.
func (g *goalsRun) sample(ctx context.Context, s goals.Series, n int) (goals.Sample, error) {
	sample := goals.Sample{Series: s.Name, Number: n, At: time.Now(), ShapeFirst: n%2 == 1}
	beside := func() error { return errors.Join(g.shape(ctx, s, &sample), g.limits(ctx, s, &sample)) }
	run := func() error { return g.scenario(ctx, s, &sample) }
	steps := []func() error{run, beside}
	if sample.ShapeFirst {
		steps = []func() error{beside, run}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return sample, err
		}
	}
	return sample, nil
}

// scenario is one run of it, in a process of its own.
func (g *goalsRun) scenario(ctx context.Context, s goals.Series, sample *goals.Sample) error {
	file := filepath.Join(g.dir, s.Name+".yaml")
	if err := os.WriteFile(file, s.File(), 0o644); err != nil {
		return err
	}
	root := filepath.Join(g.dir, runsDir)
	before := latestOf(root)
	code, err := g.launch(ctx, g.binary, []string{"--results", root, "run", file, "--quiet", "--repeat", "1", "--profile", "none", "--seed", strconv.Itoa(sample.Number)}, io.Discard)
	folder := latestOf(root)
	if err != nil || folder.Dir == "" || folder == before {
		return fmt.Errorf("the run left no folder (exit code %d): %v", code, err)
	}
	if sample.Summary, err = folder.ReadSummary(); err != nil {
		return err
	}
	dropData(folder, code)
	if code == results.ExitLoss || code == results.ExitStuck {
		return fmt.Errorf("%s: %s; see %s", sample.Summary.Verdict, strings.Join(sample.Summary.Reasons, "; "), folder.Dir)
	}
	sample.Run = folder.Name()
	proof, err := folder.ReadProof()
	sample.Lateness = proof.Lateness
	return err
}

// shape drives the shape by the load that the series names.
func (g *goalsRun) shape(ctx context.Context, s goals.Series, sample *goals.Sample) (err error) {
	if s.Shape.Duration == 0 {
		return nil
	}
	launch, end, err := limitsLauncher()
	if err != nil {
		return err
	}
	defer end()
	cluster, err := shape.Start(ctx, launch, limits.UsualShape(g.dir))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	if _, err := cluster.Drive(s.Shape.Warmup, s.Shape.BatchesPerS); err != nil {
		return err
	}
	figures, err := cluster.Drive(s.Shape.Duration, s.Shape.BatchesPerS)
	if err != nil {
		return err
	}
	read, err := cluster.ReadBack()
	figures.ReadBackBatches = read.Batches
	sample.Shape = &figures
	return err
}

// limits measures what else the series names.
func (g *goalsRun) limits(ctx context.Context, s goals.Series, sample *goals.Sample) error {
	for _, kind := range s.Limits {
		measured, err := measureLimits(ctx, limits.Options{Dir: g.dir, Only: kind}, func(limits.Line) {})
		if err != nil {
			return err
		}
		switch kind {
		case "disk":
			sample.Disk = &measured.Disk
		case "loopback":
			sample.Loopback = &measured.Loopback
		}
	}
	return nil
}

// judge holds all samples against all rows and writes the table.
func (g *goalsRun) judge() (goals.Table, error) {
	found := results.Probe(g.dir)
	table := goals.Table{SchemaVersion: results.SchemaVersion, Commit: found.Commit, Machine: fmt.Sprintf("%d cores of %s, %s, %s", found.Cores, found.CPU, found.Kernel, found.FileSystem)}
	for _, row := range goals.Rows() {
		var samples []goals.Sample
		if row.Series != "" {
			var err error
			if samples, err = g.samples.Read(row.Series); err != nil {
				return table, err
			}
		}
		table.Rows = append(table.Rows, goals.Judge(row, samples))
	}
	err := results.WriteJSON(filepath.Join(g.dir, goalsFile), table)
	if err == nil {
		err = os.WriteFile(filepath.Join(g.dir, goalsMarkdown), []byte(table.Markdown()), 0o644)
	}
	return table, err
}
