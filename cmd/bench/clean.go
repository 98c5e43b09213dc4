package main

import (
	"errors"
	"fmt"

	"rejoin/results"
)

type cleanCommand struct {
	Runs []string `arg:"" optional:"" name:"runs" help:"Folders or names to remove."`
	All  bool     `help:"Every run under the results folder."`
	Data bool     `help:"Only the nodes' data directories; the record stays."`
}

// Help is shown by bench clean --help.
func (cleanCommand) Help() string {
	return `Examples:
  bench clean --all --data      frees the space of kept data directories
  bench clean --all             removes every run
  bench clean latest            removes the newest`
}

// Run removes what was named.
func (c *cleanCommand) Run(env *environment) error {
	folders, err := c.chosen(env)
	if err != nil {
		return usage("%w", err)
	}
	for _, folder := range folders {
		if run, err := folder.ReadRun(); err == nil && run.Status == results.StatusRunning && processLives(run.Pid) {
			fmt.Fprintf(env.out, "kept      %s: its run goes on (process %d)\n", folder.Name(), run.Pid)
			continue
		}
		if err := c.remove(env, folder); err != nil {
			return usage("%w", err)
		}
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

func (c *cleanCommand) chosen(env *environment) ([]results.Folder, error) {
	if c.All == (len(c.Runs) > 0) {
		return nil, errors.New("name the runs to remove, or pass --all; bench list shows them")
	}
	var folders []results.Folder
	if c.All {
		entries, err := results.List(env.results)
		for _, e := range entries {
			folders = append(folders, e.Folder)
		}
		return folders, err
	}
	for _, name := range c.Runs {
		folder, err := results.Open(env.results, name)
		if err != nil {
			return nil, err
		}
		folders = append(folders, folder)
	}
	return folders, nil
}
