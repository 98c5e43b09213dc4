package results

import (
	"testing"
)

func at(ns int64) *int64 { return &ns }

func TestPhaseAt(t *testing.T) {
	primary := Kill{Node: "n0", Role: RolePrimary, AtNs: 100, FirstAckNs: at(130), RestartNs: at(150), CaughtUpNs: at(180)}
	backup := Kill{Node: "n1", Role: RoleBackup, AtNs: 100, FirstAckNs: at(101), RestartNs: at(150), CaughtUpNs: at(180)}
	for _, c := range []struct {
		name  string
		kills []Kill
		want  map[int64]Phase
	}{
		{"no kills", nil, map[int64]Phase{-5: Warmup, 0: Warmup, 9: Warmup, 10: Steady, 999: Steady, 1000: Quiet, 5000: Quiet}},
		{"primary: until the first acknowledgement", []Kill{primary},
			map[int64]Phase{99: Steady, 100: Outage, 129: Outage, 130: Steady, 149: Steady, 150: Catchup, 179: Catchup, 180: Steady}},
		{"backup: until the restart", []Kill{backup},
			map[int64]Phase{99: Steady, 100: Outage, 101: Outage, 149: Outage, 150: Catchup, 179: Catchup, 180: Steady}},
		{"a role that is not known counts as backup", []Kill{{AtNs: 100, FirstAckNs: at(101), RestartNs: at(150), CaughtUpNs: at(160)}},
			map[int64]Phase{120: Outage, 155: Catchup, 160: Steady}},
		{"primary without an acknowledgement", []Kill{{Role: RolePrimary, AtNs: 100, RestartNs: at(150), CaughtUpNs: at(180)}},
			map[int64]Phase{150: Outage, 999: Outage, 1000: Quiet}},
		{"first acknowledgement after the restart", []Kill{{Role: RolePrimary, AtNs: 100, FirstAckNs: at(160), RestartNs: at(150), CaughtUpNs: at(180)}},
			map[int64]Phase{149: Outage, 155: Outage, 160: Catchup, 180: Steady}},
		{"never restarted primary", []Kill{{Role: RolePrimary, AtNs: 100, FirstAckNs: at(130)}}, map[int64]Phase{129: Outage, 130: Steady, 999: Steady}},
		{"never restarted backup", []Kill{{Role: RoleBackup, AtNs: 100}}, map[int64]Phase{999: Outage, 1000: Quiet}},
		{"never caught up", []Kill{{Role: RolePrimary, AtNs: 100, FirstAckNs: at(130), RestartNs: at(150)}}, map[int64]Phase{140: Steady, 999: Catchup, 1000: Quiet}},
		{"kill of another node during a catch-up: outage first",
			[]Kill{primary, {Node: "n2", Role: RolePrimary, AtNs: 160, FirstAckNs: at(170), RestartNs: at(300), CaughtUpNs: at(310)}},
			map[int64]Phase{155: Catchup, 160: Outage, 169: Outage, 170: Catchup, 179: Catchup, 180: Steady, 300: Catchup}},
		{"order of kills does not matter",
			[]Kill{{Node: "n2", Role: RolePrimary, AtNs: 160, FirstAckNs: at(170)}, primary}, map[int64]Phase{155: Catchup, 165: Outage, 175: Catchup}},
		{"kill inside the warm-up stays warm-up", []Kill{{Role: RolePrimary, AtNs: 5, FirstAckNs: at(20)}}, map[int64]Phase{7: Warmup, 10: Outage, 20: Steady}},
		{"catch-up that ends in the quiet phase", []Kill{{Role: RoleBackup, AtNs: 900, RestartNs: at(990), CaughtUpNs: at(1200)}},
			map[int64]Phase{899: Steady, 900: Outage, 990: Catchup, 1000: Quiet, 1100: Quiet}},
		{"empty outage", []Kill{{Role: RolePrimary, AtNs: 100, FirstAckNs: at(100), RestartNs: at(100), CaughtUpNs: at(100)}}, map[int64]Phase{100: Steady}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl := Timeline{WarmupEndNs: 10, LoadStopNs: at(1000), Kills: c.kills}
			for due, want := range c.want {
				if got := tl.PhaseAt(due); got != want {
					t.Errorf("due at %d: %s, want %s", due, got, want)
				}
			}
			checkSpans(t, &tl, 1500)
		})
	}
}

// checkSpans holds that the spans cover [0, end) without gap or overlap, and agree with PhaseAt everywhere.
func checkSpans(t *testing.T, tl *Timeline, endNs int64) {
	t.Helper()
	next := int64(0)
	var last Phase
	for _, s := range tl.Spans(endNs) {
		if s.FromNs != next || s.ToNs == nil || *s.ToNs <= s.FromNs || s.Phase == last {
			t.Fatalf("span %+v after %d (%s)", s, next, last)
		}
		for at := s.FromNs; at < *s.ToNs; at++ {
			if got := tl.PhaseAt(at); got != s.Phase {
				t.Fatalf("at %d the span says %s, PhaseAt %s", at, s.Phase, got)
			}
		}
		next, last = *s.ToNs, s.Phase
	}
	if next != endNs {
		t.Errorf("spans end at %d, want %d", next, endNs)
	}
}

func TestTimelineWhileTheLoadRuns(t *testing.T) {
	tl := Timeline{WarmupEndNs: 10}
	if got := tl.PhaseAt(1 << 60); got != Steady {
		t.Errorf("no load stop yet: %s, want steady", got)
	}
}

func TestTimelineOf(t *testing.T) {
	h := func(tNs int64, k Kind, node, role string) Event {
		return Event{TNs: tNs, Source: SourceHarness, Kind: k, Node: node, Role: role}
	}
	tl := TimelineOf([]Event{
		h(0, KindRunStart, "", ""), h(10, KindWarmupEnd, "", ""), h(50, KindCaughtUp, "n0", ""), // before any kill: of the first start
		h(100, KindKill, "n0", RolePrimary), h(150, KindRestart, "n0", ""), h(130, KindFirstAck, "n0", ""), h(180, KindCaughtUp, "n0", ""),
		h(200, KindKill, "n1", RoleBackup), h(250, KindRestart, "n1", ""),
		h(300, KindKill, "n0", RoleBackup), h(310, KindRestart, "n0", ""), h(320, KindCaughtUp, "n0", ""), h(330, KindCaughtUp, "n0", ""),
		h(1000, KindLoadStop, "", ""),
	})
	if tl.WarmupEndNs != 10 || *tl.LoadStopNs != 1000 || len(tl.Kills) != 3 {
		t.Fatalf("timeline %+v", tl)
	}
	if k := tl.Kills[0]; k.Role != RolePrimary || *k.FirstAckNs != 130 || *k.RestartNs != 150 || *k.CaughtUpNs != 180 {
		t.Errorf("first kill %+v", k)
	}
	if k := tl.Kills[1]; k.Node != "n1" || k.CaughtUpNs != nil || k.FirstAckNs != nil {
		t.Errorf("second kill %+v", k)
	}
	if k := tl.Kills[2]; *k.RestartNs != 310 || *k.CaughtUpNs != 320 {
		t.Errorf("third kill %+v", k)
	}
}

func TestActivities(t *testing.T) {
	ev := func(tNs int64, source string, k Kind, from, to, bytes int64) Event {
		return Event{TNs: tNs, Source: source, Kind: k, OpFrom: &from, OpTo: &to, Bytes: &bytes}
	}
	got := Activities([]Event{
		ev(10, "n1", KindRepairBegin, 5, 9, 0),
		ev(12, "n2", KindTransferBegin, 1, 100, 0), // another node in between
		ev(15, "n1", KindRepairProgress, 5, 9, 100),
		ev(20, "n1", KindRepairEnd, 5, 12, 250), // the end knows better
		{TNs: 25, Source: "n0", Kind: KindRepairEnd, DurationNs: at(5)},
		{TNs: 30, Source: SourceHarness, Kind: KindKill, Node: "n2"},
		{TNs: 40, Source: "n2", Kind: KindTransferBegin, Peer: "n0", Reason: "gap"},
		{TNs: 45, Source: "n2", Kind: KindViewChangeBegin},
		{TNs: 50, Source: "n2", Kind: KindTransferBegin},
	})
	if len(got) != 6 {
		t.Fatalf("%d activities: %+v", len(got), got)
	}
	if a := got[0]; a.Kind != Repair || a.FromNs != 10 || *a.ToNs != 20 || *a.Bytes != 250 || *a.Ops() != 8 || a.Cut {
		t.Errorf("repair %+v", a)
	}
	if a := got[1]; a.Kind != Transfer || a.FromNs != 12 || *a.ToNs != 30 || !a.Cut || *a.Ops() != 100 {
		t.Errorf("killed transfer %+v", a)
	}
	if a := got[2]; a.FromNs != 20 || *a.ToNs != 25 || a.Ops() != nil {
		t.Errorf("end without a begin %+v", a)
	}
	if a := got[3]; a.FromNs != 40 || *a.ToNs != 50 || !a.Cut || a.Peer != "n0" || a.Reason != "gap" {
		t.Errorf("transfer begun anew %+v", a)
	}
	if a := got[5]; a.FromNs != 50 || a.ToNs != nil || a.Cut {
		t.Errorf("open transfer %+v", a)
	}
}
