package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"rejoin/results"
)

// runOf writes a run's folder with a status, as left by a process.
func runOf(t *testing.T, root string, run results.Run) results.Folder {
	t.Helper()
	folder, err := results.Create(root, "memory", "test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	run.Asked.Target, run.Asked.ScenarioName = targetMemory, "test"
	if err := folder.WriteRun(run); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestRunUnderWayIsNotReported: half a run has no report. Only the process that began the run keeps it under way.
func TestRunUnderWayIsNotReported(t *testing.T) {
	playedOnce(t, "draws a report")
	age, err := ageOf(os.Getpid())
	if err != nil || age < 0 || age > time.Hour {
		t.Fatalf("this process is %v old, %v", age, err)
	}
	for _, test := range []struct {
		name    string
		run     results.Run
		verdict string
		code    int
	}{
		{"under way", results.Run{Status: results.StatusRunning, Pid: os.Getpid(), StartedAt: time.Now()}, "running", results.ExitUsage},
		{"pid of a younger process", results.Run{Status: results.StatusRunning, Pid: os.Getpid(), StartedAt: time.Now().Add(-24 * time.Hour)}, "crashed", 0},
		{"no such process", results.Run{Status: results.StatusRunning, Pid: 1 << 30, StartedAt: time.Now()}, "crashed", 0},
		{"failed", results.Run{Status: results.StatusFailed, Error: "no node came up", Pid: os.Getpid(), StartedAt: time.Now()}, "failed", 0},
	} {
		root := t.TempDir()
		folder := runOf(t, root, test.run)
		code, out := bench(t, "--results", root, "report", folder.Name())
		if code != test.code || strings.Contains(out, "goes on (process") != (test.code != 0) {
			t.Errorf("%s: report exits %d, want %d\n%s", test.name, code, test.code, out)
		}
		if _, err := os.Stat(folder.Report()); (err == nil) != (test.code == 0) {
			t.Errorf("%s: report.html: %v", test.name, err)
		}
		_, out = bench(t, "--results", root, "list")
		if line := out[strings.Index(out, "\n")+1:]; !strings.HasPrefix(line, test.verdict+" ") || !strings.Contains(line, test.run.Error) {
			t.Errorf("%s is listed as %q, want %s", test.name, line, test.verdict)
		}
	}
}
