package sim

// lastWords lets a replica that has just acknowledged an op die, and what it said come when its next life is known:
// it says nothing about that one. So that it matters, as many others do not get the op as a quorum leaves out.
type lastWords struct {
	rng    stream
	alone  int // times that others may be cut off from the primary for it
	deaths int // lives that may end over it
}

func (l *lastWords) init(w *world) {
	if *l = (lastWords{rng: newStream(w.seed, "last words")}); w.setup.dangers.kill > 0 && w.setup.replicas > 1 {
		l.alone, l.deaths = 3, 2
	}
}

// lastWord is told of an acknowledgement that is about to be sent.
func (w *world) lastWord(p *process, op uint64) {
	l, lead := &w.aimed.words, w.leader()
	if !w.faulty || lead == noNode || lead == p.n.id || w.check.top() >= op || w.nemesis.down() > 0 {
		return
	}
	var behind []int
	for j, n := range w.nodes {
		if j != lead && j != p.n.id && n.seen.head() < op {
			behind = append(behind, j)
		}
	}
	left := w.tolerated()
	switch {
	case len(behind) >= left && l.deaths > 0 && l.rng.chance(0.5):
		l.deaths--
		w.dieAndBeHeard(p)
	case l.alone > 0 && l.rng.chance(0.02):
		l.alone--
		for j := range w.nodes {
			if j != lead && j != p.n.id && left > 0 {
				left--
				w.nemesis.cutBetween(j, lead, 300*millisecond)
			}
		}
	}
}

// dieAndBeHeard ends a life soon, and lets nothing of what it says from now on be heard before its next life.
func (w *world) dieAndBeHeard(p *process) {
	w.cover.LastWords++
	w.net.withhold(p)
	w.after(w.aimed.words.rng.around(2*millisecond), func() {
		if !p.alive() {
			return
		}
		p.n.end(killed)
		w.after(w.aimed.words.rng.around(millisecond), func() {
			if !p.n.life.alive() && !p.n.gone {
				p.n.start()
			}
		})
	})
}
