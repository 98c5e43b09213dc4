package peer

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

func TestMain(m *testing.M) {
	if addresses := os.Getenv(childVariable); addresses != "" {
		runChild(addresses)
		return
	}
	goleak.VerifyTestMain(m)
}

const (
	testCluster = 0xc1
	testFixed   = 0x70
	testGroups  = 4
	patience    = 20 * time.Second // only a broken test waits for it
)

// recorder is a Handler that writes down what it is told.
type recorder struct {
	mu      sync.Mutex
	lines   []string
	refused []*RefusedError
	hellos  []Hello
	changed chan struct{}
	onFrame func() // called in Frame and Message, unlocked
}

func newRecorder() *recorder { return &recorder{changed: make(chan struct{})} }

func (r *recorder) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *recorder) Hello(peer int, h Hello) {
	r.mu.Lock()
	r.hellos = append(r.hellos, h)
	r.mu.Unlock()
	r.note("hello %d boot %d nonce %d %s known %d", peer, h.Incarnation.Boot, h.Incarnation.Nonce, h.Format, h.KnownBoot)
}
func (r *recorder) LinkUp(peer int)                 { r.note("up %d", peer) }
func (r *recorder) LinkDown(peer int, refused bool) { r.note("down %d refused %v", peer, refused) }
func (r *recorder) Refused(peer int, err *RefusedError) {
	r.mu.Lock()
	r.refused = append(r.refused, err)
	r.mu.Unlock()
	r.note("refused %d by_peer %v %s", peer, err.ByPeer, err.Reason)
}
func (r *recorder) Message(m vsr.Message, frame *wire.Buffer) {
	if r.onFrame != nil {
		r.onFrame()
	}
	body := ""
	if frame != nil {
		body = fmt.Sprintf(" op %d of %d bytes", m.Header.Op, len(frame.Frame()))
	}
	r.note("%s from %d boot %d round %d slots %d%s", m.Kind, m.From, m.Incarnation.Boot, m.Round, len(m.Slots), body)
}
func (r *recorder) Frame(m vsr.Message, frame *wire.Buffer) {
	if r.onFrame != nil {
		r.onFrame()
	}
	r.note("frame round %d window %d op %d", m.Round, m.Window, frame.Header.Op)
}
func (r *recorder) ChunkEnd(m vsr.Message, err error) {
	r.note("chunk end round %d window %d ok %v", m.Round, m.Window, err == nil)
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}

func (r *recorder) count(prefix string) (n int) {
	for _, line := range r.all() {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

// await waits until so many lines begin with prefix.
func (r *recorder) await(t testing.TB, times int, prefix string) {
	t.Helper()
	giveUp := time.After(patience)
	for {
		r.mu.Lock()
		changed := r.changed
		r.mu.Unlock()
		if r.count(prefix) >= times {
			return
		}
		select {
		case <-changed:
		case <-giveUp:
			t.Fatalf("waited in vain for %d x %q; heard\n%s", times, prefix, strings.Join(r.all(), "\n"))
		}
	}
}

// eventually is for what only a snapshot tells.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	giveUp := time.After(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-giveUp:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// cluster is addresses that nodes may take, leave and take again.
type cluster struct {
	t     *testing.T
	nodes []Node
	held  []net.Listener // of nodes that have not started yet
}

func newCluster(t *testing.T, size int) *cluster {
	c := &cluster{t: t}
	for i := range size {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c.held = append(c.held, l)
		c.nodes = append(c.nodes, Node{ID: fmt.Sprintf("n%d", i), Dial: l.Addr().String()})
	}
	t.Cleanup(func() {
		for _, l := range c.held {
			if l != nil {
				l.Close()
			}
		}
	})
	return c
}

// node is one running network.
type node struct {
	*Network
	t       *testing.T
	heard   *recorder
	pool    *wire.Pool
	cancel  context.CancelFunc
	done    chan error
	stopped bool
}

func (c *cluster) options(i int) Options {
	return Options{Self: i, Nodes: slices.Clone(c.nodes), Groups: testGroups, Listen: c.nodes[i].Dial, ClusterID: testCluster, FixedDigest: testFixed,
		Secret: []byte("secret"), Local: Local{Incarnation: vsr.Incarnation{Boot: 1, Nonce: uint64(100 + i)}, Format: FormatUsed},
		Logger: slog.New(slog.DiscardHandler)}
}

// start runs node i until the test ends or stop is called.
func (c *cluster) start(i int, change ...func(*Options)) *node {
	c.t.Helper()
	pool, err := wire.NewCheckedPool(8)
	if err != nil {
		c.t.Fatal(err)
	}
	n := &node{t: c.t, heard: newRecorder(), pool: pool, done: make(chan error, 1)}
	o := c.options(i)
	o.Pool, o.Handler = pool, n.heard
	o.Listener, c.held[i] = c.held[i], nil
	for _, f := range change {
		f(&o)
	}
	if n.Network, err = New(o); err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	go func() { n.done <- n.Run(ctx) }()
	c.t.Cleanup(n.stop)
	return n
}

// stop ends the node as SIGKILL would look from outside, and finds its pool whole.
func (n *node) stop() {
	if n.stopped {
		return
	}
	n.stopped = true
	n.cancel()
	if err := <-n.done; err != nil {
		n.t.Errorf("run: %v", err)
	}
	for _, leak := range n.pool.Leaks() {
		n.t.Errorf("node %d stopped and %s", n.options.Self, leak)
	}
}

func boot(b uint64) func(*Options) {
	return func(o *Options) {
		o.Local.Incarnation = vsr.Incarnation{Boot: b, Nonce: b*1000 + uint64(o.Self)}
	}
}

func (n *node) message(kind vsr.MessageKind, to int) *vsr.Message {
	return &vsr.Message{Kind: kind, Group: 1, From: uint8(n.options.Self), To: uint8(to), Incarnation: n.localNow().Incarnation, View: 3}
}

// sealedFrame fills b with a frame that any node of the cluster believes.
func sealedFrame(b *wire.Buffer, group uint32, op uint64, payloadBytes int) {
	data := wire.AppendMessage(b.Data()[:wire.HeaderBytes], wire.Message{Payload: slices.Repeat([]byte{byte(op)}, payloadBytes)})
	h := vsr.Header{Kind: vsr.KindBatch, Session: 1, Request: op, MessageCount: 1, BodyBytes: uint32(len(data) - wire.HeaderBytes),
		BodySum: wire.Sum(data[wire.HeaderBytes:]), Cluster: testCluster, Group: group, View: 1, Op: op}
	wire.Seal(&h)
	wire.PutHeader(data, &h)
	b.SetFrame(len(data))
	b.Header = h
}

func (n *node) frame(op uint64, payloadBytes int) *wire.Buffer {
	n.t.Helper()
	b := n.pool.Get(wire.OwnerTest)
	if b == nil {
		n.t.Fatal("pool is empty")
	}
	sealedFrame(b, 1, op, payloadBytes)
	return b
}

// pair starts two nodes whose links are up.
func pair(t *testing.T) (a, b *node) {
	c := newCluster(t, 2)
	a, b = c.start(0), c.start(1)
	bothUp(t, a, b)
	return a, b
}

func bothUp(t *testing.T, a, b *node) {
	t.Helper()
	for _, x := range [][2]*node{{a, b}, {b, a}} {
		from, to := x[0], x[1].options.Self
		eventually(t, "links up", func() bool { s := from.Stats().Peers[to]; return s.ProtocolUp && s.BulkUp })
	}
}
