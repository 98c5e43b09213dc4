package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"rejoin/cmd/bench/goals"
	"rejoin/cmd/bench/scaling"
	"rejoin/plots"
	"rejoin/results"
)

type scalingCommand struct {
	Samples int      `help:"Runs of each point; the table shows medians." default:"1" placeholder:"N"`
	Only    []string `help:"Measure these dimensions only: producers, batch, payload, nodes, partitions, log-one, log-three." placeholder:"DIMENSION,…"`
	Again   []string `help:"Forget what was measured of these dimensions, or of all, and measure it again." placeholder:"DIMENSION,…"`
	Table   bool     `help:"Measure nothing: write table and figures of what is there."`
}

// Help is shown by bench scaling --help.
func (scalingCommand) Help() string {
	return `Varies one thing at a time, in a closed loop of 3 s a point: 1 to 1,200 producers, 1 to 1,000 messages in a batch, 40 bytes to 64 KiB in a message, 1, 3 and
5 nodes, 1 to 64 partitions; then one log grows to 20 GiB on one node and one to 5 GiB on three, at a rate that is held, each beside a log that keeps 1 GiB of the same
load. About 25 minutes. scaling.md, scaling.json and a
figure of each curve land in the folder scaling under --results, with the place where each curve bends and what was full there. What has been measured is kept: an
interrupted measurement goes on where it ended. What the disk has no room for is left out, and says so.

Examples:
  bench scaling
  bench scaling --only producers --again producers --samples 3`
}

// scalingDir and the names in it, under the folder of results.
const (
	scalingDir      = "scaling"
	scalingFile     = "scaling.json"
	scalingMarkdown = "scaling.md"
)

const scalingSamplesMax = 20

// Run measures the points that are missing, and writes tables and figures.
func (c *scalingCommand) Run(env *environment) error {
	dimensions := scaling.Dimensions()
	if err := leaveOutWithoutRoom(dimensions, diskFree(env.results), env.results); err != nil {
		return usage("%w", err)
	}
	series, err := c.series(dimensions)
	if err != nil {
		return usage("%w", err)
	}
	s, err := newSampler(env, scalingDir, c.again())
	if err != nil {
		return usage("%w", err)
	}
	if !c.Table {
		if err := s.measure(env.ctx, series); err != nil {
			return usage("%w", err)
		}
	}
	text, err := s.writeScaling(dimensions)
	if err != nil {
		return usage("%w", err)
	}
	fmt.Fprintf(env.out, "%s\nwritten to %s\n", text, s.dir)
	if env.ctx.Err() != nil {
		return &exitError{code: results.ExitInterrupted}
	}
	return nil
}

// series are the points of the dimensions that are asked for.
func (c *scalingCommand) series(dimensions []scaling.Dimension) (wanted []goals.Series, err error) {
	if c.Samples < 1 || c.Samples > scalingSamplesMax {
		return nil, fmt.Errorf("--samples %d: pass 1 to %d", c.Samples, scalingSamplesMax)
	}
	var names []string
	for _, d := range dimensions {
		names = append(names, d.Name)
		if d.Missing != "" || len(c.Only) > 0 && !slices.Contains(c.Only, d.Name) {
			continue
		}
		for _, s := range d.Series() {
			if s.Pairs == 0 {
				s.Pairs = c.Samples
			}
			wanted = append(wanted, s)
		}
	}
	return wanted, knownNames("dimension to measure", names, c.Only, c.Again)
}

// again are the points that are to be measured once more.
func (c *scalingCommand) again() (all []goals.Series) {
	for _, d := range scaling.Dimensions() {
		if slices.Contains(c.Again, everySeries) || slices.Contains(c.Again, d.Name) {
			all = append(all, d.Series()...)
		}
	}
	return all
}

// leaveOutWithoutRoom says of each log that grows longer than what is free why it is not measured.
func leaveOutWithoutRoom(dimensions []scaling.Dimension, free *int64, dir string) error {
	for i := range dimensions {
		d := &dimensions[i]
		if d.Growth == nil || free == nil {
			continue
		}
		s, err := parseScenario(d.Name, d.Growth.Whole.File())
		if err != nil {
			return err
		}
		if need := s.diskNeeded(); need > *free {
			d.Missing = fmt.Sprintf("it may take %s of disk, and %s are free under %s: free space, or pass --results on another disk", bytesText(&need), bytesText(free), dir)
		}
	}
	return nil
}

// scalingJSON is scaling.json.
type scalingJSON struct {
	SchemaVersion int    `json:"schema_version"`
	Machine       string `json:"machine"`
	// Commit is that of all samples; empty where Builds are several.
	Commit     string            `json:"commit"`
	Builds     []goals.SamplesOf `json:"builds"`
	Dimensions []scaling.Table   `json:"dimensions"`
}

// writeScaling writes tables and figures of all samples that are there, and returns the text.
func (s *sampler) writeScaling(dimensions []scaling.Dimension) (string, error) {
	machine := machineText(s.dir)
	file := scalingJSON{SchemaVersion: results.SchemaVersion, Machine: machine}
	var all []goals.Sample
	read := func(series string) ([]goals.Sample, error) {
		samples, err := s.samples.Read(series)
		all = append(all, samples...)
		return samples, err
	}
	var curves []plots.Curve
	for _, d := range dimensions {
		table, err := scaling.TableOf(d, read)
		if err != nil {
			return "", err
		}
		file.Dimensions = append(file.Dimensions, table)
		if len(table.Points) > 0 {
			curves = append(curves, curvesOf(table, machine)...)
		}
	}
	file.Builds = s.builds(all)
	file.Commit = goals.CommitOf(file.Builds)
	text := scaling.Markdown(machine, goals.BuildsText(file.Builds), file.Dimensions)
	if err := results.WriteJSON(filepath.Join(s.dir, scalingFile), file); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(s.dir, scalingMarkdown), []byte(text), 0o644); err != nil {
		return "", err
	}
	return text, plots.DrawCurves(s.dir, curves)
}

// machineText names the machine.
func machineText(dir string) string {
	found := results.Probe(dir)
	return fmt.Sprintf("%d cores of %s, %s, %s", found.Cores, found.CPU, found.Kernel, found.FileSystem)
}

// curvesOf are the two figures of a dimension: how much, and how long it takes.
func curvesOf(t scaling.Table, machine string) []plots.Curve {
	lineOf := func(label string, points []scaling.Measured, of func(scaling.Measured) *float64) plots.CurveLine {
		l := plots.CurveLine{Label: label}
		for _, m := range points {
			if y := of(m); y != nil {
				l.Points = append(l.Points, plots.CurvePoint{X: m.X, Y: *y})
			}
		}
		return l
	}
	line := func(label string, of func(scaling.Measured) *float64) plots.CurveLine {
		return lineOf(label, t.Points, of)
	}
	p50, p99 := func(m scaling.Measured) *float64 { return m.P50Ns }, func(m scaling.Measured) *float64 { return m.P99Ns }
	latency := []plots.CurveLine{line("p50", p50), line("p99", p99)}
	if len(t.Bounded) > 0 {
		latency = append(latency, lineOf(fmt.Sprintf("p50 of a log that keeps %d GiB", scaling.BoundedGiB), t.Bounded, p50), lineOf("p99 of that", t.Bounded, p99))
	}
	loop, took := "closed loop", "time to the answer when saturated"
	if t.Held {
		loop, took = "open loop", "time from due to the answer"
	}
	caption := loop + ", persisted; " + machine
	return []plots.Curve{
		{Name: t.Name + "-rate", Title: t.Title + ": acknowledged a second", Caption: caption, XLabel: t.XLabel, YLabel: "a second (log scale)", Lines: []plots.CurveLine{
			line("messages", func(m scaling.Measured) *float64 { return m.MessagesPerS }),
			line("batches", func(m scaling.Measured) *float64 { return m.BatchesPerS }),
			line("kilobytes of frames", func(m scaling.Measured) *float64 {
				if m.BytesPerS == nil {
					return nil
				}
				return new(*m.BytesPerS / 1e3)
			})}},
		{Name: t.Name + "-latency", Title: t.Title + ": " + took, Caption: caption, XLabel: t.XLabel, YLabel: "latency (log scale)", Durations: true,
			Lines: latency},
	}
}
