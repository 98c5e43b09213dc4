package api

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"
)

const (
	// A connection whose request was refused before its body was read is drained for a while before
	// it is closed: closing with unread bytes makes the kernel send a reset, which would overtake the
	// answer and leave the client guessing.
	lingerTimeout  = 500 * time.Millisecond
	lingerBytesMax = 2 << 20
	lingerChunk    = 8 << 10

	// acceptPause is how long nothing is accepted where there are too few files or too little memory.
	acceptPause = 50 * time.Millisecond

	// fullAnswerTimeout bounds the one small write to a connection beyond the cap.
	fullAnswerTimeout = 100 * time.Millisecond
)

// answerFull is what a connection beyond the cap gets.
const answerFull = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\n" +
	"Connection: close\r\nContent-Length: 102\r\n\r\n" +
	`{"error":"busy","message":"this node has no room for another connection","outcome":"not_appended"}` + "   \n"

// listener counts connections, caps them, and remembers them, so that a shutdown can end those that
// fasthttp does not.
type listener struct {
	*net.TCPListener
	connectionsMax int
	born           time.Time
	makesRoom      bool // at the cap, for who comes; see evict
	refused        atomic.Uint64
	evicted        atomic.Uint64
	failed         atomic.Uint64 // accepts, which were tried again

	// observeRead is for tests: it sees every slice that the HTTP reader has filled.
	observeRead atomic.Pointer[func([]byte)]

	mu    sync.Mutex
	conns map[*conn]struct{}
}

// Accept takes the next connection below the cap.
func (l *listener) Accept() (net.Conn, error) {
	for {
		tcp, err := l.AcceptTCP()
		if isPassing(err) { // who wants to connect waits meanwhile
			l.failed.Add(1)
			time.Sleep(acceptPause)
			continue
		}
		if err != nil {
			return nil, err
		}
		c := &conn{TCPConn: tcp, listener: l}
		c.enter(phaseUnused)
		l.mu.Lock()
		room := len(l.conns) < l.connectionsMax || l.makesRoom && l.evict()
		if room {
			l.conns[c] = struct{}{}
		}
		l.mu.Unlock()
		if room {
			return c, nil
		}
		l.refused.Add(1)
		refuseConn(tcp)
	}
}

// isPassing tells of an accept that says nothing of the listener: there were too few files or too little memory, or the other side was
// gone already. fasthttp would take it for the end.
func isPassing(err error) bool {
	for _, passing := range []unix.Errno{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.ECONNABORTED} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}

// refuseConn does its best to tell why; the client is not waited for. Its socket's send buffer is
// empty, so the write does not block.
func refuseConn(c *net.TCPConn) {
	_ = c.SetDeadline(time.Now().Add(fullAnswerTimeout))
	_, _ = io.WriteString(c, answerFull)
	_ = c.CloseWrite()
	_ = c.Close()
}

func (l *listener) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

// each calls f for every open connection. f must not close it.
func (l *listener) each(f func(*conn)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		f(c)
	}
}

// connState is told by fasthttp.
func connState(nc net.Conn, state fasthttp.ConnState) {
	c, ok := nc.(*conn)
	switch {
	case ok && state == fasthttp.StateActive:
		c.used.Store(true)
		c.enter(phaseArriving)
	case ok && state == fasthttp.StateIdle:
		c.enter(phaseIdle)
	}
}

// conn is a client's connection. It embeds the TCP one, whose ReadFrom keeps sendfile.
type conn struct {
	*net.TCPConn
	listener *listener
	used     atomic.Bool // a request has begun to arrive
	phase    atomic.Uint64
	linger   atomic.Bool
	killed   atomic.Bool
	closed   atomic.Bool
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	if observe := c.listener.observeRead.Load(); observe != nil {
		(*observe)(b[:n])
	}
	return n, err
}

// kill makes every read and write fail from now on, with a timeout. Other than Close it lets
// fasthttp see an error that it reports, so that a lent buffer comes back.
func (c *conn) kill() {
	c.killed.Store(true)
	_ = c.TCPConn.SetDeadline(time.Unix(1, 0))
}

func (c *conn) SetReadDeadline(t time.Time) error {
	return c.deadline(t, c.TCPConn.SetReadDeadline)
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	return c.deadline(t, c.TCPConn.SetWriteDeadline)
}

func (c *conn) SetDeadline(t time.Time) error {
	return c.deadline(t, c.TCPConn.SetDeadline)
}

// deadline sets t. A kill in between wins, whichever came first.
func (c *conn) deadline(t time.Time, set func(time.Time) error) error {
	err := set(t)
	if c.killed.Load() {
		return set(time.Unix(1, 0))
	}
	return err
}

// Close is called by fasthttp, once from the connection's goroutine, and perhaps once more from a
// shutdown.
func (c *conn) Close() error {
	if c.closed.Swap(true) {
		return net.ErrClosed
	}
	if c.linger.Load() && !c.killed.Load() {
		c.drain()
	}
	c.listener.mu.Lock()
	delete(c.listener.conns, c)
	c.listener.mu.Unlock()
	return c.TCPConn.Close()
}

func (c *conn) drain() {
	if c.CloseWrite() != nil || c.SetReadDeadline(time.Now().Add(lingerTimeout)) != nil {
		return
	}
	chunk := make([]byte, lingerChunk)
	for left := lingerBytesMax; left > 0; {
		n, err := c.TCPConn.Read(chunk)
		if err != nil {
			return
		}
		left -= n
	}
}
