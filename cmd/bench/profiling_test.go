package main

import (
	"slices"
	"strings"
	"testing"

	"rejoin/results"
)

func TestParseProfiling(t *testing.T) {
	for text, want := range map[string]profiling{
		"":             {windows: true},
		"none":         {},
		"cpu":          {mode: "cpu"},
		"heap":         {mode: "mem", windows: true},
		"mem,heap":     {mode: "mem", windows: true}, // what is said twice counts once
		"cpu,cpu":      {mode: "cpu"},
		"mutex":        {mode: "mutex", windows: true},
		"flight":       {flight: true, windows: true},
		"trace,flight": {mode: "trace", flight: true, windows: true},
		"cpu, flight":  {mode: "cpu", flight: true},
	} {
		if got, err := parseProfiling(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for text, words := range map[string]string{
		"none,cpu": "stands alone", "cpu,none": "stands alone", "mem,mutex": "exclude each other", "everything": "there are none, flight, cpu",
		"cpu,": "empty mode", ",": "empty mode",
	} {
		if _, err := parseProfiling(text); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, want %q", text, err, words)
		}
	}
}

// Trap 30: the rates stand in the record.
func TestProfilingIsRecorded(t *testing.T) {
	for text, want := range map[string]results.Profiling{
		"":      {Mode: "cpu windows", CPUHz: 100, WindowNs: 2e9, HeapBytes: 512 << 10},
		"none":  {Mode: "none", HeapBytes: 512 << 10},
		"cpu":   {Mode: "cpu", CPUHz: 100, HeapBytes: 512 << 10},
		"mem":   {Mode: "mem", CPUHz: 100, WindowNs: 2e9, HeapBytes: 4096},
		"mutex": {Mode: "mutex", CPUHz: 100, WindowNs: 2e9, HeapBytes: 512 << 10, MutexFraction: 1},
		"block": {Mode: "block", CPUHz: 100, WindowNs: 2e9, HeapBytes: 512 << 10, BlockNs: 1},
		"trace": {Mode: "trace", CPUHz: 100, WindowNs: 2e9, HeapBytes: 512 << 10, Trace: true},
	} {
		p, err := parseProfiling(text)
		if err != nil {
			t.Fatal(err)
		}
		got := p.record()
		if got.Words == "" {
			t.Errorf("%q: nothing for a person", text)
		}
		got.Words = ""
		if got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func TestBordersAreSeen(t *testing.T) {
	s := &fakeSystem{states: []results.Status{primaryState("n0"), backupState("n1")}}
	var b borderState
	if !b.changed(s) || b.changed(s) {
		t.Fatal("the first look is a change, the second is none")
	}
	s.states[0] = results.Status{Node: "n0"}
	if !b.changed(s) {
		t.Error("a node has gone")
	}
	const second = int64(1e9)
	if b.acknowledged(10*second, 10*second) {
		t.Error("an answer that was under way is no first acknowledgement")
	}
	s.states[1] = primaryState("n1")
	if !b.changed(s) || b.acknowledged(10*second+int64(strayAfterExit), 11*second) {
		t.Error("a new primary is a change, and nothing was acknowledged by it")
	}
	if !b.acknowledged(11*second, 11*second) || b.acknowledged(12*second, 12*second) {
		t.Error("the first acknowledgement is a border, the second is none")
	}
	s.behind = []string{"n0"}
	if !b.changed(s) || b.changed(s) {
		t.Error("a node that comes back is a change, once")
	}
}

// fakeSystem shows what it is told to show.
type fakeSystem struct {
	system
	states []results.Status
	behind []string
}

func (s *fakeSystem) status() []results.Status { return slices.Clone(s.states) }
func (s *fakeSystem) askedSince(int64) bool    { return true }
func (s *fakeSystem) catchingUp() []string     { return s.behind }

func primaryState(node string) results.Status {
	return results.Status{Node: node, Up: true, Role: results.RolePrimary, View: new(int64(1))}
}

func backupState(node string) results.Status {
	return results.Status{Node: node, Up: true, Role: results.RoleBackup, View: new(int64(1))}
}

// TestRunWithoutProfiles (trap 30): --profile none takes nothing, the record says so, and what profiling costs can be printed.
func TestRunWithoutProfiles(t *testing.T) {
	playedOnce(t, "whole runs")
	root := t.TempDir()
	scenario := memoryScenario(t, "demands: {late_p99_max: 1s, canary_change_max: 100}")
	run := func(flags ...string) {
		t.Helper()
		args := append([]string{"--results", root, "run", scenario, "--quiet", "--duration", "1s"}, flags...)
		if code, out := bench(t, args...); code != results.ExitPass && code != results.ExitInvalid { // the machine may be too busy to judge
			t.Fatalf("exit code %d\n%s", code, out)
		}
	}
	run("--profile", "none")
	checkWithoutProfiles(t, root)
	without, err := results.Open(root, "latest")
	if err != nil {
		t.Fatal(err)
	}
	run()
	if code, out := bench(t, "--results", root, "compare", without.Name(), "latest"); code != results.ExitUsage {
		t.Errorf("exit code %d\n%s", code, out)
	}
	code, out := bench(t, "--results", root, "compare", "--force", without.Name(), "latest")
	if code != 0 || !strings.Contains(out, "steady.p50") || !strings.Contains(out, "profilers: none") || !strings.Contains(out, "A ran without a profiler") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

func checkWithoutProfiles(t *testing.T, root string) {
	t.Helper()
	folder, err := results.Open(root, "latest")
	if err != nil {
		t.Fatal(err)
	}
	run, err := folder.ReadRun()
	if err != nil || run.Asked.Profiling.Mode != "none" || run.Asked.Profiling.CPUHz != 0 {
		t.Errorf("%+v, %v", run.Asked.Profiling, err)
	}
	if entries, err := folder.ReadProfileIndex(); err != nil || len(entries) != 0 {
		t.Errorf("%+v, %v", entries, err)
	}
	events, err := folder.ReadEvents()
	if err != nil || slices.ContainsFunc(events, func(e results.Event) bool { return e.Kind == results.KindProfileWindow }) {
		t.Errorf("a window was taken; %v", err)
	}
}
