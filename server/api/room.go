package api

import (
	"time"

	"github.com/valyala/fasthttp"
)

// What a client's connection is busy with, in the order in which connections are given up at the cap.
const (
	phaseUnused    uint64 = iota // nothing has come yet
	phaseIdle                    // between two requests
	phaseArriving                // a request is coming in
	phaseAnswering               // an answer is going out
	phaseServing                 // the node works on a request: never given up
)

// slowAfter is how long a connection may be without a request, a request take to arrive, or an answer
// to leave, before the connection may be given up for another one. It is far above what a live client
// needs for a megabyte, or between two requests under load.
const slowAfter = time.Second

// A phase and the time at which it began are one word: phaseBits of phase below milliseconds.
const phaseBits = 3

func (c *conn) enter(phase uint64) {
	c.phase.Store(c.listener.ageMs()<<phaseBits | phase)
}

// ageMs is a clock that fits beside a phase.
func (l *listener) ageMs() uint64 { return uint64(time.Since(l.born).Milliseconds()) }

// evict ends the connection that is worth least, so that those who hold connections and do nothing
// with them, or do it slowly, cannot keep others out: an unused one first, then an idle one, then one
// that is slow; of each the one that has been so for longest. It tells whether there was one. Callers
// hold mu.
func (l *listener) evict() bool {
	now := l.ageMs()
	var worst *conn
	var worstIs uint64
	for c := range l.conns {
		word := c.phase.Load()
		phase, since := word&(1<<phaseBits-1), word>>phaseBits
		if phase == phaseServing || now-since < uint64(slowAfter.Milliseconds()) {
			continue
		}
		if is := phase<<48 | since; worst == nil || is < worstIs {
			worst, worstIs = c, is
		}
	}
	if worst == nil {
		return false
	}
	delete(l.conns, worst) // its goroutine may take a moment to notice
	l.evicted.Add(1)
	worst.kill()
	return true
}

// serving marks the connection of a request that has arrived whole until its answer is drawn up.
func serving(handler fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if c, ok := ctx.Conn().(*conn); ok {
			c.enter(phaseServing)
			defer c.enter(phaseAnswering)
		}
		handler(ctx)
	}
}
