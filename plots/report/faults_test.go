package report

import (
	"strings"
	"testing"

	"rejoin/plots"
	"rejoin/plots/report/sample"
	"rejoin/results"
)

// TestPageCallsFaultsWhatTheyWere: a SIGTERM is no SIGKILL, a wipe and a stop stand by their names, and what belongs to no kill is told apart.
func TestPageCallsFaultsWhatTheyWere(t *testing.T) {
	f, _ := written(t, sample.Options{Seconds: 60})
	s, err := f.ReadSummary()
	if err != nil {
		t.Fatal(err)
	}
	s.Kills[0].How, s.Kills[1].How = results.Wiped, results.Restarted
	s.Repairs, s.Transfers = 0, 0
	for _, k := range s.Kills {
		s.Repairs, s.Transfers = s.Repairs+k.Repairs, s.Transfers+k.Transfers
	}
	s.Repairs += 2
	s.Stops = []results.StopSummary{{Node: "n1", Role: results.RolePrimary, AtMs: 14_000, StoppedMs: new(2000.0), FirstAckMs: new(1480.0), GapWithoutAckMs: 91_500, GapAtMs: new(13_990.0)}}
	if err := f.WriteSummary(s); err != nil {
		t.Fatal(err)
	}
	page := pageOf(t, f)
	for _, want := range []string{"n1 (backup), wiped at 15.0 s", "n0 (primary), restarted at 30.0 s", "of its successor came after", "from SIGSTOP to SIGCONT a process keeps its ports",
		"Apart from these returns: 2 more repairs.", "when n1 (primary) was stopped"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestLongestGap: a fault after the load has no gap.
func TestLongestGap(t *testing.T) {
	late := results.KillSummary{Node: "n0", How: results.Killed, AtMs: 70_000}
	s := &results.Summary{Kills: []results.KillSummary{late}, Stops: []results.StopSummary{{Node: "n1", AtMs: 71_000}}}
	if f := gapFact(s); f.Value != "–" || f.Note != "no node was killed or stopped during the load" {
		t.Errorf("faults after the load: %+v", f)
	}
	s.Stops = append(s.Stops, results.StopSummary{Node: "n2", Role: results.RoleBackup, AtMs: 5000, GapWithoutAckMs: 30, GapAtMs: new(5001.0)})
	if f := gapFact(s); f.Value != "30 ms" || !strings.Contains(f.Note, "n2 (backup) was stopped") {
		t.Errorf("a stop during the load: %+v", f)
	}
}

// TestEventsSayTheSignal: nothing is called by two signals.
func TestEventsSayTheSignal(t *testing.T) {
	for _, test := range []struct {
		e    results.Event
		want string
	}{
		{results.Event{Kind: results.KindKill, Role: "backup", Signal: "SIGTERM"}, "asked to end (SIGTERM): backup"},
		{results.Event{Kind: results.KindKill, Role: "primary", Signal: "SIGKILL"}, "killed (SIGKILL): primary"},
		{results.Event{Kind: results.KindKill, Role: "primary", Detail: "by command"}, "killed: primary, by command"},
		{results.Event{Kind: results.KindFirstAck, Signal: "SIGSTOP", DurationNs: new(int64(1e9))}, "first acknowledgement after it was stopped: 1 s"},
		{results.Event{Kind: results.KindFirstAck, Signal: "SIGTERM"}, "first acknowledgement after it was asked to end"},
		{results.Event{Kind: results.KindFirstAck, Signal: "SIGKILL"}, "first acknowledgement after it was killed"},
		{results.Event{Kind: results.KindPause, Role: "primary", Signal: "SIGSTOP"}, "stopped (SIGSTOP): primary"},
		{results.Event{Kind: results.KindExit, Signal: "SIGKILL"}, "exit seen: SIGKILL"},
	} {
		if got := eventText(test.e); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

// TestPictureDrawsFaults: lines by signal, and a button for each stop.
func TestPictureDrawsFaults(t *testing.T) {
	const s = int64(1e9)
	lines := linesOf(&plots.Figures{Kills: []plots.KillMark{{AtNs: s, Node: "n0", Role: "backup", How: results.Restarted}, {AtNs: 2 * s, Node: "n1", Role: "backup", How: results.Wiped}}})
	if lines[0].Class != "term" || !strings.Contains(lines[0].Title, "restarted by SIGTERM") || lines[1].Class != "kill" || !strings.Contains(lines[1].Title, "wiped by SIGKILL") {
		t.Errorf("%+v", lines)
	}
	var labels []string
	for _, j := range jumpsOf(&results.Timeline{Kills: []results.Kill{{Node: "n0", AtNs: 20 * s, How: results.Wiped}}, Stops: []results.Stop{{Node: "n1", AtNs: 14 * s}}}, 60_000) {
		labels = append(labels, j.Label)
	}
	if got := strings.Join(labels, ", "); got != "n1 stopped at 14.0 s, n0 wiped at 20.0 s" {
		t.Errorf("buttons %q", got)
	}
}

// TestCostOfARunThatKillsEveryNode: no row is not no reason, and what cannot be counted is no missing data.
func TestCostOfARunThatKillsEveryNode(t *testing.T) {
	s := &results.Summary{Cost: results.Cost{NodesCPUNs: new(int64(1e9)), Roles: []results.RoleCost{{Role: results.RoleGenerator, Nodes: 1, CPUNsPerBatch: new(712e3)}}}}
	if table := rolesTable(s); strings.Contains(table.Caption, "Not in the table") {
		t.Errorf("nodes that nobody counts: caption %q", table.Caption)
	}
	s.Cost.Uncounted = []string{results.RolePrimary, results.RoleBackup}
	table := rolesTable(s)
	if !strings.Contains(table.Caption, "Not in the table: primary and backup, because counters begin anew with each process") {
		t.Errorf("caption %q", table.Caption)
	}
	if row := strings.Join(table.Rows[0].Cells, "|"); !strings.HasPrefix(row, "harness|1|712 µs|does not apply|") || strings.Contains(row, noData) {
		t.Errorf("row %q", row)
	}
}
