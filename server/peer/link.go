package peer

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"rejoin/server/vsr"
)

// link is one connection with a proven other side.
type link struct {
	n          *Network
	remote     *remote
	conn       net.Conn
	purpose    purpose
	hello      Hello
	generation uint64 // of what this node has said about itself

	outbox *outbox   // of a protocol link
	jobs   *jobQueue // of a bulk link

	reading deadline // the reader's

	sending sync.Mutex  // of who writes to a protocol link: its writer, or a sender (see sendNow)
	writing deadline    // with sending; the writer's on a bulk link
	out     sender      // with sending
	spoke   atomic.Bool // something was sent since the writer last looked

	once  sync.Once
	why   error         // set before ended closes
	ended chan struct{} // the connection is closed, its goroutines are about to return
	gone  chan struct{} // they have returned
	group sync.WaitGroup
}

func newLink(n *Network, r *remote, conn net.Conn, p purpose, theirs facts, generation uint64) *link {
	l := &link{n: n, remote: r, conn: conn, purpose: p, generation: generation, ended: make(chan struct{}), gone: make(chan struct{}),
		hello: Hello{Incarnation: theirs.incarnation, Format: theirs.format, KnownBoot: theirs.knownBoot}}
	l.reading.set, l.writing.set = conn.SetReadDeadline, conn.SetWriteDeadline
	if p == purposeProtocol {
		l.outbox = newOutbox(n.options.Groups, &r.counters)
		l.out.open(conn)
	} else {
		l.jobs = newJobQueue(&r.counters)
	}
	return l
}

// start begins to read and write. Only the keeper calls it, once, and wait after it.
func (l *link) start(ctx context.Context) {
	if l.purpose == purposeProtocol {
		l.group.Go(func() { l.end(l.readProtocol()) })
		l.group.Go(func() { l.end(l.writeProtocol()) })
		return
	}
	l.group.Go(func() { l.end(l.readBulk(ctx)) })
	l.group.Go(func() { l.end(l.writeBulk()) })
}

// end closes the connection; the first reason stays.
func (l *link) end(why error) {
	l.once.Do(func() {
		l.why = why
		l.conn.Close()
		close(l.ended)
	})
}

// wait returns when nothing of the link runs any more and nothing is queued on it.
func (l *link) wait() {
	<-l.ended
	l.group.Wait()
	if l.outbox != nil {
		l.outbox.close()
		l.dropLeft()
	}
	if l.jobs != nil {
		l.jobs.close()
	}
	close(l.gone)
}

// discard ends a link that was never started.
func (l *link) discard(why error) {
	l.end(why)
	l.wait()
}

// dead is closed when the link has ended; a nil link never does.
func (l *link) dead() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.ended
}

func (l *link) reason() string {
	<-l.ended
	if l.why == nil {
		return "closed"
	}
	return l.why.Error()
}

// speaks tells whether a message names the incarnation that the link's handshake has proven.
func (l *link) speaks(m *vsr.Message) bool { return m.Incarnation == l.hello.Incarnation }

// deadline is that of one direction of a link: a silent or stuck link ends. It belongs to the
// goroutine that reads, or writes. A deadline is pushed on only when a quarter of it has passed, not at
// each of thousands of reads a second.
type deadline struct {
	set   func(time.Time) error
	until time.Time
}

func (d *deadline) renew(silence time.Duration) error {
	now := time.Now()
	if d.until.Sub(now) > silence-silence/4 {
		return nil
	}
	d.until = now.Add(silence)
	return d.set(d.until)
}

func (l *link) readPatience() error  { return l.reading.renew(l.n.options.timing.silence) }
func (l *link) writePatience() error { return l.writing.renew(l.n.options.timing.silence) }

// keepAlive is what an idle writer sends; a reader skips it.
var keepAlive = [...]byte{'R', 'J', 'K', '1', 0, 0, 0, 0}
