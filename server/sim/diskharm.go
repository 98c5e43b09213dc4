package sim

import (
	"syscall"

	"rejoin/server/journal/faultfs"
	"rejoin/server/partition"
)

// endless stands for a disk of which only the room that is left is asked.
const endless = int64(1) << 40

// fillDisk leaves a disk little or no room for a while.
func (x *nemesis) fillDisk() {
	n := x.w.nodes[x.rng.IntN(x.w.setup.replicas)]
	x.leaveRoom(n, x.rng.between(0, 2*x.w.setup.segmentBytes), x.rng.around(2*second))
}

// leaveRoom lets a disk take so many bytes more, for a while.
func (x *nemesis) leaveRoom(n *node, bytes, ns int64) {
	n.fs.CapacityBytes = endless
	free, err := n.fs.FreeBytes()
	if err != nil {
		x.w.fail("sim", "free bytes: %v", err)
	}
	n.fs.CapacityBytes = max(endless-int64(free)+bytes, 1)
	x.w.note(n.id, "disk full", "")
	x.w.cover.DiskFull++
	fs := n.fs
	x.w.after(ns, func() { fs.CapacityBytes = 0 })
}

// failSync lets one of the next syncs fail. The pages it should have written look clean from then on.
func (x *nemesis) failSync() {
	n := x.w.nodes[x.rng.IntN(x.w.setup.replicas)]
	if !x.w.setup.synced && !x.mayLose(n) { // what it has acknowledged without a sync will be lost
		return
	}
	x.w.note(n.id, "sync will fail", "")
	n.mayFail = true
	n.fs.Inject(faultfs.Fault{Verb: faultfs.VerbSync, After: int(x.rng.between(0, 8)), Err: syscall.EIO, DropDirty: true})
}

// refuseWrites lets a disk refuse every change for a while.
func (x *nemesis) refuseWrites() {
	n := x.w.nodes[x.rng.IntN(x.w.setup.replicas)]
	if n.fs.ReadOnly || !x.w.setup.synced && !x.mayLose(n) {
		return
	}
	x.w.note(n.id, "disk is read-only", "")
	x.w.cover.ReadOnly++
	n.mayFail, n.fs.ReadOnly = true, true
	fs := n.fs
	x.w.after(x.rng.around(2*second), func() { fs.ReadOnly = false })
}

// rot lets the bytes of an op be others than were written: by a bit that flips, a write that was lost, or
// one that was meant for another place.
func (x *nemesis) rot() {
	n := x.w.nodes[x.rng.IntN(x.w.setup.replicas)]
	if !n.life.running() || n.seen.written < n.seen.start || n.seen.cuts > 0 {
		return
	}
	op := uint64(x.rng.between(int64(n.seen.start), int64(n.seen.written)))
	if x.rng.chance(0.3) {
		op = n.seen.written
	}
	if x.mayRot(n, op) {
		x.damage(n, op)
	}
}

// mayRot tells whether an op of n's log may be damaged now.
func (x *nemesis) mayRot(n *node, op uint64) bool {
	return n.seen.at(op) != nil && !n.shaken && op <= n.seen.written && n.seen.cuts == 0 && n.life.running() && (x.w.setup.dangers.reckless || x.mayDamage(n, span{op, op}))
}

// damage changes the bytes of an op.
func (x *nemesis) damage(n *node, op uint64) {
	f := n.find(op)
	if f.bytes == nil {
		return // an install has just begun to put others in their place
	}
	name, at, size := f.name, f.at, int64(len(f.bytes))
	n.rotted = true
	x.w.cover.Rots++
	switch x.rng.IntN(4) {
	case 0:
		x.w.note(n.id, "lost write", name, op)
		n.fs.Overwrite(name, at, make([]byte, size))
	case 1:
		x.w.note(n.id, "misdirected write", name, op)
		n.fs.Overwrite(name, at, x.astray(n, op, size))
	default:
		x.w.note(n.id, "rot", name, op)
		n.fs.Rot(name, at+x.rng.Int64N(size), 1<<x.rng.IntN(8))
	}
	if p := n.life; op > p.status().Commit.Op { // seldom read: by who sends it again. Meanwhile later ops are on their way to the disk
		p.after(0, func() { p.look(op) })
	}
}

// astray is what a write that was meant for the place of another op leaves within size bytes.
func (x *nemesis) astray(n *node, op uint64, size int64) []byte {
	from := uint64(x.rng.between(int64(n.seen.start), int64(n.seen.written)))
	frame := n.frameOf(from)
	if from == op || frame == nil {
		frame = make([]byte, size)
	}
	return frame[:min(size, int64(len(frame)))]
}

// scrub reads one op after another, for ever, and tells of damage.
func (p *process) scrub(op uint64) {
	p.after(p.n.rng.around(20*millisecond), func() {
		if op = p.log().Sound(op); op > p.status().Commit.Op {
			p.scrub(0)
			return
		}
		p.look(op)
		if p.alive() {
			p.scrub(op + 1)
		}
	})
}

// look reads an op and tells of damage.
func (p *process) look(op uint64) {
	_, _, err := p.log().ReadFrame(op, nil)
	p.damaged(err)
}

// damaged tells the replica of damage that a reader met.
func (p *process) damaged(err error) {
	if in, ok := partition.Damaged(err); ok {
		p.handle(&in, nil, "damaged")
	}
}

// scrubAll reads everything once.
func (w *world) scrubAll() {
	for _, n := range w.nodes {
		if !n.life.running() {
			continue
		}
		for op := n.life.log().Start(); op <= n.life.status().Commit.Op; op++ {
			n.life.look(op)
		}
	}
}
