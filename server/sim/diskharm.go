package sim

import (
	"errors"
	"strings"
	"syscall"

	"rejoin/server/journal"
	"rejoin/server/journal/faultfs"
	"rejoin/server/vsr"
)

// endless stands for a disk of which only the room that is left is asked.
const endless = int64(1) << 40

// fillDisk leaves a disk little or no room for a while.
func (x *nemesis) fillDisk() {
	n := x.w.nodes[x.rng.IntN(x.w.setup.replicas)]
	n.fs.CapacityBytes = endless
	free, err := n.fs.FreeBytes()
	if err != nil {
		x.w.fail("sim", "free bytes: %v", err)
	}
	n.fs.CapacityBytes = max(endless-int64(free)+x.rng.between(0, 2*x.w.setup.segmentBytes), 1)
	x.w.note(n.id, "disk full", "")
	x.w.cover.DiskFull++
	fs := n.fs
	x.w.after(x.rng.around(2*second), func() { fs.CapacityBytes = 0 })
}

// failSync lets one of the next syncs fail. The pages it should have written look clean from then on.
func (x *nemesis) failSync() {
	n := x.w.nodes[x.rng.IntN(x.w.setup.replicas)]
	if !x.w.setup.synced && !x.mayForget(n) { // what it has acknowledged without a sync will be lost
		return
	}
	x.w.note(n.id, "sync will fail", "")
	n.mayFail = true
	n.fs.Inject(faultfs.Fault{Verb: faultfs.VerbSync, After: int(x.rng.between(0, 8)), Err: syscall.EIO, DropDirty: true})
}

// rot flips a bit of a segment file. Only one replica's disk rots in a run: what no other replica
// holds would be lost.
func (x *nemesis) rot() {
	n := x.w.nodes[x.w.rotten()]
	names, err := n.fs.List(logDir)
	if err != nil {
		return // it has not been formatted
	}
	var segments []string
	for _, name := range names {
		if strings.HasSuffix(name, ".seg") && !strings.HasPrefix(name, "next") {
			segments = append(segments, logDir+"/"+name)
		}
	}
	if len(segments) == 0 {
		return
	}
	name := segments[x.rng.IntN(len(segments))]
	content, err := n.fs.ReadFile(name)
	if err != nil {
		x.w.fail("sim", "read %s: %v", name, err)
	}
	used := int64(len(content))
	for used > 0 && content[used-1] == 0 {
		used--
	}
	if used == 0 {
		return
	}
	at := x.rng.Int64N(used)
	x.w.note(n.id, "rot", name, uint64(at))
	n.fs.Rot(name, at, 1<<x.rng.IntN(8))
	x.w.cover.Rots++
}

// rotten is the one replica whose disk may rot.
func (w *world) rotten() int { return int(w.seed % uint64(w.setup.replicas)) }

func (n *node) rots() bool { return n.w.setup.dangers.rot > 0 && n.id == n.w.rotten() }

// scrub reads one op after another, for ever, and tells of damage.
func (p *process) scrub(op uint64) {
	p.after(p.n.rng.around(20*millisecond), func() {
		if start := p.log().Start(); op < start {
			op = start
		}
		if op > p.status().Commit.Op {
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
	var d *journal.DamageError
	if errors.As(err, &d) {
		p.handle(&vsr.Input{Kind: vsr.InDamaged, ID: vsr.ID{Op: d.Op}}, nil, "damaged")
	}
}

// scrubAll reads everything once.
func (w *world) scrubAll() {
	for _, n := range w.nodes {
		for op := n.life.log().Start(); op <= n.life.status().Commit.Op; op++ {
			n.life.look(op)
		}
	}
}
