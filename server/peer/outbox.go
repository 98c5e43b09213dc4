package peer

import (
	"net"
	"sync"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// outbox is what waits for whoever writes next to a protocol link: beats, which have a slot each that the
// newest one takes, control messages, already drawn, and frames.
type outbox struct {
	counters *counters
	wake     chan struct{} // something is left to the writer

	mu        sync.Mutex
	closed    bool
	beats     []beatSlot // two a group: beat and beat_ack
	dirty     []int      // slots that are set, oldest first
	control   []byte
	messages  uint64 // in control
	data      [dataFramesMax]dataItem
	dataFirst int
	dataCount int
	dataBytes int
}

type beatSlot struct {
	set      bool
	envelope [wire.EnvelopeBytes]byte
}

type dataItem struct {
	envelope [wire.EnvelopeBytes]byte
	frame    *wire.Buffer // a reference of OwnerPeerSend
}

func newOutbox(groups int, c *counters) *outbox {
	return &outbox{counters: c, wake: make(chan struct{}, 1), beats: make([]beatSlot, 2*groups)}
}

func isBeat(k vsr.MessageKind) bool { return k == vsr.MsgBeat || k == vsr.MsgBeatAck }

// putBeat takes the group's slot; a beat that still waits there is overtaken by the newer one.
func (o *outbox) putBeat(m *vsr.Message) {
	at := 2 * int(m.Group)
	if m.Kind == vsr.MsgBeatAck {
		at++
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		o.counters.droppedLinkDown.Add(1)
		return
	}
	slot := &o.beats[at]
	wire.AppendEnvelope(slot.envelope[:0], m, 0)
	if slot.set {
		o.counters.replacedBeats.Add(1)
		return
	}
	slot.set = true
	o.dirty = append(o.dirty, at)
}

func (o *outbox) putControl(m *vsr.Message) {
	bytes := wire.EnvelopeBytes + wire.EnvelopeRestBytes(m)
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed:
		o.counters.droppedLinkDown.Add(1)
	case len(o.control)+bytes > controlBytesMax:
		o.counters.droppedControl.Add(1)
	default:
		o.control = wire.AppendEnvelope(o.control, m, 0)
		o.messages++
	}
}

func (o *outbox) putData(m *vsr.Message, frame *wire.Buffer) {
	bytes := len(frame.Frame())
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed:
		o.counters.droppedLinkDown.Add(1)
	case o.dataCount == len(o.data) || o.dataBytes+bytes > dataBytesMax:
		o.counters.droppedData.Add(1)
	default:
		item := &o.data[(o.dataFirst+o.dataCount)%len(o.data)]
		wire.AppendEnvelope(item.envelope[:0], m, bytes)
		frame.Retain(wire.OwnerPeerSend)
		item.frame = frame
		o.dataCount++
		o.dataBytes += bytes
	}
}

// close drops what waits, and whatever comes later.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.counters.droppedLinkDown.Add(uint64(len(o.dirty)) + o.messages + uint64(o.dataCount))
	for ; o.dataCount > 0; o.dataCount-- {
		item := &o.data[o.dataFirst]
		item.frame.Release(wire.OwnerPeerSend)
		item.frame = nil
		o.dataFirst = (o.dataFirst + 1) % len(o.data)
	}
	o.dirty, o.control, o.messages = nil, nil, 0
}

// round is what is written at once, with as many calls as the socket asks for. Its memory is used again for the next one.
type round struct {
	beats    []byte
	control  []byte
	items    []dataItem
	buffers  net.Buffers
	messages uint64
	bytes    int
}

// take moves all beats, all control and as many frames as one write should carry into r. More
// frames wait for the next round, so that a beat never waits for more than one.
func (o *outbox) take(r *round) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	r.beats, r.items = r.beats[:0], r.items[:0]
	r.messages = o.messages + uint64(len(o.dirty))
	for _, at := range o.dirty {
		r.beats = append(r.beats, o.beats[at].envelope[:]...)
		o.beats[at].set = false
	}
	o.dirty = o.dirty[:0]
	r.control, o.control, o.messages = o.control, r.control[:0], 0
	r.bytes = len(r.beats) + len(r.control)
	for frames := 0; o.dataCount > 0 && frames < writeBytesMax; o.dataCount-- {
		item := &o.data[o.dataFirst]
		bytes := len(item.frame.Frame())
		if frames > 0 && frames+bytes > writeBytesMax {
			break
		}
		r.items = append(r.items, *item)
		item.frame = nil
		o.dataFirst = (o.dataFirst + 1) % len(o.data)
		o.dataBytes -= bytes
		frames += bytes
		r.bytes += bytes + wire.EnvelopeBytes
		r.messages++
	}
	return r.messages > 0
}

// empty tells whether nothing waits.
func (o *outbox) empty() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.dataCount == 0 && o.messages == 0 && len(o.dirty) == 0
}

// draw lists the pieces of the round, in the order of the lanes. Frames are listed, not copied.
func (r *round) draw() net.Buffers {
	b := r.buffers[:0]
	if len(r.beats) > 0 {
		b = append(b, r.beats)
	}
	if len(r.control) > 0 {
		b = append(b, r.control)
	}
	for i := range r.items {
		b = append(b, r.items[i].envelope[:], r.items[i].frame.Frame())
	}
	r.buffers = b
	return b
}

func (r *round) release() {
	for i := range r.items {
		if frame := r.items[i].frame; frame != nil {
			frame.Release(wire.OwnerPeerSend)
			r.items[i].frame = nil
		}
	}
	clear(r.buffers)
}
