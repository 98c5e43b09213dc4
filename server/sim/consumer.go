package sim

import (
	"errors"
	"io"
	"syscall"

	"rejoin/server/journal"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// consumer reads the messages of the topic by their offsets, in order, each time at another replica.
// What it is given must be what was committed there.
type consumer struct {
	w      *world
	rng    stream
	offset uint64
	once   bool // it goes back to nothing that it has read
}

const consumeNs = 30 * millisecond // mean, between two reads

func newConsumer(w *world) *consumer { return &consumer{w: w, rng: newStream(w.seed, "consumer")} }

// later lets the next read come after a while.
func (c *consumer) later() {
	c.w.after(c.rng.around(consumeNs), func() {
		p := c.w.nodes[c.rng.IntN(c.w.setup.replicas)].life
		most := c.rng.between(1, 8<<10)
		if p.running() {
			p.after(c.rng.around(c.w.setup.netDelay), func() { c.read(p, most) })
		}
		c.later()
	})
}

// read asks one replica for what it may show at the present offset, as a node does.
func (c *consumer) read(p *process, most int64) {
	log := p.log()
	last := min(p.readable, log.Written().Op)
	c.offset = max(c.offset, log.EarliestOffset())
	op, err := log.OpOf(c.offset)
	if err == nil && op > last || errors.Is(err, journal.ErrNotHeld) { // not there yet
		if !c.once && c.rng.chance(0.1) {
			c.offset = uint64(c.rng.between(0, int64(c.offset)))
		}
		return
	}
	var span journal.Span
	if err == nil {
		span, err = log.Span(op, last, most)
	}
	if err != nil {
		c.damaged(p, err)
		return
	}
	defer span.Release()
	bytes, err := io.ReadAll(span.Reader())
	if err != nil {
		p.look(op)
		return
	}
	c.take(p, span.First, bytes)
}

// damaged goes on with another replica where this one cannot read, or puts another log in the place of
// its own just now.
func (c *consumer) damaged(p *process, err error) {
	if errors.Is(err, journal.ErrClosed) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENOMEM) { // not this time
		return
	}
	if !errors.Is(err, journal.ErrDamaged) {
		c.w.fail("S8", "replica %d does not serve message %d, which lies below its commit: %v", p.n.id, c.offset, err)
	}
	p.damaged(err)
}

// take checks the frames as a reader does, for they were sent as they lie on the disk.
func (c *consumer) take(p *process, op uint64, bytes []byte) {
	for ; len(bytes) > 0; op++ {
		h, err := wire.ParseSealed(bytes)
		size := wire.HeaderBytes + int(h.BodyBytes)
		if err != nil || h.Op != op || size > len(bytes) || wire.Sum(bytes[wire.HeaderBytes:size]) != h.BodySum {
			_, _, err := p.log().ReadFrame(op, nil)
			if err == nil {
				c.w.fail("S8", "replica %d gives a reader bytes that are not op %d, which its disk holds", p.n.id, op)
			}
			p.damaged(err)
			return
		}
		if known := c.w.check.at(op); known == nil || *known != h {
			c.w.fail("S8", "replica %d gives a reader another op %d than was committed", p.n.id, op)
		}
		if h.Kind == vsr.KindBatch && h.BaseOffset > c.offset {
			c.w.fail("S6", "replica %d gives a reader message %d, who asked for message %d", p.n.id, h.BaseOffset, c.offset)
		}
		c.offset = max(c.offset, h.NextOffset())
		bytes = bytes[size:]
	}
}
