package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rejoin/plots"
	"rejoin/results"
)

type reportCommand struct {
	Of string `arg:"" name:"run" optional:"" help:"Folder, name, or latest." default:"latest"`
}

// Help is shown by bench report --help.
func (reportCommand) Help() string {
	return `Draws from what the folder of the run holds, and lists the files that were written. A run that did not come to its end lacks some files: their parts
stay empty, and a line on the standard error names each. Where a file is damaged, or one of a finished run is gone, the rest is drawn
all the same, and the exit code is 2. Without run.json, or with a damaged summary.json, nothing is drawn: the older figures are better.

Examples:
  bench report              the latest run
  bench report results/20260102T030405Z-builtin-quick`
}

// Run draws again and names the files.
func (c *reportCommand) Run(env *environment) error {
	folder, err := results.Open(env.results, c.Of)
	if err != nil {
		return usage("%w", err)
	}
	run, err := folder.ReadRun()
	if err != nil { // without it figures would be drawn of nothing, in place of better ones
		return usage("%w; what it was asked is gone, so nothing is drawn anew: restore the file", err)
	}
	if _, err := folder.ReadSummary(); err != nil && !errors.Is(err, fs.ErrNotExist) { // a run that crashed has none
		return usage("%w; the verdict and its figures are gone, so nothing is drawn anew: restore the file, or remove it to draw what is left", err)
	}
	if goesOn(run) {
		return usage("run %s goes on (process %d), and figures of half a run are no figures: wait for its end, or stop it by Ctrl-C where it runs; bench run --http shows a run under way",
			folder.Name(), run.Pid)
	}
	files := []string{folder.Report()}
	for _, name := range plots.Names() {
		files = append(files, filepath.Join(folder.Plots(), name+".svg"))
	}
	before := make([]fs.FileInfo, len(files))
	for i, path := range files {
		before[i], _ = os.Lstat(path) // nil where there is none
	}
	drawn := drawFigures(folder)
	if drawn != nil {
		fmt.Fprintf(env.errs, "bench: %s\n", firstLines(drawn.Error(), reportLinesMax))
	}
	var missing []string
	for i, path := range files {
		if isNew(before[i], path) {
			fmt.Fprintln(env.out, path)
		} else {
			missing = append(missing, path)
		}
	}
	if len(missing) > 0 {
		return usage("not written: %s", strings.Join(missing, ", "))
	}
	if run.Status == results.StatusFinished && drawn != nil || damaged(drawn) {
		return usage("the figures lack what could not be read: restore the files named above, and draw once more")
	}
	return nil
}

// damaged says whether an error tells of more than files that are not there.
func damaged(err error) bool {
	switch of := err.(type) {
	case nil:
		return false
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(of.Unwrap(), damaged)
	case interface{ Unwrap() error }:
		if inner := of.Unwrap(); inner != nil {
			return damaged(inner)
		}
	}
	return !errors.Is(err, fs.ErrNotExist)
}

// isNew tells that a file has been put in place of what was there before. Files of a report are renamed over older ones.
func isNew(before fs.FileInfo, path string) bool {
	after, err := os.Lstat(path)
	return err == nil && after.Mode().IsRegular() && (before == nil || !os.SameFile(before, after))
}

// reportLinesMax is how many lines are said of what could not be read: each file may have several that are damaged.
const reportLinesMax = 5

func firstLines(text string, most int) string {
	lines := strings.Split(text, "\n")
	if len(lines) <= most {
		return text
	}
	return strings.Join(lines[:most], "\n") + fmt.Sprintf("\n… and %d more lines like these", len(lines)-most)
}
