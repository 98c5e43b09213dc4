package peer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// remote is one other node.
type remote struct {
	n      *Network
	number int

	mu        sync.Mutex
	known     uint64        // highest boot counter of an accepted handshake, or remembered
	refusal   *RefusedError // of the last refused handshake since a link came up
	refusedAt time.Time

	arrivals chan *link    // proven links for the keeper; one for each dialer, and what was accepted meanwhile
	refused  chan struct{} // a redial was refused; one is as good as many
	lost     chan struct{} // the protocol link ended: the prober may look

	// The keeper alone writes these; senders and Stats read them.
	protocol, bulk atomic.Pointer[link]
	present        atomic.Pointer[Hello]

	counters counters
}

func newRemote(n *Network, number int) *remote {
	return &remote{n: n, number: number, arrivals: make(chan *link, 4), refused: make(chan struct{}, 1), lost: make(chan struct{}, 1)}
}

func (r *remote) start(ctx context.Context, group *sync.WaitGroup) {
	group.Go(func() { r.keep(ctx) })
	if r.n.options.Self < r.number {
		group.Go(func() { r.dial(ctx, purposeProtocol) })
		group.Go(func() { r.dial(ctx, purposeBulk) })
	} else {
		group.Go(func() { r.probe(ctx) })
	}
}

func (r *remote) knownBoot() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known
}

func (r *remote) raiseKnown(boot uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = max(r.known, boot)
}

func (r *remote) slot(p purpose) *atomic.Pointer[link] {
	if p == purposeBulk {
		return &r.bulk
	}
	return &r.protocol
}

// dropLinks ends both links; their keeper notices.
func (r *remote) dropLinks(why error) {
	for _, p := range [...]purpose{purposeProtocol, purposeBulk} {
		if l := r.slot(p).Load(); l != nil {
			l.end(why)
		}
	}
}

// offer hands a link to the keeper, or ends it.
func (r *remote) offer(ctx context.Context, l *link) {
	select {
	case r.arrivals <- l:
	case <-ctx.Done():
		l.discard(errClosed)
	}
}

// keep is the keeper: the one goroutine that knows which incarnation is present and which links
// are up.
func (r *remote) keep(ctx context.Context) {
	down := false // the protocol link was up, is not any more, and no redial was refused since
	for {
		protocol, bulk := r.protocol.Load(), r.bulk.Load()
		select {
		case <-ctx.Done():
			r.endLinks(errClosed)
			return
		case l := <-r.arrivals:
			if r.settle(ctx, l) && l.purpose == purposeProtocol {
				down = false
			}
		case <-protocol.dead():
			r.tearDown(protocol)
		case <-bulk.dead():
			r.tearDown(bulk)
		case <-r.refused:
			if down && r.protocol.Load() == nil {
				down = false
				r.n.options.Handler.LinkDown(r.number, true)
			}
		}
		if protocol != nil && r.protocol.Load() == nil {
			down = true
			signal(r.lost)
		}
	}
}

// settle lets a new link speak, after the one before it and every link of an older incarnation has
// fallen silent.
func (r *remote) settle(ctx context.Context, l *link) bool {
	if l.hello.Incarnation.Boot < r.knownBoot() || l.generation != r.n.localNow().generation {
		l.discard(errReplaced)
		return false
	}
	present := r.present.Load()
	if present != nil && present.Incarnation != l.hello.Incarnation {
		r.endLinks(errReplaced)
	} else if old := r.slot(l.purpose).Load(); old != nil {
		old.end(errReplaced)
		r.tearDown(old)
	}
	hello := l.hello
	if present == nil || present.Incarnation != hello.Incarnation || present.Format != hello.Format {
		r.n.options.Handler.Hello(r.number, hello)
	}
	r.present.Store(&hello)
	r.n.refusals.forget(r.number)
	r.forgetRefusal()
	r.slot(l.purpose).Store(l)
	r.counters.links.Add(1)
	if l.generation != r.n.localNow().generation { // SetLocal came between and did not see it
		l.end(errRenewed)
	}
	if l.purpose == purposeProtocol {
		drain(r.refused)
		r.n.options.Logger.Info("peer link up", "peer", r.n.options.Nodes[r.number].ID, "boot", hello.Incarnation.Boot, "format", hello.Format.String())
		r.n.options.Handler.LinkUp(r.number)
	}
	l.start(ctx)
	return true
}

func (r *remote) endLinks(why error) {
	for _, p := range [...]purpose{purposeProtocol, purposeBulk} {
		if l := r.slot(p).Load(); l != nil {
			l.end(why)
			r.tearDown(l)
		}
	}
}

// turnAway ends what was offered to a keeper that has gone.
func (r *remote) turnAway() {
	for {
		select {
		case l := <-r.arrivals:
			l.discard(errClosed)
		default:
			return
		}
	}
}

// tearDown waits for the goroutines of a link that has ended, and says so.
func (r *remote) tearDown(l *link) {
	r.slot(l.purpose).Store(nil)
	l.wait()
	if l.purpose == purposeProtocol {
		r.n.options.Logger.Info("peer link down", "peer", r.n.options.Nodes[r.number].ID, "reason", l.reason())
		r.n.options.Handler.LinkDown(r.number, false)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func drain(c chan struct{}) {
	select {
	case <-c:
	default:
	}
}
