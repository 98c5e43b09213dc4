package sim

import (
	"slices"
	"strings"
	"testing"
)

// TestFloorsScale: what is met once in a hundred runs has a floor, too, from so many runs on that chance alone does not miss it.
func TestFloorsScale(t *testing.T) {
	for _, c := range []struct {
		runs, lateVotes uint64
		short           bool
	}{{300, 0, false}, {999, 0, false}, {1000, 0, true}, {1000, 1, false}, {10_000, 9, true}, {10_000, 10, false}} {
		met := Coverage{Runs: c.runs, LateVotes: c.lateVotes}
		short := slices.ContainsFunc(met.Short(), func(text string) bool { return strings.Contains(text, " late votes in ") })
		if short != c.short {
			t.Errorf("%d late votes in %d runs are too few: %v, want %v", c.lateVotes, c.runs, short, c.short)
		}
	}
}
