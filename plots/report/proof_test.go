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

// TestLagSaysWhatIsNone: at 300 batches a second six are committed between two polls.
func TestLagSaysWhatIsNone(t *testing.T) {
	f := plots.Figures{EndNs: 10e9, Throughput: []plots.RatePoint{{OfferedPerS: 300}, {OfferedPerS: 310}, {OfferedPerS: 0}}}
	if got := lagPanel(&f).Note; !strings.HasSuffix(got, "each 20 ms by itself, and up to 7 ops are committed meanwhile: so much is no lag") {
		t.Errorf("the note is %q", got)
	}
	f.Throughput = nil
	if got := lagPanel(&f).Note; !strings.HasSuffix(got, "a gap means no answer") {
		t.Errorf("without rates the note is %q", got)
	}
}
