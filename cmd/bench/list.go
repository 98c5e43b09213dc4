package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"rejoin/results"
)

type listCommand struct{}

// Help is shown by bench list --help.
func (listCommand) Help() string {
	return `Runs, newest first; then what belongs to several of them: A/B tests, comparisons, repetitions, searches and versus, each with the runs
in it. bench clean takes the names of both.`
}

// Run prints one line a run, newest first, then one for each folder of several.
func (c *listCommand) Run(env *environment) error {
	entries, err := results.List(env.results)
	if err != nil {
		return usage("%w", err)
	}
	groups, err := results.ListGroups(env.results)
	if err != nil {
		return usage("%w", err)
	}
	defer tellRenamed(env)
	if len(entries)+len(groups) == 0 {
		fmt.Fprintf(env.out, "no runs under %s; start one with bench run\n", env.results)
		return nil
	}
	fmt.Fprintf(env.out, listFormat, "verdict", "size", "age", "run")
	for _, e := range entries {
		fmt.Fprintf(env.out, listFormat, plainLine(verdictText(e)), sizeText(e.SizeBytes), ageText(e.Run.StartedAt), plainLine(e.Folder.Name()))
		if e.Summary == nil && e.Run.Error != "" {
			fmt.Fprintf(env.out, "            because %s\n", plainLine(e.Run.Error))
		}
		if e.Summary != nil && len(e.Summary.Reasons) > 0 {
			fmt.Fprintf(env.out, "            because %s%s\n", plainLine(e.Summary.Reasons[0]), more(len(e.Summary.Reasons)-1))
		}
		if e.Err != nil && !errors.Is(e.Err, fs.ErrNotExist) {
			fmt.Fprintf(env.out, "            %v\n", e.Err)
		}
	}
	for _, g := range groups {
		word := g.Kind
		if g.Held {
			word = "running"
		}
		fmt.Fprintf(env.out, listFormat, word, sizeText(g.SizeBytes), ageText(g.CreatedAt), plainLine(filepath.Base(g.Dir)))
		if g.Err != nil {
			fmt.Fprintf(env.out, "            %v\n", g.Err)
		}
	}
	return nil
}

func sizeText(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

// tellRenamed names what other commands take for a run and this one does not list.
func tellRenamed(env *environment) {
	for _, name := range results.Renamed(env.results) {
		fmt.Fprintf(env.out, "not listed  %s holds a run, and its name does not begin with a time as run folders do; report, compare and export take it by this name\n", plainLine(name))
	}
}

// listFormat is a line of the list: verdict, or what several runs are there for, size in MiB whatever it is, so that sizes compare by eye, age, name.
const listFormat = "%-11s %12s %8s  %s\n"

// more says that there are other reasons; summary.json has them.
func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n)
}

func verdictText(e results.Entry) string {
	switch {
	case e.Summary != nil:
		return string(e.Summary.Verdict)
	case goesOn(e.Run):
		return "running"
	case e.Run.Status == results.StatusRunning || e.Run.Status == "":
		return "crashed"
	}
	return string(e.Run.Status) // it ended, and could not write how
}

func ageText(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	switch age := time.Since(t); {
	case age < time.Hour:
		return fmt.Sprintf("%d min", int(age.Minutes()))
	case age < 48*time.Hour:
		return fmt.Sprintf("%d h", int(age.Hours()))
	default:
		return fmt.Sprintf("%d days", int(age.Hours()/24))
	}
}
