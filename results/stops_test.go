package results

import "testing"

// TestStopsMakeOutages: a stall of the primary is no part of the steady phase, and neither is the time in which a backup is stopped.
func TestStopsMakeOutages(t *testing.T) {
	for _, c := range []struct {
		name  string
		stops []Stop
		kills []Kill
		want  map[int64]Phase
	}{
		{"primary: until the first acknowledgement", []Stop{{Node: "n1", Role: RolePrimary, AtNs: 100, ResumeNs: at(200), FirstAckNs: at(170)}}, nil,
			map[int64]Phase{99: Steady, 100: Outage, 169: Outage, 170: Steady, 199: Steady}},
		{"primary of which no acknowledgement is known", []Stop{{Node: "n1", Role: RolePrimary, AtNs: 100, ResumeNs: at(200)}}, nil, map[int64]Phase{100: Outage, 199: Outage, 200: Steady}},
		{"primary that never goes on", []Stop{{Node: "n1", Role: RolePrimary, AtNs: 100}}, nil, map[int64]Phase{100: Outage, 999: Outage, 1000: Quiet}},
		{"backup: until the SIGCONT", []Stop{{Node: "n1", Role: RoleBackup, AtNs: 100, ResumeNs: at(200), FirstAckNs: at(101)}}, nil,
			map[int64]Phase{100: Outage, 199: Outage, 200: Steady}},
		{"backup that is killed meanwhile", []Stop{{Node: "n1", Role: RoleBackup, AtNs: 100}},
			[]Kill{{Node: "n1", Role: RoleBackup, AtNs: 150, RestartNs: at(180), CaughtUpNs: at(190)}},
			map[int64]Phase{149: Outage, 179: Outage, 180: Catchup, 190: Steady}},
		{"outage before catchup", []Stop{{Node: "n2", Role: RolePrimary, AtNs: 160, FirstAckNs: at(170)}},
			[]Kill{{Node: "n0", Role: RoleBackup, AtNs: 100, RestartNs: at(150), CaughtUpNs: at(180)}},
			map[int64]Phase{155: Catchup, 165: Outage, 175: Catchup, 180: Steady}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl := Timeline{WarmupEndNs: 10, LoadStopNs: at(1000), Kills: c.kills, Stops: c.stops}
			for due, want := range c.want {
				if got := tl.PhaseAt(due); got != want {
					t.Errorf("due at %d: %s, want %s", due, got, want)
				}
			}
			checkSpans(t, &tl, 1500)
		})
	}
}

// TestTimelineTellsHowNodesWereEnded: the signal and a wipe stand in the events, and a first acknowledgement belongs to the fault it is told of.
func TestTimelineTellsHowNodesWereEnded(t *testing.T) {
	h := func(tNs int64, k Kind, node, role, signal string) Event {
		return Event{TNs: tNs, Source: SourceHarness, Kind: k, Node: node, Role: role, Signal: signal}
	}
	ack := func(tNs, since, silent int64, node, signal string) Event {
		return Event{TNs: tNs, Source: SourceHarness, Kind: KindFirstAck, Node: node, Signal: signal, DurationNs: &since, SilentNs: &silent}
	}
	tl := TimelineOf([]Event{
		h(100, KindKill, "n0", RolePrimary, "SIGTERM"), ack(190, 90, 60, "n0", "SIGTERM"), // it answered until 130
		h(200, KindKill, "n1", RoleBackup, "SIGKILL"), h(205, KindWipe, "n1", "", ""), ack(203, 3, 4, "n1", "SIGKILL"),
		h(300, KindKill, "n2", RolePrimary, "SIGKILL"), h(310, KindKill, "n1", RoleBackup, ""), // by a command
		h(400, KindPause, "n0", RolePrimary, "SIGSTOP"), ack(470, 70, 72, "n0", "SIGSTOP"), h(500, KindResume, "n0", "", "SIGCONT"),
	})
	for i, want := range []struct {
		how            HowEnded
		signal, verb   string
		first, silence *int64
	}{{Restarted, "SIGTERM", "restart", at(190), at(130)}, {Wiped, "SIGKILL", "wipe", at(203), nil}, {Killed, "SIGKILL", "kill", nil, nil}, {Killed, "SIGKILL", "kill", nil, nil}} {
		k := tl.Kills[i]
		if k.How != want.how || k.How.Signal() != want.signal || k.How.Verb() != want.verb || !same(k.FirstAckNs, want.first) || !same(k.SilentFromNs, want.silence) {
			t.Errorf("kill %d: %+v", i, k)
		}
	}
	if s := tl.Stops[0]; !same(s.FirstAckNs, at(470)) || s.SilentFromNs != nil || *s.ResumeNs != 500 {
		t.Errorf("stop %+v", s)
	}
	if HowEnded("").Word() != Killed || HowEnded("<b>").Word() != Killed {
		t.Error("a word of a file is taken as it is")
	}
}

func same(a, b *int64) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }
