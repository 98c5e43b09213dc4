package main

import (
	"testing"
	"time"
)

// TestDurationFitsSteps: a shorter load is cut where it ends, a longer one goes on at its last rate.
func TestDurationFitsSteps(t *testing.T) {
	const text = "load: [{for: 10s, messages_per_s: 20000}, {for: 10s, from: 20000, to: 40000}]"
	for _, test := range []struct {
		d     time.Duration
		steps int
		last  int // its rate at the end
	}{{5 * time.Second, 1, 20_000}, {15 * time.Second, 2, 30_000}, {20 * time.Second, 2, 40_000}, {60 * time.Second, 3, 40_000}} {
		s, err := parseScenario("steps.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		before := s.batchesOffered(0, min(test.d, time.Duration(s.Duration)))
		s.setDuration(test.d)
		if err := s.validate(); err != nil {
			t.Errorf("%v: %v", test.d, err)
			continue
		}
		_, last := s.Load[len(s.Load)-1].rates()
		if len(s.Load) != test.steps || last != test.last || time.Duration(s.Duration) != test.d || s.timetable().DueBy(time.Hour) < uint64(before)-1 {
			t.Errorf("%v: %d steps ending at %d a second, load of %v, %d batches", test.d, len(s.Load), last, s.Duration, s.timetable().DueBy(time.Hour))
		}
	}
}
