package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rejoin/results"
)

// scripted is a system of three nodes that notes what is done to it and when.
type scripted struct {
	memorySystem
	began time.Time
	log   []string
}

func newScripted() *scripted {
	return &scripted{began: time.Now(), memorySystem: memorySystem{nodes: 3}}
}

func (s *scripted) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf("%v ", time.Since(s.began))+fmt.Sprintf(format, args...))
}

func (s *scripted) status() []results.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]results.Status, 3)
	for i := range all {
		all[i] = results.Status{Node: results.NodeName(i), Up: true, Role: results.RoleBackup, View: new(s.view), CommitOp: new(int64(1)), HeadOp: new(int64(1))}
		if i == s.primary {
			all[i].Role = results.RolePrimary
		}
	}
	return all
}

func (s *scripted) kill(_ context.Context, node int, role string) error {
	s.note("kill n%d %s", node, role)
	s.mu.Lock()
	defer s.mu.Unlock()
	if node == s.primary {
		s.primary = (node + 1) % 3
	}
	return nil
}

func (s *scripted) terminate(_ context.Context, node int, role string) error {
	s.note("terminate n%d %s", node, role)
	return nil
}

func (s *scripted) wipe(node int) error {
	s.note("wipe n%d", node)
	return nil
}

func (s *scripted) restart(node int) error {
	s.note("restart n%d", node)
	return nil
}

func (s *scripted) pause(node int, role string) error {
	s.note("stop n%d %s", node, role)
	return nil
}

func (s *scripted) resume(node int) error {
	s.note("cont n%d", node)
	return nil
}

func runFaults(t *testing.T, scenario string, first int) []string {
	t.Helper()
	s, err := parseScenario("test.yaml", []byte(scenario))
	if err != nil {
		t.Fatal(err)
	}
	var log []string
	synctest.Test(t, func(t *testing.T) {
		system := newScripted()
		plan := newSchedule(system, s.Faults, first)
		start := make(chan struct{})
		early, err := plan.before(t.Context(), start)
		if err != nil {
			t.Fatal(err)
		}
		close(start)
		plan.run(t.Context(), start)
		early.Wait()
		if err := plan.err(); err != nil {
			t.Error(err)
		}
		log = system.log
	})
	return log
}

// TestQuickSchedule: whatever the roles become, each node is killed once, one as backup and one as primary.
func TestQuickSchedule(t *testing.T) {
	quick, err := scenarioFiles.ReadFile("scenarios/quick.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"8s kill n1 backup", "9.5s restart n1", "18s kill n0 primary", "30s restart n0", "46s kill n2 backup", "48s restart n2"}
	if got := runFaults(t, string(quick), 0); !slices.Equal(got, want) {
		t.Errorf("done:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestPrimaryRejoinSchedule(t *testing.T) {
	text, err := scenarioFiles.ReadFile("scenarios/primary-rejoin.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"0s kill n2 backup", "10s kill n0 primary", "10s restart n0", "24s restart n2", "34s stop n2 backup", "38s kill n1 primary", "38s restart n1", "48s cont n2"}
	if got := runFaults(t, string(text), 2); !slices.Equal(got, want) {
		t.Errorf("done:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestEachKindOfFault(t *testing.T) {
	want := []string{"1s terminate n2 backup", "1s restart n2", "5s kill n1 backup", "5s wipe n1", "7s restart n1", "9s stop n0 primary", "10s cont n0"}
	got := runFaults(t, `faults:
  - {at: 1s, restart: n2}
  - {at: 5s, wipe: backup, restart_after: 2s}
  - {at: 9s, stop: primary, cont_after: 1s}`, -1)
	if !slices.Equal(got, want) {
		t.Errorf("done:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestScheduleEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := parseScenario("test.yaml", []byte("faults: [{at: 1s, kill: n1, restart_after: 20s}, {at: 50s, kill: n2, restart_after: 1s}]"))
		if err != nil {
			t.Fatal(err)
		}
		system := newScripted()
		plan := newSchedule(system, s.Faults, -1)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := make(chan struct{})
		close(start)
		plan.run(ctx, start)
		if took := time.Since(system.began); took != 5*time.Second || len(system.log) != 1 {
			t.Errorf("ended after %v with %v", took, system.log)
		}
	})
}

// TestScheduleWaitsForTheRole: in a view change nobody is primary; the fault waits a while and then gives up in words.
func TestScheduleWaitsForTheRole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := parseScenario("test.yaml", []byte("faults: [{at: 1s, kill: primary, restart_after: 1s}]"))
		if err != nil {
			t.Fatal(err)
		}
		system := newScripted()
		system.primary = -1
		plan := newSchedule(system, s.Faults, -1)
		start := make(chan struct{})
		close(start)
		plan.run(t.Context(), start)
		if err := plan.err(); err == nil || !strings.Contains(err.Error(), "no node is primary") {
			t.Errorf("error is %v", err)
		}
		if len(system.log) != 0 {
			t.Errorf("done: %v", system.log)
		}
	})
}
