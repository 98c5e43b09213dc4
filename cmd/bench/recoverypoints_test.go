package main

import (
	"strings"
	"testing"

	"rejoin/loadgen"
	"rejoin/results"
)

const testMs = int64(1e6)

// killedOnce is a run of 60 s with one kill of the primary n1 at 10 s that was back at 20 s, and what all sides saw of it.
func killedOnce() recoverySources {
	at := func(ms int64) *int64 { return new(ms * testMs) }
	harness := func(ms int64, kind results.Kind) results.Event {
		return results.Event{TNs: ms * testMs, Source: results.SourceHarness, Kind: kind, Node: "n1"}
	}
	told := func(ms int64, kind results.Kind) results.Event {
		return results.Event{TNs: ms * testMs, Source: "n1", Kind: kind}
	}
	return recoverySources{
		timeline: &results.Timeline{LoadStartNs: 0, LoadStopNs: at(60_000),
			Kills: []results.Kill{{Node: "n1", Role: results.RolePrimary, AtNs: 10_000 * testMs, FirstAckNs: at(10_300), RestartNs: at(20_000), CaughtUpNs: at(21_000)}}},
		events: []results.Event{
			told(-500, results.KindNodeStart), told(-100, results.KindRole), // its first life
			harness(10_010, results.KindExit), harness(20_100, results.KindPortOpen), harness(20_120, results.KindFirstAnswer), harness(21_040, results.KindRoleKnown),
			told(20_050, results.KindNodeStart), told(21_030, results.KindRole), told(40_000, results.KindRole),
			{TNs: 15_000 * testMs, Source: "n2", Kind: results.KindNodeStart},
		},
		activities: []results.Activity{
			{Kind: results.Transfer, Node: "n1", FromNs: 20_130 * testMs, ToNs: at(20_800), OpFrom: new(int64(1001)), OpTo: new(int64(4000)), Bytes: new(int64(80e6))},
			{Kind: results.Repair, Node: "n1", FromNs: 20_800 * testMs, ToNs: at(20_990), OpFrom: new(int64(4001)), OpTo: new(int64(4250)), Bytes: new(int64(7e6))},
		},
		loads:  &loadgen.Measurement{},
		stopNs: 60_000 * testMs,
		polled: []polledReturn{{behindOps: new(int64(3050)), transfer: polledSpan{fromNs: at(20_140), toNs: at(20_820)}, repair: polledSpan{fromNs: at(20_820), toNs: at(21_020)}}},
	}
}

func TestRecoveryOf(t *testing.T) {
	r := killedOnce().recoveryOf(0)
	is := func(name string, got *float64, want float64) {
		if got == nil || *got != want {
			t.Errorf("%s: %s, want %.0f ms", name, msText(got), want)
		}
	}
	o, s := r.Outside, r.Server
	is("exit", o.ExitSeen, 10)
	is("started", o.Started, 10_000)
	is("started, told", s.Started, 10_050)
	is("port", o.PortOpen, 10_100)
	is("answer", o.FirstAnswer, 10_120)
	is("role", o.RoleKnown, 11_040)
	is("role, told", s.RoleKnown, 11_030)
	is("first ack", o.FirstAck, 300)
	is("transfer", o.TransferBegin, 10_140)
	is("transfer end, told", s.TransferEnd, 10_800)
	is("repair end", o.RepairEnd, 11_020)
	is("repair end, told", s.RepairEnd, 10_990)
	is("caught up", o.CaughtUp, 11_000)
	is("caught up, told", s.CaughtUp, 10_990)
	if *s.ReturnedOps != 3250 || *o.ReturnedOps != 3050 || *s.TransferBytes != 80e6 || *s.RepairBytes != 7e6 || s.FirstAck != nil || o.RepairBytes != nil {
		t.Errorf("ops and bytes: told %+v, seen %+v", s, o)
	}
	if d := disagreements(0, "n1", r, 300, pollGaps{}); len(d) > 0 {
		t.Errorf("both sides tell the same, yet: %s", disagreementsText(d))
	}
	if o.FullRate != nil { // there was no load
		t.Errorf("full rate after %v ms of nothing", *o.FullRate)
	}
}

// A node that stayed down has no way back, and a fault that comes before its word on its role makes that another story.
func TestRecoveryOfUnhappyKills(t *testing.T) {
	f := killedOnce()
	f.timeline.Kills = append(f.timeline.Kills, results.Kill{Node: "n2", AtNs: 20_500 * testMs})
	if r := f.recoveryOf(0); r.Server.RoleKnown != nil {
		t.Errorf("role known %v although n2 was killed before", *r.Server.RoleKnown)
	}
	if r := f.recoveryOf(1); r.Server != (results.RecoveryTimes{}) || r.Outside != (results.RecoveryTimes{}) {
		t.Errorf("n2 stayed down: %+v", r)
	}
	f = killedOnce()
	f.events[5].View, f.events[7].View = new(int64(4)), new(int64(5)) // the polls saw it in view 4
	if r := f.recoveryOf(0); r.Server.RoleKnown != nil {
		t.Errorf("role known %v, which was told of a later view", *r.Server.RoleKnown)
	}
	f.events[7].View = new(int64(4))
	if r := f.recoveryOf(0); r.Server.RoleKnown == nil {
		t.Error("what was told of the view that the polls saw does not count")
	}
	f = killedOnce()
	f.activities[1].ToNs = nil
	if r := f.recoveryOf(0); r.Server.RepairEnd != nil || r.Server.RepairBegin == nil {
		t.Errorf("a repair that goes on: %+v", r.Server)
	}
}

// poll adds answered polls of n1.
func (f *recoverySources) poll(fromMs, toMs, everyMs int64) {
	for at := fromMs; at <= toMs; at += everyMs {
		f.polled[0].answeredNs = append(f.polled[0].answeredNs, at*testMs)
	}
}

// seenLate is a transfer whose end the polls saw later.
func seenLate(f *recoverySources, ms int64) { *f.polled[0].transfer.toNs += ms * testMs }

// What only one side knows, or knows otherwise by more than the tolerance, is named.
func TestDisagreements(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(*recoverySources)
		want  string
	}{
		{"silent node", func(f *recoverySources) { f.events, f.activities = nil, nil }, "transfer_begin returned_ops"},
		{"silent about one", func(f *recoverySources) { f.activities = f.activities[1:] }, "transfer_begin returned_ops"},
		{"late word", func(f *recoverySources) { f.activities[0].FromNs += 300 * testMs }, "transfer_begin"},
		{"never seen", func(f *recoverySources) { f.polled[0].transfer = polledSpan{} }, "transfer_begin"},
		{"short and never seen", func(f *recoverySources) { f.polled[0].repair = polledSpan{} }, ""},
		{"claims to have fetched more", func(f *recoverySources) { *f.activities[0].OpTo = 9000 }, "returned_ops"},
		{"fetches what the load adds", func(f *recoverySources) { *f.activities[0].OpTo, f.polled[0].addedOps = 9000, 5000 }, ""},
		{"seen late by steady polls", func(f *recoverySources) { seenLate(f, 500); f.poll(20_000, 21_500, 20) }, "transfer_end"},
		{"seen late behind a gap of the polls", func(f *recoverySources) {
			seenLate(f, 500)
			f.poll(20_000, 20_780, 20)
			f.poll(21_320, 22_000, 20)
		}, ""},
		{"told late, and the polls had a gap", func(f *recoverySources) {
			f.activities[0].FromNs += 300 * testMs // the poll at 20.140 s saw it already
			f.poll(20_140, 22_000, 600)
		}, "transfer_begin"},
		{"never seen, for there were no polls", func(f *recoverySources) {
			f.polled[0].transfer = polledSpan{}
			f.poll(20_120, 20_120, 20)
			f.poll(20_830, 22_000, 20)
		}, ""},
		{"never seen by steady polls", func(f *recoverySources) { f.polled[0].transfer = polledSpan{}; f.poll(20_020, 22_000, 20) }, "transfer_begin"},
		{"slow start", func(f *recoverySources) { f.events[6].TNs += 400 * testMs }, ""},
	} {
		f := killedOnce()
		test.spoil(&f)
		var names []string
		kill := f.timeline.Kills[0]
		for _, d := range disagreements(0, "n1", f.recoveryOf(0), f.polled[0].addedOps, gapsOf(kill.AtNs, kill.RestartNs, f.polled[0])) {
			names = append(names, d.What)
		}
		wanted := strings.Fields(test.want)
		for _, name := range names {
			if !strings.Contains(test.want, name) {
				t.Errorf("%s: %s is named", test.name, name)
			}
		}
		if len(names) != len(wanted) {
			t.Errorf("%s: %v, want %v", test.name, names, wanted)
		}
	}
}

func TestDisagreementsText(t *testing.T) {
	for _, test := range []struct {
		d    results.Disagreement
		want string
	}{
		{results.Disagreement{Node: "n0", What: "role_known", Server: new(10028.0), Outside: new(312.4)}, `n0 told "role known" 10028 ms after its end, from outside it was 312 ms after it`},
		{results.Disagreement{Node: "n1", What: "transfer_begin", Outside: new(140.0)}, `n1 told nothing of "transfer begins", from outside it was 140 ms after its end`},
		{results.Disagreement{Node: "n1", What: "transfer_begin", Server: new(140.0)}, `n1 told "transfer begins" 140 ms after its end, from outside it was not seen`},
		{results.Disagreement{Node: "n2", What: "returned_ops", Server: new(90.0), Outside: new(3050.0)}, "n2 told that it fetched 90 ops, from outside it lacked 3050"},
		{results.Disagreement{What: "view_changes", Server: new(3.0), Outside: new(2.0)}, "the nodes told of 3 view changes, from outside 2 were seen"},
	} {
		if got := disagreementsText([]results.Disagreement{test.d}); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
	if got := disagreementsText(make([]results.Disagreement, 6)); !strings.HasSuffix(got, "; 2 more stand in proof.json") {
		t.Errorf("six: %q", got)
	}
}

// TestPolledReturn: what is fetched in a view change, or with a wiped directory, is seen although the state does not tell it.
func TestPolledReturn(t *testing.T) {
	var p polledReturn
	for _, s := range []struct {
		ms    int64
		state string
		fetch string
		head  int64
		may   bool
	}{{100, "normal", "", 50, true}, {120, "wiped", "transfer", 60, true}, {140, "wiped", "transfer", 70, true}, {160, "view_change", "repair", 80, true},
		{180, "normal", "", 90, true}, {200, "repairing", "repair", 90, true}, {220, "repairing", "repair", 90, false}, {240, "normal", "", 95, false},
		{260, "repairing", "repair", 95, false}} {
		p.take(results.Status{TNs: s.ms * testMs, State: s.state, Fetching: s.fetch, HeadOp: &s.head}, 80, s.may)
	}
	if *p.behindOps != 30 || *p.transfer.fromNs != 120*testMs || *p.transfer.toNs != 160*testMs || *p.repair.fromNs != 160*testMs || *p.repair.toNs != 240*testMs || p.repair.open {
		t.Errorf("%+v behind %d", p, *p.behindOps)
	}
}

func TestPausesOf(t *testing.T) {
	gc := func(source string, ms, longest int64) results.Event {
		return results.Event{TNs: ms * testMs, Source: source, Kind: results.KindGC, Rounds: new(int64(2)), DurationNs: &longest}
	}
	timeline := &results.Timeline{LoadStartNs: 0, LoadStopNs: new(1000 * testMs)}
	got := pausesOf([]results.Event{gc("n0", -5, 9000), gc("harness", 5, 100), gc("n0", 10, 300), gc("n0", 20, 200), gc("n0", 2000, 9000)}, timeline)
	if len(got) != 2 || got[0].Source != "harness" || got[1].Cycles != 4 || *got[1].LongestNs != 300 {
		t.Errorf("%+v", got)
	}
}

// TestOnePauseOfTheGenerator: the check, summary.json and the table of pauses name the same longest pause.
func TestOnePauseOfTheGenerator(t *testing.T) {
	r, s := goodSession(t, "{}")
	gc := func(source string, longest int64) results.Event {
		return results.Event{TNs: 5 * testMs, Source: source, Kind: results.KindGC, Rounds: new(int64(1)), DurationNs: &longest}
	}
	r.proveLoad(s, &loadgen.Measurement{}, &results.Timeline{LoadStopNs: new(1000 * testMs)}, []results.Event{gc("n0", 900), gc(results.SourceHarness, 300), gc(results.SourceHarness, 200)})
	r.judgeOffer(s)
	check, ok := r.proof.Check("generator_gc_pause")
	if !ok || check.Value == nil || *check.Value != 300 || *r.proof.Generator.GCPauseMaxNs != 300 || *s.Generator.GCPauseMaxNs != 300 || *r.proof.Pauses[1].LongestNs != 300 {
		t.Errorf("check %+v, proof %+v, summary %+v, pauses %+v", check, r.proof.Generator, s.Generator, r.proof.Pauses)
	}
}

func TestProofTexts(t *testing.T) {
	p := results.Proof{Steal: &results.StealProof{Share: 0.012, WorstSecondShare: 0.31, BusyShare: 0.8, OwnShare: new(0.5)},
		Canaries: []results.CanaryProof{{Name: "cpu", Change: &results.CanaryChange{P50: new(1.5)}}, {Name: "sync"}},
		Checks: []results.Check{{Name: "late_p99", Judgement: results.JudgedOK}, {Name: "steal", Judgement: results.JudgedDoubtful}, {Name: "x", Judgement: results.NotJudged},
			{Name: "drift_p99", Judgement: results.JudgedDoubtful}}}
	want := `machine: 1.2 % of the CPU time stolen by the hypervisor (worst second 31 %); cores 80 % busy, 30 % with other programs
machine: canaries after by before, p50: cpu ×1.50
proof: 1 of 4 checks ok; steal, drift_p99 doubtful (beyond its budget: a warning, the verdict stands); x not judged (no data, or the scenario asks for more than the machine can)`
	if got := strings.Join(proofTexts(p), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := proofTexts(results.Proof{}); got != nil {
		t.Errorf("nothing is told as %q", got)
	}
}
