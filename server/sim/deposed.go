package sim

import (
	"syscall"

	"rejoin/server/journal/faultfs"
)

// What may happen to a primary that is replaced and does not know it: it wakes late, its disk has filled with
// what nobody else has, its last words come when others have gone on.

const deposedNs = 4 * second // it is cut off for so long at most

// sleep stops the primary and cuts it off. As soon as the others have acknowledged something it wakes, and still
// believes to lead, for its clock has stood, too: readers ask it for the latest. Sometimes nobody can reach it
// but a replica that has just lost all it knew.
func (x *nemesis) sleep() {
	lead, rng := x.w.leader(), x.rng
	if lead == noNode || x.w.setup.replicas == 1 || x.down() >= x.w.setup.dangers.downMax || x.w.nodes[lead].life.paused {
		return
	}
	p := x.w.nodes[lead].life
	x.cutOff(lead, deposedNs)
	p.pause(deposedNs)
	x.w.cover.Pauses++
	x.onceReplaced(x.w.now+deposedNs, func() {
		if !p.running() {
			return
		}
		if rng.chance(0.5) {
			x.forgetBeside(lead, rng)
		}
		p.resume()
		for range 3 {
			p.after(rng.around(millisecond), func() { x.w.readLatest(p) })
		}
	})
}

// forgetBeside lets one of three lose its directory, and reach nobody but the primary that was.
func (x *nemesis) forgetBeside(lead int, rng stream) {
	if x.w.setup.replicas != 3 || x.down() >= x.w.setup.dangers.downMax {
		return
	}
	i := (lead + pick(rng, 1, 2)) % 3
	n, third := x.w.nodes[i], 3-lead-i
	if !n.life.alive() || !x.mayLose(n) {
		return
	}
	n.end(powered)
	n.wipe()
	x.cutFor(i, third, deposedNs/2)
	x.cutFor(third, i, deposedNs/2)
	x.reopen(lead, i)
	x.w.after(rng.around(5*millisecond), func() {
		if !n.life.alive() && !n.gone {
			n.start()
		}
	})
}

// choke cuts the primary off from the others but not from its clients. Once its disk has an op that nobody else
// has, there is no room for more. When it is replaced it hears of that from backups alone, and learns what was
// committed in the place of its ops; its disk still has the old ones then. Now the next primary is cut off, so
// that the view rises once more, and who has no room falls as soon as it has saved that.
func (x *nemesis) choke() {
	lead := x.w.leader()
	if lead == noNode || x.w.setup.replicas == 1 {
		return
	}
	n, until := x.w.nodes[lead], x.w.now+deposedNs
	x.cutOff(lead, deposedNs)
	x.once(until, n.isAloneWithAnOp, func() { x.refuseMore(n, until) })
	x.onceReplaced(until, func() {
		next := x.w.leader()
		if next == noNode || next == lead {
			return
		}
		for j := range x.w.nodes {
			if j != next {
				x.reopen(lead, j)
			}
		}
		x.once(until, n.holdsWhatIsNotCommitted, func() {
			x.cutOff(next, deposedNs/2)
			view := n.seen.view
			x.once(until, func() bool { return n.seen.view > view }, func() {
				n.end(killed)
				x.restartLater(n)
			})
		})
	})
}

// isAloneWithAnOp tells whether the disk has an op whose place is empty everywhere else.
func (n *node) isAloneWithAnOp() bool {
	for _, o := range n.w.nodes {
		if o != n && o.seen.head() >= n.seen.written {
			return false
		}
	}
	return n.life.running()
}

// refuseMore lets a disk have no room for another op, not even where a file was made long enough for it: a file
// system that never writes in place needs room for that, too.
func (x *nemesis) refuseMore(n *node, until int64) {
	if !x.w.setup.synced && !x.mayLose(n) { // a fence would take what it has acknowledged without a sync
		return
	}
	x.w.note(n.id, "disk full", "")
	x.w.cover.DiskFull++
	n.mayFail = true // where several files are written at once
	n.fs.Inject(faultfs.Fault{Verb: faultfs.VerbWrite, Name: ".seg", Sticky: true, Err: syscall.ENOSPC})
	fs := n.fs
	x.w.after(until-x.w.now, fs.Heal) // of everything: nothing tells one fault of a disk from another
}

// holdsWhatIsNotCommitted tells whether the disk still has something else where the replica knows by now what
// was committed.
func (n *node) holdsWhatIsNotCommitted() bool {
	p := n.life
	if !p.running() {
		return false
	}
	end := p.log().Written()
	c := n.w.check.at(end.Op)
	return end.Op <= p.status().Commit.Op && c != nil && c.Sum != end.Sum
}

// belate lets nothing reach the primary, and holds back what it says: its last prepares come when others lead.
func (x *nemesis) belate() {
	lead := x.w.leader()
	if lead == noNode {
		return
	}
	ns := x.rng.between(600*millisecond, 1500*millisecond)
	replaced := x.rng.chance(0.5)
	if replaced {
		x.holdUntilReplaced(lead, x.w.now+2*ns)
	}
	for j := range x.w.nodes {
		if j == lead {
			continue
		}
		x.cutFor(j, lead, ns)
		if !replaced {
			x.w.net.clog[lead][j] = max(x.w.net.clog[lead][j], min(x.w.now+ns, x.w.setup.faultNs))
		}
	}
}

// holdUntilReplaced lets what a primary says come as soon as the next one has started its view, and has perhaps
// prepared nothing yet.
func (x *nemesis) holdUntilReplaced(lead int, until int64) {
	net, view := &x.w.net, x.w.check.started
	net.withhold(x.w.nodes[lead].life)
	release := func() {
		for j := range x.w.nodes {
			net.release(lead, j)
		}
	}
	x.once(until, func() bool { return x.w.check.started > view }, release)
	x.w.after(until-x.w.now, release)
}

// cutOff lets nothing pass to or from a replica for a while.
func (x *nemesis) cutOff(i int, ns int64) {
	for j := range x.w.nodes {
		if j != i {
			x.cutFor(i, j, ns)
			x.cutFor(j, i, ns)
		}
	}
}

func (x *nemesis) reopen(i, j int) {
	if i != j {
		x.w.net.setCut(i, j, false)
		x.w.net.setCut(j, i, false)
	}
}

// onceReplaced does something when a later view has started and acknowledged an op to a client.
func (x *nemesis) onceReplaced(until int64, do func()) {
	view, acked := x.w.check.started, x.w.check.ackedOp
	x.once(until, func() bool {
		if x.w.check.started == view {
			acked = x.w.check.ackedOp
		}
		return x.w.check.ackedOp > acked
	}, do)
}

// once does something as soon as it is so, if that is before until and while faults happen.
func (x *nemesis) once(until int64, isSo func() bool, do func()) {
	switch {
	case !x.w.faulty || x.w.now >= until:
	case isSo():
		do()
	default:
		x.w.after(millisecond, func() { x.once(until, isSo, do) })
	}
}
