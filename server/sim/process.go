package sim

import (
	"errors"
	"syscall"

	"rejoin/server/journal"
	"rejoin/server/partition"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

const unlimited = -1

// process is one life of a node: a partition, its log, and what waits for them.
type process struct {
	n           *node
	w           *world
	incarnation vsr.Incarnation

	dead     bool
	ready    bool // recovered, takes part
	paused   bool
	deferred []func() // what happened to it while it was paused

	part  *partition.Partition
	store *partition.Disk
	disk  flusher

	readable uint64                    // readers see ops up to here
	vouched  uint64                    // the highest op that this life has vouched for
	peers    [vsr.ReplicasMax]*process // the lives that speak for the others, as it was told

	tries     map[uint64]try // clients that wait, by token; only looked up
	lastToken uint64

	effectsLeft int // it dies after so many more effects
	opsLeft     int // it dies before the next but so many disk operations
	how         ending
	ticked      bool // a tick waits
}

// try is a request that waits for its answer.
type try struct {
	asked vsr.Header
	done  func(answer)
}

// answer is what a client's try came to.
type answer struct {
	partition.Answer
	reset bool // the process died
}

func (p *process) alive() bool   { return p != nil && !p.dead }
func (p *process) running() bool { return p.alive() && p.ready }

func (p *process) log() *journal.Log { return p.store.Log() }

func (p *process) status() vsr.Status { return p.part.Status() }

// after lets do happen to this life, if it lasts.
func (p *process) after(delay int64, do func()) {
	p.w.after(delay, func() { p.happen(do) })
}

func (p *process) happen(do func()) {
	switch {
	case p.dead:
	case p.paused:
		p.deferred = append(p.deferred, do)
	default:
		do()
	}
}

// boot recovers the log, over the disk's time, and then joins.
func (p *process) boot() {
	var rec *journal.Recovered
	var boot vsr.Boot
	var err error
	p.disk.init(p)
	p.disk.run(func() {
		rec, boot, err = p.recover()
		if partition.Untold(err) && p.w.setup.config.Replicas > 1 {
			p.w.note(p.n.id, "forgets its log", err.Error())
			if err = partition.Forget(p.n.diskOptions(p.disk.fs())); err == nil {
				p.n.seen.wipe()
				p.w.cover.Wiped++
				rec, boot, err = p.recover()
			}
		}
	}, func() {
		switch {
		case err != nil && (p.n.mayFail || errors.Is(err, syscall.ENOSPC) || errors.Is(err, journal.ErrDiskFull)):
			p.n.fence(err)
			return
		case err != nil:
			p.w.fail("boot", "replica %d cannot start: %v", p.n.id, err)
		}
		p.join(rec, boot)
	})
}

// recover opens the log and reads what the replica must know of it.
func (p *process) recover() (rec *journal.Recovered, boot vsr.Boot, err error) {
	p.store, rec, err = p.n.openDisk(p.disk.fs())
	if err == nil {
		boot, err = p.store.Boot(rec, &p.w.setup.config, partition.Past{SameBoot: p.n.sameBoot, Forgotten: p.n.lost})
	}
	return rec, boot, err
}

func (p *process) join(rec *journal.Recovered, boot vsr.Boot) {
	w := p.w
	if rec.CutBytes > 0 || rec.RewrittenOps > 0 {
		w.cover.TornBoots++
	}
	p.n.seen.recovered(p, rec, &boot)
	p.n.unmarked = false
	c := w.setup.config
	c.Self, c.Incarnation = p.n.id, p.incarnation
	var err error
	p.part, err = partition.New(partition.Options{Replica: c, Boot: boot, RingFrames: w.setup.ringFrames, RingBytes: wire.FrameBytesMax * 4, CheckpointBytes: w.setup.checkpoint, Outside: p})
	if err != nil {
		w.fail("boot", "replica %d: %v", p.n.id, err)
	}
	p.ready, p.readable = true, boot.Commit.Op
	w.live.Joined(p.n.id)
	p.n.lost, p.n.fenced = false, false
	w.note(p.n.id, "joins", "", boot.State.View, boot.State.LogView, boot.Commit.Op, boot.Head.Op)
	p.tickLater(p.n.rng.between(0, tickNs))
	p.handle(&vsr.Input{Kind: vsr.InAllFormatted}, nil, "formatted")
	w.net.joined(p.n.id)
	if w.setup.dangers.rot > 0 {
		p.scrub(0)
	}
}

// tickLater lets a tick come. A ticker holds one tick for a process that is slow to take it.
func (p *process) tickLater(delay int64) {
	p.w.after(delay, func() {
		if p.dead {
			return
		}
		p.tickLater(tickNs)
		if !p.ticked {
			p.ticked = true
			p.happen(func() {
				p.ticked = false
				p.handle(&vsr.Input{Kind: vsr.InTick}, nil, "tick")
			})
		}
	})
}

// handle lets one thing happen to the partition, holds the promises against what came of it, and
// writes a line. The reference to frame, of OwnerTest, is handed over.
func (p *process) handle(in *vsr.Input, frame *wire.Buffer, verb string) {
	w := p.w
	w.steps++
	before := p.status()
	switch in.Kind {
	case vsr.InInstalled:
		p.n.seen.install(p)
	case vsr.InHello:
		p.knows(in)
	}
	p.part.Handle(in, frame)
	if now := p.status(); in.Kind == vsr.InTrimmed && now.Holes < before.Holes {
		w.cover.HolesTrimmed++
	}
	r := record{at: w.now, node: p.n.id, verb: verb, from: noNode, status: true, s: p.status()}
	if in.Kind == vsr.InMessage {
		m := &in.Msg
		r.from, r.n = int(m.From), [4]uint64{m.View, m.Commit.Op, max(m.Head.Op, m.Ack.Op, m.Header.Op, m.ToOp), m.Round}
	} else {
		r.n = [4]uint64{in.ID.Op, in.State.View, in.State.LogView, in.Token}
	}
	w.trace.add(&r, isDull(in, &before, &r.s))
	if frame != nil { // whoever keeps it has its own reference by now
		frame.Release(wire.OwnerTest)
	}
	if p.effectsLeft == 0 {
		p.n.end(p.how)
		return
	}
	w.check.step(p, &before, &r.s)
}

// isDull tells whether nobody who looks for a mistake wants to read of it.
func isDull(in *vsr.Input, before, after *vsr.Status) bool {
	if in.Kind != vsr.InTick && !(in.Kind == vsr.InMessage && (in.Msg.Kind == vsr.MsgBeat || in.Msg.Kind == vsr.MsgBeatAck)) {
		return false
	}
	return before.View == after.View && before.LogView == after.LogView && before.Commit == after.Commit && before.Head == after.Head &&
		before.State == after.State && before.Leading == after.Leading
}

// request brings a client's frame. Done is called once, with what came of it.
func (p *process) request(kind vsr.InputKind, frame []byte, h vsr.Header, now int64, done func(answer)) (token uint64) {
	if kind != vsr.InReadLatest && p.n.pool.Free() == 0 {
		done(answer{Answer: partition.Answer{Outcome: vsr.OutcomeBusy, Primary: vsr.NoPrimary}})
		return 0
	}
	p.lastToken++
	token = p.lastToken
	p.tries[token] = try{h, done}
	in := vsr.Input{Kind: kind, Token: token, Header: h, Now: now}
	if kind == vsr.InReadLatest {
		p.handle(&in, nil, "read latest")
		return token
	}
	b := p.n.pool.Get(wire.OwnerTest)
	b.SetFrame(copy(b.Data(), frame))
	b.Header = h
	verb := "request"
	if kind == vsr.InRegister {
		verb = "register"
	}
	p.handle(&in, b, verb)
	return token
}

// forget is a client's connection that has ended.
func (p *process) forget(token uint64) {
	if _, waits := p.tries[token]; !waits {
		return
	}
	delete(p.tries, token)
	p.handle(&vsr.Input{Kind: vsr.InForget, Token: token}, nil, "forget")
}

// receive takes a message off a link, with its frame if it has one.
func (p *process) receive(m vsr.Message, frame []byte) {
	if frame == nil {
		p.deliver(&m)
		p.handle(&vsr.Input{Kind: vsr.InMessage, Msg: m}, nil, m.Kind.String())
		return
	}
	b := p.n.pool.Get(wire.OwnerTest)
	if b == nil {
		return // a lost message
	}
	b.SetFrame(copy(b.Data(), frame))
	h, err := wire.ParseSealed(b.Frame())
	if err == nil && wire.Sum(b.Body()) != h.BodySum {
		err = wire.ErrSum
	}
	if err != nil {
		p.w.fail("frame", "replica %d sent a %s of op %d whose frame is not valid: %v", m.From, m.Kind, m.Header.Op, err)
	}
	b.Header, m.Header = h, h
	p.deliver(&m)
	p.handle(&vsr.Input{Kind: vsr.InMessage, Msg: m}, b, m.Kind.String())
}

// deliver lets the rules of progress know of a message that has come.
func (p *process) deliver(m *vsr.Message) {
	if m.Kind == vsr.MsgTable || m.Kind == vsr.MsgChunk || m.Kind == vsr.MsgPullRefused {
		s := p.status()
		p.w.live.Delivered(m, &s)
	}
	if m.Kind == vsr.MsgChunk {
		p.w.nemesis.pulled(m)
	}
}

// die ends this life where it stands.
func (p *process) die() {
	p.dead = true
	p.deferred = nil
	p.disk.die()
	if p.part != nil {
		p.part.Close()
	}
	for token := uint64(1); token <= p.lastToken; token++ {
		if t, waits := p.tries[token]; waits {
			t.done(answer{reset: true})
		}
	}
	p.tries = nil
}

// pause stops the process for a while, as SIGSTOP does.
func (p *process) pause(ns int64) {
	p.paused = true
	p.w.note(p.n.id, "pause", "", uint64(ns/millisecond))
	p.w.after(ns, p.resume)
}

func (p *process) resume() {
	if p.dead || !p.paused {
		return
	}
	p.paused = false
	p.w.note(p.n.id, "resume", "")
	todo := p.deferred
	p.deferred = nil
	for _, do := range todo {
		p.happen(do)
	}
}
