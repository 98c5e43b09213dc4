package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"rejoin/plots/report"
	"rejoin/results"
	"rejoin/results/compare"
)

type compareCommand struct {
	Runs   []string `arg:"" optional:"" name:"runs" help:"Runs in pairs, A B A2 B2 …: folders or names; or one folder that bench ab wrote."`
	A      []string `help:"Runs of side A that are not paired: a folder, a name or a pattern; may be repeated." placeholder:"RUN" sep:"none"`
	B      []string `help:"Runs of side B, as --a." placeholder:"RUN" sep:"none"`
	AA     []string `name:"aa" help:"Runs of one build for the noise floor, as --a; taken two by two in order of time. Default: runs of the same side." placeholder:"RUN" sep:"none"`
	FailOn []string `name:"fail-on" help:"Exit with 6 if B is beyond this bound, such as 'steady.p99>+10%'; may be repeated." placeholder:"BOUND" sep:"none"`
	Force  bool     `help:"Compare although machine, build or load differ, or a run is no evidence; the comparison says so."`
	Out    string   `help:"Folder to write comparison.html, comparison.json, compare.txt and the differences of profiles to. Default: results/compare-<utc>-<scenario>; of a folder of bench ab: that folder." placeholder:"DIR"`
}

// Help is shown by bench compare --help.
func (compareCommand) Help() string {
	return `Holds runs of B against runs of A: latency by phase and quantile, throughput, recovery after kills, CPU and bytes for each acknowledged message.
Medians over runs (over kills for recovery) with 95 % intervals; B is told as slower, longer or more than A, or the opposite.

Only the primary metrics (*) are judged: steady.p50, steady.p99 and cpu.nodes; with kills kill.primary.gap and kill.caught_up too; under
overload throughput and cpu.nodes. Runs in pairs are judged by Wilcoxon's signed rank, others by Mann-Whitney, together at 5 % (Holm). A
difference below the noise floor, what runs of one build differ by, is none. With too few runs the differences are shown and not judged: 7
pairs are the least for scenario steady, 8 with kills.

A bound: METRIC > or <, then +10% or -10% (B against A), +2ms or -2ms (B less A), or 5ms (B itself). It is broken only by a
difference that was found; its metric is judged like a primary one. bench compare --fail-on '?>0' lists the metrics.

Examples:
  bench compare RUN1 RUN2                                          one pair: shown, not judged
  bench compare A1 B1 A2 B2 A3 B3 A4 B4 A5 B5 A6 B6 A7 B7 A8 B8    eight pairs
  bench compare --a 'results/2026*-old' --b 'results/2026*-new'    sets that were not interleaved
  bench compare results/ab-20260102T030405Z-steady                 what bench ab wrote, once more
  bench compare --fail-on 'steady.p99>+10%' --fail-on 'cpu.nodes>+5%' results/ab-…
  bench compare RUN1/profiles/n0-cpu-steady.pb.gz RUN2/profiles/n0-cpu-steady.pb.gz   two profiles alone

Profiles of runs are compared by kind, phase and role (a node that changed its role within a window belongs to neither), per acknowledged
message and per second: what differs by more than chance, tables, flame graphs of both sides and of the difference, and the command that shows
the same in pprof. Runs that were profiled differently are not compared in this.

The result lies in results/compare-<utc>-<scenario>/: comparison.html (open it), comparison.json, compare.txt, profiles.txt and flame graphs.

Exit codes: 0 compared (also when it cannot judge), 2 refused (machine, build or load differ, a run is no evidence), 6 a bound was broken.`
}

// Run compares and exits with what came out.
func (c *compareCommand) Run(env *environment) error {
	if c.namesProfiles() {
		return c.compareFiles(env)
	}
	bounds, err := parseBounds(c.FailOn)
	if err != nil {
		return usage("%w", err)
	}
	o, out, err := c.options(env)
	if err != nil {
		return usage("%w", err)
	}
	o.Bounds, o.Force, o.Now = bounds, c.Force, time.Now()
	_, err = compareAndTell(env, o, cmp.Or(c.Out, out))
	return err
}

func parseBounds(texts []string) ([]compare.Bound, error) {
	var bounds []compare.Bound
	for _, text := range texts {
		b, err := compare.ParseBound(text)
		if err != nil {
			return nil, fmt.Errorf("--fail-on: %w", err)
		}
		bounds = append(bounds, b)
	}
	return bounds, nil
}

// compareAndTell prints the comparison, writes it into a folder if one is named, and turns broken bounds into an exit code.
func compareAndTell(env *environment, o compare.Options, dir string) (compare.Comparison, error) {
	c, err := compare.Compare(o)
	var refused *compare.RefusedError
	if errors.As(err, &refused) && refused.Forceable {
		return c, usage("%w\n  run both on one machine with one scenario, or pass --force to compare all the same", err)
	}
	if err != nil {
		return c, usage("%w", err)
	}
	if err := c.WriteText(env.out); err != nil {
		return c, usage("print comparison: %w", err)
	}
	if dir == "" {
		group, err := results.CreateGroup(env.results, "compare", c.Scenario, time.Now())
		if err != nil {
			return c, usage("%w", err)
		}
		defer group.Close()
		dir = group.Dir
	}
	if err := writeComparison(c, dir); err != nil {
		return c, usage("%w", err)
	}
	differences, notes := tellProfiles(env.out, o, dir)
	page := report.Compared{Comparison: c, Profiles: differences, ProfileNotes: notes, Arguments: env.args}
	if err := report.WriteComparison(dir, page); err != nil {
		return c, usage("%w", err)
	}
	fmt.Fprintf(env.out, "open %s\n", filepath.Join(dir, report.ComparisonFile))
	if broken := c.Broken(); len(broken) > 0 {
		var texts []string
		for _, b := range broken {
			texts = append(texts, fmt.Sprintf("%s: %s", b.Bound, b.Reason))
		}
		return c, &exitError{results.ExitRegression, fmt.Errorf("beyond a bound: %s", strings.Join(texts, "; "))}
	}
	return c, nil
}

// Files of a folder that holds a comparison.
const (
	comparisonFile = "comparison.json"
	compareText    = "compare.txt"
)

func writeComparison(c compare.Comparison, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return errors.Join(results.WriteJSON(filepath.Join(dir, comparisonFile), c),
		results.WriteFileAtomic(filepath.Join(dir, compareText), func(w io.Writer) error { return c.WriteText(w) }))
}

// options settles which runs stand on which side. dir is where the result belongs by itself.
func (c *compareCommand) options(env *environment) (o compare.Options, dir string, err error) {
	switch {
	case len(c.Runs) > 0 && len(c.A)+len(c.B) > 0:
		return o, "", errors.New("name runs in pairs, or by --a and --b, not both")
	case len(c.Runs) == 1:
		plan, err := readPlan(c.Runs[0])
		if err != nil {
			return o, "", err
		}
		o, err = plan.options(c.Runs[0])
		if err != nil {
			return o, "", err
		}
		dir = c.Runs[0]
	case len(c.Runs) > 0:
		if o, err = pairedOptions(env, c.Runs); err != nil {
			return o, "", err
		}
	default:
		if o.A, err = openRuns(env.results, c.A); err != nil {
			return o, "", err
		}
		if o.B, err = openRuns(env.results, c.B); err != nil {
			return o, "", err
		}
		if len(o.A) == 0 || len(o.B) == 0 {
			return o, "", errors.New("name at least two runs, A and B, or sets of runs by --a and --b; bench list shows them")
		}
	}
	o.Same, err = openRuns(env.results, c.AA)
	return o, dir, err
}

func pairedOptions(env *environment, names []string) (compare.Options, error) {
	o := compare.Options{Paired: true}
	if len(names)%2 != 0 {
		return o, fmt.Errorf("%d runs do not make pairs: name A and B in turn, or pass sets by --a and --b", len(names))
	}
	for i, name := range names {
		folder, err := results.Open(env.results, name)
		if err != nil {
			return o, err
		}
		run, err := loadEnded(folder)
		if err != nil {
			return o, err
		}
		if i%2 == 0 {
			o.A = append(o.A, run)
		} else {
			o.B = append(o.B, run)
		}
	}
	return o, nil
}

// loadEnded reads a run, unless it goes on: figures of half a run are no figures.
func loadEnded(folder results.Folder) (compare.Run, error) {
	if run, err := folder.ReadRun(); err == nil && goesOn(run) {
		return compare.Run{}, fmt.Errorf("run %s goes on (process %d); wait for its end, or leave it out", folder.Name(), run.Pid)
	}
	return compare.Load(folder)
}

// openRuns finds runs by folder, name or pattern, in the order in which they were made. A folder that several of them mean is one.
func openRuns(root string, refs []string) ([]compare.Run, error) {
	var runs []compare.Run
	seen := map[string]bool{}
	for _, ref := range refs {
		folders, err := matching(root, ref)
		if err != nil {
			return nil, err
		}
		for _, folder := range folders {
			place, err := placeOf(folder)
			if err != nil {
				return nil, err
			}
			if seen[place] {
				continue
			}
			seen[place] = true
			run, err := loadEnded(folder)
			if err != nil {
				return nil, err
			}
			runs = append(runs, run)
		}
	}
	slices.SortStableFunc(runs, func(a, b compare.Run) int { return a.Run.StartedAt.Compare(b.Run.StartedAt) })
	return runs, nil
}

// placeOf is where a folder lies, whatever path led to it.
func placeOf(folder results.Folder) (string, error) {
	dir, err := filepath.Abs(folder.Dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// matching are the runs that a reference means. A pattern is held against paths and against names under root.
func matching(root, ref string) ([]results.Folder, error) {
	if !strings.ContainsAny(ref, "*?[") {
		folder, err := results.Open(root, ref)
		return []results.Folder{folder}, err
	}
	var folders []results.Folder
	for _, pattern := range []string{ref, filepath.Join(root, ref)} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", ref, err)
		}
		for _, path := range paths {
			if info, err := os.Lstat(path); err != nil || !info.IsDir() { // a link, such as latest, is another name of a run
				continue
			}
			if folder, err := results.Open(root, path); err == nil {
				folders = append(folders, folder)
			}
		}
		if len(folders) > 0 {
			return folders, nil
		}
	}
	return nil, fmt.Errorf("no run matches %q; bench list shows what there is", ref)
}
