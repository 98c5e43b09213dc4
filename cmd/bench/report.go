package main

import (
	"fmt"
	"path/filepath"

	"rejoin/plots"
	"rejoin/results"
)

type reportCommand struct {
	Of string `arg:"" name:"run" optional:"" help:"Folder, name, or latest." default:"latest"`
}

// Run draws again and names the files.
func (c *reportCommand) Run(env *environment) error {
	folder, err := results.Open(env.results, c.Of)
	if err != nil {
		return usage("%w", err)
	}
	if run, err := folder.ReadRun(); err == nil && goesOn(run) {
		return usage("run %s goes on (process %d), and figures of half a run are no figures: wait for its end, or stop it by Ctrl-C where it runs; bench run --http shows a run under way",
			folder.Name(), run.Pid)
	}
	if err := drawFigures(folder); err != nil {
		fmt.Fprintf(env.errs, "bench: %v\n", err)
	}
	fmt.Fprintln(env.out, folder.Report())
	for _, name := range plots.Names() {
		fmt.Fprintln(env.out, filepath.Join(folder.Plots(), name+".svg"))
	}
	return nil
}
