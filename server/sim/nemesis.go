package sim

import "fmt"

// nemesis does the harm. While w.faulty it draws a fault every now and then.
type nemesis struct {
	w      *world
	rng    stream
	number uint64 // of the last fault that was drawn, from 1
	rare   rare

	quietUntil int64 // no fault strikes before, because a story is on
}

// harm is a kind of fault with its weight.
type harm struct {
	weight int64
	do     func()
}

func (x *nemesis) init(w *world) {
	x.w, x.rng = w, newStream(w.seed, "nemesis")
	x.initRare()
	x.loseTails()
	x.forgetVotes()
	x.next()
}

func (x *nemesis) next() {
	x.w.after(x.rng.around(x.w.setup.dangers.meanNs), func() {
		if !x.w.faulty {
			return
		}
		x.number++
		if x.w.now >= x.quietUntil && x.w.reduced.keeps(x.number) {
			x.numbered()
		}
		x.next()
	})
}

// numbered strikes from a stream that belongs to this fault alone, so that one that is left out does
// not change the others.
func (x *nemesis) numbered() {
	x.w.note(noNode, "fault", "", x.number)
	whole := x.rng
	x.rng = newStream(x.w.seed, fmt.Sprintf("fault %d", x.number))
	x.strike()
	x.rng = whole
}

func (x *nemesis) strike() {
	d := &x.w.setup.dangers
	harms := []harm{{d.kill, func() { x.fell(killed, false) }}, {d.powerCut, func() { x.fell(powered, false) }}, {d.blackout, x.blackout},
		{d.pause, x.pause}, {d.isolate, x.isolate}, {d.oneWay, x.oneWay}, {d.splitTwo, x.split}, {d.clog, x.clog},
		{d.wipe, func() { x.fell(powered, true) }}, {d.armed, x.arm}, {d.full, x.fillDisk}, {d.readOnly, x.refuseWrites}, {d.syncError, x.failSync},
		{d.rot, x.rot}, {d.depose, x.depose}, {d.asleep, x.sleep}, {d.choke, x.choke}, {d.belated, x.belate},
		{d.failing, x.failOnce}, {d.smallRot, x.rotSmall}, {d.lostSegment, x.loseSegment}}
	total := int64(0)
	for _, h := range harms {
		total += h.weight
	}
	if total == 0 {
		return
	}
	at := x.rng.Int64N(total)
	for _, h := range harms {
		if at < h.weight {
			h.do()
			return
		}
		at -= h.weight
	}
}

// victim draws a node that is up, or nil when no more may fall.
func (x *nemesis) victim() *node {
	var up []*node
	for _, n := range x.w.nodes {
		if n.life.alive() {
			up = append(up, n)
		}
	}
	if len(x.w.nodes)-len(up) >= x.w.setup.dangers.downMax || len(up) == 0 {
		return nil
	}
	if lead := x.w.leader(); lead != noNode && x.rng.chance(x.w.setup.dangers.aimed) {
		return x.w.nodes[lead]
	}
	return up[x.rng.IntN(len(up))]
}

// fell ends a life. What a power cut may take, or the loss of a directory, stays within what the log
// promises to survive: see storage.go.
func (x *nemesis) fell(how ending, wipe bool) {
	n := x.victim()
	if n == nil {
		return
	}
	forgets := wipe || how == powered && !x.w.setup.synced
	if forgets && !x.mayLose(n) {
		if wipe {
			return
		}
		how = killed
	}
	n.end(how)
	if wipe && !(x.rng.chance(0.4) && n.loseTables()) {
		n.wipe()
		x.w.net.deaf[n.id] = x.w.now + x.w.setup.dangers.deafNs
	}
	x.restartLater(n)
}

func (x *nemesis) restartLater(n *node) {
	x.w.after(n.back.around(x.w.setup.dangers.restartNs), func() {
		if !n.life.alive() && !n.gone {
			n.start()
		}
	})
}

// blackout cuts the power of all machines. What was not synced may be lost everywhere, which only
// promise 1 for persisted topics survives.
func (x *nemesis) blackout() {
	how := powered
	if !x.w.setup.synced {
		how = killed
	}
	for _, n := range x.w.nodes {
		n.end(how)
	}
	for _, n := range x.w.nodes {
		x.restartLater(n)
	}
}

func (x *nemesis) pause() {
	if n := x.victim(); n != nil && !n.life.paused {
		n.life.pause(x.rng.around(second))
		x.w.cover.Pauses++
	}
}

// arm lets a process die between two of its effects, or before an operation on its disk.
func (x *nemesis) arm() {
	n := x.victim()
	if n == nil {
		return
	}
	p := n.life
	p.how = pick(x.rng, killed, powered)
	if p.how == powered && !x.w.setup.synced {
		p.how = killed
	}
	if x.rng.chance(0.5) {
		p.effectsLeft = int(x.rng.between(1, 40))
	} else {
		p.opsLeft = int(x.rng.between(0, 40))
	}
	x.restartWhenDead(n)
}

func (x *nemesis) restartWhenDead(n *node) {
	x.w.after(n.back.around(x.w.setup.dangers.restartNs), func() {
		if n.life.alive() {
			if x.w.faulty {
				x.restartWhenDead(n)
			}
			return
		}
		if !n.gone {
			n.start()
		}
	})
}

// cutFor closes a direction for a while: a stability window.
func (x *nemesis) cutFor(from, to int, ns int64) {
	x.w.note(noNode, "cut", "", uint64(from), uint64(to), uint64(ns/millisecond))
	x.w.cover.Cuts++
	x.w.net.setCut(from, to, true)
	x.w.after(ns, func() { x.w.net.setCut(from, to, false) })
}

func (x *nemesis) isolate() {
	i, ns := x.rng.IntN(x.w.setup.replicas), x.rng.around(2*second)
	if lead := x.w.leader(); lead != noNode && x.rng.chance(x.w.setup.dangers.aimed) {
		i = lead
	}
	x.cutOff(i, ns)
}

// depose cuts the primary off, with what it has stamped and nobody else has, and kills the next primary
// at the moment at which the first one is back.
func (x *nemesis) depose() {
	lead := x.w.leader()
	if lead == noNode {
		return
	}
	ns := x.rng.between(600*millisecond, 2*second)
	soon := x.rng.chance(0.5)
	if soon {
		ns = 3 * second
	}
	x.cutOff(lead, ns)
	if soon {
		x.whenReplaced(lead, x.w.now+ns)
		return
	}
	x.w.after(ns+x.rng.around(30*millisecond), func() { x.fellNext(lead, x.victim()) })
}

// fellNext kills who leads in the place of another.
func (x *nemesis) fellNext(lead int, may *node) {
	next := x.w.leader()
	if !x.w.faulty || next == noNode || next == lead || may == nil {
		return
	}
	n := x.w.nodes[next]
	n.end(killed)
	x.restartLater(n)
}

// whenReplaced lets the first primary be back as soon as the next one has committed something: a short log
// of the later view then stands against a longer one of the earlier.
func (x *nemesis) whenReplaced(lead int, until int64) {
	committed, view := x.w.check.top(), x.w.check.started
	var look func()
	look = func() {
		switch {
		case !x.w.faulty || x.w.now >= until:
		case x.w.check.started == view:
			committed = x.w.check.top()
			x.w.after(millisecond, look)
		case x.w.check.top() == committed:
			x.w.after(millisecond, look)
		default:
			for j := range x.w.nodes {
				x.reopen(lead, j)
			}
			if x.down() < x.w.setup.dangers.downMax {
				x.fellNext(lead, x.w.nodes[lead])
			}
		}
	}
	look()
}

func (x *nemesis) oneWay() {
	i, j := x.rng.IntN(x.w.setup.replicas), x.rng.IntN(x.w.setup.replicas)
	if i != j {
		x.cutFor(i, j, x.rng.around(2*second))
	}
}

func (x *nemesis) split() {
	ns, here := x.rng.around(2*second), x.rng.Uint64()
	for i := range x.w.setup.replicas {
		for j := range i {
			if here>>i&1 != here>>j&1 {
				x.cutFor(i, j, ns)
				x.cutFor(j, i, ns)
			}
		}
	}
}

// clog lets a direction hold everything back for a while, and then deliver it. No clog outlasts the faults.
func (x *nemesis) clog() {
	i, j := x.rng.IntN(x.w.setup.replicas), x.rng.IntN(x.w.setup.replicas)
	if i == j {
		return
	}
	until := min(x.w.now+x.rng.around(second), x.w.setup.faultNs)
	x.w.note(noNode, "clog", "", uint64(i), uint64(j), uint64((until-x.w.now)/millisecond))
	x.w.net.clog[i][j] = max(x.w.net.clog[i][j], until)
	x.w.cover.Clogs++
}

// heal undoes all harm: the network carries everything, paused processes go on, dead ones come back, but
// for those that never do.
func (x *nemesis) heal() {
	w := x.w
	x.bury()
	w.faulty = false
	w.note(noNode, "heal", "")
	w.net.heal()
	for _, n := range w.nodes {
		n.fs.Heal()
		n.fs.CapacityBytes, n.fs.ReadOnly, n.stalledUntil = 0, false, 0
		if n.gone {
			continue
		}
		if n.life.alive() {
			n.life.effectsLeft, n.life.opsLeft = unlimited, unlimited
			n.life.resume()
		} else {
			n.start()
		}
	}
}
