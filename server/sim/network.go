package sim

import (
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// network joins the replicas: for each pair a protocol link and a bulk link, which go up and down
// together.
type network struct {
	w     *world
	rng   stream
	cut   [vsr.ReplicasMax][vsr.ReplicasMax]bool  // nothing passes from one to the other
	clog  [vsr.ReplicasMax][vsr.ReplicasMax]int64 // what is sent from one to the other comes no earlier
	deaf  [vsr.ReplicasMax]int64                  // no beat reaches a replica before
	hush  [vsr.ReplicasMax][vsr.ReplicasMax]int64 // of what one says to the other only answers arrive before
	conns [vsr.ReplicasMax][vsr.ReplicasMax]*conn

	withheld [vsr.ReplicasMax][vsr.ReplicasMax]*withheld // by sender
}

// conn is a connection between two lives. Each side learns of its end by itself.
type conn struct {
	ends [2]*side
}

type side struct {
	p    *process
	up   bool
	last [3]int64 // by lane: when the last message to this side arrives
	way  [3]int   // by lane: how many are under way to it
}

// end returns the side of replica i.
func (c *conn) end(i int) *side {
	for _, s := range c.ends {
		if s.p.n.id == i {
			return s
		}
	}
	return nil
}

const (
	redialNs = 30 * millisecond // mean time between two tries to connect
	retryNs  = 10 * millisecond
)

func (n *network) init(w *world) {
	n.w, n.rng = w, newStream(w.seed, "network")
	for i := range w.setup.replicas {
		for j := range i {
			n.keep(j, i)
		}
	}
}

// keep looks after the link of a pair for ever.
func (n *network) keep(i, j int) {
	n.w.after(n.rng.around(redialNs), func() {
		n.connect(i, j)
		n.keep(i, j)
	})
}

func (n *network) open(i, j int) bool { return !n.cut[i][j] && !n.cut[j][i] }

// linked tells whether messages pass from i to j and back.
func (n *network) linked(i, j int) bool {
	c := n.conns[i][j]
	if c == nil || !n.open(i, j) {
		return false
	}
	for _, s := range c.ends {
		if !s.up || s.p.paused || s.p != n.w.nodes[s.p.n.id].life || !s.p.running() {
			return false
		}
	}
	return true
}

// connect makes a connection where there is none and both sides can be reached.
func (n *network) connect(i, j int) {
	a, b := n.w.nodes[i].life, n.w.nodes[j].life
	if !a.running() || !b.running() || a.paused || b.paused || !n.open(i, j) {
		return
	}
	old := n.conns[i][j]
	if old != nil && old.end(i).p == a && old.end(j).p == b && old.end(i).up && old.end(j).up {
		return
	}
	c := &conn{ends: [2]*side{{p: a}, {p: b}}}
	if n.rng.chance(0.5) {
		c.ends[0], c.ends[1] = c.ends[1], c.ends[0]
	}
	if old != nil {
		n.drop(old, a, false)
		n.drop(old, b, false)
	}
	n.conns[i][j], n.conns[j][i] = c, c
	for k, s := range c.ends {
		other := c.ends[1-k].p
		if !s.p.alive() || !other.alive() { // one of them died over what the other side's end did
			return
		}
		s.p.handle(&vsr.Input{Kind: vsr.InHello, Peer: uint8(other.n.id), Incarnation: other.incarnation}, nil, "hello")
	}
	for k, s := range c.ends {
		other := c.ends[1-k].p
		if !s.p.alive() || !other.alive() {
			return
		}
		s.up = true
		s.p.handle(&vsr.Input{Kind: vsr.InLinkUp, Peer: uint8(other.n.id)}, nil, "link up")
	}
}

// drop tells one life that its end of a connection has ended.
func (n *network) drop(c *conn, p *process, refused bool) {
	for k, s := range c.ends {
		if s.p != p || !s.up {
			continue
		}
		s.up = false
		other := c.ends[1-k].p.n.id
		p.happen(func() {
			p.handle(&vsr.Input{Kind: vsr.InLinkDown, Peer: uint8(other), Refused: false}, nil, "link down")
		})
		if refused {
			p.after(n.rng.between(0, millisecond), func() { n.refuse(p, other) })
		}
	}
}

// refuse is a redial that finds nothing listening.
func (n *network) refuse(p *process, other int) {
	if c := n.conns[p.n.id][other]; n.open(p.n.id, other) && !n.w.nodes[other].life.alive() && (c == nil || !c.end(p.n.id).up) {
		p.handle(&vsr.Input{Kind: vsr.InLinkDown, Peer: uint8(other), Refused: true}, nil, "refused")
	}
}

// died lets the others learn of the end of a life: a dead process's sockets are reset at once, a dead
// machine is only missed.
func (n *network) died(i int, how ending) {
	for j := range n.w.setup.replicas {
		c := n.conns[i][j]
		if c == nil || !c.end(j).up {
			continue
		}
		p, delay := c.end(j).p, n.rng.between(0, 5*millisecond)
		if how == powered {
			delay = n.rng.between(second, 4*second)
		}
		n.w.after(delay, func() {
			if p.alive() {
				n.drop(c, p, how == killed)
			}
		})
	}
}

// joined lets a new life be dialled soon.
func (n *network) joined(i int) {
	for j := range n.w.setup.replicas {
		if j != i {
			n.w.after(n.rng.around(retryNs), func() { n.connect(min(i, j), max(i, j)) })
		}
	}
}

// setCut opens or closes one direction. A link that carries nothing in one direction is given up
// after a while, or is not.
func (n *network) setCut(from, to int, cut bool) {
	if n.cut[from][to] == cut {
		return
	}
	n.cut[from][to] = cut
	c := n.conns[from][to]
	if !cut || c == nil {
		return
	}
	n.w.after(n.rng.between(100*millisecond, 5*second), func() {
		if !n.cut[from][to] || n.conns[from][to] != c {
			return
		}
		for _, s := range c.ends {
			if s.p.alive() {
				n.drop(c, s.p, false)
			}
		}
	})
}

// heal opens everything. What is held back comes now.
func (n *network) heal() {
	n.clog, n.hush, n.deaf = [vsr.ReplicasMax][vsr.ReplicasMax]int64{}, [vsr.ReplicasMax][vsr.ReplicasMax]int64{}, [vsr.ReplicasMax]int64{}
	n.withheld = [vsr.ReplicasMax][vsr.ReplicasMax]*withheld{}
	for i := range n.cut {
		for j := range n.cut[i] {
			n.cut[i][j] = false
		}
	}
}

// send carries a message, drawn as bytes and read again on the other side.
func (n *network) send(p *process, m *vsr.Message, frame []byte) {
	if m.Kind == vsr.MsgBeat && n.w.now < n.deaf[m.To] || n.w.now < n.hush[p.n.id][m.To] && !isAnswer(m.Kind) {
		return
	}
	envelope := wire.AppendEnvelope(nil, m, len(frame))
	frame = append([]byte(nil), frame...)
	n.carry(p, int(m.To), m.Kind.Lane(), len(envelope)+len(frame), n.w.script.fateOf(m), func(q *process) {
		got := n.parse(p, envelope)
		if len(frame) == 0 {
			q.receive(got, nil)
			return
		}
		q.receive(got, frame)
	})
}

// sendChunk carries a run of committed ops on the bulk link, which takes its time for each: whoever
// dies meanwhile has some of them.
func (n *network) sendChunk(p *process, m *vsr.Message, frames [][]byte) {
	envelope, fate := wire.AppendEnvelope(nil, m, bulkBytes(frames)), n.w.script.fateOf(m)
	for i, f := range frames {
		n.carry(p, int(m.To), vsr.LaneBulk, len(f), fate, func(q *process) {
			got := n.parse(p, envelope)
			q.receive(got, f)
			if i < len(frames)-1 || !q.alive() {
				return
			}
			q.handle(&vsr.Input{Kind: vsr.InChunkEnd, Peer: got.From, Round: got.Round, Window: got.Window, ID: vsr.ID{Op: got.ToOp}, OK: true}, nil, "chunk end")
		})
	}
}

func bulkBytes(frames [][]byte) (bytes int) {
	for _, f := range frames {
		bytes += len(f)
	}
	return bytes
}

// parse reads an envelope on the other side.
func (n *network) parse(p *process, envelope []byte) vsr.Message {
	m, _, err := wire.ParseEnvelope(envelope)
	if err != nil {
		n.w.fail("frame", "a message of replica %d cannot be read: %v", p.n.id, err)
	}
	return m
}

// carry brings something to the other side of a link, later, in the order of its lane; or it loses
// it, or brings it twice, or late, as the setup of the run wants.
func (n *network) carry(p *process, to int, lane vsr.Lane, bytes int, f fate, arrive func(q *process)) {
	c := n.conns[p.n.id][to]
	if c == nil || c.end(p.n.id).p != p || !c.end(p.n.id).up || n.cut[p.n.id][to] {
		return
	}
	s, o := c.end(to), &n.w.setup
	if h := n.withheld[p.n.id][to]; h != nil && h.from == p && h.to == s.p {
		h.what = append(h.what, arrive)
		return
	}
	if n.w.faulty && n.rng.chance(o.loss) {
		return
	}
	if o.bound > 0 && lane != vsr.LaneBulk && s.way[lane] >= o.bound { // the queue is full
		n.w.cover.Overflows++
		return
	}
	at := n.w.now + 20*microsecond + n.rng.around(o.netDelay)
	if lane == vsr.LaneBulk { // it carries one byte after another
		at = max(at, s.last[lane]) + int64(bytes)*o.slowBulk/1024
	}
	at = max(at, s.last[lane]+1, n.clog[p.n.id][to])
	if f != (fate{}) && !n.w.script.goesOn(f, at, s.p, arrive) {
		return
	}
	if n.w.faulty && lane != vsr.LaneBulk && n.rng.chance(o.reorder) {
		at += n.rng.around(4 * o.netDelay) // others pass it
	} else {
		s.last[lane] = at
	}
	n.arriveAt(at, s, lane, arrive)
	if n.w.faulty && n.rng.chance(o.twice) {
		n.lateAt(at+n.rng.around(10*millisecond), s.p, arrive)
	}
	if n.w.faulty && n.rng.chance(o.late) {
		n.lateAt(at+n.rng.between(0, 2*second), s.p, arrive)
	}
}

// arriveAt delivers while this end of the connection stands.
func (n *network) arriveAt(at int64, s *side, lane vsr.Lane, arrive func(q *process)) {
	s.way[lane]++
	n.w.after(at-n.w.now, func() {
		s.way[lane]--
		if s.up && s.p.alive() {
			s.p.happen(func() { arrive(s.p) })
		}
	})
}

// lateAt delivers to a life, whatever has become of the connection.
func (n *network) lateAt(at int64, p *process, arrive func(q *process)) {
	n.w.after(at-n.w.now, func() {
		if p.running() {
			p.happen(func() { arrive(p) })
		}
	})
}
