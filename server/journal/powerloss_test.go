package journal_test

import "testing"

// Trap 21 of docs/measuring.md: a SIGKILL is no power cut. What a server had written and never synced survives the first whole, so a run of
// kills passes over a log that forgets everything at the second. A log that syncs keeps what it synced at both.
func TestKillPassesWhatPowerLossDoesNot(t *testing.T) {
	for _, syncs := range []bool{false, true} {
		x := newFixture(t)
		x.append(10, 2000)
		if syncs {
			x.sync()
		}
		x.kill()
		x.wantHeld(1, 10)
		if x.log.Written().Op != 10 {
			t.Errorf("syncs %v: a killed process left ops up to %d, want all 10", syncs, x.log.Written().Op)
		}

		y := newFixture(t)
		y.append(10, 2000)
		if syncs {
			y.sync()
		}
		y.crash()
		want := uint64(0)
		if syncs {
			want = 10
		}
		if got := y.log.Written().Op; got != want {
			t.Errorf("syncs %v: a power cut left ops up to %d, want %d", syncs, got, want)
		}
		y.wantHeld(1, want)
	}
}
