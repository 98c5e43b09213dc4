package peer

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// shortLivesMax is how many links in a row may end soon after they came up, as those of a process
// that is killed again and again do, before a redial waits: each wait delays the word "refused".
const shortLivesMax = 3

// dial keeps one link to a node with a larger number.
func (r *remote) dial(ctx context.Context, p purpose) {
	pause := backOff{timing: r.n.options.timing}
	shortLives := 0
	for ctx.Err() == nil {
		l, err := r.connect(ctx, p)
		if err != nil {
			r.noteDial(err, p)
			pause.wait(ctx)
			continue
		}
		began := time.Now()
		r.offer(ctx, l)
		select {
		case <-l.gone:
		case <-ctx.Done():
			return
		}
		if shortLives++; time.Since(began) >= r.n.options.timing.backOffMax {
			shortLives = 0
		}
		if shortLives <= shortLivesMax {
			pause.reset()
		} else {
			pause.wait(ctx)
		}
	}
}

func (r *remote) connect(ctx context.Context, p purpose) (*link, error) {
	conn, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	err = r.n.options.timing.tune(conn)
	var l *link
	if err == nil {
		l, err = r.n.dialHandshake(conn, r.number, p)
	}
	if err != nil {
		conn.Close()
	}
	return l, err
}

func (r *remote) open(ctx context.Context) (net.Conn, error) {
	r.counters.dials.Add(1)
	dialer := net.Dialer{Timeout: r.n.options.timing.dial}
	return dialer.DialContext(ctx, "tcp", r.n.options.Nodes[r.number].Dial)
}

func (r *remote) noteDial(err error, p purpose) {
	if errors.Is(err, unix.ECONNREFUSED) {
		r.counters.dialsRefused.Add(1)
		if p == purposeProtocol {
			signal(r.refused)
		}
	}
	r.n.noteHandshake(err, r.number)
}

// probe asks, each time a link ended that only the other side can dial again, whether anything
// listens there. A dying process may still take the first connects, so it asks until one is
// refused or the link is back.
func (r *remote) probe(ctx context.Context) {
	for {
		select {
		case <-r.lost:
		case <-ctx.Done():
			return
		}
		pause := backOff{timing: r.n.options.timing}
		for ctx.Err() == nil && r.protocol.Load() == nil {
			conn, err := r.open(ctx)
			if err == nil {
				conn.Close()
			} else if errors.Is(err, unix.ECONNREFUSED) {
				r.noteDial(err, purposeProtocol)
				break
			}
			pause.wait(ctx)
		}
	}
}

// backOff waits between tries: twice as long each time, with jitter of a half, so that nodes that
// lost each other together do not come back together.
type backOff struct {
	timing timing
	next   time.Duration
}

func (b *backOff) reset() { b.next = 0 }

func (b *backOff) wait(ctx context.Context) {
	b.next = min(max(2*b.next, b.timing.backOffMin), b.timing.backOffMax)
	timer := time.NewTimer(b.next/2 + rand.N(b.next/2+1))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
