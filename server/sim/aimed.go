package sim

// aimed strikes at moments that chance alone seldom meets.
type aimed struct {
	rng  stream
	left int // strikes
}

// initAimed draws a stream of its own, so that the other choices stay as they are.
func (w *world) initAimed() {
	w.aimed = aimed{rng: newStream(w.seed, "aimed strikes")}
	if w.setup.dangers.kill > 0 {
		w.aimed.left = 4
	}
}

// vouched lets a backup that has just acknowledged an op be another life when the primary comes to count
// it: while the primary's own disk is still at work on that op.
func (w *world) vouched(p *process, op uint64) {
	a := &w.aimed
	if a.left == 0 || !w.faulty {
		return
	}
	pending := func() bool {
		lead := w.leader()
		return lead != noNode && lead != p.n.id && w.nodes[lead].seen.durable < op && w.check.top() < op
	}
	if !pending() || a.rng.chance(0.7) {
		return
	}
	w.after(3*w.setup.netDelay+a.rng.around(millisecond), func() {
		if !w.faulty || !p.running() || p.paused || !pending() || w.nemesis.down() >= w.setup.dangers.downMax {
			return
		}
		a.left--
		p.n.end(killed)
		w.after(a.rng.around(millisecond), func() {
			if !p.n.life.alive() {
				p.n.start()
			}
		})
	})
}
