package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

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
	run, err := folder.ReadRun()
	if err != nil { // without it figures would be drawn of nothing, in place of better ones
		return usage("%w; what it was asked is gone, so nothing is drawn anew: restore the file", err)
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
	if err := drawFigures(folder); err != nil {
		fmt.Fprintf(env.errs, "bench: %s\n", firstLines(err.Error(), reportLinesMax))
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
	return nil
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
