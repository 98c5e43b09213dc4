package plots

import (
	"strings"
	"testing"

	"rejoin/results"
)

// TestLagFigureSaysWhatIsNone: with kills and without the note stands under the caption, and has room.
func TestLagFigureSaysWhatIsNone(t *testing.T) {
	f := Figures{EndNs: 10e9, LagFloorOps: 7, Lag: []LagSeries{{Node: "n0", Points: []LagPoint{{TNs: 1e9, LagOps: 3}}}}}
	calm := f.lagSheet(newInk())
	f.Kills = []KillMark{{Node: "n0", AtNs: 5e9}}
	killed := f.lagSheet(newInk())
	if calm.note != f.lagNote() || killed.note != f.lagNote() || !strings.Contains(calm.note, "and one op, 7 together") {
		t.Errorf("notes %q and %q", calm.note, killed.note)
	}
	bare := newSheet(newInk(), "", "")
	if calm.height != bare.height+calm.marks.downsHeight()+noteRow || killed.height != bare.height+killed.marks.downsHeight()+noteRow {
		t.Errorf("heights %v and %v over a bare %v", calm.height, killed.height, bare.height)
	}
}

// TestLagBelowTheFloorIsNone: what is committed between two polls draws no line, and a lag above it is drawn as high as it is.
func TestLagBelowTheFloorIsNone(t *testing.T) {
	f := Figures{LagFloorOps: lagFloor([]results.Rate{{OfferedBatches: 300}, {OfferedBatches: 100}, {}})}
	if f.LagFloorOps != 7 {
		t.Errorf("floor of 300 batches/s: %d ops, want 6 between two polls and 1 that the next tells of", f.LagFloorOps)
	}
	runs := lagRuns([]LagPoint{{0, 3}, {10, 7}, {20, 8}, {30, 5}, {35, 900}}, 10, f.lagOps)
	if len(runs) != 1 || len(runs[0]) != 4 {
		t.Fatalf("runs %v", runs)
	}
	for i, want := range []float64{0, 0, 8, 900} {
		if runs[0][i].y != want {
			t.Errorf("bin %d is drawn at %v, want %v", i, runs[0][i].y, want)
		}
	}
	if lagFloor(nil) != 0 {
		t.Error("a floor without a rate")
	}
}
