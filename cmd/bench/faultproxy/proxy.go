// Package faultproxy stands between two programs on loopback and harms what they say to each other: it
// delays, holds back, resets and corrupts TCP connections, each direction by itself.
package faultproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Direction of bytes through a proxy.
type Direction int

// Directions.
const (
	Forth Direction = iota // from whoever dialled
	Back
)

// Harm is what a proxy does to one direction for as long as it is set.
type Harm struct {
	Delay time.Duration // each byte is passed on so much later than it came
	Hold  bool          // nothing is passed on; what came meanwhile follows when it ends
}

// Proxy forwards every connection to its address to another one.
type Proxy struct {
	target   string
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	harm    [2]Harm
	changed chan struct{} // closed and replaced when harm changes
	refuse  bool
	corrupt [2]int // bytes to be spoiled, each in a piece of its own
	spoiled int
	pairs   map[*pair]struct{}
	closed  bool
}

// New listens at once; Close ends everything.
func New(listen, target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("fault proxy: %w", err)
	}
	p := &Proxy{target: target, listener: listener, changed: make(chan struct{}), pairs: map[*pair]struct{}{}}
	p.running.Go(p.accept)
	return p, nil
}

// Set replaces what is done to one direction, of present connections and of those to come.
func (p *Proxy) Set(d Direction, h Harm) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.harm[d] = h
	close(p.changed)
	p.changed = make(chan struct{})
}

// Refuse makes the proxy reset connections as soon as they come, or lets them through again.
func (p *Proxy) Refuse(refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = refuse
}

// Reset ends all present connections by RST, to both sides, and returns how many there were.
func (p *Proxy) Reset() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.pairs {
		c.reset()
	}
	return len(p.pairs)
}

// Corrupt flips one bit of a byte that comes next in a direction.
func (p *Proxy) Corrupt(d Direction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.corrupt[d]++
}

// Spoiled counts the bytes that were in fact spoiled.
func (p *Proxy) Spoiled() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spoiled
}

// Close resets every connection and returns when nothing runs any more.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	for c := range p.pairs {
		c.reset()
	}
	p.mu.Unlock()
	err := p.listener.Close()
	p.running.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // of this connection alone
		}
		p.running.Go(func() { p.serve(conn.(*net.TCPConn)) })
	}
}

// dialLimit is how long a target may take to accept.
const dialLimit = 5 * time.Second

func (p *Proxy) serve(from *net.TCPConn) {
	c := newPair(from)
	defer c.end()
	if !p.join(c) {
		c.reset()
		return
	}
	defer p.leave(c)
	ctx, cancel := context.WithTimeout(c.ctx, dialLimit)
	defer cancel()
	var dialer net.Dialer
	to, err := dialer.DialContext(ctx, "tcp", p.target)
	if err != nil || !c.connect(to.(*net.TCPConn)) {
		c.reset() // as if the target had refused
		return
	}
	var both sync.WaitGroup
	both.Go(func() { p.pump(c, Forth) })
	both.Go(func() { p.pump(c, Back) })
	both.Wait()
}

func (p *Proxy) join(c *pair) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse || p.closed {
		return false
	}
	p.pairs[c] = struct{}{}
	return true
}

func (p *Proxy) leave(c *pair) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pairs, c)
}

// now returns what is done to a direction, and what is closed when that changes.
func (p *Proxy) now(d Direction) (Harm, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.harm[d], p.changed
}

// spoil flips a bit in a piece if one is to be spoiled.
func (p *Proxy) spoil(d Direction, piece []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.corrupt[d] == 0 || len(piece) == 0 {
		return
	}
	p.corrupt[d]--
	p.spoiled++
	piece[len(piece)/2] ^= 1 << (p.spoiled % 8)
}
