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

// sampler measures series, each sample once: what is in its folder already is not measured again.
type sampler struct {
	what    string // it is measured for
	dir     string
	samples goals.Folder
	binary  string
	raft    string // path of the program that runs hashicorp/raft; it may not be there
	launch  launch
	out     io.Writer
}

// everySeries is the word of --again for all that a command measures.
const everySeries = "all"

// newSampler makes the folder of a command's samples, and forgets those of the series that are to be measured again.
func newSampler(env *environment, what string, again []goals.Series) (*sampler, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the bench binary: %w", err)
	}
	raft, err := peerProgram(goals.RaftProgram)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(env.results, what)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	g := &sampler{what: what, dir: dir, samples: goals.Folder{Dir: dir}, binary: self, raft: raft, launch: launchProcess, out: env.out}
	for _, s := range again {
		err = errors.Join(err, g.samples.Forget(s.Name))
	}
	return g, err
}

// knownNames refuses what --only and --again name and is not there.
func knownNames(kind string, known []string, only, again []string) error {
	for _, name := range slices.Concat(only, again) {
		if name != everySeries && !slices.Contains(known, name) {
			return fmt.Errorf("there is no %s %q; there are %s", kind, name, strings.Join(known, ", "))
		}
	}
	return nil
}

// measure makes the samples that are missing.
func (g *sampler) measure(ctx context.Context, series []goals.Series) error {
	left := time.Duration(0)
	for _, s := range series {
		for n := 1; n <= s.Pairs; n++ {
			if !g.samples.Has(s.Name, n) {
				left += s.Took
			}
		}
	}
	fmt.Fprintf(g.out, "%s: about %v to measure\n", g.what, left.Round(time.Minute))
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
			fmt.Fprintf(g.out, "%s %d of %d: %s, %.0f batches/s%s, %v of %v\n", s.Name, n, s.Pairs, sample.Summary.Verdict, sample.Summary.BatchesPerS, besideText(sample),
				time.Since(began).Round(time.Second), s.Took.Round(time.Second))
		}
	}
	return nil
}

// besideText tells the rate of what ran beside.
func besideText(s goals.Sample) string {
	switch {
	case s.Shape != nil:
		return fmt.Sprintf(", the shape %.0f", s.Shape.BatchesPerS)
	case s.Raft != nil:
		return fmt.Sprintf(", hashicorp/raft %.0f", s.Raft.BatchesPerS)
	}
	return ""
}

// sample runs the scenario, and what is measured beside it in turn before and after it.
func (g *sampler) sample(ctx context.Context, s goals.Series, n int) (goals.Sample, error) {
	sample := goals.Sample{Series: s.Name, Number: n, At: time.Now(), ShapeFirst: n%2 == 1}
	beside := func() error {
		return errors.Join(g.shape(ctx, s, &sample), g.besideRaft(ctx, s, &sample), g.limits(ctx, s, &sample), g.against(ctx, s, &sample))
	}
	run := func() error {
		folder, err := g.scenario(ctx, s.Name, s.File(), n, &sample.Summary)
		if err != nil {
			return err
		}
		return errors.Join(readBuild(folder, &sample), readProof(folder, &sample), readWindows(folder, s, &sample))
	}
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

// against is a run of the scenario beside it.
func (g *sampler) against(ctx context.Context, s goals.Series, sample *goals.Sample) error {
	if s.Against == "" {
		return nil
	}
	sample.Against = &results.Summary{}
	_, err := g.scenario(ctx, s.AgainstName(), s.AgainstFile(), sample.Number, sample.Against)
	return err
}

// scenario is one run of it, in a process of its own.
func (g *sampler) scenario(ctx context.Context, name string, text []byte, seed int, summary *results.Summary) (folder results.Folder, err error) {
	file := filepath.Join(g.dir, name+".yaml")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return folder, err
	}
	root := filepath.Join(g.dir, runsDir)
	before := latestOf(root)
	code, err := g.launch(ctx, g.binary, []string{"--results", root, "run", file, "--quiet", "--repeat", "1", "--profile", "none", "--seed", strconv.Itoa(seed)}, io.Discard)
	folder = latestOf(root)
	if err != nil || folder.Dir == "" || folder == before {
		return folder, fmt.Errorf("the run left no folder (exit code %d): %v", code, err)
	}
	if *summary, err = folder.ReadSummary(); err != nil {
		return folder, err
	}
	dropData(folder, code)
	if code == results.ExitLoss || code == results.ExitStuck {
		return folder, fmt.Errorf("%s: %s; see %s", summary.Verdict, strings.Join(summary.Reasons, "; "), folder.Dir)
	}
	return folder, nil
}

// readWindows takes the latency over time, where the series wants it.
func readWindows(folder results.Folder, s goals.Series, sample *goals.Sample) error {
	if !s.Windows {
		return nil
	}
	events, err := folder.ReadEvents()
	if err != nil {
		return err
	}
	sample.LogBytes, sample.LoadStart = s.LogBytes, time.Duration(results.TimelineOf(events).LoadStartNs)
	sample.Windows, err = folder.ReadWindows(results.DueToAck, goals.WindowWidth, goals.WindowQuantiles...)
	return err
}

// readBuild takes what made the run: the binary may have been built anew since the samples before.
func readBuild(folder results.Folder, sample *goals.Sample) error {
	run, err := folder.ReadRun()
	sample.Build = goals.Build{Commit: run.Found.Commit, Dirty: run.Found.Dirty, BootID: run.Found.BootID}
	return err
}

// builds are those of samples; what has to be known of them is said.
func (g *sampler) builds(samples []goals.Sample) []goals.SamplesOf {
	builds, here := goals.BuildsOf(samples), results.Probe(g.dir)
	for _, warning := range goals.BuildWarnings(builds, here.Commit, here.Dirty) {
		fmt.Fprintf(g.out, "warning: %s\n", warning)
	}
	return builds
}

// readProof takes what a sample keeps of a run's proof.
func readProof(folder results.Folder, sample *goals.Sample) error {
	sample.Run = folder.Name()
	proof, err := folder.ReadProof()
	sample.Lateness = proof.Lateness
	if proof.Steal != nil {
		sample.BusyShare = &proof.Steal.BusyShare
	}
	return err
}

// shape drives the shape by the load that the series names.
func (g *sampler) shape(ctx context.Context, s goals.Series, sample *goals.Sample) (err error) {
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
func (g *sampler) limits(ctx context.Context, s goals.Series, sample *goals.Sample) error {
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
