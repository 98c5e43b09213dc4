package plots

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"rejoin/plots/axis"
	"rejoin/results"
)

func TestFromRunNumbers(t *testing.T) {
	f, err := FromRun(sampleRun(t))
	if err != nil {
		t.Fatal(err)
	}
	if f.EndNs != 73_980*ms+200_000 || f.WarmupEndNs != 5*sec || f.LoadStopNs != 70*sec {
		t.Errorf("axis to %d, warm-up to %d, load to %d", f.EndNs, f.WarmupEndNs, f.LoadStopNs)
	}
	if want := (KillMark{AtNs: 30 * sec, Node: "n0", Role: "primary", How: results.Killed}); len(f.Kills) != 3 || f.Kills[1] != want {
		t.Errorf("kills %+v", f.Kills)
	}
	wantSpans := []SpanMark{
		{SpanOutage, 30 * sec, 30*sec + 640*ms},
		{SpanRepair, 17*sec + 80*ms, 17*sec + 390*ms}, {SpanRepair, 34*sec + 830*ms, 34*sec + 960*ms}, {SpanRepair, 59*sec + 510*ms, 59*sec + 640*ms},
		{SpanTransfer, 34*sec + 90*ms, 34*sec + 820*ms}, {SpanTransfer, 58*sec + 100*ms, 59*sec + 500*ms},
	}
	if !slices.Equal(f.Spans, wantSpans) {
		t.Errorf("spans %+v", f.Spans)
	}
	wantDowns := []DownMark{{Node: "n1", FromNs: 15 * sec, ToNs: 17 * sec}, {Node: "n0", FromNs: 30 * sec, ToNs: 34 * sec},
		{Node: "n1", FromNs: 40 * sec, ToNs: 43 * sec, Stopped: true}, {Node: "n2", FromNs: 48 * sec, ToNs: 58 * sec}}
	if !slices.Equal(f.Downs, wantDowns) {
		t.Errorf("downs %+v", f.Downs)
	}
	if len(f.Throughput) != 70 || f.Throughput[3] != (RatePoint{3 * sec, 300, 300}) {
		t.Errorf("throughput of %d seconds, %+v", len(f.Throughput), f.Throughput[3])
	}
}

func TestLatencyWindowsCarryTheirQuantile(t *testing.T) {
	f, err := FromRun(sampleRun(t))
	if err != nil {
		t.Fatal(err)
	}
	labels := []string{}
	for _, s := range f.Latency {
		labels = append(labels, s.Label)
	}
	if want := []string{"max by second", "p50 by second", "p99 of each 5 s"}; !slices.Equal(labels, want) {
		t.Fatalf("series %q, want %q: 70 s do not carry a p99.9 over time", labels, want)
	}
	if n := len(f.Latency[2].Steps); n != 14 {
		t.Errorf("%d windows of p99, want 14", n)
	}
	outage := f.Latency[0].Steps[30]
	if outage.FromNs != 30*sec || outage.LatencyNs < 640e6 || outage.LatencyNs > 672e6 {
		t.Errorf("max of the outage's second is %+v", outage)
	}
	if p50 := f.Latency[1].Steps[10].LatencyNs; p50 < 0.9e6 || p50 > 1.2e6 {
		t.Errorf("p50 of a steady second is %v", p50)
	}
}

func TestWindowFor(t *testing.T) {
	for _, c := range []struct {
		q         float64
		perSecond int64
		seconds   float64
	}{{0.5, 300, 1}, {0.99, 300, 5}, {0.999, 300, 60}, {0.99, 1000, 1}, {0.99, 0, 0}, {0.9999, 1, 0}} {
		if got := windowFor(c.q, c.perSecond).Seconds(); got != c.seconds {
			t.Errorf("window for p%v at %d/s: %v s, want %v", 100*c.q, c.perSecond, got, c.seconds)
		}
	}
}

func TestPercentilesGoAsFarAsSamplesCarry(t *testing.T) {
	f, err := FromRun(sampleRun(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Percentiles) != 3 || f.Percentiles[0].Label != "steady" {
		t.Fatalf("phases %+v", f.Percentiles)
	}
	var sum int64
	for _, d := range f.Percentiles {
		sum += d.Count
		last := d.Points[len(d.Points)-1].Q
		if !results.Enough(d.Count, last) {
			t.Errorf("%s shows p%v with %d samples", d.Label, 100*last, d.Count)
		}
		if !slices.IsSortedFunc(d.Points, func(a, b QuantilePoint) int { return int(a.LatencyNs - b.LatencyNs) }) {
			t.Errorf("%s falls", d.Label)
		}
	}
	if want := int64(65 * 300); sum != want {
		t.Errorf("phases hold %d samples, want %d: all but the warm-up", sum, want)
	}
}

func TestRecoveryNumbers(t *testing.T) {
	f, err := FromRun(sampleRun(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Recovery) != 3 {
		t.Fatalf("%d recoveries", len(f.Recovery))
	}
	k := f.Recovery[1]
	if k.Node != "n0" || k.DownNs != 4e9 {
		t.Errorf("kill %+v", k)
	}
	for kind, want := range map[BarKind]string{
		BarOutage: "640 ms", BarRepair: "130 ms · 290 ops · 9.73 MiB", BarTransfer: "730 ms · 1,191 ops · 40.1 MiB", BarCatchup: "980 ms",
	} {
		if got := barText(k.bar(kind)); got != want {
			t.Errorf("%s says %q, want %q", kind, got, want)
		}
	}
	if got := f.Recovery[0].bar(BarTransfer); got != nil {
		t.Errorf("a kill without a transfer has %+v", got)
	}
}

func TestRecoveriesOfUnhappyKills(t *testing.T) {
	at := func(ns int64) *int64 { return &ns }
	kills := []results.Kill{
		{Node: "n0", AtNs: 100, RestartNs: at(200)}, // never caught up, killed again
		{Node: "n0", AtNs: 500},                     // never restarted, never acknowledged
	}
	activities := []results.Activity{
		{Kind: results.Repair, Node: "n0", FromNs: 210, ToNs: at(260), Bytes: at(5)},
		{Kind: results.Repair, Node: "n0", FromNs: 240, ToNs: at(300), Bytes: at(7)}, // another partition, side by side
		{Kind: results.Transfer, Node: "n0", FromNs: 310, ToNs: at(500), Cut: true},
		{Kind: results.Repair, Node: "n1", FromNs: 210, ToNs: at(900)},
	}
	got := Recoveries(results.Timeline{Kills: kills}, activities)
	if b := got[0].bar(BarRepair); b.DurationNs != 90 || b.Count != 2 || b.Bytes != 12 || b.Unfinished {
		t.Errorf("repair %+v, want the 90 ns in which one went on", b)
	}
	if b := got[0].bar(BarTransfer); !b.Unfinished || !strings.HasPrefix(barText(b), "not finished") {
		t.Errorf("cut transfer %+v", b)
	}
	if b := got[0].bar(BarCatchup); !b.Unfinished {
		t.Errorf("catch-up %+v", b)
	}
	if !math.IsNaN(got[1].DownNs) || len(got[1].Bars) != 0 || killNotes(got[1])[1] != "not restarted" {
		t.Errorf("a node that stayed down %+v", got[1])
	}
}

func TestRecoveryTellsWhatTheSummaryTells(t *testing.T) {
	at := func(ns int64) *int64 { return &ns }
	timeline := results.Timeline{LoadStopNs: at(900), Kills: []results.Kill{{Node: "n0", AtNs: 100, RestartNs: at(200), CaughtUpNs: at(300)}}}
	activities := []results.Activity{
		{Kind: results.Repair, Node: "n0", FromNs: 210, ToNs: at(260), Bytes: at(5)},
		{Kind: results.Repair, Node: "n0", FromNs: 500, ToNs: at(560), Bytes: at(7)}, // long after it had caught up
	}
	if b := Recoveries(timeline, activities)[0].bar(BarRepair); b.Count != 1 || b.Bytes != 5 || b.DurationNs != 50 {
		t.Errorf("repair %+v, want only the one before caught up", b)
	}
}

func TestLagIsAgainstTheHighestSeen(t *testing.T) {
	var c lagCollector
	commit := func(v int64) *int64 { return &v }
	for _, s := range []results.Status{
		{TNs: 1, Node: "n0", Up: true, CommitOp: commit(10)},
		{TNs: 2, Node: "n1", Up: true, CommitOp: commit(4)},
		{TNs: 3, Node: "n0"},
		{TNs: 4, Node: "n1", Up: true, CommitOp: commit(7)}, // n0 is down, what it had shown still counts
		{TNs: 5, Node: "n1", Up: true, CommitOp: commit(12)},
		{TNs: 6, Node: "n0", Up: true},
	} {
		c.add(s)
	}
	var got []string
	for _, s := range c.series {
		for _, p := range s.Points {
			got = append(got, s.Node+"="+axis.NumberText(p.LagOps))
		}
	}
	if want := "n0=0 n0=– n0=– n1=6 n1=3 n1=0"; strings.Join(got, " ") != want {
		t.Errorf("lags %q, want %q", got, want)
	}
}

func TestNodesAreInOrderOfTheirNames(t *testing.T) {
	var c lagCollector
	for _, node := range []string{"n10", "n2", "n0", "broker", "n2", "n1"} { // as their first lines may stand in a file
		c.add(results.Status{Node: node})
	}
	var got []string
	for _, s := range c.series {
		got = append(got, s.Node)
	}
	if want := "n0 n1 n2 n10 broker"; strings.Join(got, " ") != want {
		t.Errorf("order %q, want %q", got, want)
	}
	if lookOf("n1").color != vermillion || lookOf("n0").color != blue {
		t.Error("a node's colour does not follow its number")
	}
}

func TestKillBeforeTheLoad(t *testing.T) {
	at := int64(-3_609_365)
	r := Recoveries(results.Timeline{LoadStartNs: 0, Kills: []results.Kill{{Node: "n2", AtNs: at, FirstAckNs: new(5 * ms)}}}, nil)
	if b := r[0].bar(BarOutage); b != nil {
		t.Errorf("the time before the load counts as time to the first acknowledgement: %+v", b)
	}
	if notes := killNotes(r[0]); notes[0] != "killed before the load" {
		t.Errorf("notes %q", notes)
	}
}

// TestGapOfAKill: one that came later says so.
func TestGapOfAKill(t *testing.T) {
	bars := func(durationNs float64) []RecoveryBar {
		return []RecoveryBar{{Kind: BarOutage, DurationNs: durationNs}}
	}
	r := []Recovery{{Node: "n0", AtNs: 1e9, Bars: bars(300e6)}, {Node: "n1", AtNs: 2e9, Bars: bars(3e6)}, {Node: "n1", AtNs: 9e9}}
	addGaps(r, []results.KillSummary{
		{Node: "n0", AtMs: 1000, FirstAckMs: new(300.0), GapWithoutAckMs: 310, GapAtMs: new(990.0)},
		{Node: "n1", AtMs: 2000, FirstAckMs: new(3.0), GapWithoutAckMs: 800, GapAtMs: new(4000.0)}, // somebody else's
		{Node: "n1", AtMs: 9000, GapWithoutAckMs: 800, GapAtMs: new(8999.0)},
	})
	if got, want := barText(r[0].bar(BarOutage)), "300 ms · longest gap 310 ms"; got != want {
		t.Errorf("says %q, want %q", got, want)
	}
	if got, want := barText(r[1].bar(BarOutage)), "3 ms · longest gap 800 ms (later, at 4.0 s)"; got != want {
		t.Errorf("says %q, want %q", got, want)
	}
}

func TestRecoveryAxisHasRoomForTheText(t *testing.T) {
	ink := newInk()
	kills := []Recovery{{Bars: []RecoveryBar{
		{Kind: BarCatchup, DurationNs: 2e9},
		{Kind: BarRepair, DurationNs: 1.9e9, Count: 123, Ops: 123_456, Bytes: 1_180_000_000, Unfinished: true},
	}}}
	end := recoveryAxisEnd(kills, ink)
	for _, b := range kills[0].Bars {
		width := ink.text(9, ink90, 0, 0).Width(barText(&b))
		if right := recoveryPanel*vg.Length(b.DurationNs/1e9/end) + barTextGap + width; right > recoveryPanel {
			t.Errorf("%q ends at %v, behind the panel's %v", barText(&b), right, recoveryPanel)
		}
	}
}

func TestLagRunsKeepMaximaAndGaps(t *testing.T) {
	nan := math.NaN()
	runs := lagRuns([]LagPoint{{0, 1}, {5, 900}, {9, 2}, {10, nan}, {19, nan}, {20, nan}, {25, 3}, {26, -4}, {30, math.Inf(1)}}, 10, func(ops float64) float64 { return ops })
	if len(runs) != 2 || len(runs[0]) != 1 || runs[0][0].y != 900 || len(runs[1]) != 1 || runs[1][0].y != 3 {
		t.Errorf("runs %+v", runs)
	}
}

func TestDownsampleKeepsExtremes(t *testing.T) {
	var run []point
	for i := range 200_000 {
		run = append(run, point{float64(i) / 200_000, 1})
	}
	run[123_457].y, run[66_666].y = 5000, -3
	got := downsample(run, 1)
	if len(got) > 4*(columnsMax+1) {
		t.Errorf("%d points left", len(got))
	}
	if !slices.Contains(got, run[123_457]) || !slices.Contains(got, run[66_666]) || got[0] != run[0] || got[len(got)-1] != run[len(run)-1] {
		t.Error("an extreme or an end was thinned away")
	}
	if !slices.IsSortedFunc(got, func(a, b point) int {
		if a.x < b.x {
			return -1
		}
		return 1
	}) {
		t.Error("points are out of order")
	}
	if short := run[:100]; len(downsample(short, 1)) != 100 {
		t.Error("a short run was thinned")
	}
}

func TestStepRuns(t *testing.T) {
	runs := stepRuns([]LatencyStep{{0, sec, 1}, {sec, 2 * sec, 2}, {5 * sec, 6 * sec, 3}, {6 * sec, 7 * sec, 0}, {7 * sec, 8 * sec, math.NaN()}, {8 * sec, 9 * sec, 4}})
	if len(runs) != 3 || len(runs[0]) != 4 || len(runs[1]) != 2 || len(runs[2]) != 2 || runs[2][0] != (point{8, 4}) {
		t.Errorf("runs %+v", runs)
	}
}

func TestWideWindowsStandApart(t *testing.T) {
	steps := []LatencyStep{{0, 5 * sec, 1e6}, {5 * sec, 10 * sec, 0}, {10 * sec, 15 * sec, math.Inf(1)}, {15 * sec, 20 * sec, 2e6}}
	if got, want := stepLevels(steps), []level{{0, 5, 1e6}, {15, 20, 2e6}}; !slices.Equal(got, want) {
		t.Errorf("levels %v, want %v", got, want)
	}
	if !isWide(steps) || isWide([]LatencyStep{{0, sec, 1}}) || isWide(nil) {
		t.Error("a window is wide if it is longer than a second")
	}
}

func TestUnionJoinsNeighbours(t *testing.T) {
	at := func(ns int64) *int64 { return &ns }
	r := func(from int64, to *int64) results.Activity {
		return results.Activity{Kind: results.Repair, FromNs: from, ToNs: to}
	}
	got := union([]results.Activity{r(0, at(10)), r(5, at(8)), r(12, at(20)), r(40, at(50)), r(90, nil)}, results.Repair, 100, 2)
	if want := [][2]int64{{0, 20}, {40, 50}, {90, 100}}; !slices.Equal(got, want) {
		t.Errorf("union %v, want %v", got, want)
	}
}
