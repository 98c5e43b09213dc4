package results

import (
	"slices"
	"testing"
)

func TestWithoutQuorum(t *testing.T) {
	at := func(ns int64) *int64 { return &ns }
	timeline := Timeline{
		Kills: []Kill{{Node: "n0", AtNs: 100, RestartNs: at(500)}, {Node: "n1", AtNs: 300, RestartNs: at(400)}, {Node: "n2", AtNs: 900}},
		Stops: []Stop{{Node: "n1", AtNs: 450, ResumeNs: at(480)}, {Node: "n0", AtNs: 950}, {Node: "n1", AtNs: 470, ResumeNs: at(470)}},
	}
	for _, test := range []struct {
		nodes int
		want  []Stretch
	}{
		{3, []Stretch{{300, 400}, {450, 480}, {950, 2000}}},
		{5, nil},
		{1, []Stretch{{100, 500}, {900, 2000}}},
	} {
		if got := timeline.WithoutQuorum(test.nodes, 2000); !slices.Equal(got, test.want) {
			t.Errorf("of %d nodes: %v, want %v", test.nodes, got, test.want)
		}
	}
	// A stopped node that is killed is down once, and one fault that ends when the next begins leaves a quorum.
	timeline = Timeline{Kills: []Kill{{Node: "n0", AtNs: 200, RestartNs: at(300)}, {Node: "n1", AtNs: 300, RestartNs: at(400)}},
		Stops: []Stop{{Node: "n0", AtNs: 100}}}
	if got := timeline.WithoutQuorum(3, 2000); got != nil {
		t.Errorf("%v, want none", got)
	}
	if got := Overlap([]Stretch{{10, 20}, {30, 40}}, 15, 35); got != 10 {
		t.Errorf("overlap %d, want 10", got)
	}
}
