package results

import (
	"testing"
	"time"
)

func TestLagFloorOps(t *testing.T) {
	for rate, want := range map[float64]int64{0: 1, -1: 1, 1: 2, 200: 5, 300: 7} {
		if got := LagFloorOps(rate); got != want {
			t.Errorf("%v/s: %d ops, want %d", rate, got, want)
		}
	}
	if PollInterval != 20*time.Millisecond {
		t.Error("docs say 20 ms")
	}
}
