package peer

import (
	"fmt"
	"time"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// Send queues a message that carries no frame. What does not fit, or has no link, is dropped and
// counted: the protocol repairs it. m is the caller's again when Send returns.
func (n *Network) Send(to int, m *vsr.Message) {
	if m.Kind.Lane() != vsr.LaneControl {
		panic(fmt.Sprintf("peer: %s needs a frame, Send has none", m.Kind))
	}
	r := n.remoteFor(to, m)
	l := r.protocol.Load()
	switch {
	case l == nil:
		r.counters.droppedLinkDown.Add(1)
	case isBeat(m.Kind):
		l.outbox.putBeat(m)
		l.sendNow()
	default:
		l.outbox.putControl(m)
		l.sendNow()
	}
}

// SendFrame queues a prepare or fetched with its frame, which it retains until the frame has been
// written or dropped.
func (n *Network) SendFrame(to int, m *vsr.Message, frame *wire.Buffer) {
	r := n.remoteFor(to, m)
	switch m.Kind {
	case vsr.MsgPrepare:
		if l := r.protocol.Load(); l != nil {
			l.outbox.putData(m, frame)
			l.sendNow()
			return
		}
		r.counters.droppedLinkDown.Add(1)
	case vsr.MsgFetched:
		frame.Retain(wire.OwnerPeerSend)
		// What is dropped has been counted.
		_ = n.putPayload(to, Payload{Message: *m, Frames: []*wire.Buffer{frame}}, nil)
	default:
		panic(fmt.Sprintf("peer: %s carries no single frame", m.Kind))
	}
}

func (n *Network) remoteFor(to int, m *vsr.Message) *remote {
	if to < 0 || to >= len(n.remotes) || n.remotes[to] == nil || int(m.To) != to || int(m.From) != n.options.Self || int(m.Group) >= n.options.Groups {
		panic(fmt.Sprintf("peer: %s from %d to %d of group %d handed to node %d for node %d", m.Kind, m.From, m.To, m.Group, n.options.Self, to))
	}
	return n.remotes[to]
}

// writeProtocol writes the outbox out, one writev a round, until the link ends.
func (l *link) writeProtocol() error {
	idle := time.NewTicker(l.n.options.timing.keepAlive)
	defer idle.Stop()
	for {
		select {
		case <-l.ended:
			return nil
		case <-idle.C:
			if !l.spoke.Swap(false) {
				if err := l.writeKeepAlive(); err != nil {
					return err
				}
			}
		case <-l.outbox.wake:
			if err := l.writeWaiting(); err != nil {
				return fmt.Errorf("write: %w", err)
			}
		}
	}
}

// writeWaiting writes until nothing waits.
func (l *link) writeWaiting() error {
	l.sending.Lock()
	defer l.sending.Unlock()
	for {
		if err := l.writeLeft(); err != nil {
			return err
		}
		if !l.outbox.take(&l.out.round) {
			return nil
		}
		l.out.left = l.out.round.draw()
		l.spoke.Store(true)
	}
}

func (l *link) writeKeepAlive() error {
	l.sending.Lock()
	defer l.sending.Unlock()
	if err := l.writeLeft(); err != nil {
		return err
	}
	if err := l.writePatience(); err != nil {
		return err
	}
	_, err := l.conn.Write(keepAlive[:])
	return err
}
