package faultproxy

import (
	"context"
	"net"
	"sync"
	"time"
)

// pair is a connection and its continuation.
type pair struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu   sync.Mutex
	ends []*net.TCPConn // who dialled, then the target
	gone bool
}

func newPair(from *net.TCPConn) *pair {
	c := &pair{ends: []*net.TCPConn{from}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// connect adds the target's side; false if the pair has ended meanwhile.
func (c *pair) connect(to *net.TCPConn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		to.Close()
		return false
	}
	c.ends = append(c.ends, to)
	return true
}

// reset ends both sides by RST.
func (c *pair) reset() {
	c.mu.Lock()
	for _, conn := range c.ends {
		_ = conn.SetLinger(0) // fails only on a connection that is gone
	}
	c.mu.Unlock()
	c.end()
}

// end closes both sides.
func (c *pair) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	c.cancel()
	for _, conn := range c.ends {
		conn.Close()
	}
}

// piece is what one read brought, and when.
type piece struct {
	bytes []byte
	came  time.Time
}

const (
	pieceBytes = 32 << 10
	pieces     = 256 // under way in a direction; beyond them the sender has to wait
)

// pump carries one direction until it ends or the pair does. An end is passed on as such, after what
// came before it; a broken one breaks the pair.
func (p *Proxy) pump(c *pair, d Direction) {
	from, to := c.ends[d], c.ends[1-d]
	queue := make(chan piece, pieces)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(queue)
		for {
			b := make([]byte, pieceBytes)
			n, err := from.Read(b)
			if n > 0 {
				select {
				case queue <- piece{b[:n], time.Now()}:
				case <-c.ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	})
	defer reading.Wait()
	for part := range queue {
		if !p.await(c, d, part.came) {
			return
		}
		p.spoil(d, part.bytes)
		if _, err := to.Write(part.bytes); err != nil {
			c.end()
			return
		}
	}
	if p.await(c, d, time.Now()) {
		_ = to.CloseWrite() // fails only when the other side is gone, which its own pump sees
	}
}

// await returns when what came at a time may be passed on; false when the pair has ended.
func (p *Proxy) await(c *pair, d Direction, came time.Time) bool {
	for {
		harm, changed := p.now(d)
		if !harm.Hold {
			wait := harm.Delay - time.Since(came)
			if wait <= 0 {
				return c.ctx.Err() == nil
			}
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-changed:
			case <-c.ctx.Done():
			}
			timer.Stop()
		} else {
			select {
			case <-changed:
			case <-c.ctx.Done():
			}
		}
		if c.ctx.Err() != nil {
			return false
		}
	}
}
