package server

import (
	"errors"
	"time"

	"rejoin/server/peer"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// A node takes what its peers send and posts it to the group concerned.
var _ peer.Handler = (*node)(nil)

// toAll posts an input to every group.
func (n *node) toAll(in vsr.Input) {
	<-n.opened // the groups exist once the directory is formatted
	for _, g := range n.groups {
		g.postInput(in)
	}
}

// Hello tells every group who speaks for a peer from now on.
func (n *node) Hello(from int, h peer.Hello) {
	n.formats.heard(from, h.Format, h.KnownBoot)
	if n.greet(from, h) {
		return
	}
	n.toAll(vsr.Input{Kind: vsr.InHello, Peer: uint8(from), Incarnation: h.Incarnation})
	n.tellFormatted()
}

// greet keeps who is present until the groups exist; false once they do.
func (n *node) greet(from int, h peer.Hello) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.isOpen() {
		return false
	}
	n.greeted[from] = h.Incarnation
	return true
}

// tellFormatted lets the groups begin once every node has formatted its directory.
func (n *node) tellFormatted() {
	if n.formats.allFormatted(n.id) {
		n.toAll(vsr.Input{Kind: vsr.InAllFormatted})
	}
}

// LinkUp tells every group that a peer can be reached.
func (n *node) LinkUp(to int) {
	n.recorder.Emit(wire.Event{Kind: wire.EventPeerUp, HasPeer: true, Peer: to})
	if n.link(to, true) {
		n.toAll(vsr.Input{Kind: vsr.InLinkUp, Peer: uint8(to)})
	}
}

// LinkDown tells every group that it cannot.
func (n *node) LinkDown(to int, refused bool) {
	if !refused {
		n.recorder.Emit(wire.Event{Kind: wire.EventPeerDown, HasPeer: true, Peer: to})
	}
	if n.link(to, false) {
		n.toAll(vsr.Input{Kind: vsr.InLinkDown, Peer: uint8(to), Refused: refused})
	}
}

// link keeps whether a peer can be reached until the groups exist; true once they do, and are to be told.
func (n *node) link(to int, up bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.linked[to] = up
	return n.isOpen()
}

// Refused takes from a refused handshake what it tells. The network has logged it.
func (n *node) Refused(from int, err *peer.RefusedError) {
	n.formats.heard(from, err.Format, err.KnownBoot)
}

// Message posts a message to its group.
func (n *node) Message(m vsr.Message, frame *wire.Buffer) {
	if int(m.Group) >= len(n.groups) || !n.isOpen() {
		return
	}
	if m.Kind == vsr.MsgBeat {
		n.groups[m.Group].heartbeat(&m)
	}
	if frame != nil {
		frame.Retain(wire.OwnerPartition)
	}
	n.groups[m.Group].inbox.post(item{in: vsr.Input{Kind: vsr.InMessage, Msg: m}, frame: frame})
}

// heartbeat measures the time between two beats of one primary in one view.
func (g *group) heartbeat(m *vsr.Message) {
	now, view := wire.MonoNow(), m.View
	if g.beatView.Swap(view) == view {
		g.node.metrics.beats.Observe(time.Duration(now - g.beatAt.Load()).Seconds())
	}
	g.beatAt.Store(now)
}

// Frame posts one committed op of a chunk.
func (n *node) Frame(chunk vsr.Message, frame *wire.Buffer) {
	chunk.Header = frame.Header
	n.Message(chunk, frame)
}

// ChunkEnd posts that a chunk has come whole, or has not.
func (n *node) ChunkEnd(chunk vsr.Message, err error) {
	if int(chunk.Group) >= len(n.groups) || !n.isOpen() {
		return
	}
	n.groups[chunk.Group].postInput(vsr.Input{Kind: vsr.InChunkEnd, Peer: chunk.From, Round: chunk.Round, Window: chunk.Window,
		ID: vsr.ID{Op: chunk.ToOp}, OK: err == nil, Lack: lackOf(err)})
}

// lackOf is what an error tells a replica of a chunk that has not come whole.
func lackOf(err error) vsr.Lack {
	switch {
	case errors.Is(err, peer.ErrNoBuffer):
		return vsr.LackBuffer
	case errors.Is(err, peer.ErrBadFrame):
		return vsr.LackFrame
	}
	return vsr.LackLink
}
