package builtin

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp"

	"rejoin/loadgen"
	"rejoin/results"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

const (
	stubCluster = 0xabcdef
	stubGroup   = 0
)

// stubLog is one log with the server's rules for sessions, shared by all stub nodes.
type stubLog struct {
	mu       sync.Mutex
	frames   [][]byte // by op, from 1
	offsets  []uint64 // base offset of each
	last     vsr.Header
	next     uint64
	sessions map[uint64]vsr.Header // last answer by session; zero Request: none yet
}

func newStubLog() *stubLog {
	return &stubLog{sessions: map[uint64]vsr.Header{}, last: vsr.Header{Sum: wire.RootSum(stubCluster, stubGroup)}}
}

// stamp makes a client's header the log's next op. The caller holds the lock.
func (l *stubLog) stamp(h vsr.Header, body []byte) vsr.Header {
	h.Cluster, h.Group, h.View, h.Op = stubCluster, stubGroup, 1, l.last.Op+1
	h.Parent, h.BaseOffset, h.Timestamp = l.last.Sum, l.next, int64(h.Op)
	wire.Seal(&h)
	frame := make([]byte, wire.HeaderBytes, wire.HeaderBytes+len(body))
	wire.PutHeader(frame, &h)
	l.frames = append(l.frames, append(frame, body...))
	l.offsets = append(l.offsets, h.BaseOffset)
	l.last, l.next = h, h.NextOffset()
	return h
}

func (l *stubLog) register(client vsr.Client) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.stamp(vsr.Header{Kind: vsr.KindRegister, Client: client, BodySum: wire.Sum(nil)}, nil)
	l.sessions[h.Op] = vsr.Header{}
	return h.Op
}

// append returns the stamped header, or the code of a refusal.
func (l *stubLog) append(frame []byte) (vsr.Header, string) {
	h, err := wire.CheckRequest(frame)
	if err != nil {
		return h, "malformed"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	known, ok := l.sessions[h.Session]
	switch {
	case !ok:
		return h, codeEvicted
	case h.Request < known.Request:
		return h, codeSuperseded
	case h.Request == known.Request && h.BodySum != known.BodySum:
		return h, codeDiffers
	case h.Request == known.Request:
		return known, ""
	}
	stamped := l.stamp(h, frame[wire.HeaderBytes:])
	l.sessions[h.Session] = stamped
	return stamped, ""
}

// read gathers frames from the first batch that ends above offset.
func (l *stubLog) read(offset uint64, maxBytes int) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []byte
	for _, frame := range l.frames {
		h, _ := wire.ParseHeader(frame)
		if len(out) == 0 && (h.Kind != vsr.KindBatch || h.NextOffset() <= offset) {
			continue
		}
		if len(out) > 0 && len(out)+len(frame) > maxBytes {
			break
		}
		out = append(out, frame...)
	}
	return out
}

// stubNode is the client plane of one node over a stubLog.
type stubNode struct {
	log     *stubLog
	primary string // address of the primary
	server  *fasthttp.Server
	tcp     *trackedListener

	requests atomic.Int64
	frozen   atomic.Bool
	silent   atomic.Bool // about where an answer ends
	thaw     chan struct{}

	mu       sync.Mutex
	before   func(ctx *fasthttp.RequestCtx) (done bool) // may answer in place of the node
	readEdit func(body []byte) []byte                   // may change the answer to a read
}

// answerInPlace lets f answer in place of the node where it returns true.
func (n *stubNode) answerInPlace(f func(ctx *fasthttp.RequestCtx) (done bool)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.before = f
}

// editReads lets f change the answers to reads.
func (n *stubNode) editReads(f func(body []byte) []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.readEdit = f
}

func (n *stubNode) edits() (func(*fasthttp.RequestCtx) bool, func([]byte) []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.before, n.readEdit
}

// trackedListener remembers its connections, so that a node can go away at once.
type trackedListener struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func (l *trackedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.mu.Lock()
		l.conns = append(l.conns, c)
		l.mu.Unlock()
	}
	return c, err
}

// cut closes all connections and keeps listening.
func (l *trackedListener) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		c.Close()
	}
	l.conns = nil
}

// quiet drops fasthttp's log of the connections that the tests cut.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

func startStubNode(t *testing.T, log *stubLog, tcp net.Listener, primary string) *stubNode {
	n := &stubNode{log: log, primary: primary, tcp: &trackedListener{Listener: tcp}, thaw: make(chan struct{})}
	n.server = &fasthttp.Server{Handler: n.handle, NoDefaultServerHeader: true, Logger: quiet{}}
	served := make(chan struct{})
	go func() {
		defer close(served)
		n.server.Serve(n.tcp)
	}()
	t.Cleanup(func() {
		close(n.thaw)
		n.refuse() // also ends a Serve that has only just begun, which Shutdown would miss
		n.server.Shutdown()
		<-served
	})
	return n
}

func (n *stubNode) address() string { return n.tcp.Addr().String() }

func (n *stubNode) refuse() {
	n.tcp.Close()
	n.tcp.cut()
}

func (n *stubNode) handle(ctx *fasthttp.RequestCtx) {
	n.requests.Add(1)
	if n.frozen.Load() {
		<-n.thaw
		return
	}
	before, readEdit := n.edits()
	if before != nil && before(ctx) {
		return
	}
	n.log.mu.Lock()
	commit := n.log.next
	n.log.mu.Unlock()
	ctx.Response.Header.Set(headerCommitOffset, strconv.FormatUint(commit, 10))
	ctx.Response.Header.Set(headerEarliestOffset, "0")
	switch path := string(ctx.Path()); {
	case strings.HasSuffix(path, "/frames"):
		offset, _ := strconv.ParseUint(string(ctx.QueryArgs().Peek("offset")), 10, 64)
		body := n.log.read(offset, ctx.QueryArgs().GetUintOrZero("max_bytes"))
		whole := answer{body: body}
		if readEdit != nil {
			body = readEdit(body)
		}
		if next, ok := whole.end(); ok && len(body) > 0 && !n.silent.Load() {
			ctx.Response.Header.Set(headerNextOffset, strconv.FormatUint(next, 10))
		}
		ctx.SetBody(body)
	case !n.isPrimary(ctx):
	case strings.HasSuffix(path, "/sessions"):
		var asked struct{ Client string }
		json.Unmarshal(ctx.PostBody(), &asked)
		if id, err := hex.DecodeString(asked.Client); err != nil || len(id) != 16 {
			n.fail(ctx, 400, "malformed", outcomeNotAppended)
			return
		}
		op := n.log.register(vsr.Client{Hi: 1, Lo: 1})
		fmt.Fprintf(ctx, `{"session":%d,"op":%d}`, op, op)
	case strings.HasSuffix(path, "/batches"):
		n.append(ctx)
	default:
		n.fail(ctx, 404, "not_found", outcomeNotAppended)
	}
}

func (n *stubNode) append(ctx *fasthttp.RequestCtx) {
	stamped, code := n.log.append(ctx.PostBody())
	switch code {
	case "":
		var b [wire.HeaderBytes]byte
		wire.PutHeader(b[:], &stamped)
		ctx.SetBody(b[:])
	case "malformed":
		n.fail(ctx, 400, code, outcomeNotAppended)
	default:
		n.fail(ctx, 409, code, "unknown")
	}
}

func (n *stubNode) isPrimary(ctx *fasthttp.RequestCtx) bool {
	if n.address() == n.primary {
		return true
	}
	ctx.SetStatusCode(421)
	fmt.Fprintf(ctx, `{"error":"not_primary","message":"ask another","outcome":"not_appended","primary":%q,"view":1}`, n.primary)
	return false
}

func (n *stubNode) fail(ctx *fasthttp.RequestCtx, status int, code, outcome string) {
	ctx.SetStatusCode(status)
	fmt.Fprintf(ctx, `{"error":%q,"message":"as asked","outcome":%q}`, code, outcome)
}

// stub is a cluster of three stub nodes whose first one is the primary.
type stub struct {
	*Target
	log   *stubLog
	nodes []*stubNode
}

func startStub(t *testing.T) *stub {
	t.Helper()
	s := &stub{log: newStubLog()}
	var options Options
	primary := ""
	for i := range 3 {
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			primary = tcp.Addr().String()
		}
		n := startStubNode(t, s.log, tcp, primary)
		s.nodes = append(s.nodes, n)
		options.Nodes = append(options.Nodes, Node{Name: results.NodeName(i), Client: n.address()})
	}
	options.Topic = "orders"
	options.ReadBytes = 4 << 10 // several answers, even for a short log
	var err error
	if s.Target, err = New(options); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stub) evict() {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	clear(s.log.sessions)
}

var _ loadgen.Target = (*stub)(nil)
