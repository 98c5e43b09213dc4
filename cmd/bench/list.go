package main

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"rejoin/results"
)

type listCommand struct{}

// Run prints one line a run, newest first.
func (c *listCommand) Run(env *environment) error {
	entries, err := results.List(env.results)
	if err != nil {
		return usage("%w", err)
	}
	defer tellRenamed(env)
	if len(entries) == 0 {
		fmt.Fprintf(env.out, "no runs under %s; start one with bench run\n", env.results)
		return nil
	}
	fmt.Fprintf(env.out, listFormat, "verdict", "size", "age", "run")
	for _, e := range entries {
		size := fmt.Sprintf("%.1f MiB", float64(e.SizeBytes)/(1<<20))
		fmt.Fprintf(env.out, listFormat, plainLine(verdictText(e)), size, ageText(e.Run.StartedAt), plainLine(e.Folder.Name()))
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
	return nil
}

// tellRenamed names what other commands take for a run and this one does not list.
func tellRenamed(env *environment) {
	for _, name := range results.Renamed(env.results) {
		fmt.Fprintf(env.out, "not listed  %s holds a run, and its name does not begin with a time as run folders do; report, compare and export take it by this name\n", plainLine(name))
	}
}

// listFormat is a line of the list: verdict, size in MiB whatever it is, so that sizes compare by eye, age, name.
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
