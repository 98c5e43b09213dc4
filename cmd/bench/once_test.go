package main

import "testing"

// playedOnce leaves a test out under -short, with which `make check` plays this package under the race detector: there a drawing takes 20
// times as long, and a whole run waits as long as without. Of the whole runs those stay that show every goroutine of the harness at work, and
// nodes that are race builds, too: TestRunIsServedLive, TestInterruptedRun, TestNodeKilledFromOutside, TestClosedLoopOverRetention, TestVortex.
func playedOnce(t *testing.T, what string) {
	t.Helper()
	if testing.Short() {
		t.Skip(what + ", played once, without the race detector")
	}
}
