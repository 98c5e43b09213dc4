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
	}{{300, 0, false}, {500, 0, true}, {500, 1, false}, {700, 0, true}, {999, 1, false}, {1000, 1, true}, {10_000, 19, true}, {10_000, 20, false}} {
		met := Coverage{Runs: c.runs, LateVotes: c.lateVotes}
		short := slices.ContainsFunc(met.Short(), func(text string) bool { return strings.Contains(text, " late votes in ") })
		if short != c.short {
			t.Errorf("%d late votes in %d runs are too few: %v, want %v", c.lateVotes, c.runs, short, c.short)
		}
	}
}
