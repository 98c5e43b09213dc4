package plots

import "testing"

// TestLagFigureSaysWhatIsNone: with kills and without the note stands under the caption, and has room.
func TestLagFigureSaysWhatIsNone(t *testing.T) {
	f := Figures{EndNs: 10e9, Lag: []LagSeries{{Node: "n0", Points: []LagPoint{{TNs: 1e9, LagOps: 3}}}}}
	calm := f.lagSheet(newInk())
	f.Kills = []KillMark{{Node: "n0", AtNs: 5e9}}
	killed := f.lagSheet(newInk())
	if calm.note != lagNote || killed.note != lagNote {
		t.Errorf("notes %q and %q", calm.note, killed.note)
	}
	bare := newSheet(newInk(), "", "")
	if calm.height != bare.height+calm.marks.downsHeight()+noteRow || killed.height != bare.height+killed.marks.downsHeight()+noteRow {
		t.Errorf("heights %v and %v over a bare %v", calm.height, killed.height, bare.height)
	}
}
