package server

import "testing"

// TestGathering: a partition that syncs each job by itself stops waiting for turns, and one whose syncs are shared waits again soon.
func TestGathering(t *testing.T) {
	g := newGathering()
	if !g.pays() {
		t.Error("it does not wait before it knows anything")
	}
	flushes := func(jobs int, until bool) (n int) {
		for ; g.pays() != until && n < 1000; n++ {
			g.note(jobs)
		}
		return n
	}
	if n := flushes(1, false); n < 8 || n > 64 {
		t.Errorf("it stopped waiting after %d flushes of one job", n)
	}
	for range 1000 {
		g.note(1)
	}
	if n := flushes(3, true); n < 2 || n > 16 {
		t.Errorf("it began to wait after %d flushes of three jobs", n)
	}
	for range 1000 {
		if g.note(1 + 2); !g.pays() {
			t.Fatal("it stopped waiting, and its syncs are shared")
		}
	}
}
