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
	if len(entries) == 0 {
		fmt.Fprintf(env.out, "no runs under %s; start one with bench run\n", env.results)
		return nil
	}
	for _, e := range entries {
		fmt.Fprintf(env.out, "%-11s %10s %8s  %s\n", verdictText(e), bytesText(&e.SizeBytes), ageText(e.Run.StartedAt), e.Folder.Name())
		if e.Err != nil && !errors.Is(e.Err, fs.ErrNotExist) {
			fmt.Fprintf(env.out, "            %v\n", e.Err)
		}
	}
	return nil
}

func verdictText(e results.Entry) string {
	switch {
	case e.Summary != nil:
		return string(e.Summary.Verdict)
	case e.Run.Status == results.StatusRunning && processLives(e.Run.Pid):
		return "running"
	}
	return "crashed"
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

// processLives says whether a process has this pid; after a reboot it may be another one.
func processLives(pid int) bool { return pid > 0 && parentOf(pid) >= 0 }
