package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"rejoin/loadgen"
	"rejoin/results"
)

// goodSession is a run that everything went well in, and goodSummary its numbers.
func goodSession(t *testing.T, demands string) (*session, *results.Summary) {
	t.Helper()
	s, err := parseScenario("test.yaml", []byte("name: test\nduration: 10s\nmessages_per_s: 10000\ndemands: "+demands))
	if err != nil {
		t.Fatal(err)
	}
	r := &session{scenario: s, say: newProgress(io.Discard, true), loaded: true, ackedBeforeFaults: 10, system: &memorySystem{}, primaryFaults: 1,
		proof:   results.Proof{Lateness: results.LatenessProof{Batches: 1000}},
		outcome: loadgen.RunOutcome{StopNs: int64(10 * time.Second)}}
	r.judge.Verified()
	ms := func(v float64) *float64 { return &v }
	return r, &results.Summary{
		OfferedBatches: 1000, AckedBatches: 1000, ViewChanges: 1,
		Kills: []results.KillSummary{
			{Node: "n0", Role: results.RoleBackup, AtMs: 1000, DownMs: ms(1000), CaughtUpMs: ms(200), GapWithoutAckMs: 5, FirstAckMs: ms(5), RepairOps: 300},
			{Node: "n1", Role: results.RolePrimary, AtMs: 4000, DownMs: ms(1000), CaughtUpMs: ms(900), GapWithoutAckMs: 150, FirstAckMs: ms(140), TransferOps: 2000},
		},
		Replicas:  []results.ReplicaSummary{{Node: "n0", ReadableMs: ms(20), RssAnonMaxBytes: new(int64(50 << 20))}},
		Generator: results.Generator{LateP99Ns: new(int64(time.Millisecond))},
	}
}

const allDemands = `{acked_share_min: 0.999, primary_gap_max: 1s, first_ack_max: 2s, catchup_max: 3s, readable_max: 2s, extra_view_changes_max: 0,
  late_p99_max: 2ms, rss_anon_max_bytes: 100000000, killed_primaries_min: 1, killed_backups_min: 1, repair_ops_min: 100, transfer_ops_min: 1000}`

// TestSurvivorsAreWarnedOf: latencies are of what was acknowledged, which flatters a target that leaves the rest.
func TestSurvivorsAreWarnedOf(t *testing.T) {
	for unacknowledged, want := range map[int64]string{
		0: "", 1: "", // below p99.9 of 1,000 batches nothing moves
		20: "20 of 1000 batches (2.0 %) were not acknowledged in time and have no latency: the quantiles are of the others, and beyond p98 better than what producers met",
	} {
		r, s := goodSession(t, "{}")
		s.AckedBatches, s.FailedBatches = 1000-unacknowledged, unacknowledged
		r.judgeRun(s)
		if got := strings.Join(r.warnings, "\n"); strings.Contains(got, "were not acknowledged in time") != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%d of 1,000: %q", unacknowledged, got)
		}
	}
}

// TestJudge spoils one number of a good run at a time.
func TestJudge(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(*session, *results.Summary)
		code  int
		want  string
	}{
		{"good", func(*session, *results.Summary) {}, results.ExitPass, ""},
		{"share", func(_ *session, s *results.Summary) { s.AckedBatches, s.FailedBatches = 990, 10 }, results.ExitMissed, "acknowledged in time"},
		{"gap", func(_ *session, s *results.Summary) { s.Kills[1].GapWithoutAckMs = 1500 }, results.ExitMissed, "around the kill of the primary n1"},
		{"gap of a backup", func(_ *session, s *results.Summary) { s.Kills[0].GapWithoutAckMs = 1500 }, results.ExitPass, ""},
		{"first ack", func(_ *session, s *results.Summary) { s.Kills[1].FirstAckMs = nil }, results.ExitMissed, "came after never"},
		{"catch-up", func(_ *session, s *results.Summary) { *s.Kills[0].CaughtUpMs = 4000 }, results.ExitMissed, "n0 caught up 4000 ms"},
		{"never caught up", func(_ *session, s *results.Summary) { s.Kills[0].CaughtUpMs = nil }, results.ExitStuck, "never caught up"},
		{"readable", func(r *session, s *results.Summary) { *s.Replicas[0].ReadableMs = 2500 }, results.ExitMissed, "n0 held everything 2500 ms after the load had stopped"},
		{"readable after a late restart", func(r *session, s *results.Summary) {
			*s.Replicas[0].ReadableMs, r.outcome.StopNs = 2500, int64(1500*time.Millisecond)
		}, results.ExitMissed, "n0 held everything 2500 ms after its restart"},
		{"view changes", func(_ *session, s *results.Summary) { s.ViewChanges = 2 }, results.ExitMissed, "2 view changes"},
		{"memory", func(_ *session, s *results.Summary) { *s.Replicas[0].RssAnonMaxBytes = 200 << 20 }, results.ExitMissed, "200 MiB"},
		{"late", func(_ *session, s *results.Summary) { *s.Generator.LateP99Ns = int64(3 * time.Millisecond) }, results.ExitInvalid, "generator itself was late"},
		{"not offered", func(_ *session, s *results.Summary) { s.OfferedBatches, s.AckedBatches = 500, 500 }, results.ExitInvalid, "the scenario asks for 1000"},
		{"nothing before the fault", func(r *session, _ *results.Summary) { r.ackedBeforeFaults = 0 }, results.ExitInvalid, "before the first fault"},
		{"no repair", func(_ *session, s *results.Summary) { s.Kills[0].RepairOps = 99 }, results.ExitInvalid, "99 ops were repaired after any one kill, at least 100 must be"},
		{"no transfer", func(_ *session, s *results.Summary) { s.Kills[1].TransferOps = 0 }, results.ExitInvalid, "no ops were transferred"},
		{"no primary killed", func(_ *session, s *results.Summary) { s.Kills[1].Role = results.RoleBackup }, results.ExitInvalid, "no primaries were killed, at least 1 must be"},
		{"no load", func(r *session, _ *results.Summary) { r.loaded = false }, results.ExitInvalid, "no load"},
		{"books", func(_ *session, s *results.Summary) { s.UnknownBatches = 3 }, results.ExitInvalid, "do not balance"},
		{"loss beats the rest", func(_ *session, s *results.Summary) {
			s.LostBatches, s.Kills[0].CaughtUpMs, *s.Generator.LateP99Ns = 1, nil, int64(time.Second)
		}, results.ExitLoss, "1 batches lost"},
	} {
		r, s := goodSession(t, allDemands)
		test.spoil(r, s)
		r.judgeRun(s)
		_, code := r.judge.Verdict()
		reasons := strings.Join(r.judge.Reasons(), "; ")
		if code != test.code || !strings.Contains(reasons, test.want) {
			t.Errorf("%s: exit code %d, want %d with %q; reasons: %s", test.name, code, test.code, test.want, reasons)
		}
	}
}

// Trap 29: with two of three nodes down nobody can acknowledge anything, so what was not acknowledged then is no failure; what the target had the
// time for is.
func TestOutageWithoutAQuorumIsNoFailure(t *testing.T) {
	const second = int64(time.Second)
	without := func(r *session, s *results.Summary) {
		timeline := results.Timeline{Kills: []results.Kill{{Node: "n0", AtNs: 1 * second, RestartNs: new(9 * second)}, {Node: "n1", AtNs: 4 * second, RestartNs: new(7 * second)}}}
		r.withoutQuorum, r.excused = timeline.WithoutQuorum(3, 10*second), 300
		s.AckedBatches, s.UnknownBatches = 700, 300
		s.Kills[1].GapAtMs, s.Kills[1].GapWithoutAckMs, *s.Kills[1].FirstAckMs = new(3990.0), 3200, 3190
	}
	r, s := goodSession(t, allDemands)
	without(r, s)
	r.judgeRun(s)
	if _, code := r.judge.Verdict(); code != results.ExitPass {
		t.Errorf("exit code %d: %v", code, r.judge.Reasons())
	}
	r, s = goodSession(t, allDemands)
	without(r, s)
	s.Kills[1].GapWithoutAckMs, *s.Kills[1].FirstAckMs, s.AckedBatches, s.FailedBatches = 4100, 5100, 690, 10 // a second and more after the quorum was back
	r.judgeRun(s)
	reasons := strings.Join(r.judge.Reasons(), "; ")
	for _, want := range []string{"4100 ms without an acknowledgement", "came after 5100 ms", "0.9857 of the offered"} {
		if !strings.Contains(reasons, want) {
			t.Errorf("%q lacks %q", reasons, want)
		}
	}
}

func TestOverloadIsNoFailure(t *testing.T) {
	r, s := goodSession(t, "{acked_share_min: 1}")
	r.scenario.Overload = true
	s.AckedBatches, s.FailedBatches, *s.Generator.LateP99Ns = 400, 600, int64(time.Second)
	r.judgeRun(s)
	if _, code := r.judge.Verdict(); code != results.ExitPass {
		t.Errorf("exit code %d: %v", code, r.judge.Reasons())
	}
}

func TestFirstAckAfter(t *testing.T) {
	const unit = int64(time.Millisecond)
	for _, test := range []struct {
		name string
		acks []int64
		want int64 // 0: none
	}{
		{"silence, then the next primary", []int64{90, 99, 230, 233}, 230},
		{"answers under way, then silence", []int64{99, 101, 104, 230, 233}, 230},
		{"no outage at all", []int64{99, 101, 104, 107, 110, 113, 116, 119, 122, 125}, 101},
		{"nothing after", []int64{90, 99}, 0},
		{"one late answer and nothing after", []int64{99, 101}, 101},
	} {
		var acks []int64
		for _, a := range test.acks {
			acks = append(acks, a*unit)
		}
		got, ok := firstAckAfter(loadgen.AcksAt(acks), 100*unit)
		if got != test.want*unit || ok != (test.want != 0) {
			t.Errorf("%s: %d ms, want %d", test.name, got/unit, test.want)
		}
	}
}

// TestFirstAckOfABackup: a killed backup had answered nobody, so no silence must be looked for.
func TestFirstAckOfABackup(t *testing.T) {
	const unit = int64(time.Millisecond)
	acks := loadgen.AcksAt([]int64{99 * unit, 103 * unit, 190 * unit, 193 * unit})
	for role, want := range map[string]int64{results.RoleBackup: 103, results.RolePrimary: 190, results.RoleUnknown: 190} {
		if got, ok := firstAckOf(acks, role, 100*unit, 100*unit); !ok || got != want*unit {
			t.Errorf("%s: %d ms, want %d", role, got/unit, want)
		}
	}
	if got, _ := firstAckOf(acks, results.RoleBackup, 100*unit, 180*unit); got != 103*unit {
		t.Errorf("a backup that took 80 ms to go: %d ms, want 103", got/unit)
	}
}

func TestKillSummary(t *testing.T) {
	const s = int64(time.Second)
	at := func(ns int64) *int64 { return &ns }
	kill := results.Kill{Node: "n1", Role: results.RolePrimary, AtNs: 10 * s, FirstAckNs: at(10*s + s/5), RestartNs: at(20 * s), CaughtUpNs: at(23 * s)}
	activities := []results.Activity{
		{Kind: results.Repair, Node: "n1", FromNs: 5 * s, ToNs: at(6 * s), OpFrom: at(1), OpTo: at(5)}, // before the restart
		{Kind: results.Transfer, Node: "n1", FromNs: 21 * s, ToNs: at(22 * s), OpFrom: at(101), OpTo: at(1100), Bytes: at(5000)},
		{Kind: results.Repair, Node: "n1", FromNs: 22 * s, ToNs: at(22*s + s/2), OpFrom: at(1101), OpTo: at(1150), Bytes: at(70)},
		{Kind: results.Repair, Node: "n0", FromNs: 22 * s, ToNs: at(23 * s), OpFrom: at(1), OpTo: at(9)}, // another node
		{Kind: results.Repair, Node: "n1", FromNs: 40 * s, ToNs: at(41 * s), OpFrom: at(1), OpTo: at(9)}, // long after
	}
	var acks []int64
	for ns := s; ns < 60*s; ns += s / 100 {
		if ns <= kill.AtNs || ns >= *kill.FirstAckNs {
			acks = append(acks, ns)
		}
	}
	ackNs := ackTimes(loadgen.AcksAt(acks), s)
	got := killSummary(&results.Timeline{LoadStartNs: s, Kills: []results.Kill{kill}}, 0, activities, ackNs, 60*s)
	if got.DownMs == nil || *got.DownMs != 10_000 || *got.CaughtUpMs != 3000 || *got.FirstAckMs != 200 || got.GapWithoutAckMs != 200 || *got.GapAtMs != 10_000 {
		t.Errorf("times are %+v", got)
	}
	if got.Repairs != 1 || got.RepairOps != 50 || got.Transfers != 1 || got.TransferOps != 1000 || got.TransferBytes != 5000 || *got.TransferMs != 1000 {
		t.Errorf("activities are %+v", got)
	}
	early := killSummary(&results.Timeline{LoadStartNs: s, Kills: []results.Kill{{Node: "n1", AtNs: -s, RestartNs: at(4 * s)}}}, 0, nil, ackNs, 60*s)
	if early.GapWithoutAckMs != 10 || *early.GapAtMs != 1000 {
		t.Errorf("a kill before the load: %+v", early)
	}
	never := killSummary(&results.Timeline{LoadStartNs: s, Kills: []results.Kill{{Node: "n1", AtNs: 10 * s}}}, 0, activities, ackNs, 60*s)
	if never.DownMs != nil || never.CaughtUpMs != nil || never.Repairs != 0 || never.GapWithoutAckMs != 200 {
		t.Errorf("a node that stayed down: %+v", never)
	}
}

func TestJudgeFiles(t *testing.T) {
	short := &loadgen.ReplicaReport{Replica: "n0", ReadTo: 90, Unreadable: "the file ends inside a frame"}
	whole := &loadgen.ReplicaReport{Replica: "n1", ReadTo: 100}
	for _, test := range []struct {
		replicas []*loadgen.ReplicaReport
		code     int
	}{
		{[]*loadgen.ReplicaReport{whole, whole}, results.ExitPass},
		{[]*loadgen.ReplicaReport{short, whole}, results.ExitStuck},
		{[]*loadgen.ReplicaReport{short, short}, results.ExitLoss},
	} {
		var judge results.Judge
		report := &loadgen.Report{Replicas: test.replicas}
		judgeVerification(&judge, report, nil)
		judgeFiles(&judge, []uint64{max(test.replicas[0].ReadTo, test.replicas[1].ReadTo)}, []uint64{100})
		if _, code := judge.Verdict(); code != test.code {
			t.Errorf("exit code %d, want %d: %v", code, test.code, judge.Reasons())
		}
	}
}

// TestJudgeFilesOfPartitions: each partition is held against its own acknowledgements, whatever the others have.
func TestJudgeFilesOfPartitions(t *testing.T) {
	for _, test := range []struct {
		reached []uint64
		lost    string
	}{
		{[]uint64{100, 50}, ""},
		{[]uint64{130, 20}, "partition 1: messages were acknowledged up to offset 50"}, // by their sums nothing is missing
	} {
		var judge results.Judge
		judge.Verified()
		judgeFiles(&judge, test.reached, []uint64{100, 50})
		if reasons := strings.Join(judge.Reasons(), "\n"); !strings.Contains(reasons, test.lost) || test.lost == "" && reasons != "" {
			t.Errorf("files to %d: %q, want %q", test.reached, reasons, test.lost)
		}
	}
}

// TestReadText: a reading of files ends earlier than one of live nodes, and says why.
func TestReadText(t *testing.T) {
	report := &loadgen.ReplicaReport{Messages: 7_104_700, ReadTo: 7_104_700}
	if got := readText(report, false) + after(""); got != "7104700 messages to offset 7104700" {
		t.Errorf("live: %q", got)
	}
	want := "7104700 messages to offset 7104700 (up to the last acknowledged offset): torn"
	if got := readText(report, true) + after("torn"); got != want {
		t.Errorf("files: %q", got)
	}
}
