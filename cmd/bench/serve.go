package main

import (
	"bufio"
	"context"
	"embed"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"
)

//go:embed livepage
var livePageFiles embed.FS

// livePage serves a run under way: a page that follows it by server-sent events, and /metrics.
type livePage struct {
	address string
	token   string
	hub     *liveHub
	guard   liveGuard
	server  *fasthttp.Server
	metrics fasthttp.RequestHandler
	conns   *liveListener
	served  chan struct{}
}

const (
	liveReadTimeout  = 10 * time.Second // of a request
	liveWriteTimeout = 10 * time.Second // of each write: a reader that takes nothing for so long is let go
	livePulse        = 5 * time.Second  // without news a comment is sent: a closed connection is noticed by writing to it
	liveConnsMax     = 128
	liveBodyMax      = 4 << 10
	liveCloseLimit   = 2 * time.Second
)

func newLivePage(asked, token string) (*livePage, error) {
	address, err := liveAddress(asked, token)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--http %s: %w; pass another port", address, err)
	}
	p := &livePage{address: address, token: token, hub: newLiveHub(), guard: newLiveGuard(token), served: make(chan struct{}),
		conns: &liveListener{Listener: listener, open: map[net.Conn]bool{}}}
	p.metrics = fasthttpadaptor.NewFastHTTPHandler(newLiveMetrics(p.hub))
	// No WriteTimeout: fasthttp counts it over a whole answer, and a stream is one. The connection has one for each write.
	p.server = &fasthttp.Server{Handler: p.handle, ReadTimeout: liveReadTimeout, IdleTimeout: time.Minute, Concurrency: liveConnsMax,
		MaxRequestBodySize: liveBodyMax, NoDefaultServerHeader: true, Logger: silent{}, CloseOnShutdown: true}
	go func() {
		defer close(p.served)
		_ = p.server.Serve(p.conns)
	}()
	return p, nil
}

// close sends what waits, for a moment, and ends every connection.
func (p *livePage) close() {
	p.hub.end()
	ctx, cancel := context.WithTimeout(context.Background(), liveCloseLimit)
	defer cancel()
	_ = p.server.ShutdownWithContext(ctx)
	p.conns.closeAll()
	<-p.served
}

func (p *livePage) handle(ctx *fasthttp.RequestCtx) {
	h := &ctx.Response.Header
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	path := string(ctx.Path())
	if !p.guard.hostIsOurs(ctx) {
		ctx.Error("this page answers to loopback names only; open it as http://"+p.address+"/\n", fasthttp.StatusForbidden)
		return
	}
	if path == "/login" && ctx.IsPost() {
		p.login(ctx)
		return
	}
	if !ctx.IsGet() && !ctx.IsHead() {
		ctx.Error("only GET, and POST /login, are known here\n", fasthttp.StatusMethodNotAllowed)
		return
	}
	if path == "/page.css" || path == "/page.js" { // they say nothing of a run
		p.asset(ctx, strings.TrimPrefix(path, "/"), fasthttp.StatusOK)
		return
	}
	if !p.guard.admits(ctx) {
		if path == "/" {
			p.asset(ctx, "login.html", fasthttp.StatusUnauthorized)
			return
		}
		h.Set("WWW-Authenticate", "Bearer")
		ctx.Error("a token is needed: log in at /, or send Authorization: Bearer TOKEN\n", fasthttp.StatusUnauthorized)
		return
	}
	switch path {
	case "/":
		p.asset(ctx, "index.html", fasthttp.StatusOK)
	case "/live":
		p.stream(ctx)
	case "/metrics":
		p.metrics(ctx)
	default:
		ctx.Error("there is /, /live and /metrics\n", fasthttp.StatusNotFound)
	}
}

func (p *livePage) login(ctx *fasthttp.RequestCtx) {
	if p.token == "" || !p.guard.login(ctx) {
		p.asset(ctx, "login.html", fasthttp.StatusUnauthorized)
		return
	}
	ctx.Response.Header.Set("Location", "/")
	ctx.SetStatusCode(fasthttp.StatusSeeOther)
}

var liveTypes = map[string]string{"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}

func (p *livePage) asset(ctx *fasthttp.RequestCtx, name string, status int) {
	text, err := livePageFiles.ReadFile("livepage/" + name)
	if err != nil {
		panic("bench: an embedded file is missing: " + err.Error())
	}
	_, ending, _ := strings.Cut(name, ".")
	ctx.SetContentType(liveTypes[ending])
	ctx.SetStatusCode(status)
	ctx.SetBody(text)
}

// stream sends a reader what happens until it goes or the run is over.
func (p *livePage) stream(ctx *fasthttp.RequestCtx) {
	reader, past, ok := p.hub.join()
	if !ok {
		ctx.Error(fmt.Sprintf("%d readers are the most, or the run is over\n", liveReadersMax), fasthttp.StatusServiceUnavailable)
		return
	}
	ctx.SetContentType("text/event-stream")
	ctx.Response.Header.Set("X-Accel-Buffering", "no")
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
		defer p.hub.leave(reader)
		_ = p.follow(w, reader, past)
	})
}

// follow writes to one reader. A Flush that fails is the only sign of one that has gone.
func (p *livePage) follow(w *bufio.Writer, reader *liveReader, past []liveMessage) error {
	if _, err := w.WriteString("retry: 2000\n\n"); err != nil {
		return err
	}
	for _, m := range past {
		if err := m.write(w); err != nil {
			return err
		}
	}
	pulse := time.NewTicker(livePulse)
	defer pulse.Stop()
	for {
		if err := w.Flush(); err != nil {
			return err
		}
		select {
		case m := <-reader.queue:
			if err := m.write(w); err != nil {
				return err
			}
		case <-pulse.C:
			if _, err := w.WriteString(":\n\n"); err != nil {
				return err
			}
		case <-reader.ended:
			return p.farewell(w, reader)
		}
	}
}

// farewell writes what waits and the verdict, which the queue may have had no room for, and tells a page not to come again.
func (p *livePage) farewell(w *bufio.Writer, reader *liveReader) error {
	for {
		select {
		case m := <-reader.queue:
			if err := m.write(w); err != nil {
				return err
			}
		default:
			var errs []error
			if m, known := p.hub.lastWord(); known {
				errs = append(errs, m.write(w))
			}
			return errors.Join(append(errs, liveMessage{"end", []byte("{}")}.write(w), w.Flush())...)
		}
	}
}

// silent is a logger: a reader that goes away is no news.
type silent struct{}

func (silent) Printf(string, ...any) {}

// write spells a server-sent event. JSON has no line breaks outside of strings, and escapes those within.
func (m liveMessage) write(w *bufio.Writer) error {
	_, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", m.kind, m.data)
	return err
}

// liveListener knows its connections, and gives each write a limit.
type liveListener struct {
	net.Listener
	mu   sync.Mutex
	open map[net.Conn]bool
}

func (l *liveListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &liveConn{Conn: conn, from: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[c] = true
	return c, nil
}

func (l *liveListener) closeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		c.(*liveConn).Conn.Close()
	}
}

type liveConn struct {
	net.Conn
	from *liveListener
}

func (c *liveConn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(liveWriteTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

func (c *liveConn) Close() error {
	c.from.mu.Lock()
	delete(c.from.open, c)
	c.from.mu.Unlock()
	return c.Conn.Close()
}
