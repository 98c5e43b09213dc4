package vsr

import "testing"

// TestChunkTellsWhatItLacked: a node that has no buffer to spare, or loses a link, must not be told of as one with a damaged peer.
func TestChunkTellsWhatItLacked(t *testing.T) {
	for lack, want := range map[Lack]string{LackFrame: "damaged chunk", LackBuffer: "no frame buffer was free for a chunk", LackLink: "the link ended within a chunk"} {
		for _, staged := range []bool{false, true} {
			var c chain
			c.grow(2000, 1)
			g := newRig(t, 0, State{View: 1, LogView: 1}, c[:20], 20)
			g.hear(1, 1, Message{Kind: MsgBeat, Commit: c.id(2000), Head: c.id(2000)})
			g.tick(1)
			pull := g.take(MsgPull)[0]
			if staged {
				g.hear(1, 1, Message{Kind: MsgPullRefused, Round: pull.Round, Commit: c.id(2000), FromOp: 1000})
				if pull = g.take(MsgPull)[0]; !pull.Staged {
					t.Fatalf("asks for %+v", pull)
				}
				g.hear(1, 1, Message{Kind: MsgTable, Round: pull.Round, Progress: 1, FromOp: 1000, Head: c.id(2000), Commit: c.id(2000), Goal: c[1999].NextOffset()})
			}
			g.effects = nil
			g.step(Input{Kind: InChunkEnd, Peer: pull.To, Round: pull.Round, ID: c.id(40), Lack: lack})
			told := ""
			for _, e := range g.effects {
				if e.Kind == EffEvent && e.Event.Kind == EventTransferProgress {
					told = e.Event.Reason
				}
			}
			if told != want {
				t.Errorf("lack %d, staged %v: the event says %q, want %q", lack, staged, told, want)
			}
		}
	}
}
