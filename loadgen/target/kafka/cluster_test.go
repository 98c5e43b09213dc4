package kafka

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"rejoin/loadgen"
	"rejoin/loadgen/targettest"
)

const testTopic = "bench"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gate is a listener whose connections can be frozen or refused, as a stopped or dead process does.
type gate struct {
	net.Listener
	frozen atomic.Bool
	thaw   chan struct{} // closed at the end of the test

	mu    sync.Mutex
	conns []net.Conn
}

func (g *gate) Accept() (net.Conn, error) {
	conn, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.conns = append(g.conns, conn)
	return &gatedConn{Conn: conn, gate: g}, nil
}

// refuse closes the port and every connection.
func (g *gate) refuse() {
	g.Listener.Close()
	g.cut()
}

func (g *gate) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.conns {
		c.Close()
	}
	g.conns = nil
}

type gatedConn struct {
	net.Conn
	gate *gate
}

func (c *gatedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil && c.gate.frozen.Load() {
		<-c.gate.thaw // it has arrived, and nobody looks at it
	}
	return n, err
}

// fake is an in-process cluster of three brokers whose followers answer fetches.
type fake struct {
	*kfake.Cluster
	*Target
	gates []*gate
}

func startFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{}
	var err error
	f.Cluster, err = kfake.NewCluster(kfake.NumBrokers(3), kfake.ListenFn(func(network, address string) (net.Listener, error) {
		l, err := net.Listen(network, address)
		if err != nil {
			return nil, err
		}
		g := &gate{Listener: l, thaw: make(chan struct{})}
		f.gates = append(f.gates, g)
		return g, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, g := range f.gates {
			close(g.thaw)
		}
		f.Cluster.Close()
		for _, g := range f.gates {
			g.cut()
		}
	})
	options := Options{Topic: testTopic, ReplicationFactor: 3, MinInSync: 2}
	for i, address := range f.ListenAddrs() {
		options.Brokers = append(options.Brokers, Broker{Name: fmt.Sprintf("n%d", i), ID: int32(i), Address: address})
	}
	err = CreateTopic(t.Context(), f.ListenAddrs(), TopicOptions{Name: testTopic, Replicas: []int32{0, 1, 2}, MinInSync: 2})
	if err != nil {
		t.Fatal(err)
	}
	f.SetFollowers(testTopic, 0, []int32{0, 1, 2})
	if f.Target, err = New(options); err != nil {
		t.Fatal(err)
	}
	return f
}

// leader is the roster index of the leader.
func (f *fake) leader() int { return int(f.LeaderFor(testTopic, 0)) }

func TestConformance(t *testing.T) {
	targettest.Run(t, func(t *testing.T) targettest.System {
		f := startFake(t)
		return targettest.System{
			Target:   f.Target,
			Sessions: true,
			Freeze:   func(address int) { f.gates[address].frozen.Store(true) },
			Refuse:   func(address int) { f.gates[address].refuse() },
		}
	})
}

var testBatch = &loadgen.Batch{Messages: [][]byte{[]byte("one message"), []byte("and another")}}

func openRegistered(t *testing.T, f *fake) *producer {
	t.Helper()
	p, err := f.OpenProducer(t.Context(), loadgen.ProducerOptions{BatchMessages: 2, MessageBytes: 100})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	if r := p.Register(0, soon()); r.Outcome != loadgen.TryAcked {
		t.Fatalf("register: %v", r.Err)
	}
	return p.(*producer)
}

func soon() time.Time { return time.Now().Add(10 * time.Second) }

func (f *fake) attempt(request uint64) loadgen.Attempt {
	return loadgen.Attempt{Address: f.leader(), Request: request, Batch: testBatch, Deadline: soon()}
}

// count counts the produce requests that reach the cluster.
func (f *fake) count() *atomic.Int64 {
	var n atomic.Int64
	f.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		f.KeepControl()
		n.Add(1)
		return nil, nil, false
	})
	return &n
}
