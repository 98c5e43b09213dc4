package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// EventSource is where the admin plane gets a node's events from.
type EventSource interface {
	// Follow gives write each recorded line later than sinceMonoNs, then each new one, until ctx is
	// done or write fails. Its first call of write is with nil, when there is room for the follower.
	Follow(ctx context.Context, sinceMonoNs int64, write func(line []byte) error) error
}

// AdminOptions of NewAdminPlane.
type AdminOptions struct {
	Address string // host:port to listen on
	Token   string // bearer token that every call must bring; empty: none, on loopback only
	Node    Node
	Events  EventSource
	Metrics http.Handler // answers GET /metrics; nil: there are none
	Flight  io.WriterTo  // writes the last seconds of the execution trace; nil: none are kept

	ShutdownGrace time.Duration // 0: 2 s
}

const (
	adminConnectionsMax  = 64
	adminHeadTimeout     = 5 * time.Second
	adminAnswerTimeout   = 10 * time.Second // of one answer, or of one line of a stream
	adminIdleTimeout     = time.Minute
	adminHeadBytesMax    = 16 << 10
	adminShutdownDefault = 2 * time.Second
)

// AdminPlane serves operators. It can look, not touch: no call of it stops a node or breaks anything.
type AdminPlane struct {
	options  AdminOptions
	token    bearer
	listener *listener
	server   *http.Server
	capture  atomic.Pointer[context.CancelFunc] // ends the profile over time that is being taken; nil: none is
}

// adminRoutes are the exact paths; those of profiles are in adminProfiles.
func (a *AdminPlane) adminRoutes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"/health":       a.health,
		"/metrics":      a.metrics,
		"/events":       a.events,
		"/openapi.yaml": a.openAPI,
	}
}

// NewAdminPlane listens. It serves nobody before Run.
func NewAdminPlane(o AdminOptions) (*AdminPlane, error) {
	if o.Node == nil || o.Events == nil || o.ShutdownGrace < 0 {
		return nil, errors.New("admin plane: a node, events and a grace that is not negative are needed")
	}
	if o.ShutdownGrace == 0 {
		o.ShutdownGrace = adminShutdownDefault
	}
	tcp, err := listen("admin", o.Address, o.Token)
	if err != nil {
		return nil, err
	}
	a := &AdminPlane{options: o, token: newBearer(o.Token),
		listener: &listener{TCPListener: tcp, connectionsMax: adminConnectionsMax, makesRoom: true, born: time.Now(), conns: map[*conn]struct{}{}}}
	mux := http.NewServeMux() // of its own: anything may have been registered on the default one
	for path, handler := range a.adminRoutes() {
		mux.Handle(path, handler)
	}
	a.mountProfiles(mux)
	a.server = &http.Server{
		Handler:           a.guard(mux),
		ReadHeaderTimeout: adminHeadTimeout,
		IdleTimeout:       adminIdleTimeout,
		MaxHeaderBytes:    adminHeadBytesMax,
		ErrorLog:          log.New(io.Discard, "", 0), // its lines would be written by strangers
		ConnState:         adminConnState,
		ConnContext:       func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		// No WriteTimeout: it would end long profiles and streams; each answer sets its own deadline. No
		// ReadTimeout: when it passes while an answer is written, net/http takes the client for gone.
	}
	return a, nil
}

// Address is where the plane listens.
func (a *AdminPlane) Address() net.Addr { return a.listener.Addr() }

// Run serves until ctx is done.
func (a *AdminPlane) Run(ctx context.Context) error {
	streams, endStreams := context.WithCancel(context.WithoutCancel(ctx))
	defer endStreams()
	a.server.BaseContext = func(net.Listener) context.Context { return streams }
	served := make(chan error, 1)
	go func() { served <- a.server.Serve(a.listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("admin plane: %w", err)
	case <-ctx.Done():
	}
	endStreams()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.options.ShutdownGrace)
	defer cancel()
	if a.server.Shutdown(grace) != nil {
		_ = a.server.Close() // only readers of profiles are cut
	}
	<-served
	return nil
}

// guard lets through what may come in: reads, with the token where there is one, and where there is
// none only under a name of loopback, so that no page in a browser on this machine can rebind its own
// name to this address.
func (a *AdminPlane) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(adminAnswerTimeout))
		switch {
		case r.ContentLength != 0:
			w.Header().Set("Connection", "close") // so that net/http does not wait for the body either
			answerAdmin(w, http.StatusBadRequest, "malformed", refusedBody.message)
		case !a.token.allows([]byte(r.Header.Get("Authorization"))):
			w.Header().Set("WWW-Authenticate", "Bearer")
			answerAdmin(w, http.StatusUnauthorized, "unauthorized", refusedToken.message)
		case !a.token.needed && !loopbackHost(r.Host):
			answerAdmin(w, http.StatusForbidden, "forbidden", "without a token this plane answers only to a loopback address or localhost as its host")
		case r.Method != http.MethodGet:
			w.Header().Set("Allow", "GET")
			answerAdmin(w, http.StatusMethodNotAllowed, "method_not_allowed", "this plane can only be read")
		default:
			if c, ok := r.Context().Value(connKey{}).(*conn); ok { // only now: who may not come in holds no connection
				c.enter(phaseServing)
			}
			next.ServeHTTP(w, r)
		}
	})
}

// connKey finds a request's connection in its context.
type connKey struct{}

// adminConnState is told by net/http. A connection leaves phaseServing when it is idle again.
func adminConnState(nc net.Conn, state http.ConnState) {
	c, ok := nc.(*conn)
	switch {
	case ok && state == http.StateActive:
		c.used.Store(true)
		c.enter(phaseArriving)
	case ok && state == http.StateIdle:
		c.enter(phaseIdle)
	}
}

func answerAdmin(w http.ResponseWriter, status int, code, message string) {
	writeJSON(w, status, failure{Error: code, Message: message})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		panic("api: an answer cannot be encoded: " + err.Error())
	}
	w.Header().Set("Content-Type", mediaJSON)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // a client that has gone is no concern of ours
}

func (a *AdminPlane) health(w http.ResponseWriter, _ *http.Request) {
	h := a.options.Node.Health()
	if h.Reasons == nil {
		h.Reasons = []string{}
	}
	status := http.StatusOK
	if !h.OK {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, h)
}

func (a *AdminPlane) metrics(w http.ResponseWriter, r *http.Request) {
	if a.options.Metrics == nil {
		answerAdmin(w, http.StatusNotFound, "not_found", "this node was built without metrics")
		return
	}
	a.options.Metrics.ServeHTTP(w, r)
}

func (a *AdminPlane) openAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(openAPI)
}

// events streams lines as they come. A follower that does not read in time is cut off; the cut shows
// as a broken answer, so that it is not taken for an end.
func (a *AdminPlane) events(w http.ResponseWriter, r *http.Request) {
	since, ok := parseSince(r.URL.Query())
	if !ok {
		answerAdmin(w, http.StatusBadRequest, "malformed", "since is a time in ns of the monotonic clock, as in t_mono_ns, and there is no other parameter")
		return
	}
	control := http.NewResponseController(w)
	began := false
	err := a.options.Events.Follow(r.Context(), since, func(line []byte) error {
		_ = control.SetWriteDeadline(time.Now().Add(adminAnswerTimeout))
		if !began {
			began = true
			w.Header().Set("Content-Type", "application/x-ndjson")
			w.WriteHeader(http.StatusOK)
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
		return control.Flush()
	})
	switch {
	case began && r.Context().Err() == nil:
		panic(http.ErrAbortHandler)
	case !began && err != nil:
		answerAdmin(w, http.StatusServiceUnavailable, "busy", err.Error())
	}
}

func parseSince(query map[string][]string) (int64, bool) {
	values, given := query["since"]
	if !given {
		return 0, len(query) == 0
	}
	if len(query) != 1 || len(values) != 1 {
		return 0, false
	}
	n, ok := parseUint([]byte(values[0]))
	return int64(n), ok && n < 1<<63
}
