package results

import "testing"

func TestActivitiesOfAKillEndWithItsReturn(t *testing.T) {
	repair := func(node string, from int64) Activity {
		return Activity{Kind: Repair, Node: node, FromNs: from, ToNs: at(from + 5)}
	}
	activities := []Activity{repair("n0", 90), repair("n0", 110), repair("n1", 111), repair("n0", 120), repair("n0", 121), repair("n0", 150), repair("n0", 170)}
	kill := Kill{Node: "n0", AtNs: 95, RestartNs: at(100)}
	caughtUp := kill
	caughtUp.CaughtUpNs = at(120)
	for _, c := range []struct {
		name string
		t    Timeline
		want int
	}{
		{"small repairs after caught up do not count", Timeline{Kills: []Kill{caughtUp}, LoadStopNs: at(900)}, 2},
		{"never caught up, load stop", Timeline{Kills: []Kill{kill}, LoadStopNs: at(160)}, 4},
		{"never caught up, stopped", Timeline{Kills: []Kill{kill}, Stops: []Stop{{Node: "n1", AtNs: 105}, {Node: "n0", AtNs: 115}}, LoadStopNs: at(900)}, 1},
		{"never caught up, killed again", Timeline{Kills: []Kill{kill, {Node: "n1", AtNs: 101}, {Node: "n0", AtNs: 130}}, LoadStopNs: at(900)}, 3},
		{"load goes on", Timeline{Kills: []Kill{kill}}, 5},
		{"restarted after the load", Timeline{Kills: []Kill{kill}, LoadStopNs: at(98)}, 5},
		{"stayed down", Timeline{Kills: []Kill{{Node: "n0", AtNs: 95}}}, 0},
	} {
		if got := c.t.ActivitiesOf(0, activities); len(got) != c.want {
			t.Errorf("%s: %d activities, want %d", c.name, len(got), c.want)
		}
	}
}

func TestTotalOfCountsTimeOnce(t *testing.T) {
	total := TotalOf(Repair, []Activity{
		{Kind: Repair, FromNs: 10, ToNs: at(60), OpFrom: at(1), OpTo: at(10), Bytes: at(5)},
		{Kind: Transfer, FromNs: 20, ToNs: at(900), Bytes: at(1000)},
		{Kind: Repair, FromNs: 40, ToNs: at(100), Bytes: at(7)}, // another partition, side by side
		{Kind: Repair, FromNs: 50, ToNs: at(55)},
		{Kind: Repair, FromNs: 200, ToNs: at(210)},
	})
	if total.Count != 4 || total.Ops != 10 || total.Bytes != 12 || *total.DurationNs != 100 || total.Unfinished {
		t.Errorf("total %+v of %d ns", total, *total.DurationNs)
	}
	open := TotalOf(Transfer, []Activity{{Kind: Transfer, FromNs: 1}})
	if open.Count != 1 || open.DurationNs != nil || !open.Unfinished {
		t.Errorf("a transfer without end %+v", open)
	}
}

func TestTimelineOfStops(t *testing.T) {
	e := func(tNs int64, kind Kind, node string) Event {
		return Event{TNs: tNs, Source: SourceHarness, Kind: kind, Node: node, Role: RoleBackup}
	}
	got := TimelineOf([]Event{e(5, KindLoadStart, ""), e(10, KindPause, "n0"), e(12, KindPause, "n1"), e(20, KindResume, "n0"),
		e(21, KindKill, "n1"), e(22, KindResume, "n1"), e(23, KindResume, "n2"),
		e(30, KindQuietEnd, ""), e(31, KindPause, "n0"), e(32, KindResume, "n0")}) // the verifier reads n1 alone
	if got.LoadStartNs != 5 || len(got.Stops) != 2 {
		t.Fatalf("timeline %+v", got)
	}
	if s := got.Stops[0]; s.Node != "n0" || s.AtNs != 10 || s.ResumeNs == nil || *s.ResumeNs != 20 {
		t.Errorf("stop %+v", s)
	}
	if s := got.Stops[1]; s.Node != "n1" || s.ResumeNs != nil {
		t.Errorf("a stopped node that was killed resumed: %+v", s)
	}
}
