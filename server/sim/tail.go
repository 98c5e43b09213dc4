package sim

// loseTails strikes where damage costs most: the op that a primary has just committed with one backup is
// damaged there, the others have not got it yet, and the primary dies. Who is left can only tell that it may
// have held that op, and must wait for the one that has it.
func (x *nemesis) loseTails() {
	if x.w.setup.dangers.rot == 0 || x.w.setup.replicas == 1 {
		return
	}
	rng := newStream(x.w.seed, "lost tails")
	for range rng.between(0, 4) {
		x.w.after(rng.between(0, x.w.setup.faultNs), func() { x.loseTail(rng) })
	}
}

func (x *nemesis) loseTail(rng stream) {
	lead := x.w.leader()
	if !x.w.faulty || lead == noNode {
		return
	}
	n := x.w.nodes[(lead+1+rng.IntN(x.w.setup.replicas-1))%x.w.setup.replicas]
	for j := range x.w.setup.replicas {
		if j != lead && j != n.id {
			x.cutFor(lead, j, 200*millisecond)
		}
	}
	x.w.after(rng.between(0, 100*millisecond), func() {
		if rng.chance(0.5) {
			x.loseTailOf(n, lead, rng)
			return
		}
		x.once(x.w.now+100*millisecond, n.endsWithWhatItMustNotDeny, func() {
			if x.loseTailOf(n, lead, rng) {
				x.cutOff(lead, 2*second) // also when it is back: the others go on without it for a while
			}
		})
	})
}

// endsWithWhatItMustNotDeny tells whether the last op of a log is committed, and its replica has not heard of that.
func (n *node) endsWithWhatItMustNotDeny() bool {
	s, ok := n.w.statusOf(n.id)
	return ok && s.Head.Op == n.w.check.top() && s.Commit.Op < s.Head.Op
}

// loseTailOf damages the last op on the disk of n, and kills the primary that it has it from. It tells whether it
// could.
func (x *nemesis) loseTailOf(n *node, lead int, rng stream) bool {
	op := n.seen.written
	if !x.w.faulty || x.w.leader() != lead || !n.life.running() || n.life.paused || op < n.seen.start || n.seen.cuts > 0 || x.down() >= x.w.setup.dangers.downMax {
		return false
	}
	f := n.find(op)
	if f.bytes == nil || !x.mayDamage(n, span{op, op}) {
		return false
	}
	n.rotted = true
	x.w.cover.Rots++
	x.w.note(n.id, "rot", f.name, op)
	n.fs.Rot(f.name, f.at+rng.Int64N(int64(len(f.bytes))), 1)
	primary := x.w.nodes[lead]
	primary.end(killed)
	x.restartLater(primary)
	n.life.after(0, func() { n.life.look(op) })
	return true
}
