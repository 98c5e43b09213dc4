package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rejoin/server/api"
	"rejoin/server/journal"
	"rejoin/server/peer"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// cluster is real nodes in this process, over loopback and real files.
type cluster struct {
	t      *testing.T
	config Config
	dirs   []string
	nodes  []*runningNode
	taker  atomic.Int64 // the node that answered last, which is asked first
	logTo  io.Writer    // of the nodes that are started next; nil: nowhere, or with -v the test's own output
}

type runningNode struct {
	stop context.CancelFunc
	done chan error
}

// freePorts takes so many ports below the ephemeral range, where no outgoing connection can sit.
func freePorts(t *testing.T, n int) []string {
	t.Helper()
	var out []string
	for port := 17400 + os.Getpid()%200; port < 17900 && len(out) < n; port++ {
		address := fmt.Sprintf("127.0.0.1:%d", port)
		l, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		defer l.Close()
		out = append(out, address)
	}
	if len(out) < n {
		t.Fatalf("only %d of %d ports are free", len(out), n)
	}
	return out
}

// ringOps is a short ring: each op is a sync on two nodes, so what takes an outage of more than the ring takes a while.
const ringOps = 256

func newCluster(t *testing.T, nodes int, topics ...TopicConfig) *cluster {
	t.Helper()
	ports := freePorts(t, 3*nodes)
	c := &cluster{t: t, nodes: make([]*runningNode, nodes)}
	c.config = Config{Cluster: "test", Topics: topics, Limits: Limits{SegmentBytes: 4 << 20, RingOps: ringOps, PoolBuffers: 3000}}
	root := t.TempDir()
	for i := range nodes {
		c.config.Nodes = append(c.config.Nodes, NodeConfig{ID: i, Listen: Addresses{Peer: ports[3*i], Client: ports[3*i+1], Admin: ports[3*i+2]}})
		c.dirs = append(c.dirs, filepath.Join(root, fmt.Sprintf("n%d", i)))
	}
	c.config = c.config.withDefaults()
	c.config.Limits.PoolBuffers = max(c.config.Limits.PoolBuffers, c.config.poolBuffersMin())
	if err := c.config.Validate(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.stopAll)
	return c
}

func (c *cluster) start(ids ...int) {
	for _, id := range ids {
		ctx, stop := context.WithCancel(context.Background())
		n := &runningNode{stop: stop, done: make(chan error, 1)}
		c.nodes[id] = n
		logger := slog.New(slog.DiscardHandler)
		if c.logTo != nil {
			logger = slog.New(slog.NewTextHandler(c.logTo, nil))
		} else if testing.Verbose() {
			logger = slog.New(slog.NewTextHandler(c.t.Output(), nil))
		}
		go func() { n.done <- Run(ctx, Options{Config: c.config, ID: id, Dir: c.dirs[id], Logger: logger}) }()
	}
}

func (c *cluster) stop(id int) {
	n := c.nodes[id]
	if n == nil {
		return
	}
	c.nodes[id] = nil
	n.stop()
	if err := <-n.done; err != nil {
		c.t.Errorf("node %d ended with %v", id, err)
	}
}

func (c *cluster) stopAll() {
	for id := range c.nodes {
		c.stop(id)
	}
}

// post sends a request to the nodes in turn, beginning with the one that answered last, until one answers 200, within a minute.
func (c *cluster) post(path, contentType string, body []byte) []byte {
	c.t.Helper()
	deadline := time.Now().Add(time.Minute)
	var last string
	for id := int(c.taker.Load()); time.Now().Before(deadline); id = (id + 1) % len(c.nodes) {
		resp, err := http.Post("http://"+c.config.Nodes[id].Listen.Client+path, contentType, bytes.NewReader(body))
		if err != nil {
			last = err.Error()
			<-time.After(10 * time.Millisecond)
			continue
		}
		answer, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			c.taker.Store(int64(id))
			return answer
		}
		last = fmt.Sprintf("%d %s", resp.StatusCode, answer)
	}
	c.t.Fatalf("POST %s: never accepted; last: %s", path, last)
	return nil
}

type producer struct {
	c       *cluster
	path    string
	client  vsr.Client
	session uint64
	request uint64
	offsets map[uint64]uint64 // by request
}

func (c *cluster) producer(topic string, n int, id uint64) *producer {
	p := &producer{c: c, path: fmt.Sprintf("/v1/topics/%s/partitions/%d", topic, n), client: vsr.Client{Hi: 7, Lo: id}, offsets: map[uint64]uint64{}}
	var answer struct {
		Session uint64 `json:"session"`
	}
	body := fmt.Sprintf(`{"client":"%016x%016x"}`, p.client.Hi, p.client.Lo)
	if err := json.Unmarshal(c.post(p.path+"/sessions", "application/json", []byte(body)), &answer); err != nil || answer.Session == 0 {
		c.t.Fatalf("register: session %d, %v", answer.Session, err)
	}
	p.session = answer.Session
	return p
}

func (p *producer) frame(request uint64) []byte {
	frame := make([]byte, wire.HeaderBytes)
	for i := range 3 {
		frame = wire.AppendMessage(frame, wire.Message{Payload: fmt.Appendf(nil, "producer %d request %d message %d %s", p.client.Lo, request, i, bytes.Repeat([]byte{'.'}, 8000))})
	}
	wire.SealRequest(frame, p.client, p.session, request, 3)
	return frame
}

func (p *producer) send() {
	p.request++
	p.offsets[p.request] = p.repeat(p.request)
}

func (p *producer) repeat(request uint64) uint64 {
	var answer struct {
		BaseOffset uint64 `json:"base_offset"`
	}
	if err := json.Unmarshal(p.c.post(p.path+"/batches", "application/vnd.rejoin.frame", p.frame(request)), &answer); err != nil {
		p.c.t.Fatal(err)
	}
	return answer.BaseOffset
}

// readAll reads a replica's own log from offset 0 until it holds at least so many messages.
func (c *cluster) readAll(id int, topic string, n int, messages uint64) []byte {
	c.t.Helper()
	return c.readFrom(id, topic, n, 0, messages)
}

// earliest is the offset at which a node's log of partition 0 of orders begins, 0 while the node does not answer yet.
func (c *cluster) earliest(id int) uint64 {
	c.t.Helper()
	resp, err := http.Get(fmt.Sprintf("http://%s/v1/topics/orders/partitions/0/frames?offset=0", c.config.Nodes[id].Listen.Client))
	if err != nil {
		return 0
	}
	resp.Body.Close()
	if resp.StatusCode == http.StatusServiceUnavailable {
		return 0
	}
	earliest, err := strconv.ParseUint(resp.Header.Get("Rejoin-Earliest-Offset"), 10, 64)
	if err != nil {
		c.t.Fatal(err)
	}
	return earliest
}

func (c *cluster) readFrom(id int, topic string, n int, offset, messages uint64) []byte {
	c.t.Helper()
	deadline := time.Now().Add(time.Minute)
	var all []byte
	for offset < messages {
		if time.Now().After(deadline) {
			c.t.Fatalf("node %d shows %d of %d messages", id, offset, messages)
		}
		url := fmt.Sprintf("http://%s/v1/topics/%s/partitions/%d/frames?offset=%d&max_bytes=1048576&wait_ms=200", c.config.Nodes[id].Listen.Client, topic, n, offset)
		resp, err := http.Get(url)
		if err != nil {
			<-time.After(20 * time.Millisecond)
			continue
		}
		part, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			c.t.Fatalf("read from node %d: %d %s", id, resp.StatusCode, part)
		}
		for rest := part; len(rest) > 0; {
			h, err := wire.ParseSealed(rest)
			if err != nil {
				c.t.Fatal(err)
			}
			end := wire.HeaderBytes + int(h.BodyBytes)
			if h.Kind == vsr.KindBatch {
				if err := wire.CheckBody(&h, rest[wire.HeaderBytes:end]); err != nil || h.BaseOffset != offset {
					c.t.Fatalf("op %d at offset %d where %d should be: %v", h.Op, h.BaseOffset, offset, err)
				}
				offset = h.NextOffset()
			}
			all = append(all, rest[:end]...)
			rest = rest[end:]
		}
	}
	return all
}

// expectEqual reads every replica by itself and compares them byte by byte.
func (c *cluster) expectEqual(topic string, n int, messages uint64) {
	c.t.Helper()
	first := c.readAll(0, topic, n, messages)
	for id := 1; id < len(c.nodes); id++ {
		if other := c.readAll(id, topic, n, messages); !bytes.Equal(first, other) {
			c.t.Errorf("node %d holds other bytes than node 0: %d and %d", id, len(other), len(first))
		}
	}
}

// format reads what a node's directory says of itself.
func (c *cluster) format(id int) peer.Format {
	file, payload, err := journal.OpenStateFile(journal.OS(c.dirs[id]), nodeStateFile, nodeStateBytes)
	if err != nil {
		c.t.Fatal(err)
	}
	defer file.Close()
	return peer.Format(payload[20])
}

func all(n int) (ids []int) {
	for i := range n {
		ids = append(ids, i)
	}
	return ids
}

// TestClusterCatchesUp stops each node in turn under load, so that it misses more than the ring, and
// expects every replica to hold the same log in the end, each acknowledged batch at its offset.
func TestClusterCatchesUp(t *testing.T) {
	c := newCluster(t, 3, TopicConfig{Name: "orders", Partitions: 1})
	c.start(all(3)...)
	const producers = 4
	ps := make([]*producer, producers)
	for i := range ps {
		ps[i] = c.producer("orders", 0, uint64(i+1))
	}
	drive := func(each int) {
		var wg sync.WaitGroup
		for _, p := range ps {
			wg.Go(func() {
				for range each {
					p.send()
				}
			})
		}
		wg.Wait()
	}
	drive(20)
	for id := range 3 {
		c.stop(id)
		drive(ringOps/producers + 10 + 30*(id%2)) // beyond the ring, by a little and by more; 7 to 10 MB, of several segments
		c.start(id)
	}
	drive(20)
	messages := uint64(3 * producers * (20 + 3*(ringOps/producers+10) + 30 + 20))
	c.expectEqual("orders", 0, messages)
	for _, p := range ps {
		for _, request := range []uint64{p.request} { // the session's last is answered again, alike
			if offset := p.repeat(request); offset != p.offsets[request] {
				t.Errorf("request %d of producer %d is at offset %d the second time, was at %d", request, p.client.Lo, offset, p.offsets[request])
			}
		}
	}
	c.expectEqual("orders", 0, messages)
}

// TestWipedDirectory loses one node's directory and expects it to fetch everything and to earn its
// vote back.
func TestWipedDirectory(t *testing.T) {
	c := newCluster(t, 3, TopicConfig{Name: "orders", Partitions: 1})
	c.start(all(3)...)
	p := c.producer("orders", 0, 1)
	for range 50 {
		p.send()
	}
	c.stop(2)
	if err := os.RemoveAll(c.dirs[2]); err != nil {
		t.Fatal(err)
	}
	c.start(2)
	c.readAll(2, "orders", 0, 150)
	if format := c.format(2); format != peer.FormatWiped {
		t.Fatalf("the lost directory is formatted as %v", format)
	}
	eventually(t, "node 2 earns its vote back", func() bool { return c.statusOf(2, 0).State == "normal" }) // for which it needs both others
	c.stop(0)                                                                                              // now its vote is needed
	for range 20 {
		p.send()
	}
	c.start(0)
	c.expectEqual("orders", 0, 210)
}

// TestAnOldCopyOfADirectoryIsRefused: what a node has voted for since a copy was made, the copy has forgotten. The
// others know that a later life was there, also after they have restarted.
func TestAnOldCopyOfADirectoryIsRefused(t *testing.T) {
	c := newCluster(t, 3, TopicConfig{Name: "orders", Partitions: 1})
	c.start(all(3)...)
	p := c.producer("orders", 0, 1)
	p.send()
	c.stop(2)
	old := c.dirs[2] + ".old"
	if err := os.Rename(c.dirs[2], old); err != nil {
		t.Fatal(err)
	}
	c.start(2)
	eventually(t, "node 2 earns its vote back", func() bool { return c.statusOf(2, 0).State == "normal" })
	c.stopAll()
	if err := errors.Join(os.RemoveAll(c.dirs[2]), os.Rename(old, c.dirs[2])); err != nil {
		t.Fatal(err)
	}
	said := &lines{}
	c.logTo = said
	c.start(0)
	c.logTo = nil
	c.start(2)
	eventually(t, "node 0 refuses it", func() bool { return said.contain("handshake refused") && said.contain("is an old copy") })
	eventually(t, "node 2 says so itself, and what to do", func() bool {
		h := c.health(2)
		text := strings.Join(h.Reasons, "\n")
		return !h.OK && strings.Contains(text, "node 0 refuses this node: 2 comes with boot counter") && strings.Contains(text, "start it with an empty directory")
	})
	eventually(t, "node 2 is not normal", func() bool { s := c.statusOf(2, 0); return s.State == api.StateFenced && s.Role == api.RoleNone })
	said.mu.Lock()
	defer said.mu.Unlock()
	if n := bytes.Count(said.text, []byte("refused")); n != 1 {
		t.Errorf("the refusal is logged %d times:\n%s", n, said.text)
	}
}

// health of a node as its admin plane tells it; the zero value while that does not answer.
func (c *cluster) health(id int) (h api.Health) {
	resp, err := http.Get(fmt.Sprintf("http://%s/health", c.config.Nodes[id].Listen.Admin))
	if err != nil {
		return h
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&h); err != nil {
		c.t.Fatal(err)
	}
	return h
}

// lines is what a node logs.
type lines struct {
	mu   sync.Mutex
	text []byte
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, b...)
	return len(b), nil
}

func (l *lines) contain(words string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Contains(l.text, []byte(words))
}

// TestLeastPool runs nodes with the fewest frame buffers that a cluster file may give them, until more has passed than those.
func TestLeastPool(t *testing.T) {
	c := newCluster(t, 3, TopicConfig{Name: "orders", Partitions: 2})
	c.config.Limits.RingOps, c.config.Limits.PipelineOps = 16, 8
	c.config.Limits.PoolBuffers = c.config.poolBuffersMin()
	if err := c.config.Validate(); err != nil {
		t.Fatal(err)
	}
	c.start(all(3)...)
	var wg sync.WaitGroup
	for i := range 4 {
		p := c.producer("orders", i%2, uint64(i+1))
		wg.Go(func() {
			for range 30 {
				p.send()
			}
		})
	}
	wg.Wait()
	c.expectEqual("orders", 0, 2*30*3)
	c.expectEqual("orders", 1, 2*30*3)
}

// TestClusterSizes runs clusters of one and of five nodes, and many partitions in a node.
func TestClusterSizes(t *testing.T) {
	for _, nodes := range []int{1, 5} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			c := newCluster(t, nodes, TopicConfig{Name: "a", Partitions: 3}, TopicConfig{Name: "b", Partitions: 1, Durability: DurabilityReplicated})
			c.start(all(nodes)...)
			for part := range 3 {
				p := c.producer("a", part, 1)
				for range 10 {
					p.send()
				}
				c.expectEqual("a", part, 30)
			}
			p := c.producer("b", 0, 1)
			p.send()
			c.expectEqual("b", 0, 3)
			c.stop(0)
			c.start(0)
			p.send()
			c.expectEqual("b", 0, 6)
		})
	}
}

// TestPrimaryLostDuringCatchUp stops the primary while another node is still fetching what it
// missed: the two that are left must go on once it has.
func TestPrimaryLostDuringCatchUp(t *testing.T) {
	c := newCluster(t, 3, TopicConfig{Name: "orders", Partitions: 1})
	c.start(all(3)...)
	p := c.producer("orders", 0, 1)
	p.send()
	c.stop(0)
	for range ringOps + 150 {
		p.send()
	}
	c.start(0)
	c.stop(1) // primary of view 1
	for range 20 {
		p.send()
	}
	c.start(1)
	c.expectEqual("orders", 0, 3*(1+ringOps+150+20))
}

// TestTransferThatDoesNotConnect keeps a node away until its peers have trimmed what it lacks: it must
// take their chain in place of its log, and go on from there.
func TestTransferThatDoesNotConnect(t *testing.T) {
	c := newCluster(t, 3, TopicConfig{Name: "orders", Partitions: 1})
	c.config.Limits.RetentionBytes = 6 << 20
	c.start(all(3)...)
	ps := []*producer{c.producer("orders", 0, 1), c.producer("orders", 0, 2), c.producer("orders", 0, 3)}
	drive := func(n int) {
		var wg sync.WaitGroup
		for _, p := range ps {
			wg.Go(func() {
				for range n {
					p.send()
				}
			})
		}
		wg.Wait()
	}
	drive(10)
	c.stop(0)
	drive(ringOps) // three times the ring, and 18 MB: three times the retention
	c.start(0)
	drive(10)
	messages := uint64(3 * 3 * (ringOps + 20))
	var logs [][]byte
	for id := range 3 {
		earliest := c.earliest(id)
		for deadline := time.Now().Add(time.Minute); earliest == 0; earliest = c.earliest(id) {
			if time.Now().After(deadline) {
				t.Fatalf("node %d has trimmed nothing", id)
			}
			<-time.After(20 * time.Millisecond)
		}
		logs = append(logs, c.readFrom(id, "orders", 0, earliest, messages))
	}
	for id, log := range logs[1:] {
		short, long := logs[0], log
		if len(short) > len(long) {
			short, long = long, short
		}
		if !bytes.HasSuffix(long, short) {
			t.Errorf("node %d ends in other bytes than node 0", id+1)
		}
	}
	for _, p := range ps {
		if offset := p.repeat(p.request); offset != p.offsets[p.request] {
			t.Errorf("request %d is at offset %d the second time, was at %d", p.request, offset, p.offsets[p.request])
		}
	}
	c.stop(1)
	drive(10) // node 0 must be part of the quorum
	c.stop(0)
	c.start(0, 1)
	drive(10)
}

// forgetMachine makes a stopped node's directory look as if the machine had restarted since.
func (c *cluster) forgetMachine(id int) {
	c.t.Helper()
	file, payload, err := journal.OpenStateFile(journal.OS(c.dirs[id]), nodeStateFile, nodeStateBytes)
	if err != nil {
		c.t.Fatal(err)
	}
	defer file.Close()
	copy(payload[32:], "another boot of this machine........")
	if err := file.Save(payload); err != nil {
		c.t.Fatal(err)
	}
}

// TestReplicatedAfterPowerCut restarts the machines of a replicated topic: one alone earns its vote
// back from the others; all together go on only once all are there, with what is left.
func TestReplicatedAfterPowerCut(t *testing.T) {
	c := newCluster(t, 3, TopicConfig{Name: "orders", Partitions: 1, Durability: DurabilityReplicated})
	c.start(all(3)...)
	p := c.producer("orders", 0, 1)
	for range 30 {
		p.send()
	}
	c.stop(2)
	c.forgetMachine(2)
	c.start(2)
	c.readAll(2, "orders", 0, 90)
	for c.status(2).State == "wiped" {
		<-time.After(10 * time.Millisecond)
	}
	c.stop(1) // now node 2 must vote
	p.send()
	c.stop(0)
	c.stop(2)
	for id := range 3 {
		c.forgetMachine(id)
	}
	c.start(0, 2)
	for _, id := range []int{0, 2} {
		for c.status(id).State != "wiped" {
			<-time.After(10 * time.Millisecond)
		}
	}
	c.start(1)
	p.send()
	c.expectEqual("orders", 0, 96)
}

// status of a node's partition 0 of orders; the zero value while it does not serve.
func (c *cluster) status(id int) api.Status { return c.statusOf(id, 0) }

// statusOf a node's group, by number.
func (c *cluster) statusOf(id, group int) (s api.Status) {
	resp, err := http.Get(fmt.Sprintf("http://%s/v1/cluster", c.config.Nodes[id].Listen.Client))
	if err != nil {
		return s
	}
	defer resp.Body.Close()
	var answer api.ClusterStatus
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		c.t.Fatal(err)
	}
	return answer.Nodes[id].Partitions[group]
}
