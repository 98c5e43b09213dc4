package server

import (
	"errors"
	"fmt"

	"rejoin/server/journal"
	"rejoin/server/partition"
	"rejoin/server/peer"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// A group is its partition's Outside; these run in its turn and never block.
var _ partition.Outside = (*group)(nil)

func isDiskFull(err error) bool { return errors.Is(err, journal.ErrDiskFull) }

// Send sends a message without a frame.
func (g *group) Send(m *vsr.Message) {
	if m.Kind.Lane() != vsr.LaneBulk {
		g.node.network.Send(int(m.To), m)
		return
	}
	bulk := *m
	_ = g.node.network.SendLater(int(m.To), func() (peer.Payload, error) { return peer.Payload{Message: bulk}, nil }, nil)
}

// SendFrame sends a prepare or fetched.
func (g *group) SendFrame(m *vsr.Message, frame *wire.Buffer) {
	g.node.network.SendFrame(int(m.To), m, frame)
}

// SendStored sends a frame that is read from the log on the bulk writer's goroutine.
func (g *group) SendStored(m *vsr.Message) {
	stored := *m
	load := func() (peer.Payload, error) {
		b := g.node.pool.Get(wire.OwnerPeerSend)
		if b == nil {
			return peer.Payload{}, peer.ErrNoBuffer
		}
		h, frame, err := g.disk.Log().ReadFrame(stored.Header.Op, b.Data())
		if err == nil && h.Sum != stored.Header.Sum {
			err = fmt.Errorf("the log holds another op %d", h.Op)
		}
		if err != nil {
			b.Release(wire.OwnerPeerSend)
			g.damaged(err)
			return peer.Payload{}, err
		}
		b.SetFrame(len(frame))
		b.Header, stored.Header = h, h
		return peer.Payload{Message: stored, Frames: []*wire.Buffer{b}}, nil
	}
	_ = g.node.network.SendLater(int(stored.To), load, nil)
}

// damaged tells the replica of damage that a reader met. The caller is that reader, never the turn: it waits while
// the inbox is full.
func (g *group) damaged(err error) {
	if in, ok := partition.Damaged(err); ok {
		g.postInput(in)
	}
}

// Serve sends a chunk of committed ops from the segment files.
func (g *group) Serve(c partition.Chunk) {
	last := c.From - 1
	to, limit := g.chunkEnd(&c)
	load := func() (peer.Payload, error) {
		span, err := g.disk.Log().Span(c.From, to, limit)
		if err != nil {
			g.damaged(err)
			return peer.Payload{}, err
		}
		file, ok := journal.OSFile(span.File())
		if !ok {
			span.Release()
			return peer.Payload{}, errors.New("the log does not lie in a file of this machine")
		}
		g.suspect(c.From)
		last = span.Last
		m := vsr.Message{Kind: vsr.MsgChunk, Group: g.number, From: uint8(g.node.id), To: c.Peer, Incarnation: g.node.dir.incarnation,
			Round: c.Round, Window: c.Index, FromOp: span.First, ToOp: span.Last}
		return peer.Payload{Message: m, Span: &peer.Span{File: file, Offset: span.Offset, Bytes: span.Bytes, Release: span.Release}}, nil
	}
	done := func(bytes int64, err error) {
		served := vsr.Input{Kind: vsr.InServed, Peer: c.Peer, Round: c.Round, Window: c.Index, ID: vsr.ID{Op: last}, Bytes: uint64(bytes)}
		if err != nil {
			served.ID.Op = c.From - 1
		}
		g.postInput(served)
	}
	if err := g.node.network.SendLater(int(c.Peer), load, done); err != nil {
		g.later(vsr.Input{Kind: vsr.InServed, Peer: c.Peer, Round: c.Round, Window: c.Index, ID: vsr.ID{Op: c.From - 1}})
	}
}

// chunkEnd is the last op that a chunk may have, and how many bytes.
func (g *group) chunkEnd(c *partition.Chunk) (to uint64, bytes int64) {
	limits := &g.node.config.Limits
	ops, bytes := uint64(limits.RepairChunkOps), limits.RepairChunkBytes
	if c.Transfer {
		ops, bytes = partition.TransferChunkOps, partition.TransferChunkBytes
	}
	return min(c.To, c.From+ops-1), bytes
}

// later posts to the own inbox from a turn, which must not wait for room there.
func (g *group) later(in vsr.Input) { g.inbox.postNow(item{in: in}) }

// Work queues a job for the flusher.
func (g *group) Work(j partition.Job) { g.jobs.put(j) }

// Reply answers a client.
func (g *group) Reply(token uint64, a partition.Answer) { g.clients.answer(token, a) }

// Committed is for observers of every commit; here readers wait, and they are told by Readable.
func (g *group) Committed(vsr.ID) {}

// Readable lets readers see more, what is not written yet once it is: see postDone.
func (g *group) Readable(op uint64) {
	g.readable.Store(op)
	g.raised.fire()
}

// Fence stops the node: this log and a peer's differ where neither may.
func (g *group) Fence(why string) { g.node.fence(g, &historyError{why}) }

// Observe records what an observer may want to know.
func (g *group) Observe(e *vsr.Event) {
	w := wire.Event{Topic: g.topic.Name, Partition: g.index, View: e.View, LogView: e.LogView, OpFrom: e.FromOp, OpTo: e.ToOp,
		Bytes: e.Bytes, Rounds: e.Rounds, DurationNs: int64(e.Ticks) * g.node.config.Limits.Tick.Nanoseconds(), Detail: e.Reason}
	if e.Peer != vsr.NoPrimary {
		w.HasPeer, w.Peer = true, e.Peer
	}
	w.Kind, w.Reason = eventKinds[e.Kind].kind, eventKinds[e.Kind].reason
	g.node.metrics.observed(&w)
	g.node.recorder.Emit(w)
	if e.Kind == vsr.EventRole || e.Kind == vsr.EventStepDown || e.Kind == vsr.EventCannotKeepUp || e.Kind == vsr.EventWaiting {
		g.node.log.Info(string(w.Kind), "topic", g.topic.Name, "partition", g.index, "view", e.View, "op_from", e.FromOp, "op_to", e.ToOp, "detail", e.Reason)
	}
	g.changed = true
}

type eventName struct {
	kind   wire.EventKind
	reason string
}

var eventKinds = map[vsr.EventKind]eventName{
	vsr.EventRole:             {wire.EventRole, ""},
	vsr.EventViewChangeBegin:  {wire.EventViewChangeBegin, ""},
	vsr.EventViewChangeEnd:    {wire.EventViewChangeEnd, ""},
	vsr.EventRepairBegin:      {wire.EventRepairBegin, "gap_within_ring"},
	vsr.EventRepairProgress:   {wire.EventRepairProgress, ""},
	vsr.EventRepairEnd:        {wire.EventRepairEnd, ""},
	vsr.EventTransferBegin:    {wire.EventTransferBegin, "gap_beyond_ring"},
	vsr.EventTransferProgress: {wire.EventTransferProgress, ""},
	vsr.EventTransferEnd:      {wire.EventTransferEnd, ""},
	vsr.EventStepDown:         {wire.EventStepDown, ""},
	vsr.EventWiped:            {wire.EventUnwiped, ""},
	vsr.EventDiskFull:         {wire.EventDiskFull, ""},
	vsr.EventHole:             {wire.EventHole, ""},
	vsr.EventWaiting:          {wire.EventWaiting, ""},
	vsr.EventCannotKeepUp:     {wire.EventCannotKeepUp, ""},
}
