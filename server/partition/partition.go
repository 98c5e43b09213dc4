package partition

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// Options of a partition. Zero limits are refused.
type Options struct {
	Replica         vsr.Config
	Boot            vsr.Boot
	RingFrames      int   // the ring holds at most so many recent ops in memory that are on the disk, too; 0: Replica.RingOps. Older ones are sent from the log
	RingBytes       int   // and so many bytes of them
	CheckpointBytes int64 // of log between two checkpoints of the client table
	Outside         Outside
}

// Partition is a replica and its bytes.
type Partition struct {
	replica *vsr.Replica
	outside Outside

	pending map[uint64]*wire.Buffer // by token: requests not yet stamped; only looked up
	kept    []*wire.Buffer          // by op modulo the pipeline: frames beyond the head
	ring    ring

	commit          vsr.ID
	readable        readable
	ringOps         uint64 // so many of the last ops are never trimmed: what is uncommitted lies among them
	checkpointBytes int64
	loggedBytes     int64         // since the last checkpoint
	lease           atomic.Uint64 // as of the last input; the disk reads it when it trims

	frame *wire.Buffer // lent by the input being handled, or nil
}

// New makes a partition from what Recover found.
func New(o Options) (*Partition, error) {
	if o.RingBytes < wire.FrameBytesMax || o.CheckpointBytes < 1 || o.Outside == nil {
		return nil, fmt.Errorf("partition: the ring must hold a frame, checkpoints need a distance, and effects somewhere to go")
	}
	r, err := vsr.New(o.Replica, o.Boot)
	if err != nil {
		return nil, err
	}
	if o.RingFrames <= 0 {
		o.RingFrames = int(o.Replica.RingOps)
	}
	return &Partition{
		replica: r, outside: o.Outside, pending: map[uint64]*wire.Buffer{},
		kept: make([]*wire.Buffer, o.Replica.PipelineOps), ring: newRing(o.RingFrames, o.RingBytes),
		commit: r.Status().Commit, readable: newReadable(r.Status().Commit.Op), ringOps: o.Replica.RingOps, checkpointBytes: o.CheckpointBytes,
	}, nil
}

// Status of the replica.
func (p *Partition) Status() vsr.Status { return p.replica.Status() }

// Lease is the lowest op that a running transfer to a peer still needs from this log; 0: none.
func (p *Partition) Lease() uint64 { return p.replica.Lease() }

// Handle lets one thing happen. frame is the request's or the message's frame, lent, with its
// Header set, or nil. A register needs a buffer too: its frame is drawn there.
func (p *Partition) Handle(in *vsr.Input, frame *wire.Buffer) {
	p.frame = frame
	if in.Kind == vsr.InRequest || in.Kind == vsr.InRegister {
		frame.Retain(wire.OwnerPartition)
		p.pending[in.Token] = frame
	}
	if in.Kind == vsr.InForget {
		p.dropPending(in.Token)
	}
	switch {
	case (in.Kind == vsr.InWritten || in.Kind == vsr.InDurable) && p.readable.cuts == 0, // else it may be about to be cut
		in.Kind == vsr.InCutDone && p.readable.cuts == 1: // with it all that was written before, and not told of
		p.ring.wrote(in.ID)
	}
	effects := p.replica.Step(in)
	p.lease.Store(p.replica.Lease())
	p.settleReadable(in.Kind)
	for i := range effects {
		p.perform(&effects[i])
	}
	p.frame = nil
}

// Close releases every buffer that is held.
func (p *Partition) Close() {
	for _, token := range slices.Sorted(maps.Keys(p.pending)) {
		p.dropPending(token)
	}
	for i, b := range p.kept {
		if b != nil {
			b.Release(wire.OwnerBeyond)
			p.kept[i] = nil
		}
	}
	p.ring.cut(0)
}

func (p *Partition) dropPending(token uint64) {
	if b := p.pending[token]; b != nil {
		delete(p.pending, token)
		b.Release(wire.OwnerPartition)
	}
}

func (p *Partition) perform(e *vsr.Effect) {
	switch e.Kind {
	case vsr.EffSend:
		p.send(&e.Msg)
	case vsr.EffAppend:
		p.append(&e.Header, e.Token, e.Bulk)
	case vsr.EffKeep:
		p.keep(&e.Header)
	case vsr.EffDrop:
		p.drop(e.ID)
	case vsr.EffCut:
		p.ring.cut(e.ID.Op)
		p.readable.cut(e.ID.Op)
		p.outside.Work(Job{Kind: JobCut, ID: e.ID, Top: e.Top})
	case vsr.EffFill:
		p.fill(&e.Header)
	case vsr.EffSave:
		p.outside.Work(Job{Kind: JobState, State: e.State, Commit: p.commit})
	case vsr.EffReply:
		p.dropPending(e.Token)
		p.outside.Reply(e.Token, Answer{Outcome: e.Outcome, Header: e.Header, Primary: e.Primary, View: p.replica.Status().View, Detail: e.Detail})
	case vsr.EffCommit:
		p.committed(e.ID)
	case vsr.EffServe:
		p.outside.Serve(Chunk{Peer: e.Peer, Round: e.Round, Index: e.Window, From: e.From, To: e.To, Transfer: e.Bulk})
	case vsr.EffServeFetch:
		p.outside.SendStored(p.replica.Fetched(e.Peer, e.ID))
	case vsr.EffStage:
		p.stageFrame(&e.Header)
	case vsr.EffStageDrop:
		p.outside.Work(Job{Kind: JobStageDrop})
	case vsr.EffInstall:
		p.outside.Work(Job{Kind: JobInstall, State: e.State, Table: e.Table})
	case vsr.EffTrim:
		p.outside.Work(Job{Kind: JobTrim, ID: e.ID, Table: e.Table, Lease: &p.lease})
	case vsr.EffReset:
		p.reset()
	case vsr.EffEvent:
		p.outside.Observe(&e.Event)
	case vsr.EffFence:
		p.outside.Fence(e.Detail)
	default:
		panic(fmt.Sprintf("partition: effect kind %d", e.Kind))
	}
}

func (p *Partition) send(m *vsr.Message) {
	if m.Kind != vsr.MsgPrepare && m.Kind != vsr.MsgFetched {
		p.outside.Send(m)
		return
	}
	if b := p.find(m.Header.ID()); b != nil {
		p.outside.SendFrame(m, b)
		return
	}
	p.outside.SendStored(m)
}

// find a frame in memory by the identity of its op.
func (p *Partition) find(id vsr.ID) *wire.Buffer {
	if b := p.ring.find(id); b != nil {
		return b
	}
	if b := p.kept[id.Op%uint64(len(p.kept))]; b != nil && b.Header.ID() == id {
		return b
	}
	if p.frame != nil && p.frame.Header.ID() == id {
		return p.frame
	}
	return nil
}

// append brings a frame into the log: a client's, stamped now and never changed again, one kept, or
// the input's own, which may be one of many that a transfer brings.
func (p *Partition) append(h *vsr.Header, token uint64, bulk bool) {
	var b *wire.Buffer
	if token != 0 {
		b = p.pending[token]
		p.stamp(b, h)
	} else {
		b = p.find(h.ID())
	}
	if b == nil {
		panic(fmt.Sprintf("partition: no frame for op %d, %016x", h.Op, h.Sum))
	}
	p.ring.put(b, bulk)
	b.Retain(wire.OwnerJournal)
	p.outside.Work(Job{Kind: JobAppend, Frame: b, Commit: p.commit})
	p.loggedBytes += int64(len(b.Frame()))
	p.dropPending(token)
	p.drop(h.ID())
}

func (p *Partition) stamp(b *wire.Buffer, h *vsr.Header) {
	if h.Kind == vsr.KindRegister {
		b.SetFrame(wire.HeaderBytes)
	}
	wire.PutHeader(b.Frame(), h)
	b.Header = *h
}

func (p *Partition) keep(h *vsr.Header) {
	if p.frame == nil || p.frame.Header.ID() != h.ID() {
		panic(fmt.Sprintf("partition: no frame to keep for op %d", h.Op))
	}
	slot := &p.kept[h.Op%uint64(len(p.kept))]
	if *slot != nil {
		panic(fmt.Sprintf("partition: op %d is kept where op %d should be", (*slot).Header.Op, h.Op))
	}
	p.frame.Retain(wire.OwnerBeyond)
	*slot = p.frame
}

func (p *Partition) drop(id vsr.ID) {
	slot := &p.kept[id.Op%uint64(len(p.kept))]
	if *slot != nil && (*slot).Header.ID() == id {
		(*slot).Release(wire.OwnerBeyond)
		*slot = nil
	}
}

func (p *Partition) fill(h *vsr.Header) {
	if p.frame == nil || p.frame.Header.ID() != h.ID() {
		panic(fmt.Sprintf("partition: no frame to close the hole at op %d", h.Op))
	}
	p.frame.Retain(wire.OwnerJournal)
	p.outside.Work(Job{Kind: JobFill, Frame: p.frame})
}

// committed notes that ops up to id are committed, and checkpoints the client table once in a segment.
func (p *Partition) committed(id vsr.ID) {
	p.commit = id
	p.outside.Committed(id)
	p.tellReadable()
	if p.loggedBytes < p.checkpointBytes {
		return
	}
	table := p.replica.Table()
	if table.ID != id { // the last of several commits of this input: the table must not be ahead of what has been told
		return
	}
	p.loggedBytes = 0
	p.outside.Work(Job{Kind: JobTable, Table: table, Keep: keptFrom(id.Op, p.ringOps), Lease: &p.lease})
}
