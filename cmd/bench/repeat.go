package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"rejoin/results"
	"rejoin/results/compare"
)

// repetition is `bench run --repeat N`: N runs, each a process and a folder, and their summary.
type repetition struct {
	dir    string // of the group: runs/, repeat.json, repeat.txt
	binary string
	args   []string // of every run, beside results folder and seed
	times  int
	seed   uint64 // of the first run; the next has one more
	quiet  bool
	launch launch
}

// Files of a folder that holds repeated runs.
const (
	repeatFile = "repeat.json"
	repeatText = "repeat.txt"
	runsDir    = "runs"
)

// repeat runs the command's scenario several times.
func (c *runCommand) repeat(env *environment, scenario string, seed uint64, times int) error {
	if times < 1 || times > repetitionsMax {
		return usage("--repeat %d: pass 1 to %d", times, repetitionsMax)
	}
	self, err := os.Executable()
	if err != nil {
		return usage("find the bench binary: %w", err)
	}
	args := withoutFlags(env.args, "--repeat", "--seed", "--results", "--from")
	if c.From != "" { // a name would be looked for in another folder
		from, err := results.Open(env.results, c.From)
		if err == nil {
			from.Dir, err = filepath.Abs(from.Dir)
		}
		if err != nil {
			return usage("%w", err)
		}
		args = append(args, "--from", from.Dir)
	}
	args = append(args, "--repeat", "1") // whatever the scenario says
	group, err := results.CreateGroup(env.results, "repeat", scenario, time.Now())
	if err != nil {
		return usage("%w", err)
	}
	defer group.Close()
	r := repetition{dir: group.Dir, binary: self, args: args, times: times, seed: seed,
		quiet: c.Quiet, launch: launchProcess}
	code, err := r.perform(env.ctx, env.out)
	if err != nil || code != results.ExitPass {
		return &exitError{code, err}
	}
	return nil
}

// perform runs, sums up, and returns the worst exit code.
func (r *repetition) perform(ctx context.Context, out io.Writer) (int, error) {
	root := filepath.Join(r.dir, runsDir)
	code := results.ExitPass
	var runs []compare.Run
	var failed error
	for i := range r.times {
		if !r.quiet {
			fmt.Fprintf(out, "run %d of %d\n", i+1, r.times)
		}
		args := append([]string{"--results", root}, r.args...)
		args = append(args, "--seed", strconv.FormatUint(r.seed+uint64(i), 10))
		before := latestOf(root)
		ended, err := r.launch(ctx, r.binary, args, unplain(out))
		code = worseCode(code, ended)
		if folder := latestOf(root); folder.Dir != "" && folder != before {
			run, loadErr := compare.Load(folder)
			if loadErr == nil {
				runs = append(runs, run)
			}
			failed = errors.Join(failed, loadErr)
		}
		if err != nil || ended == results.ExitUsage || ended == results.ExitInterrupted || ctx.Err() != nil {
			failed = errors.Join(failed, err)
			break
		}
	}
	if ctx.Err() != nil {
		code = results.ExitInterrupted
	}
	if len(runs) == 0 {
		return code, failed
	}
	return code, errors.Join(failed, r.sumUp(runs, code, out))
}

// latestOf is the newest run under root; the zero value if there is none.
func latestOf(root string) results.Folder {
	folder, err := results.Open(root, "latest")
	if err != nil {
		return results.Folder{}
	}
	return folder
}

func (r *repetition) sumUp(runs []compare.Run, code int, out io.Writer) error {
	sum, err := compare.Repeat(runs, code, time.Now())
	if err != nil {
		return err
	}
	err = errors.Join(results.WriteJSON(filepath.Join(r.dir, repeatFile), sum),
		results.WriteFileAtomic(filepath.Join(r.dir, repeatText), func(w io.Writer) error { return sum.WriteText(w) }))
	if err != nil {
		return fmt.Errorf("write summary of the repetition: %w", err)
	}
	if !r.quiet {
		fmt.Fprintln(out)
		if err := sum.WriteText(out); err != nil {
			return fmt.Errorf("print summary of the repetition: %w", err)
		}
	}
	fmt.Fprintf(out, "%d of %d runs came to an end (exit code %d): %s\n", len(runs), r.times, code, r.dir)
	return nil
}
