package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"rejoin/server/wire"
)

// ClientOptions of NewClientPlane. Zero durations and counts mean the defaults named.
type ClientOptions struct {
	Address string   // host:port to listen on
	Token   string   // bearer token that every call must bring; empty: none, on loopback only
	Called  []string // host:port of this node as clients know it, beside loopback; who calls it otherwise needs the token
	Node    Node
	Pool    *wire.Pool

	BatchBytes     int           // of a batch's body at most; wire.BodyBytesMax
	BatchMessages  int           // of a batch at most; wire.MessagesMax
	ConnectionsMax int           // open at once; 256
	HeadTimeout    time.Duration // first byte to end of head; 10 s
	BodyTimeout    time.Duration // end of head to end of body; 10 s
	WriteTimeout   time.Duration // one answer; 30 s
	IdleTimeout    time.Duration // between requests; 2 min
	ShutdownGrace  time.Duration // for requests in flight; 3 s, so that a node ends within 5
}

const (
	connectionsMaxDefault = 256
	requestTimeoutDefault = 10 * time.Second
	writeTimeoutDefault   = 30 * time.Second
	idleTimeoutDefault    = 2 * time.Minute
	shutdownGraceDefault  = 3 * time.Second

	// killedWait is how long killed connections get to notice. Their goroutines only have to return.
	killedWait = 500 * time.Millisecond
	openPoll   = 10 * time.Millisecond
)

func (o ClientOptions) withDefaults() ClientOptions {
	set := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	set(&o.HeadTimeout, requestTimeoutDefault)
	set(&o.BodyTimeout, requestTimeoutDefault)
	set(&o.WriteTimeout, writeTimeoutDefault)
	set(&o.IdleTimeout, idleTimeoutDefault)
	set(&o.ShutdownGrace, shutdownGraceDefault)
	if o.ConnectionsMax == 0 {
		o.ConnectionsMax = connectionsMaxDefault
	}
	if o.BatchBytes == 0 {
		o.BatchBytes = wire.BodyBytesMax
	}
	if o.BatchMessages == 0 {
		o.BatchMessages = wire.MessagesMax
	}
	return o
}

func (o *ClientOptions) validate() error {
	switch {
	case o.Node == nil || o.Pool == nil:
		return errors.New("client plane: a node and a pool are needed")
	case o.ConnectionsMax < 1:
		return fmt.Errorf("client plane: %d connections at most; one is the least", o.ConnectionsMax)
	case o.BatchBytes < 1 || o.BatchBytes > wire.BodyBytesMax || o.BatchMessages < 1 || o.BatchMessages > wire.MessagesMax:
		return fmt.Errorf("client plane: batches of %d bytes and %d messages; at most %d and %d are possible", o.BatchBytes, o.BatchMessages, wire.BodyBytesMax, wire.MessagesMax)
	case min(o.HeadTimeout, o.BodyTimeout, o.WriteTimeout, o.IdleTimeout, o.ShutdownGrace) < 0:
		return errors.New("client plane: a timeout is negative")
	}
	return nil
}

// ClientPlane serves producers and readers.
type ClientPlane struct {
	options  ClientOptions
	node     Node
	pool     *wire.Pool
	token    bearer
	called   hosts
	listener *listener
	server   *fasthttp.Server

	stopping  atomic.Bool
	longPolls atomic.Int64
	badHTTP   atomic.Uint64
	answers   [6]atomic.Uint64 // by hundreds of the status
}

// ClientStats is a snapshot of a ClientPlane.
type ClientStats struct {
	ConnectionsOpen    int
	ConnectionsRefused uint64    // beyond the cap
	ConnectionsEvicted uint64    // unused, idle or slow ones, given up at the cap for others
	AcceptsFailed      uint64    // for want of files or memory; they were tried again
	LongPolls          int       // reads that wait for frames
	BadRequests        uint64    // that were not HTTP, too slow, or cut
	Answers            [6]uint64 // by hundreds of the status: Answers[2] are 200 to 299
}

// NewClientPlane listens. It serves nobody before Run.
func NewClientPlane(o ClientOptions) (*ClientPlane, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	tcp, err := listen("client", o.Address, o.Token)
	if err != nil {
		return nil, err
	}
	p := &ClientPlane{options: o, node: o.Node, pool: o.Pool, token: newBearer(o.Token), called: hostsOf(o.Called...),
		listener: &listener{TCPListener: tcp, connectionsMax: o.ConnectionsMax, makesRoom: true, born: time.Now(), conns: map[*conn]struct{}{}}}
	p.server = &fasthttp.Server{
		Handler:        serving(p.handle),
		ErrorHandler:   p.handleBroken,
		HeaderReceived: p.headReceived,
		ConnState:      connState,
		Logger:         quiet{},

		// The listener's cap comes first; fasthttp's worker lives a little longer than its connection.
		Concurrency:        2*o.ConnectionsMax + 16,
		MaxRequestBodySize: refusedBodyBytesMax,
		ReadTimeout:        o.HeadTimeout,
		WriteTimeout:       o.WriteTimeout,
		IdleTimeout:        o.IdleTimeout,
		CloseOnShutdown:    true,

		DisablePreParseMultipartForm: true, // it would write bodies to temporary files
		NoDefaultServerHeader:        true,
		NoDefaultDate:                true,
		SecureErrorLogMessage:        true,
	}
	return p, nil
}

// quiet drops fasthttp's own log: it is one line for each broken request, written by strangers.
// ClientStats counts them.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// Address is where the plane listens.
func (p *ClientPlane) Address() net.Addr { return p.listener.Addr() }

// Stats takes a snapshot.
func (p *ClientPlane) Stats() ClientStats {
	s := ClientStats{ConnectionsOpen: p.listener.open(), ConnectionsRefused: p.listener.refused.Load(), ConnectionsEvicted: p.listener.evicted.Load(), AcceptsFailed: p.listener.failed.Load(),
		LongPolls: int(p.longPolls.Load()), BadRequests: p.badHTTP.Load()}
	for i := range p.answers {
		s.Answers[i] = p.answers[i].Load()
	}
	return s
}

// ErrCutOff says that a shutdown had to end requests that did not end by themselves.
var ErrCutOff = errors.New("requests were still open at the end of the grace period")

// Run serves until ctx is done, then accepts nothing new, answers what is in flight for as long as
// ShutdownGrace. It returns nil, or ErrCutOff when handlers still wait for a partition then; each of
// them ends with its partition's answer, which nobody will read.
func (p *ClientPlane) Run(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- p.server.Serve(p.listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("client plane: %w", errors.Join(err, errors.New("the listener failed")))
	case <-ctx.Done():
	}
	err := p.shutdown()
	_ = p.listener.Close() // a shutdown that comes before Serve has begun does not end it; else it is closed already
	if serveErr := <-served; serveErr != nil {
		return fmt.Errorf("client plane: %w", serveErr)
	}
	return err
}

func (p *ClientPlane) shutdown() error {
	p.stopping.Store(true)
	grace, cancel := context.WithTimeout(context.Background(), p.options.ShutdownGrace)
	defer cancel()
	// fasthttp takes a connection without a request for idle only after five seconds.
	p.listener.each(func(c *conn) {
		if !c.used.Load() {
			c.kill()
		}
	})
	if p.server.ShutdownWithContext(grace) == nil {
		return nil
	}
	p.listener.each((*conn).kill)
	deadline := time.NewTimer(killedWait)
	defer deadline.Stop()
	tick := time.NewTicker(openPoll)
	defer tick.Stop()
	for p.listener.open() > 0 {
		select {
		case <-tick.C:
		case <-deadline.C:
			return fmt.Errorf("client plane: %w: %d connections", ErrCutOff, p.listener.open())
		}
	}
	return nil
}
