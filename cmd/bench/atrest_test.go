package main

import (
	"testing"
	"time"
)

// A node is at rest while it uses less than a tenth of a core, whichever node it is; one without a process always is.
func TestAtRest(t *testing.T) {
	ms := int64(time.Millisecond)
	for name, c := range map[string]struct {
		before, now []int64
		rests       bool
	}{
		"idle":         {[]int64{5 * ms, 7 * ms, 0}, []int64{6 * ms, 8 * ms, 0}, true},
		"one is busy":  {[]int64{5 * ms, 7 * ms, 0}, []int64{6 * ms, 60 * ms, 0}, false},
		"one came":     {[]int64{5 * ms, 0}, []int64{6 * ms, 40 * ms}, false},
		"one has gone": {[]int64{5 * ms, 900 * ms}, []int64{6 * ms, 0}, true},
	} {
		if got := atRest(c.before, c.now, 100*time.Millisecond); got != c.rests {
			t.Errorf("%s: at rest: %v", name, got)
		}
	}
}
