package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"rejoin/results"
)

// mute is a system that answers no question.
type mute struct{}

func (mute) ask(context.Context, int) (results.Status, error) {
	return results.Status{}, errors.New("no answer")
}

// testRecord is a run folder and what writes its events, the clock of which runs.
func testRecord(t *testing.T) (results.Folder, *recorder) {
	t.Helper()
	folder, err := results.Create(t.TempDir(), "test", "record", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	record, err := newRecorder(folder)
	if err != nil {
		t.Fatal(err)
	}
	record.setBase(1)
	return folder, record
}

// recorded ends the writing and returns what was written, in the order of time.
func recorded(t *testing.T, folder results.Folder, record *recorder) []results.Event {
	t.Helper()
	if err := record.close(); err != nil {
		t.Fatal(err)
	}
	events, err := folder.ReadEvents()
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(events, func(a, b results.Event) int { return cmp.Compare(a.TNs, b.TNs) })
	return events
}

// awaitReady waits until a log says so often that its process is ready.
func awaitReady(t *testing.T, log string, times int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if text, err := os.ReadFile(log); err == nil && strings.Count(string(text), "ready") == times {
			return
		}
	}
	t.Fatalf("%s does not say %d times that it is ready", log, times)
}

// TestCrewOfAnyProgram: processes that are no nodes of ours are killed, started again, and end at SIGTERM in the code that they announce.
func TestCrewOfAnyProgram(t *testing.T) {
	folder, record := testRecord(t)
	// The shell says that its trap stands before it waits, so that a SIGTERM cannot come too early.
	polite := program{path: "/bin/sh", args: []string{"-c", "trap 'exit 143' TERM; echo ready; while :; do sleep 1 & wait $!; done"}, stopCodes: []int{143}}
	c := newCrew(folder, record, newPoller(nil, record, 2, mute{}), 2, func(int) (program, error) { return polite, nil })
	for node := range 2 {
		if err := c.start(node); err != nil {
			t.Fatal(err)
		}
		awaitReady(t, folder.Log(node), 1)
	}
	if err := c.start(0); err == nil {
		t.Error("a node that runs was started again")
	}
	root := folder.Dir[:strings.LastIndexByte(folder.Dir, '/')]
	pid := c.lives[0].process.pid
	if !isNodeUnder(pid, root) || isNodeUnder(pid, root+"/elsewhere") {
		t.Errorf("process %d is not known as one of this run", pid)
	}
	if err := c.kill(t.Context(), 0, results.RolePrimary); err != nil {
		t.Fatal(err)
	}
	if err := c.kill(t.Context(), 0, results.RolePrimary); !errors.Is(err, errNoProcess) {
		t.Errorf("a second kill: %v", err)
	}
	if err := c.start(0); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, folder.Log(0), 2) // both lives write to one log
	if err := c.close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if ended := c.ended(); len(ended) > 0 {
		t.Errorf("ends that nobody asked for: %q", ended)
	}
	var story []string
	for _, e := range recorded(t, folder, record) {
		if e.Node == "n0" {
			story = append(story, strings.TrimSpace(string(e.Kind)+" "+e.Role+e.Signal))
		}
	}
	if got := strings.Join(story, ", "); got != "kill primarySIGKILL, exit SIGKILL, restart, exit" {
		t.Errorf("events of n0: %s", got)
	}
}
