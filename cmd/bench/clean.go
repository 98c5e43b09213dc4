package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"rejoin/results"
)

type cleanCommand struct {
	Runs []string `arg:"" optional:"" name:"runs" help:"Folders or names to remove, as bench list shows them."`
	All  bool     `help:"Every run, A/B test, comparison (versus too), repetition and search under the results folder."`
	Data bool     `help:"Only the nodes' data directories; the record stays."`
}

// Help is shown by bench clean --help.
func (cleanCommand) Help() string {
	return `Examples:
  bench clean --all --data      frees the space of kept data directories
  bench clean --all             removes every run
  bench clean latest            removes the newest
  bench clean compare-20260102T030405Z-quick   removes a comparison; A/B tests, repetitions, searches and versus go with the runs in them`
}

// Run removes what was named.
func (c *cleanCommand) Run(env *environment) error {
	folders, groups, err := c.chosen(env)
	if err != nil {
		return usage("%w", err)
	}
	for _, folder := range folders {
		if run, err := folder.ReadRun(); err == nil && goesOn(run) {
			fmt.Fprintf(env.out, "kept      %s: its run goes on (process %d)\n", folder.Name(), run.Pid)
			continue
		}
		if err := c.remove(env, folder); err != nil {
			return usage("%w", err)
		}
	}
	if err := c.cleanGroups(env, groups); err != nil {
		return usage("%w", err)
	}
	return nil
}

// cleanGroups does for A/B tests, comparisons, repetitions and searches, and the runs in them, what is asked for runs. One that is under way
// is left alone as a whole, although none of its runs may be going on at the moment.
func (c *cleanCommand) cleanGroups(env *environment, groups []string) error {
	for _, dir := range groups {
		if results.GroupHeld(dir) {
			fmt.Fprintf(env.out, "kept      %s: it is still under way\n", filepath.Base(dir))
			continue
		}
		root := filepath.Join(dir, runsDir)
		entries, err := results.List(root)
		if err != nil {
			return err
		}
		inside := environment{ctx: env.ctx, out: env.out, errs: env.errs, results: root}
		live, had := false, false
		for _, e := range entries {
			switch {
			case goesOn(e.Run):
				live = true
				fmt.Fprintf(env.out, "kept      %s: its run goes on (process %d)\n", filepath.Base(dir), e.Run.Pid)
			case c.Data && e.Folder.HasData():
				had = true
				if err := c.remove(&inside, e.Folder); err != nil {
					return err
				}
			}
		}
		if c.Data && !c.All && !had && !live {
			fmt.Fprintf(env.out, "no data   of %s was there\n", filepath.Base(dir))
		}
		if c.Data || live {
			continue
		}
		if err := results.RemoveGroup(dir); err != nil {
			return err
		}
		fmt.Fprintf(env.out, "removed   %s\n", filepath.Base(dir))
	}
	return nil
}

// remove removes a run or only its data, and says which.
func (c *cleanCommand) remove(env *environment, folder results.Folder) error {
	if !c.Data {
		if err := results.Remove(env.results, folder); err != nil {
			return err
		}
		fmt.Fprintf(env.out, "removed   %s\n", folder.Name())
		return nil
	}
	if !folder.HasData() {
		fmt.Fprintf(env.out, "no data   of %s was there\n", folder.Name())
		return nil
	}
	if err := folder.RemoveData(); err != nil {
		return err
	}
	fmt.Fprintf(env.out, "removed   data of %s; its record stays\n", folder.Name())
	return nil
}

// chosen are the runs, and the folders of several, that are meant.
func (c *cleanCommand) chosen(env *environment) (folders []results.Folder, groups []string, err error) {
	if c.All == (len(c.Runs) > 0) {
		return nil, nil, errors.New("name the runs to remove, or pass --all; bench list shows them")
	}
	if c.All {
		entries, err := results.List(env.results)
		for _, e := range entries {
			folders = append(folders, e.Folder)
		}
		if err != nil {
			return nil, nil, err
		}
		groups, err = results.Groups(env.results)
		return folders, groups, err
	}
	for _, name := range c.Runs {
		if dir, ok := results.OpenGroup(env.results, name); ok {
			if !slices.Contains(groups, dir) { // named twice
				groups = append(groups, dir)
			}
			continue
		}
		folder, err := results.Open(env.results, name)
		if err != nil {
			return nil, nil, err
		}
		if !slices.ContainsFunc(folders, func(f results.Folder) bool { return f.Name() == folder.Name() }) {
			folders = append(folders, folder)
		}
	}
	return folders, groups, nil
}
