package sim

import (
	"fmt"
	"slices"
	"strings"

	"rejoin/server/journal/faultfs"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// The storage model: what disks may do to a cluster that must survive it. With f the number of replicas
// that a quorum leaves out (1 of 3, 2 of 5):
//
//   - when a replica forgets what it acknowledged (by a lost directory, or by a power cut or a failed sync
//     in a topic whose acknowledgements rest on writes), or is gone for good, at most f are impaired: have
//     forgotten and not yet earned it back, or have damage that is not repaired yet;
//   - of one op at most f copies are damaged or forgotten; and of one that is committed, or that somebody
//     else holds, an undamaged copy is left with a replica that remembers. Damaged is also what stands behind
//     damage in a file without an index: nothing tells the next start where it is;
//   - a replica with damage does not lose power: what was not synced of its mark would let damage pass
//     for a torn tail.
//
// A reckless run breaks the second rule, and may then end unavailable: see excuse.

// tolerated is how many replicas a quorum leaves out.
func (w *world) tolerated() int { return w.setup.replicas - w.quorum() }

// survey is what is left on every disk at a moment.
type survey struct {
	w        *world
	impaired [vsr.ReplicasMax]bool     // has lost something and not got it back yet
	lost     [vsr.ReplicasMax][]uint64 // ops whose copy is damaged, rising
}

func (w *world) survey() *survey {
	v := &survey{w: w}
	for i, n := range w.nodes {
		if n.rotted {
			v.lost[i] = n.damagedOps()
		}
		v.impaired[i] = n.forgets() || n.gone || n.rotted && (len(v.lost[i]) > 0 || n.recordsDamage())
	}
	return v
}

// recordsDamage tells whether the replica knows of damage that it has not repaired, or cannot be asked.
func (n *node) recordsDamage() bool {
	s, ok := n.w.statusOf(n.id)
	return !ok || s.Top > s.Head.Op || s.Holes > 0
}

// has tells whether replica i has this op, undamaged.
func (v *survey) has(i int, id vsr.ID) bool {
	if !v.w.nodes[i].seen.holds(id) {
		return false
	}
	_, lost := slices.BinarySearch(v.lost[i], id.Op)
	return !lost
}

// lacks says what would be lost without the replicas that are out, or "".
func (v *survey) lacks(out [vsr.ReplicasMax]bool) string {
	nodes, top := v.w.nodes, v.w.check.top()
	begins := uint64(1) // a replica that is left tells of everything below
	for i, n := range nodes {
		top = max(top, n.seen.head())
		if !out[i] {
			begins = max(begins, n.seen.start)
		}
	}
	kept := func(id vsr.ID) bool {
		for i := range nodes {
			if !out[i] && v.has(i, id) {
				return true
			}
		}
		return false
	}
	for op := begins; op <= top; op++ {
		if c := v.w.check.at(op); c != nil {
			if !kept(c.ID()) {
				return fmt.Sprintf("op %d, which is committed, is left undamaged on no replica that remembers", op)
			}
			continue
		}
		for i, n := range nodes {
			if h := n.seen.at(op); h != nil && !out[i] && !kept(h.ID()) {
				return fmt.Sprintf("op %d, which replica %d has held, is left undamaged on no replica that remembers", op, i)
			}
		}
	}
	return ""
}

// mayLose tells whether the cluster can go on without anything that n has.
func (x *nemesis) mayLose(n *node) bool {
	v := x.w.survey()
	v.impaired[n.id] = true
	impaired := 0
	for _, is := range v.impaired {
		if is {
			impaired++
		}
	}
	return impaired <= x.w.tolerated() && v.lacks(v.impaired) == ""
}

// mayDamage tells whether the copy that n has of an op may be damaged.
func (x *nemesis) mayDamage(n *node, id vsr.ID) bool {
	harmed, held, good := 1, id.Op <= x.w.check.top(), false
	for _, o := range x.w.nodes {
		switch {
		case o == n:
		case o.forgets(), o.lacks(id.Op):
			harmed++
		case o.seen.start > id.Op:
			good = true
		case o.seen.holds(id):
			held = true
			if o.reads(id) && !o.hides(id.Op) {
				good = true
			} else {
				harmed++
			}
		}
	}
	return harmed <= x.w.tolerated() && (good || !held)
}

// unindexed returns the ops from this one up that the next start of n would lose with it, were it damaged:
// where there is no index yet, where a frame begins follows from those before.
func (n *node) unindexed(op uint64) (last uint64) {
	file := n.find(op).name
	if n.has(strings.TrimSuffix(file, ".seg") + ".idx") {
		return op
	}
	n.walk(n.fs, func(f *frameAt) bool {
		if f.name == file {
			last = f.op
		}
		return f.op <= op || f.name == file
	})
	return max(last, op)
}

// hides tells whether an op stands behind damage that its next start cannot see past.
func (n *node) hides(op uint64) bool {
	return n.rotted && slices.ContainsFunc(n.damagedOps(), func(lost uint64) bool { return lost < op && n.unindexed(lost) >= op })
}

// lacks tells whether n may have held an op of this number and has lost it to damage.
func (n *node) lacks(op uint64) bool {
	if !n.rotted {
		return false
	}
	s, ok := n.w.statusOf(n.id)
	return !ok || op > s.Head.Op && op <= s.Top
}

// reads tells whether the files of n have this op, undamaged.
func (n *node) reads(id vsr.ID) bool {
	if !n.seen.holds(id) {
		return false
	}
	if !n.rotted { // nothing has damaged it
		return true
	}
	return isFrame(n.frameOf(id.Op), id)
}

// damagedOps lists the ops of n's log that are not what was written.
func (n *node) damagedOps() []uint64 { return n.damagedOn(n.fs, n.seen.written) }

// damagedOnDisk tells whether a power cut would leave damage: also what has been written over it is not there
// before it is synced.
func (n *node) damagedOnDisk() bool {
	cut := n.fs.Clone()
	cut.CrashHard()
	return len(n.damagedOps()) > 0 || len(n.damagedOn(cut, n.seen.durable)) > 0
}

func (n *node) damagedOn(fs *faultfs.FS, last uint64) (ops []uint64) {
	n.walk(fs, func(f *frameAt) bool {
		if f.op <= last && !isFrame(f.bytes, n.seen.at(f.op).ID()) {
			ops = append(ops, f.op)
		}
		return true
	})
	return ops
}

func isFrame(frame []byte, id vsr.ID) bool {
	if len(frame) < wire.HeaderBytes {
		return false
	}
	h, err := wire.ParseSealed(frame)
	return err == nil && h.ID() == id && wire.Sum(frame[wire.HeaderBytes:]) == h.BodySum
}

// frameOf returns the bytes where the frame of op stands, or nil.
func (n *node) frameOf(op uint64) []byte { return n.find(op).bytes }

func (n *node) find(op uint64) (found frameAt) {
	n.walk(n.fs, func(f *frameAt) bool {
		if f.op == op {
			found = *f
		}
		return f.op < op
	})
	return found
}

// frameAt is where the frame of an op stands.
type frameAt struct {
	op    uint64
	name  string // of the segment file
	at    int64
	bytes []byte // nil: the file ends before
}

// walk goes over the places of all frames on fs, until do says enough: in a segment, which is named by its
// first op, they stand back to back.
func (n *node) walk(fs *faultfs.FS, do func(f *frameAt) bool) {
	var f frameAt
	var content []byte
	for f.op = n.seen.start; f.op <= n.seen.head(); f.op++ {
		name := segmentName(f.op)
		if begins, err := fs.ReadFile(name); err == nil {
			f.name, f.at, content = name, 0, begins
		}
		size := wire.HeaderBytes + int64(n.seen.at(f.op).BodyBytes)
		f.bytes = nil
		if f.at+size <= int64(len(content)) {
			f.bytes = content[f.at : f.at+size]
		}
		if !do(&f) {
			return
		}
		f.at += size
	}
}
