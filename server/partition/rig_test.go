package partition

import (
	"testing"
	"unsafe"

	"rejoin/server/journal"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// rig is three real partitions over real files, joined by a network that delivers at once. It is for
// the hot path: nothing in it fails.
type rig struct {
	t     testing.TB
	nodes [3]*rigNode
	sent  []delivery

	checkpointBytes int64
}

type rigNode struct {
	rig  *rig
	id   int
	pool *wire.Pool
	disk *Disk
	part *Partition
	jobs []Job
	ins  []vsr.Input

	answers  []Answer
	frames   []uintptr // base addresses of the frames given to the network
	writes   []uintptr // base addresses of the slices given to the file system
	copied   int       // bytes that the rig's network copied into this node's buffers
	tokens   uint64
	requests uint64
	observed int
	readable uint64
	told     vsr.ID      // the last commit that was told
	tables   []vsr.Table // checkpoints that were queued
}

type delivery struct {
	m     vsr.Message
	frame *wire.Buffer // the sender's; nil for none
}

const (
	rigCluster = 42
	rigGroup   = 0
)

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

func newRig(t testing.TB) *rig { return newRigOf(t, 64<<20) }

func newRigOf(t testing.TB, checkpointBytes int64) *rig {
	r := &rig{t: t, checkpointBytes: checkpointBytes}
	for i := range r.nodes {
		r.nodes[i] = r.newNode(i)
	}
	for i, n := range r.nodes {
		for p := range r.nodes {
			if p != i {
				n.handle(vsr.Input{Kind: vsr.InHello, Peer: uint8(p), Incarnation: incarnation(p)}, nil)
				n.handle(vsr.Input{Kind: vsr.InLinkUp, Peer: uint8(p)}, nil)
			}
		}
		n.handle(vsr.Input{Kind: vsr.InAllFormatted}, nil)
	}
	for range 200 {
		for _, n := range r.nodes {
			n.handle(vsr.Input{Kind: vsr.InTick}, nil)
		}
		r.settle()
		if r.primary() != nil {
			return r
		}
	}
	t.Fatal("nobody leads after 200 ticks")
	return nil
}

func incarnation(id int) vsr.Incarnation { return vsr.Incarnation{Boot: 1, Nonce: uint64(id + 1)} }

func (r *rig) newNode(id int) *rigNode {
	n := &rigNode{rig: r, id: id}
	root := wire.RootSum(rigCluster, rigGroup)
	pool, err := wire.NewPool(3000)
	if err != nil {
		r.t.Fatal(err)
	}
	n.pool = pool
	disk, rec, err := OpenDisk(DiskOptions{Journal: journal.Options{FS: recordingFS{journal.OS(r.t.TempDir()), n}, Dir: "p", Cluster: rigCluster, Group: rigGroup, SegmentBytes: 64 << 20}})
	if err != nil {
		r.t.Fatal(err)
	}
	n.disk = disk
	c := vsr.Default()
	c.Self, c.Replicas, c.Cluster, c.Group, c.RootSum, c.Seal, c.Incarnation = id, 3, rigCluster, rigGroup, root, wire.Seal, incarnation(id)
	boot, err := Boot(disk.Log(), rec, &c, Past{SameBoot: true})
	if err != nil {
		r.t.Fatal(err)
	}
	if n.part, err = New(Options{Replica: c, Boot: boot, RingBytes: 64 << 20, CheckpointBytes: r.checkpointBytes, Outside: n}); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(n.close)
	return n
}

func (n *rigNode) close() {
	n.part.Close()
	Discard(n.jobs)
	if err := n.disk.Close(); err != nil {
		n.rig.t.Error(err)
	}
	if s := n.pool.Stats(); s.Free != s.Buffers {
		n.rig.t.Errorf("node %d: %d of %d buffers are free at the end: %v", n.id, s.Free, s.Buffers, s.References)
	}
	if err := n.pool.Close(); err != nil {
		n.rig.t.Error(err)
	}
}

func (r *rig) primary() *rigNode {
	for _, n := range r.nodes {
		if s := n.part.Status(); s.Leading && s.Commit == s.Head {
			return n
		}
	}
	return nil
}

func (n *rigNode) handle(in vsr.Input, frame *wire.Buffer) { n.part.Handle(&in, frame) }

// settle delivers messages and does disk work until nothing is left to do.
func (r *rig) settle() {
	for {
		idle := len(r.sent) == 0
		sent := r.sent
		r.sent = nil
		for i := range sent {
			r.deliver(&sent[i])
		}
		for _, n := range r.nodes {
			idle = n.work() && idle
		}
		if idle {
			return
		}
	}
}

func (r *rig) deliver(d *delivery) {
	to := r.nodes[d.m.To]
	if d.frame == nil {
		to.handle(vsr.Input{Kind: vsr.InMessage, Msg: d.m}, nil)
		return
	}
	b := to.pool.Get(wire.OwnerPeerRead)
	to.copied += copy(b.Data(), d.frame.Frame()) // what the kernel does between two sockets
	b.SetFrame(len(d.frame.Frame()))
	b.Header = d.m.Header
	d.frame.Release(wire.OwnerPeerSend)
	to.handle(vsr.Input{Kind: vsr.InMessage, Msg: d.m}, b)
	b.Release(wire.OwnerPeerRead)
}

func (n *rigNode) work() (idle bool) {
	if len(n.jobs) == 0 {
		return true
	}
	jobs := n.jobs
	n.jobs = nil
	if done, err := n.disk.Perform(jobs, func(in vsr.Input) { n.ins = append(n.ins, in) }); err != nil || done != len(jobs) {
		n.rig.t.Fatalf("node %d did %d of %d jobs: %v", n.id, done, len(jobs), err)
	}
	ins := n.ins
	n.ins = nil
	for _, in := range ins {
		n.handle(in, nil)
	}
	return false
}

// request posts a client's frame, as the client plane does, and returns its answer.
func (n *rigNode) request(in vsr.Input, frame *wire.Buffer) Answer {
	n.tokens++
	in.Token, in.Now = n.tokens, int64(n.tokens)
	n.answers = n.answers[:0]
	n.handle(in, frame)
	frame.Release(wire.OwnerPartition)
	n.rig.settle()
	if len(n.answers) != 1 {
		n.rig.t.Fatalf("%d answers to one request", len(n.answers))
	}
	return n.answers[0]
}

func (n *rigNode) register() uint64 {
	b := n.pool.Get(wire.OwnerPartition)
	b.SetFrame(wire.HeaderBytes)
	a := n.request(vsr.Input{Kind: vsr.InRegister, Header: vsr.Header{Client: vsr.Client{Hi: 1}, BodySum: wire.Sum(nil)}}, b)
	if a.Outcome != vsr.OutcomeCommitted {
		n.rig.t.Fatalf("register: outcome %d", a.Outcome)
	}
	return a.Header.Op
}

// drawBatch draws a client's batch into a buffer.
func drawBatch(b *wire.Buffer, body []byte, session, request uint64, messages uint32) {
	frame := b.Data()[:wire.HeaderBytes+len(body)]
	copy(frame[wire.HeaderBytes:], body)
	wire.SealRequest(frame, vsr.Client{Hi: 1}, session, request, messages)
	b.SetFrame(len(frame))
	b.Header, _ = wire.ParseHeader(frame)
}

func batchBody(messages int) (body []byte) {
	payload := make([]byte, 256)
	for range messages {
		body = wire.AppendMessage(body, wire.Message{Payload: payload})
	}
	return body
}

// rigNode is its partition's Outside.

func (n *rigNode) Send(m *vsr.Message) { n.rig.sent = append(n.rig.sent, delivery{m: *m}) }

func (n *rigNode) SendFrame(m *vsr.Message, frame *wire.Buffer) {
	n.frames = append(n.frames, address(frame.Frame()))
	frame.Retain(wire.OwnerPeerSend)
	n.rig.sent = append(n.rig.sent, delivery{*m, frame})
}

func (n *rigNode) SendStored(*vsr.Message) {
	n.rig.t.Fatal("a frame of the hot path was read from the disk")
}
func (n *rigNode) Serve(Chunk) { n.rig.t.Fatal("nobody lags here") }
func (n *rigNode) Work(j Job) {
	if n.jobs = append(n.jobs, j); j.Kind == JobTable {
		if n.tables = append(n.tables, j.Table); j.Table.ID != n.told {
			n.rig.t.Errorf("node %d checkpoints its client table as of op %d, having told that op %d is committed", n.id, j.Table.ID.Op, n.told.Op)
		}
	}
}
func (n *rigNode) Reply(_ uint64, a Answer) {
	n.answers = append(n.answers, a)
}
func (n *rigNode) Committed(id vsr.ID) { n.told = id }
func (n *rigNode) Readable(op uint64)  { n.readable = op }
func (n *rigNode) Observe(*vsr.Event)  { n.observed++ }
func (n *rigNode) Fence(why string)    { n.rig.t.Fatalf("node %d fenced: %s", n.id, why) }

// recordingFS notes the base address of every slice that reaches a file.
type recordingFS struct {
	journal.FS
	node *rigNode
}

func (f recordingFS) Open(name string) (journal.File, error)   { return f.wrap(f.FS.Open(name)) }
func (f recordingFS) Create(name string) (journal.File, error) { return f.wrap(f.FS.Create(name)) }

func (f recordingFS) wrap(file journal.File, err error) (journal.File, error) {
	if err != nil {
		return nil, err
	}
	return recordingFile{file, f.node}, nil
}

type recordingFile struct {
	journal.File
	node *rigNode
}

func (f recordingFile) Writev(bufs [][]byte, off int64) error {
	if len(f.node.writes) < cap(f.node.writes) {
		for _, b := range bufs {
			f.node.writes = append(f.node.writes, address(b))
		}
	}
	return f.File.Writev(bufs, off)
}
