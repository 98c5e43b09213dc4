package sim

import (
	"errors"

	"rejoin/server/journal"
	"rejoin/server/partition"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

var _ partition.Outside = (*process)(nil)

// act tells whether an effect still takes place: a process that is to die between two effects does
// nothing after the last it was given.
func (p *process) act() bool {
	switch p.effectsLeft {
	case unlimited:
		return true
	case 0:
		return false
	}
	p.effectsLeft--
	return true
}

// Send sends a message that carries no frame.
func (p *process) Send(m *vsr.Message) {
	if p.act() {
		p.w.check.sends(p, m)
		p.tell(m)
		p.w.net.send(p, m, nil)
	}
}

// tell lets the rules of progress know of a message that will arrive.
func (p *process) tell(m *vsr.Message) {
	if p.w.net.linked(p.n.id, int(m.To)) {
		s := p.status()
		p.w.live.Sent(m, &s)
	}
	if m.Kind == vsr.MsgPull {
		p.w.nemesis.pulls(m)
	}
}

// SendFrame sends a message with its frame.
func (p *process) SendFrame(m *vsr.Message, frame *wire.Buffer) {
	if frame.Header != m.Header {
		p.w.fail("frame", "replica %d sends a %s of op %d with the frame of op %d", p.n.id, m.Kind, m.Header.Op, frame.Header.Op)
	}
	if p.act() {
		p.w.check.sends(p, m)
		p.w.net.send(p, m, frame.Frame())
	}
}

// SendStored sends a message whose frame only the log has, a little later.
func (p *process) SendStored(m *vsr.Message) {
	if !p.act() {
		return
	}
	stored := *m
	p.after(p.n.rng.around(p.w.setup.netDelay), func() {
		h, frame, err := p.log().ReadFrame(stored.Header.Op, nil)
		if err != nil || h.Sum != stored.Header.Sum {
			p.damaged(err)
			return
		}
		stored.Header = h
		p.w.net.send(p, &stored, frame)
	})
}

// Serve sends a chunk of committed ops from the log, a little later.
func (p *process) Serve(c partition.Chunk) {
	if p.act() {
		p.after(p.n.rng.around(p.w.setup.netDelay), func() { p.serve(c) })
	}
}

func (p *process) serve(c partition.Chunk) {
	opsMax, bytesMax := uint64(partition.RepairChunkOps), partition.RepairChunkBytes
	if c.Transfer {
		opsMax, bytesMax = partition.TransferChunkOps, partition.TransferChunkBytes
	}
	small := p.w.setup.config.PipelineOps // so that a pull has several chunks
	if p.w.setup.chunkOps > 0 {
		small = p.w.setup.chunkOps
	}
	opsMax = min(opsMax, small)
	var frames [][]byte
	bytes, last := 0, c.From-1
	for last < c.To && uint64(len(frames)) < opsMax {
		_, frame, err := p.log().ReadFrame(last+1, nil)
		if err != nil {
			if errors.Is(err, journal.ErrDamaged) && len(frames) == 0 {
				p.w.live.Broke(p.n.id, int(c.Peer), c.Round, c.From)
			}
			p.damaged(err)
			break
		}
		if bytes += len(frame); bytes > bytesMax && len(frames) > 0 {
			break
		}
		frames = append(frames, frame)
		last++
	}
	if !p.alive() {
		return
	}
	if len(frames) > 0 {
		m := vsr.Message{Kind: vsr.MsgChunk, Group: p.w.setup.config.Group, From: uint8(p.n.id), To: c.Peer, Incarnation: p.incarnation,
			Round: c.Round, Window: c.Index, FromOp: c.From, ToOp: last}
		p.w.net.sendChunk(p, &m, frames)
	}
	in := vsr.Input{Kind: vsr.InServed, Peer: c.Peer, Round: c.Round, Window: c.Index, ID: vsr.ID{Op: last}, Bytes: uint64(bytes)}
	p.after(int64(bytes)*p.w.setup.slowBulk/1024, func() { p.handle(&in, nil, "served") })
}

// Work queues a job for the disk.
func (p *process) Work(j partition.Job) {
	if !p.act() {
		partition.Discard([]partition.Job{j})
		return
	}
	if j.Kind == partition.JobCut {
		p.w.cutQueued(p, j.ID.Op)
	}
	p.n.seen.work(p, &j)
	if j.Kind == partition.JobTable || j.Kind == partition.JobTrim || j.Kind == partition.JobInstall {
		p.w.check.tells(p, &j.Table)
	}
	p.disk.queue(j)
	p.w.nemesis.installs(p, &j)
}

// Reply answers a client.
func (p *process) Reply(token uint64, a partition.Answer) {
	if !p.act() {
		return
	}
	t, waits := p.tries[token]
	if !waits {
		p.w.fail("reply", "replica %d answers token %d, for which nobody waits: %+v", p.n.id, token, a)
	}
	delete(p.tries, token)
	p.w.check.replies(p, &t.asked, &a)
	t.done(answer{Answer: a})
}

// Committed tells that ops are committed.
func (p *process) Committed(id vsr.ID) {
	if p.act() {
		p.w.check.committed(p, id)
	}
}

// Readable lets readers see more.
func (p *process) Readable(op uint64) { p.readable = op }

// Observe counts what a run has met.
func (p *process) Observe(e *vsr.Event) {
	if !p.act() {
		return
	}
	p.w.live.Observed(p.n.id, e)
	p.w.script.observe(p.n.id, e)
	c := &p.w.cover
	switch e.Kind {
	case vsr.EventRepairEnd:
		c.Repairs++
	case vsr.EventTransferEnd:
		c.Transfers++
	case vsr.EventStepDown:
		c.StepDowns++
	case vsr.EventHole:
		c.Holes++
	case vsr.EventWaiting:
		c.Waitings++
	case vsr.EventWiped:
		c.WipedRecoveries++
	}
	p.w.note(p.n.id, eventNames[e.Kind], e.Reason, e.View, e.FromOp, e.ToOp, uint64(e.Peer+1))
}

var eventNames = map[vsr.EventKind]string{vsr.EventRole: "* role", vsr.EventViewChangeBegin: "* view change begins", vsr.EventViewChangeEnd: "* view change ends",
	vsr.EventRepairBegin: "* repair begins", vsr.EventRepairProgress: "* repair progress", vsr.EventRepairEnd: "* repair ends",
	vsr.EventTransferBegin: "* transfer begins", vsr.EventTransferProgress: "* transfer progress", vsr.EventTransferEnd: "* transfer ends",
	vsr.EventStepDown: "* steps down", vsr.EventWiped: "* wiped", vsr.EventDiskFull: "* disk full",
	vsr.EventHole: "* hole", vsr.EventWaiting: "* waits", vsr.EventCannotKeepUp: "* cannot keep up"}

// Fence tells that a replica has found a promise broken.
func (p *process) Fence(why string) {
	if p.act() {
		p.w.fail("fence", "replica %d fences itself: %s", p.n.id, why)
	}
}
