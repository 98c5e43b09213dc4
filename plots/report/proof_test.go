package report

import (
	"strings"
	"testing"

	"rejoin/plots"
	"rejoin/results"
)

// TestDisagreementsInWords: no name of a file's field is shown to a person, and no number without its unit.
func TestDisagreementsInWords(t *testing.T) {
	table := disagreementsTable([]results.Disagreement{
		{Kill: new(1), Node: "n0", What: "role_known", Unit: "ms", Server: new(10_028.0), Outside: new(312.4), Tolerance: 250},
		{Kill: new(0), Node: "n2", What: results.WhatReturnedOps, Unit: "ops", Server: new(90.0), Outside: new(3050.0), Tolerance: 763},
		{What: results.WhatViewChanges, Unit: "count", Server: new(3.0), Outside: nil},
	})
	for i, want := range []string{
		"2|n0|role known|10 s|312 ms|250 ms",
		"1|n2|ops fetched on its return|90 ops|3,050 ops|763 ops",
		"the whole run|–|view changes|3|no data|0",
	} {
		if got := strings.Join(table.Rows[i].Cells, "|"); got != want {
			t.Errorf("row %d: %q, want %q", i, got, want)
		}
	}
}

// TestLagSaysWhatIsNone: how much is committed between two polls, where that is known.
func TestLagSaysWhatIsNone(t *testing.T) {
	f := plots.Figures{EndNs: 10e9, LagFloorOps: 7}
	if got := lagPanel(&f).Note; !strings.HasSuffix(got, "each 20 ms by itself: what is committed in that time, and one op, 7 together, is no lag, and drawn as 0") {
		t.Errorf("the note is %q", got)
	}
	f.LagFloorOps = 0
	if got := lagPanel(&f).Note; !strings.HasSuffix(got, "a gap means no answer") {
		t.Errorf("without rates the note is %q", got)
	}
}

// TestLagPanelHasAFloor: what is committed between two polls is not drawn as a lag.
func TestLagPanelHasAFloor(t *testing.T) {
	got := lagData([]plots.LagPoint{{TNs: 0, LagOps: 7}, {TNs: 1e7, LagOps: 3}, {TNs: 2e7, LagOps: 8}}, 1e7, 7)
	if len(got) != 2 || got[0][2] != 0 || got[1][2] != 8 {
		t.Errorf("%v", got)
	}
}
