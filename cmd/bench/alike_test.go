package main

import (
	"slices"
	"strings"
	"testing"

	"rejoin/loadgen"
	"rejoin/results"
	"rejoin/server/api"
)

// inTwo is what a node tells of two partitions.
func inTwo(t *testing.T, node int, first, second api.Status) results.Status {
	t.Helper()
	s, err := statusOf(api.NodeStatus{Node: node, Partitions: []api.Status{first, second}})
	if err != nil {
		t.Fatal(err)
	}
	s.Node, s.Up = results.NodeName(node), true
	return s
}

func leading(view, commit uint64) api.Status {
	return api.Status{Role: api.RolePrimary, State: api.StateNormal, View: view, Head: commit, Commit: commit}
}

func backing(view, commit uint64) api.Status {
	return api.Status{Role: api.RoleBackup, State: api.StateNormal, View: view, Head: commit, Commit: commit}
}

func TestStatusOfPartitions(t *testing.T) {
	repairing := api.Status{Role: api.RoleBackup, State: api.StateRepairing, Fetching: "repair", View: 9, Head: 7, Commit: 5}
	s := inTwo(t, 0, leading(4, 10), repairing)
	if s.Role != results.RolePrimary || s.State != string(api.StateRepairing) || s.Fetching != "repair" || *s.View != 4 || *s.CommitOp != 15 ||
		!slices.Equal(s.Views, []int64{4, 9}) || !slices.Equal(s.Heads, []int64{10, 7}) || !slices.Equal(s.Commits, []int64{10, 5}) || !slices.Equal(s.PrimaryOf, []int{0}) {
		t.Errorf("%+v", s)
	}
	if s := inTwo(t, 0, backing(1, 1), leading(1, 1)); s.Role != results.RolePrimary || s.Leads(0) || !s.Leads(1) {
		t.Errorf("primary of the second: %+v", s)
	}
	if s := inTwo(t, 0, backing(1, 1), backing(1, 1)); s.Role != results.RoleBackup {
		t.Errorf("backup in both: %+v", s)
	}
	if s := inTwo(t, 0, backing(1, 1), api.Status{Role: api.RoleNone, State: api.StateViewChange}); s.Role != string(api.RoleNone) || s.State != string(api.StateViewChange) {
		t.Errorf("no role in the second: %+v", s)
	}
	one, err := statusOf(api.NodeStatus{Partitions: []api.Status{leading(4, 10)}})
	if err != nil || one.Commits != nil || !one.Leads(0) || one.Leads(1) {
		t.Errorf("a single partition: %+v, %v", one, err)
	}
}

// TestRoleInAnyPartition: a kill of a node that leads any partition interrupts producers, so it is that of a primary.
func TestRoleInAnyPartition(t *testing.T) {
	all := []results.Status{inTwo(t, 0, leading(3, 9), backing(5, 9)), inTwo(t, 1, backing(3, 9), leading(5, 9)), inTwo(t, 2, backing(3, 9), leading(4, 9))}
	for node, want := range []string{results.RolePrimary, results.RolePrimary, results.RoleUnknown} { // n2 does not know yet that it was deposed
		if got := roleOf(all, node); got != want {
			t.Errorf("n%d is %s, want %s", node, got, want)
		}
	}
	if primary, known := primaryOf(all); !known || primary != 0 {
		t.Errorf("the first partition's primary is n%d, %v", primary, known)
	}
	all[2] = inTwo(t, 2, backing(3, 9), backing(5, 9))
	if got := roleOf(all, 2); got != results.RoleBackup {
		t.Errorf("backup in both is %s", got)
	}
}

// TestBackupAmongPartitions: a fault on a backup finds one even where every node leads something.
func TestBackupAmongPartitions(t *testing.T) {
	of := func(node int, leads ...int) results.Status {
		parts := []api.Status{backing(3, 9), backing(3, 9), backing(3, 9)}
		for _, p := range leads {
			parts[p] = leading(3, 9)
		}
		s, err := statusOf(api.NodeStatus{Node: node, Partitions: parts})
		if err != nil {
			t.Fatal(err)
		}
		s.Node, s.Up = results.NodeName(node), true
		return s
	}
	down := of(1, 2)
	down.Up = false
	for _, c := range []struct {
		name string
		all  []results.Status
		want []int
	}{
		{"one is a backup in all", []results.Status{of(0, 0), of(1, 1, 2), of(2)}, []int{2}},
		{"each leads one", []results.Status{of(0, 1), of(1, 0), of(2, 2)}, []int{0, 2}},
		{"each leads one, and one is down", []results.Status{of(0, 1), down, of(2, 0)}, []int{0}},
		{"one leads all", []results.Status{of(0), of(1), of(2, 0, 1, 2)}, []int{0, 1}},
		{"alone", []results.Status{of(0, 0, 1, 2)}, nil},
	} {
		if got := backupsOf(c.all); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		system := &statusSystem{all: c.all}
		node, _, err := (&schedule{system: system, killed: map[int]bool{}}).choose(nodeBackup)
		if (err == nil) != (len(c.want) > 0) || err == nil && node != c.want[0] {
			t.Errorf("%s: a fault meets n%d, %v", c.name, node, err)
		}
	}
}

// statusSystem is a system that tells what it was given.
type statusSystem struct {
	memorySystem
	all []results.Status
}

func (s *statusSystem) status() []results.Status { return s.all }

// TestAlikeInEveryPartition: sums that are equal hide nothing.
func TestAlikeInEveryPartition(t *testing.T) {
	for _, test := range []struct {
		n1   results.Status
		want string
	}{
		{inTwo(t, 1, backing(1, 10), backing(1, 20)), ""},
		{inTwo(t, 1, backing(1, 20), backing(1, 10)), "n0 had committed op 10 of 20 in partition 0"},
		{inTwo(t, 1, backing(1, 10), backing(1, 19)), "n1 had committed op 19 of 20 in partition 1"},
		{results.Status{Node: "n1", Up: true, CommitOp: new(int64(30))}, "n0 had committed op 10 of 30 in partition 0"},
		{results.Status{Node: "n1", Up: true, CommitOp: new(int64(10))}, "n1 told nothing of partition 1"},
		{results.Status{Node: "n1"}, "n1 did not answer"},
	} {
		if got := differing([]results.Status{inTwo(t, 0, leading(1, 10), leading(1, 20)), test.n1}); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

// TestReadyInEveryPartition: load begins when every partition has its primary and its backups.
func TestReadyInEveryPartition(t *testing.T) {
	for _, test := range []struct {
		n0, n1 results.Status
		want   string
	}{
		{inTwo(t, 0, leading(1, 0), backing(1, 0)), inTwo(t, 1, backing(1, 0), leading(1, 0)), ""},
		{inTwo(t, 0, leading(1, 0), backing(1, 0)), inTwo(t, 1, backing(1, 0), backing(1, 0)), "no node is primary in partition 1"},
		{inTwo(t, 0, leading(1, 0), leading(2, 0)), inTwo(t, 1, backing(1, 0), backing(1, 0)), "n1 is in view 1, the primary in view 2 in partition 1"},
		{inTwo(t, 0, leading(1, 0), leading(1, 0)), inTwo(t, 1, backing(1, 0), api.Status{Role: api.RoleNone, State: api.StateNormal, View: 1}), "n1 has no role"},
		{inTwo(t, 0, leading(1, 0), leading(1, 0)), inTwo(t, 1, backing(1, 0), api.Status{Role: api.RoleBackup, State: api.StateRepairing, View: 1}), "n1 is in state repairing"},
		{inTwo(t, 0, leading(1, 0), leading(1, 0)), results.Status{Node: "n1"}, "n1 does not answer"},
	} {
		if got := missingOfCluster([]results.Status{test.n0, test.n1}); !strings.HasPrefix(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

// TestReadableInEveryPartition: a node holds everything when it does so in each partition; n0's first partition is ahead of the end's by what
// its second lacks until 1200 ms.
func TestReadableInEveryPartition(t *testing.T) {
	folder := results.Folder{Dir: t.TempDir()}
	status, err := folder.AppendStatus()
	if err != nil {
		t.Fatal(err)
	}
	const ms = int64(1e6)
	for at, commits := range map[int64][2]uint64{1100: {12, 18}, 1200: {12, 20}} {
		s := inTwo(t, 0, leading(2, commits[0]), leading(7, commits[1]))
		s.TNs = at * ms
		if err := status.Write(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := status.Close(); err != nil {
		t.Fatal(err)
	}
	r := &session{folder: folder, firstView: 2, quietEndNs: 3000 * ms, outcome: loadgen.RunOutcome{StopNs: 1000 * ms},
		finalStatus: []results.Status{inTwo(t, 0, leading(2, 10), leading(7, 20))}}
	facts, err := r.readStatus(results.Timeline{})
	if err != nil {
		t.Fatal(err)
	}
	if got := facts.readableMs["n0"]; got == nil || *got != 200 {
		t.Errorf("readable after %s, want 200 ms", msText(got))
	}
	if !facts.views[7] || facts.views[2] { // seen in the second partition
		t.Errorf("views %v", facts.views)
	}
}
