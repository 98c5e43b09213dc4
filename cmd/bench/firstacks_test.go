package main

import (
	"strings"
	"testing"
	"time"

	"rejoin/loadgen"
	"rejoin/results"
)

// TestFirstAcksAfterEveryFault: a restart of a backup has no outage although it took its time to go, one of the primary answers until it is gone,
// a stop has a first acknowledgement as a kill has, and what the verifier stops has none.
func TestFirstAcksAfterEveryFault(t *testing.T) {
	const ms = int64(time.Millisecond)
	fault := func(at int64, kind results.Kind, node, role, signal string, pid int) results.Event {
		return results.Event{TNs: at * ms, Source: results.SourceHarness, Kind: kind, Node: node, Role: role, Signal: signal, Pid: pid}
	}
	events := []results.Event{
		fault(1000, results.KindKill, "n0", results.RoleBackup, "SIGTERM", 1), fault(1120, results.KindExit, "n0", "", "", 1),
		fault(1150, results.KindRestart, "n0", "", "", 5), fault(1300, results.KindCaughtUp, "n0", "", "", 0),
		fault(2000, results.KindKill, "n1", results.RolePrimary, "SIGTERM", 2), fault(2100, results.KindExit, "n1", "", "", 2),
		fault(2900, results.KindRestart, "n1", "", "", 6), fault(3000, results.KindCaughtUp, "n1", "", "", 0),
		fault(4000, results.KindPause, "n2", results.RolePrimary, "SIGSTOP", 3), fault(6000, results.KindResume, "n2", "", "SIGCONT", 3),
		fault(9000, results.KindQuietEnd, "", "", "", 0), fault(9100, results.KindPause, "n0", "", "SIGSTOP", 4),
	}
	var acks []int64
	for at := int64(3); at < 8000; at += 10 { // silent from 2.093 to 2.8 s and from 4.003 to 5.5 s
		if (at < 2095 || at > 2800) && (at < 4005 || at > 5500) {
			acks = append(acks, at*ms)
		}
	}
	r := &session{folder: results.Folder{Dir: t.TempDir()}}
	events, err := r.addFirstAcks(events, loadgen.AcksAt(acks))
	if err != nil {
		t.Fatal(err)
	}
	tl := results.TimelineOf(events)
	is := func(what string, got *int64, wantMs int64) {
		t.Helper()
		if got == nil || *got != wantMs*ms {
			t.Errorf("%s: %v, want %d ms", what, got, wantMs)
		}
	}
	is("restart of a backup", tl.Kills[0].FirstAckNs, 1003)
	is("restart of the primary", tl.Kills[1].FirstAckNs, 2803)
	is("its last answer", tl.Kills[1].SilentFromNs, 2093)
	is("stop of the primary", tl.Stops[0].FirstAckNs, 5503)
	if len(tl.Stops) != 1 || len(events) != 15 {
		t.Errorf("%d stops, %d events", len(tl.Stops), len(events))
	}
	stored, err := r.folder.ReadEvents()
	if err != nil || len(stored) != 3 {
		t.Errorf("%d are in the file, %v", len(stored), err)
	}

	tl.LoadStopNs = new(8000 * ms)
	ackNs := ackTimes(loadgen.AcksAt(acks), 0)
	kill := killSummary(&tl, 0, nil, ackNs, 8000*ms)
	if kill.How != results.Restarted || *kill.FirstAckMs > kill.GapWithoutAckMs {
		t.Errorf("first acknowledgement after %v ms, and no gap is longer than %v: %+v", *kill.FirstAckMs, kill.GapWithoutAckMs, kill)
	}
	stop := stopSummary(tl.Stops[0], &tl, ackNs, 8000*ms)
	if want := "stop n2 (primary) at 4.0 s: stopped for 2000 ms, first acknowledgement after 1503 ms, longest gap 1500 ms (at 4.0 s)"; stopText(stop) != want {
		t.Errorf("got  %s\nwant %s", stopText(stop), want)
	}
	if tl.PhaseAt(5000*ms) != results.Outage || tl.PhaseAt(1060*ms) != results.Outage || tl.PhaseAt(7000*ms) != results.Steady {
		t.Error("phases do not follow the faults")
	}
}

// TestFaultTexts: each fault is called what it was, in order of time, and repairs that belong to none are told apart.
func TestFaultTexts(t *testing.T) {
	ms := func(v float64) *float64 { return &v }
	s := results.Summary{Repairs: 5, Transfers: 1, Kills: []results.KillSummary{
		{Node: "n0", Role: results.RoleBackup, How: results.Restarted, AtMs: 5200, DownMs: ms(130), FirstAckMs: ms(3), GapWithoutAckMs: 20, GapAtMs: ms(5300), CaughtUpMs: ms(200), Repairs: 1, RepairOps: 9},
		{Node: "n2", Role: results.RolePrimary, How: results.Restarted, AtMs: 30_000, FirstAckMs: ms(700), GapWithoutAckMs: 600, GapAtMs: ms(30_100)},
		{Node: "n2", Role: results.RoleBackup, How: results.Wiped, AtMs: 24_000, DownMs: ms(1000), FirstAckMs: ms(2), CaughtUpMs: ms(1200), Repairs: 2, Transfers: 1},
	}, Stops: []results.StopSummary{{Node: "n1", Role: results.RolePrimary, AtMs: 14_000}}}
	want := []string{"restart n0 (backup) at 5.2 s: down 130 ms, first acknowledgement after 3 ms,", "stop n1 (primary) at 14.0 s: stopped to the end, no acknowledgement after it",
		"wipe n2 (backup) at 24.0 s:", "restart n2 (primary) at 30.0 s: stayed down, first acknowledgement of its successor after 700 ms, longest gap 600 ms"}
	got := faultTexts(s)
	for i := range want {
		if len(got) != len(want) || !strings.HasPrefix(got[i], want[i]) {
			t.Fatalf("line %d of %q, want %q", i, got, want[i])
		}
	}
	if text := apartText(s, repairsOf); text != " (2 of them apart from the returns below)" {
		t.Errorf("repairs: %q", text)
	}
	if text := apartText(s, transfersOf); text != "" {
		t.Errorf("transfers: %q", text)
	}
}
