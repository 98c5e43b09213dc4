package api

import (
	"testing"
	"time"
)

// eventually is for what only a snapshot tells.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	giveUp := time.After(30 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-giveUp:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}
