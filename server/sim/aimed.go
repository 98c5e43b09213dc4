package sim

// aimed strikes at moments that chance alone seldom meets: between an acknowledgement and the commit that
// counts it, between a cut and the next sync of the mark, between a write and its sync, when a view has
// just started. It leaves scripts alone.
type aimed struct {
	rng     stream
	left    int // lives that may end once they have acknowledged
	disks   stream
	cuts    int // power cuts that may follow a cut of a log
	writes  int // writes that may be damaged before they are synced
	readers stream
	marks   int // kills that may follow a mark that is synced while a cut waits
	removes int // kills that may fall while the files of a log go to which a chain succeeds
	ends    stream
	right   stream
	rights  int // power cuts that may fall right after a cut of a log
	words   lastWords
}

// initAimed draws streams of its own, so that the other choices stay as they are.
func (w *world) initAimed() {
	d := &w.setup.dangers
	w.aimed = aimed{rng: newStream(w.seed, "aimed strikes"), disks: newStream(w.seed, "aimed at disks"),
		readers: newStream(w.seed, "aimed readers"), ends: newStream(w.seed, "aimed ends"),
		right: newStream(w.seed, "aimed right after a cut")}
	w.aimed.words.init(w)
	if d.kill > 0 {
		w.aimed.left, w.aimed.marks, w.aimed.removes = 4, 4, 4
	}
	if d.powerCut > 0 && w.setup.synced {
		w.aimed.cuts = 4
	}
	if d.rot > 0 {
		w.aimed.writes = 4
	}
	if w.aimed.cuts > 0 {
		w.aimed.rights = 2
	}
}

// vouched lets a backup that has just acknowledged an op be another life when the primary comes to count
// it: while the primary's own disk is still at work on that op, and nobody else is heard.
func (w *world) vouched(p *process, op uint64) {
	a := &w.aimed
	if a.left == 0 || !w.faulty {
		return
	}
	lead := w.leader()
	pending := func() bool {
		return lead != noNode && lead == w.leader() && lead != p.n.id && w.nodes[lead].seen.durable < op && w.check.top() < op
	}
	if !pending() || a.rng.chance(0.7) {
		return
	}
	stall := a.rng.chance(0.5)
	if stall {
		w.stallAlone(lead, p.n.id, 200*millisecond)
	}
	w.after(3*w.setup.netDelay+a.rng.around(millisecond), func() {
		if !w.faulty || !p.running() || p.paused || !pending() || w.nemesis.down() >= w.setup.dangers.downMax {
			return
		}
		a.left--
		p.n.end(killed)
		if stall {
			w.nodes[lead].stallUntilHello = p.n.id
		}
		w.after(a.rng.around(millisecond), func() {
			if !p.n.life.alive() {
				p.n.start()
			}
		})
	})
}

// stallAlone lets no sync of the primary come back for a while, and nobody but one backup reach it.
func (w *world) stallAlone(lead, backup int, ns int64) {
	w.nodes[lead].stall(ns)
	for j := range w.setup.replicas {
		if j != lead && j != backup {
			w.nemesis.cutFor(j, lead, ns)
		}
	}
}

// stall lets no sync of a disk come back for a while.
func (n *node) stall(ns int64) {
	n.w.note(n.id, "disk stalls", "", uint64(ns/millisecond))
	n.w.cover.Stalls++
	n.stalledUntil, n.stallUntilHello = max(n.stalledUntil, n.w.now+ns), noNode
}

// cutDone lets the power of a replica fail soon after a cut of its log: within the second in which the
// mark is not synced for its own sake.
func (w *world) cutDone(p *process) {
	a := &w.aimed
	if a.cuts == 0 || !w.faulty || a.disks.chance(0.5) {
		return
	}
	w.after(a.disks.around(50*millisecond), func() {
		if !w.faulty || !p.running() || w.nemesis.down() >= w.setup.dangers.downMax {
			return
		}
		a.cuts--
		p.n.end(powered)
		w.nemesis.restartLater(p.n)
	})
}

// cutIsLast lets power fail before one of the next operations of a disk that has just cut its log: what the cut
// dropped must be gone by itself, and not only once something else is written and synced in its place.
func (w *world) cutIsLast(p *process) {
	a := &w.aimed
	if a.rights == 0 || !w.faulty || p.opsLeft != unlimited || w.nemesis.down() >= w.setup.dangers.downMax || a.right.chance(0.6) {
		return
	}
	a.rights--
	p.how, p.opsLeft = powered, int(a.right.between(0, 2))
	w.nemesis.restartWhenDead(p.n)
}

// justWritten lets an op be damaged that is written and not synced yet, and be read at once. The disk is
// slow to sync it, so that the op may come once more before.
func (w *world) justWritten(p *process, op uint64) {
	a := &w.aimed
	if a.writes == 0 || !w.faulty || a.disks.chance(0.9) || p.n.seen.cuts > 0 || p.n.seen.at(op) == nil {
		return
	}
	p.n.stall(a.disks.around(30 * millisecond))
	p.after(0, func() {
		if w.faulty && w.nemesis.mayRot(p.n, op) {
			a.writes--
			w.nemesis.damage(p.n, op)
		}
	})
}

// viewStarted lets readers ask for the latest as soon as a view has started, while what was inherited may
// not be committed yet.
func (w *world) viewStarted(p *process) {
	if w.script != nil || w.aimed.readers.chance(0.3) {
		return
	}
	for range 3 {
		p.after(w.aimed.readers.around(2*w.setup.netDelay), func() { w.readLatest(p) })
	}
}

// cutQueued lets readers read at a replica what it is about to cut off, until its disk has done so.
func (w *world) cutQueued(p *process, op uint64) {
	dropped := p.n.seen.at(op + 1)
	if w.script != nil || dropped == nil {
		return
	}
	w.syncMarkAndFall(p)
	if w.faulty && w.aimed.readers.chance(0.3) {
		p.n.stall(w.aimed.readers.around(20 * millisecond))
	}
	c := &consumer{w: w, rng: w.aimed.readers, once: true}
	offset, reads := dropped.BaseOffset, 0
	var again func()
	again = func() {
		if p.n.seen.cuts == 0 || reads == 50 {
			return
		}
		reads++
		c.offset = offset
		c.read(p, 1<<10)
		if p.alive() {
			p.after(w.aimed.readers.around(500*microsecond), again)
		}
	}
	p.after(0, again)
}

// syncMarkAndFall lets the mark be synced, as it is once a second, before the cut that has just been queued is
// done, and the process be killed about then: what the mark says of the commit must be true of the log as it is.
func (w *world) syncMarkAndFall(p *process) {
	a := &w.aimed
	if a.marks == 0 || !w.faulty || p.opsLeft != unlimited || w.nemesis.down() >= w.setup.dangers.downMax || a.ends.chance(0.5) {
		return
	}
	a.marks--
	p.disk.marks = w.now - markSyncNs
	w.fallsWithin(p, 8)
}

// removing lets a process end while the files go of a log whose place a chain takes: its state is one of the
// last.
func (w *world) removing(p *process, name string) {
	a := &w.aimed
	if name != logDir+"/state" || a.removes == 0 || !w.faulty || p.opsLeft != unlimited || w.nemesis.down() >= w.setup.dangers.downMax {
		return
	}
	a.removes--
	w.cover.ReceiversKilled++
	w.fallsWithin(p, 8)
}

// fallsWithin ends a process before one of the next operations of its disk.
func (w *world) fallsWithin(p *process, operations int64) {
	p.how, p.opsLeft = killed, int(w.aimed.ends.between(0, operations))
	if w.setup.synced && w.setup.dangers.powerCut > 0 && w.aimed.ends.chance(0.5) {
		p.how = powered
	}
	w.nemesis.restartWhenDead(p.n)
}
