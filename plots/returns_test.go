package plots

import (
	"math"
	"strings"
	"testing"
)

// TestReturnsAreShownByPoll: each way back has its own panel with every poll from the restart on, and only those; a lag that is none is 0.
func TestReturnsAreShownByPoll(t *testing.T) {
	nan := math.NaN()
	f := Figures{EndNs: 60 * sec, LagFloorOps: 7,
		Lag: []LagSeries{{Node: "n0", Points: []LagPoint{{0, 900}}}, {Node: "n1", Points: []LagPoint{
			{9 * sec, 3}, {11 * sec, nan}, {12*sec + 60*ms, nan}, {12*sec + 80*ms, 3600}, {12*sec + 200*ms, 1800}, {12*sec + 400*ms, 5}, {12*sec + 600*ms, 50}, {40*sec + 20*ms, 90}}}},
		Recovery: []Recovery{
			{Node: "n1", AtNs: 10 * sec, DownNs: 2e9, Bars: []RecoveryBar{{Kind: BarOutage, DurationNs: 1e6}, {Kind: BarCatchup, DurationNs: 400e6}}},
			{Node: "n1", AtNs: 20 * sec, DownNs: nan, Bars: []RecoveryBar{{Kind: BarCatchup, DurationNs: 400e6}}}, // never came back
			{Node: "n1", AtNs: 20 * sec, DownNs: 1e9}, // nothing is known of its return
			{Node: "n1", AtNs: 39 * sec, DownNs: 1e9, Bars: []RecoveryBar{{Kind: BarCatchup, DurationNs: nan, Unfinished: true}}},
		}}
	polls, most := f.pollsSince("n1", 12e9, 520e6)
	if len(polls) != 3 || polls[0] != (point{0.08, 3600}) || polls[2].y != 0 || most != 3600 {
		t.Errorf("%v, highest %v", polls, most)
	}
	row := f.returnInsets(newSheet(newInk(), "", ""))
	if len(row) != 2 || row[0].note != "first seen 3,600 behind, caught up after 400 ms" || row[0].panel.X.Max != 0.52 || row[1].note != "first seen 90 behind, not caught up" {
		t.Errorf("%+v", row)
	}
	dir := t.TempDir()
	if err := Draw(dir, f); err != nil {
		t.Fatal(err)
	}
	if text := checkDrawn(t, dir)["lag"]; strings.Count(text, "n1 back: ops behind, by poll") != 2 || !strings.Contains(text, "3,000") {
		t.Error(text)
	}
	for range 9 {
		f.Recovery = append(f.Recovery, f.Recovery[0])
	}
	s := f.lagSheet(newInk())
	if len(s.insets) != insetsMax || !strings.HasSuffix(s.insets[insetsMax-1].title, "(4 of 11)") {
		t.Errorf("%d insets, the last %q", len(s.insets), s.insets[len(s.insets)-1].title)
	}
}
