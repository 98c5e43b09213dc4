package sim

import (
	"fmt"

	"rejoin/server/partition"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// client is a producer with one session: it registers, sends one request after another, tries the
// same one at other replicas when it hears nothing, and sometimes gives up.
type client struct {
	w   *world
	id  int
	rng stream

	name    vsr.Client
	session uint64
	request uint64
	frame   []byte // of the request under way; empty while registering
	header  vsr.Header
	busy    bool
	target  int
	try     uint64 // number of the try under way
	tries   int
	began   int64
	last    vsr.Header // of the last acknowledged request
	sent    []byte     // frame of it
	manual  bool       // a script says when it begins a request
	once    bool       // and it tries none twice
}

const (
	tryNs    = 700 * millisecond // mean patience for one try
	giveUpNs = 1500 * millisecond
	lateNs   = 3 * second
	backNs   = 20 * millisecond
)

func newClient(w *world, id int) *client {
	c := &client{w: w, id: id, rng: newStream(w.seed, fmt.Sprintf("client %d", id))}
	c.rename()
	c.target = c.rng.IntN(w.setup.replicas)
	return c
}

func (c *client) rename() {
	c.name, c.session, c.request = vsr.Client{Hi: c.rng.Uint64(), Lo: c.rng.Uint64()}, 0, 0
}

// idle lets the next request come after a while.
func (c *client) idle() {
	c.busy = false
	if c.manual {
		return
	}
	c.w.after(c.rng.around(c.w.setup.thinkNs), c.begin)
}

func (c *client) begin() {
	switch {
	case !c.w.loading:
		c.w.after(50*millisecond, c.begin)
		return
	case c.rng.chance(0.02):
		c.readLatest()
	case c.rng.chance(0.03) && c.sent != nil && c.last.Session == c.session && c.session != 0:
		c.again()
	}
	c.ask()
}

// ask sends the next request, or opens a session first.
func (c *client) ask() {
	c.busy, c.began, c.tries = true, c.w.now, 0
	c.frame = nil
	if c.session != 0 {
		c.draw()
	}
	c.send()
}

// draw makes the next request's frame.
func (c *client) draw() {
	c.request += uint64(c.rng.between(1, 2)) // gaps are allowed
	frame := make([]byte, wire.HeaderBytes, wire.HeaderBytes+128)
	count := uint32(c.rng.between(1, c.w.setup.messagesMax))
	for range count {
		payload := make([]byte, c.rng.between(1, c.w.setup.payloadBytes))
		for i := range payload {
			payload[i] = byte(c.rng.Uint32())
		}
		frame = wire.AppendMessage(frame, wire.Message{Payload: payload})
	}
	wire.SealRequest(frame, c.name, c.session, c.request, count)
	h, err := wire.CheckRequest(frame)
	if err != nil {
		c.w.fail("sim", "a client makes a request that is none: %v", err)
	}
	c.frame, c.header = frame, h
}

// send tries the request under way at the present target.
func (c *client) send() {
	c.try++
	c.tries++
	try, token := c.try, uint64(0)
	p := c.w.nodes[c.target].life
	hear := func(a answer) { c.w.after(c.rng.around(c.w.setup.netDelay), func() { c.hear(try, a) }) }
	delay := c.rng.around(c.w.setup.netDelay)
	if !p.running() {
		c.w.after(delay, func() { c.next(try, backNs) })
		return
	}
	kind, frame, h := vsr.InRequest, c.frame, c.header
	if frame == nil {
		kind, h = vsr.InRegister, vsr.Header{Kind: vsr.KindRegister, Client: c.name, BodySum: wire.Sum(nil)}
	}
	p.after(delay, func() { token = p.request(kind, frame, h, c.w.now, hear) })
	c.w.after(delay+tryNs/2+c.rng.around(tryNs/2), func() {
		if c.try != try || !c.busy {
			return
		}
		if token != 0 && c.rng.chance(0.5) { // the connection ends; or its answer may still come
			p.happen(func() { p.forget(token) })
		}
		c.next(try, 0)
	})
}

// next goes on to another try, or gives up.
func (c *client) next(try uint64, pause int64) {
	if c.try != try || !c.busy {
		return
	}
	if c.once {
		c.idle()
		return
	}
	if c.w.faulty && c.w.now-c.began > giveUpNs && c.rng.chance(0.2) {
		if c.rng.chance(0.5) {
			c.idle() // its fate is unknown
			return
		}
		pause = lateNs // it comes back with the same request, long after
		c.w.cover.Returns++
	}
	c.target = c.rng.IntN(c.w.setup.replicas)
	c.try++
	at := c.try
	c.w.after(min(c.rng.around(pause), lateNs), func() {
		if c.try == at && c.busy {
			c.send()
		}
	})
}

// hear takes what came of a try. What is committed counts whichever try it answers.
func (c *client) hear(try uint64, a answer) {
	switch {
	case !c.busy:
	case a.reset:
		c.next(try, backNs)
	case a.Outcome == vsr.OutcomeCommitted:
		c.committed(&a.Answer)
	case try != c.try:
	case a.Outcome == vsr.OutcomeNotPrimary && a.Primary != vsr.NoPrimary:
		c.target = a.Primary
		c.try++
		at := c.try
		c.w.after(c.rng.around(millisecond), func() {
			if c.try == at && c.busy {
				c.send()
			}
		})
	case a.Outcome == vsr.OutcomeEvicted:
		c.w.check.evicted(c.session)
		c.w.cover.Evictions++
		c.rename()
		c.idle()
	case a.Outcome == vsr.OutcomeDiffers:
		c.w.fail("answer", "request %d of session %d differs, says a replica", c.request, c.session)
	case a.Outcome == vsr.OutcomeSuperseded:
		c.w.fail("answer", "request %d of session %d is superseded, and no later one was sent", c.request, c.session)
	default:
		c.next(try, backNs)
	}
}

func (c *client) committed(a *partition.Answer) {
	h := &a.Header
	if h.Client != c.name {
		return // of an earlier life of this client
	}
	if h.Kind == vsr.KindRegister {
		if c.session == 0 {
			c.w.check.acknowledged(h)
			c.session = h.Op
			c.idle()
		}
		return
	}
	if h.Session != c.session || h.Request != c.request {
		return
	}
	c.w.check.acknowledged(h)
	if h.BodySum != c.header.BodySum {
		c.w.fail("answer", "request %d of session %d was answered with another body", c.request, c.session)
	}
	c.last, c.sent = *h, c.frame
	c.idle()
}

// again repeats the last acknowledged request, somewhere. It must get the same answer.
func (c *client) again() {
	p := c.w.nodes[c.rng.IntN(c.w.setup.replicas)].life
	last, request := c.last, c.request
	if !p.running() {
		return
	}
	asked := vsr.Header{Kind: vsr.KindBatch, Client: last.Client, Session: last.Session, Request: last.Request,
		MessageCount: last.MessageCount, BodyBytes: last.BodyBytes, BodySum: last.BodySum}
	frame := c.sent
	p.after(c.rng.around(c.w.setup.netDelay), func() {
		p.request(vsr.InRequest, frame, asked, c.w.now, func(a answer) {
			switch {
			case a.reset || a.Outcome != vsr.OutcomeCommitted:
				if a.Outcome == vsr.OutcomeSuperseded && c.request == request && c.session == last.Session {
					c.w.fail("answer", "the last request %d of session %d is superseded", last.Request, last.Session)
				}
			case a.Header != last:
				c.w.fail("answer", "a retry of request %d of session %d got op %d instead of %d", last.Request, last.Session, a.Header.Op, last.Op)
			default:
				c.w.cover.TableAnswers++
			}
		})
	})
}

// readLatest asks until when a read would see everything acknowledged before it was asked.
func (c *client) readLatest() {
	i := c.rng.IntN(c.w.setup.replicas)
	if lead := c.w.leader(); lead != noNode {
		i = lead
	}
	if p := c.w.nodes[i].life; p.running() {
		p.after(c.rng.around(c.w.setup.netDelay), func() { c.w.readLatest(p) })
	}
}

// readLatest asks one replica. Its answer holds for what was acknowledged before.
func (w *world) readLatest(p *process) {
	must := w.check.ackedOp
	p.request(vsr.InReadLatest, nil, vsr.Header{}, w.now, func(a answer) {
		if a.reset || a.Outcome != vsr.OutcomeCommitted {
			return
		}
		w.cover.ReadsLatest++
		if shown := min(p.readable, p.log().Written().Op); shown < must {
			w.fail("latest", "replica %d answers a read of the latest, and shows ops up to %d at commit %d; op %d was acknowledged before it was asked",
				p.n.id, shown, p.status().Commit.Op, must)
		}
	})
}
