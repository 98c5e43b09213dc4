package vsr

import "testing"

// TestFetchingShowsInEveryState: one word of state hides what goes on beside it; whoever polls must see both.
func TestFetchingShowsInEveryState(t *testing.T) {
	var c chain
	c.grow(40, 1)
	for _, test := range []struct {
		name            string
		state           State
		ringOps         uint64
		then            func(*rig)
		saying, fetches string
	}{
		{"at rest", State{View: 1, LogView: 1}, 1024, func(*rig) {}, "normal", ""},
		{"wiped, the gap within the ring", State{View: 1, LogView: 1, Wiped: true}, 1024, func(g *rig) {
			g.hear(1, 1, Message{Kind: MsgBeat, Commit: c.id(40), Head: c.id(40)})
		}, "wiped", "repair"},
		{"wiped, the gap beyond the ring", State{View: 1, LogView: 1, Wiped: true}, 16, func(g *rig) {
			g.hear(1, 1, Message{Kind: MsgBeat, Commit: c.id(40), Head: c.id(40)})
		}, "wiped", "transfer"},
		{"in a view change that found it with a gap", State{View: 1, LogView: 1}, 1024, func(g *rig) {
			for range 20 {
				g.hear(1, 1, Message{Kind: MsgBeat, Commit: c.id(3), Head: c.id(5)})
				g.tick(1)
			}
			g.hear(2, 2, Message{Kind: MsgStartView, Commit: c.id(3), Head: c.id(5)})
		}, "view_change", "repair"},
	} {
		g := newRig(t, 0, test.state, c[:3:3], 3)
		g.r.cfg.RingOps, g.r.cfg.PipelineOps = test.ringOps, 8
		g.stalled = true
		test.then(g)
		g.tick(3)
		if s := g.r.Status(); s.State != test.saying || s.Fetching != test.fetches {
			t.Errorf("%s: state %q, fetching %q; want %q and %q", test.name, s.State, s.Fetching, test.saying, test.fetches)
		}
	}
}
