package sim

import (
	"fmt"
	"strings"

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
//     else holds, an undamaged copy is left with a replica that remembers;
//   - a replica with damage does not lose power: what was not synced of its mark would let damage pass
//     for a torn tail.
//
// A reckless run breaks the second rule, and may then end unavailable: see excuse.

// tolerated is how many replicas a quorum leaves out.
func (w *world) tolerated() int { return w.setup.replicas - w.quorum() }

// impaired tells whether n has lost something and not got it back yet.
func (n *node) impaired() bool {
	if n.forgets() || n.gone {
		return true
	}
	if !n.rotted {
		return false
	}
	s, ok := n.w.statusOf(n.id)
	return !ok || s.Top > s.Head.Op || s.Holes > 0 || n.damaged()
}

// mayLose tells whether the cluster can go on without anything that n has.
func (x *nemesis) mayLose(n *node) bool {
	impaired := 1
	for _, o := range x.w.nodes {
		if o != n && o.impaired() {
			impaired++
		}
	}
	return impaired <= x.w.tolerated() && x.w.tell(func(o *node) bool { return o == n || o.impaired() }) == ""
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
			if o.reads(id) {
				good = true
			} else {
				harmed++
			}
		}
	}
	return harmed <= x.w.tolerated() && (good || !held)
}

// lacks tells whether n may have held an op of this number and has lost it to damage.
func (n *node) lacks(op uint64) bool {
	if !n.rotted {
		return false
	}
	s, ok := n.w.statusOf(n.id)
	return !ok || op > s.Head.Op && op <= s.Top
}

// tell says which op would be lost without the replicas that are out, or "".
func (w *world) tell(out func(*node) bool) string {
	top := w.check.top()
	for _, n := range w.nodes {
		top = max(top, n.seen.head())
	}
	for op := uint64(1); op <= top; op++ {
		if w.trimmed(op, out) {
			continue
		}
		if c := w.check.at(op); c != nil {
			if !w.readable(c.ID(), out) {
				return fmt.Sprintf("op %d, which is committed, is left undamaged on no replica that remembers", op)
			}
			continue
		}
		for _, n := range w.nodes {
			if h := n.seen.at(op); h != nil && !out(n) && !w.readable(h.ID(), out) {
				return fmt.Sprintf("op %d, which replica %d has held, is left undamaged on no replica that remembers", op, n.id)
			}
		}
	}
	return ""
}

// trimmed tells whether a replica that is not out begins behind op: its chain tells of it.
func (w *world) trimmed(op uint64, out func(*node) bool) bool {
	for _, n := range w.nodes {
		if !out(n) && n.seen.start > op {
			return true
		}
	}
	return false
}

func (w *world) readable(id vsr.ID, out func(*node) bool) bool {
	for _, n := range w.nodes {
		if !out(n) && n.reads(id) {
			return true
		}
	}
	return false
}

// reads tells whether the files of n have this op, undamaged.
func (n *node) reads(id vsr.ID) bool {
	if !n.seen.holds(id) {
		return false
	}
	if !n.rotted { // nothing has damaged it
		return true
	}
	frame := n.frameOf(id.Op)
	if frame == nil {
		return false
	}
	h, err := wire.ParseSealed(frame)
	return err == nil && h.ID() == id && wire.Sum(frame[wire.HeaderBytes:]) == h.BodySum
}

// damaged tells whether an op of n's log is not what was written.
func (n *node) damaged() bool {
	if !n.rotted {
		return false
	}
	for op := n.seen.start; op <= n.seen.written; op++ {
		if !n.reads(n.seen.at(op).ID()) {
			return true
		}
	}
	return false
}

// frameOf returns the bytes where the frame of op stands, or nil.
func (n *node) frameOf(op uint64) []byte {
	name, at, size := n.placeOf(op)
	if name == "" {
		return nil
	}
	content, err := n.fs.ReadFile(name)
	if err != nil || int64(len(content)) < at+size {
		return nil
	}
	return content[at : at+size]
}

// placeOf finds the frame of op: in a segment frames stand back to back.
func (n *node) placeOf(op uint64) (name string, at, size int64) {
	names, err := n.fs.List(logDir)
	if err != nil {
		return "", 0, 0
	}
	first := uint64(0)
	for _, file := range names {
		var f uint64
		if digits, ok := strings.CutSuffix(file, ".seg"); ok && !strings.HasPrefix(file, "next") {
			if _, err := fmt.Sscanf(digits, "%d", &f); err == nil && f <= op && f > first {
				first, name = f, logDir+"/"+file
			}
		}
	}
	if name == "" || n.seen.at(first) == nil || n.seen.at(op) == nil {
		return "", 0, 0
	}
	for i := first; i < op; i++ {
		at += frameBytes(n.seen.at(i))
	}
	return name, at, frameBytes(n.seen.at(op))
}

func frameBytes(h *vsr.Header) int64 { return wire.HeaderBytes + int64(h.BodyBytes) }
