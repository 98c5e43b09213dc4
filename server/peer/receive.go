package peer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

const (
	// readBufferBytes is small on purpose: what it has taken of a frame must be copied once more.
	readBufferBytes = 4 << 10
	// slotsStepBytes is how much more is allocated for a message before its bytes have come in.
	slotsStepBytes = 32 << 10
)

var errUnexpected = errors.New("the other side does not keep to the protocol")

// receiver takes one link's stream apart.
type receiver struct {
	l        *link
	in       *bufio.Reader
	envelope []byte
}

func newReceiver(l *link) *receiver {
	rc := &receiver{l: l}
	rc.in = bufio.NewReaderSize(rc, readBufferBytes)
	return rc
}

// Read is the connection's, with a deadline for each wait.
func (rc *receiver) Read(b []byte) (int, error) {
	if err := rc.l.readPatience(); err != nil {
		return 0, err
	}
	got, err := rc.l.conn.Read(b)
	received := &rc.l.remote.counters.receivedBytes
	if rc.l.purpose == purposeBulk {
		received = &rc.l.remote.counters.bulkReceivedBytes
	}
	received.Add(uint64(got))
	return got, err
}

// next reads an envelope. Its payload comes next on rc.in.
func (rc *receiver) next() (m vsr.Message, payloadBytes int, err error) {
	if err := rc.skipKeepAlives(); err != nil {
		return m, 0, err
	}
	rc.envelope = rc.envelope[:0]
	if err := rc.more(wire.EnvelopeBytes); err != nil {
		return m, 0, err
	}
	slotsBytes, _, err := wire.EnvelopeRest(rc.envelope)
	if err != nil {
		return m, 0, err
	}
	if err := rc.more(slotsBytes); err != nil {
		return m, 0, err
	}
	m, payloadBytes, err = wire.ParseEnvelope(rc.envelope)
	if err != nil {
		return m, 0, err
	}
	rc.l.remote.counters.receivedMessages.Add(1)
	return m, payloadBytes, rc.checkSender(&m)
}

func (rc *receiver) skipKeepAlives() error {
	for {
		head, err := rc.in.Peek(4)
		if err != nil {
			return err
		}
		if [4]byte(head) != [4]byte(keepAlive[:]) {
			return nil
		}
		if _, err := rc.in.Discard(len(keepAlive)); err != nil {
			return err
		}
	}
}

// more appends so many bytes to the envelope, and memory only as they come.
func (rc *receiver) more(bytes int) error {
	for bytes > 0 {
		step := min(bytes, slotsStepBytes)
		at := len(rc.envelope)
		rc.envelope = slices.Grow(rc.envelope, step)[:at+step]
		if _, err := io.ReadFull(rc.in, rc.envelope[at:]); err != nil {
			return err
		}
		bytes -= step
	}
	return nil
}

// checkSender refuses a message that has no business on this link.
func (rc *receiver) checkSender(m *vsr.Message) error {
	l := rc.l
	if int(m.From) != l.remote.number || int(m.To) != l.n.options.Self {
		return fmt.Errorf("%w: %s from %d to %d came on the link of node %d", errUnexpected, m.Kind, m.From, m.To, l.remote.number)
	}
	if bulk := m.Kind.Lane() == vsr.LaneBulk; bulk != (l.purpose == purposeBulk) {
		return fmt.Errorf("%w: %s came on the wrong link", errUnexpected, m.Kind)
	}
	return nil
}

// wanted tells whether a message may be delivered; what may not is counted and dropped.
func (rc *receiver) wanted(m *vsr.Message) bool {
	c := &rc.l.remote.counters
	switch {
	case !rc.l.speaks(m):
		c.droppedIncarnation.Add(1)
	case int(m.Group) >= rc.l.n.options.Groups:
		c.droppedGroup.Add(1)
	default:
		return true
	}
	return false
}

// readProtocol delivers messages until the link ends.
func (l *link) readProtocol() error {
	rc := newReceiver(l)
	last := time.Now()
	for {
		m, payloadBytes, err := rc.next()
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		now := time.Now()
		l.remote.noteSilence(now.Sub(last))
		last = now
		if err := rc.deliver(m, payloadBytes); err != nil {
			return fmt.Errorf("read: %w", err)
		}
	}
}

func (r *remote) noteSilence(d time.Duration) {
	for {
		longest := r.counters.longestSilence.Load()
		if int64(d) <= longest || r.counters.longestSilence.CompareAndSwap(longest, int64(d)) {
			return
		}
	}
}

// deliver hands one message on, with its frame if it has one.
func (rc *receiver) deliver(m vsr.Message, payloadBytes int) error {
	if !rc.wanted(&m) {
		return rc.skip(payloadBytes)
	}
	if payloadBytes == 0 {
		rc.l.n.options.Handler.Message(m, nil)
		return nil
	}
	frame := rc.l.n.options.Pool.Get(wire.OwnerPeerRead)
	if frame == nil {
		rc.l.remote.counters.droppedNoBuffer.Add(1)
		return rc.skip(payloadBytes)
	}
	defer frame.Release(wire.OwnerPeerRead)
	if _, err := io.ReadFull(rc.in, frame.Data()[:payloadBytes]); err != nil {
		return err
	}
	frame.SetFrame(payloadBytes)
	if err := rc.verify(&m, frame); err != nil {
		return err
	}
	m.Header = frame.Header
	rc.l.n.options.Handler.Message(m, frame)
	return nil
}

func (rc *receiver) skip(bytes int) error {
	_, err := rc.in.Discard(bytes)
	return err
}

// verify parses a frame that is complete, holds it against its checksums and its envelope, and sets
// the buffer's Header.
func (rc *receiver) verify(m *vsr.Message, frame *wire.Buffer) error {
	h, err := wire.ParseSealed(frame.Frame())
	if err == nil {
		err = rc.agree(m, &h)
	}
	if err == nil {
		err = wire.CheckBody(&h, frame.Body())
	}
	if err != nil {
		return rc.badFrame(m, h.Op, err)
	}
	frame.Header = h
	return nil
}

func (rc *receiver) agree(m *vsr.Message, h *vsr.Header) error {
	if h.Group != m.Group || h.Cluster != rc.l.n.options.ClusterID {
		return fmt.Errorf("%w: a frame of cluster %016x, group %d in a message of cluster %016x, group %d", errUnexpected, h.Cluster, h.Group, rc.l.n.options.ClusterID, m.Group)
	}
	return nil
}

// badFrame counts and tells of a frame that was damaged on its way, or at its sender. The link ends:
// nothing behind the damage can be trusted to begin where it seems to.
func (rc *receiver) badFrame(m *vsr.Message, op uint64, err error) error {
	r := rc.l.remote
	r.counters.badFrames.Add(1)
	r.counters.lastBadOp.Store(op)
	id := rc.l.n.options.Nodes[r.number].ID
	rc.l.n.options.Logger.Warn("bad frame from a peer, ending the link", "peer", id, "message", m.Kind.String(), "group", m.Group, "op", op, "error", err)
	return fmt.Errorf("%s of op %d from %s: %w: %w", m.Kind, op, id, ErrBadFrame, err)
}
