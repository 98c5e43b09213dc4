package sim

import (
	"fmt"
	"slices"

	"rejoin/server/vsr"
)

// The storage model: what disks may do to a cluster that must survive it. With f the number of replicas
// that a quorum leaves out (1 of 3, 2 of 5):
//
//   - when a replica forgets what it acknowledged (by a lost directory, or by a power cut or a failed sync
//     in a topic whose acknowledgements rest on writes), or is gone for good, at most f are impaired: have
//     forgotten and not yet earned it back, or have damage that is not repaired yet. The same
//     holds for damage that leaves a trimmed log no checkpoint, so that the next start gives the log up: it forgets
//     also what it had trimmed, which is what lets a peer go on without an op that is damaged there;
//   - of ops of one number at most f copies are damaged or forgotten; and of one that is committed, or that somebody
//     else holds, an undamaged copy is left with a replica that remembers. Damaged is also what stands behind
//     damage in a file without an index: nothing tells the next start where it is; and what stands behind damage
//     above the last checkpoint of the client table: the next start ends the log there. That is true of what is
//     appended there later, too, until the damage is mended;
//   - a replica loses power together with damage only where its mark, as it was last synced, tells that it held what
//     the next start cannot read: above that, damage passes for a torn tail. See mayLosePower.
//
// A reckless run breaks the second rule, and may then end unavailable: see excuse.

// tolerated is how many replicas a quorum leaves out.
func (w *world) tolerated() int { return w.setup.replicas - w.quorum() }

// survey is what is left on every disk at a moment.
type survey struct {
	w        *world
	impaired [vsr.ReplicasMax]bool     // has lost something and not got it back yet
	lost     [vsr.ReplicasMax][]uint64 // ops whose copy is damaged, or goes with damage in the start that is under way; rising
}

func (w *world) survey() *survey {
	v := &survey{w: w}
	for i, n := range w.nodes {
		if n.rotted {
			v.lost[i] = n.damagedOps()
		}
		if n.rotted && n.life.alive() && !n.life.running() { // its start is under way, and cuts
			v.lost[i] = n.loses(span{}).ops
		}
		v.impaired[i] = n.forgets() || n.gone || n.rotted && (len(v.lost[i]) > 0 || n.recordsDamage())
	}
	return v
}

// recordsDamage tells whether the replica knows of damage that it has not repaired, durably, or cannot be asked.
func (n *node) recordsDamage() bool {
	s, ok := n.w.statusOf(n.id)
	return !ok || s.Top > s.Head.Op || s.Holes > 0 || n.seen.kept > n.seen.durable
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

// undecided says which op that nobody has committed may have been acknowledged by more replicas, all of which are
// out or have lost it, than the others could deny it without; or "". It is decided where one that is left has the log
// of a later view, or has an op there in that of the same view.
func (v *survey) undecided(out [vsr.ReplicasMax]bool) string {
	top := uint64(0)
	for _, n := range v.w.nodes { // also of those that have just been started and cannot be asked
		top = max(top, n.seen.head(), n.seen.kept)
	}
	for op := v.w.check.top() + 1; op <= top; op++ {
		harmed, lost, left := 0, uint64(0), uint64(0) // of views: one above the latest log_view of those that lack it, and of those that decide
		for i, n := range v.w.nodes {
			view := n.seen.logView + 1
			if _, is := slices.BinarySearch(v.lost[i], op); is || out[i] || n.lacks(op) {
				harmed, lost = harmed+1, max(lost, view)
			} else if n.seen.at(op) != nil {
				left = max(left, view)
			} else {
				left = max(left, view-1)
			}
		}
		if harmed > v.w.tolerated() && left < lost {
			return fmt.Sprintf("op %d may have been held by %d replicas that have lost it, and nobody has it", op, harmed)
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

// mayDamage tells whether the copies that n has of these ops may be damaged.
func (x *nemesis) mayDamage(n *node, ops span) bool {
	var lost [vsr.ReplicasMax]loss
	last := n.seen.head()
	for i, o := range x.w.nodes {
		last = max(last, o.seen.head(), o.seen.kept)
		if o != n && o.rotted {
			lost[i] = o.loses(span{})
		}
	}
	own := n.loses(ops)
	if own.all && !x.mayLose(n) {
		return false
	}
	for _, op := range own.ops {
		if !x.mayDamageOne(n, n.seen.at(op).ID(), &lost) {
			return false
		}
	}
	for op := own.from; op > 0 && op <= last+1; op++ { // beyond, all is as it is there
		if x.harmedBut(n, op, &lost) >= x.w.tolerated() {
			return false
		}
	}
	return true
}

// mayDamageOne tells it of one op that n has.
func (x *nemesis) mayDamageOne(n *node, id vsr.ID, lost *[vsr.ReplicasMax]loss) bool {
	held, good := id.Op <= x.w.check.top(), false
	for i, o := range x.w.nodes {
		if o == n {
			continue
		}
		held = held || o.seen.holds(id)
		good = good || !o.harmedAt(id.Op, &lost[i]) && (o.seen.start > id.Op || o.seen.holds(id))
	}
	return x.harmedBut(n, id.Op, lost) < x.w.tolerated() && (good || !held)
}

// harmedBut counts the replicas other than n that have lost an op of this number, or will when they append one.
// Who has lost another op of this number counts, too: nothing tells any more that it was another.
func (x *nemesis) harmedBut(n *node, op uint64, lost *[vsr.ReplicasMax]loss) int {
	harmed := 0
	for i, o := range x.w.nodes {
		if o != n && o.harmedAt(op, &lost[i]) {
			harmed++
		}
	}
	return harmed
}

func (n *node) harmedAt(op uint64, lost *loss) bool {
	return lost.has(op) || n.forgets() || n.lacks(op)
}

// lacks tells whether n may have held an op of this number and has lost it to damage. What has come again counts
// once it is synced.
func (n *node) lacks(op uint64) bool {
	if !n.rotted {
		return false
	}
	if op <= n.seen.kept && op > n.seen.durable {
		return true
	}
	s, ok := n.w.statusOf(n.id)
	return !ok || op > s.Head.Op && op <= s.Top
}

// mayLosePower tells whether a power cut leaves a record of everything that damage hides: the mark, which is
// synced once a second, by each cut and by each start. Until a queued cut is done the damage that it is about to
// drop counts, too; so does damage that has been mended and not synced.
func (n *node) mayLosePower() bool {
	if n.unmarked || n.seen.hidden > n.seen.marked {
		return false
	}
	if !n.rotted {
		return true
	}
	cut := n.fs.Clone()
	cut.CrashHard()
	return max(n.lastLost(n.fs), n.lastLost(cut)) <= n.seen.marked
}
