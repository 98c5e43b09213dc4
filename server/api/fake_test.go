package api

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// fakeNode is a node with one topic "orders" of one partition.
type fakeNode struct {
	partition *fakePartition
	health    Health
}

func (n *fakeNode) Cluster() ClusterStatus {
	return ClusterStatus{Cluster: "test", Nodes: []NodeStatus{{Node: 0, Client: "127.0.0.1:1", Connected: true, Partitions: []Status{n.partition.Status()}},
		{Node: 1, Client: "127.0.0.1:2"}}}
}

func (n *fakeNode) Topics() []TopicStatus {
	return []TopicStatus{{Name: "orders", Partitions: 1, Durability: "persisted"}}
}

func (n *fakeNode) Partition(topic []byte, partition int) (Partition, bool) {
	return n.partition, string(topic) == "orders" && partition == 0
}

func (n *fakeNode) Health() Health { return n.health }

// fakePartition commits what it gets into a file, after delay.
type fakePartition struct {
	delay time.Duration
	file  *os.File

	mu       sync.Mutex
	result   *Result                    // what Append, Register and Barrier answer instead of committing
	onAppend func(frame *wire.Buffer)   // sees each frame before the delay
	blocked  chan struct{}              // Append waits for it when it is not nil
	entered  chan struct{}              // told when an append has begun to wait
	readErr  error                      // of Read
	source   func(*os.File) io.ReaderAt // wraps the file of a Span; nil: a handle of its own
	op       uint64
	offset   uint64
	ends     []uint64 // offset after each op
	bytes    []int64  // file size after each op
	released int      // spans
	spans    int
	waits    []time.Duration
	sessions []vsr.Client
}

func newFakePartition(t testing.TB) *fakePartition {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "segment")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return &fakePartition{file: f}
}

func (p *fakePartition) Append(frame *wire.Buffer) Result {
	defer frame.Release(wire.OwnerPartition)
	p.mu.Lock()
	result, onAppend, blocked, entered := p.result, p.onAppend, p.blocked, p.entered
	p.mu.Unlock()
	if onAppend != nil {
		onAppend(frame)
	}
	if entered != nil {
		entered <- struct{}{}
	}
	if blocked != nil {
		<-blocked
	}
	if result != nil {
		return *result
	}
	if p.delay > 0 {
		time.Sleep(p.delay)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.op++
	h := frame.Header
	h.Op, h.BaseOffset, h.View = p.op, p.offset, 5
	wire.Seal(&h)
	wire.PutHeader(frame.Frame(), &h)
	p.offset = h.NextOffset()
	if _, err := p.file.Write(frame.Frame()); err != nil {
		panic(err)
	}
	size := int64(0)
	if n := len(p.bytes); n > 0 {
		size = p.bytes[n-1]
	}
	p.ends, p.bytes = append(p.ends, p.offset), append(p.bytes, size+int64(len(frame.Frame())))
	return Result{Outcome: vsr.OutcomeCommitted, Header: h}
}

func (p *fakePartition) Register(client vsr.Client) Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.result != nil {
		return *p.result
	}
	p.op++
	p.sessions = append(p.sessions, client)
	return Result{Outcome: vsr.OutcomeCommitted, Header: vsr.Header{Op: p.op, Client: client, View: 5}}
}

func (p *fakePartition) Barrier(deadline time.Time) Result {
	if time.Until(deadline) <= 0 {
		panic("a deadline that has passed")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.result != nil {
		return *p.result
	}
	return Result{Outcome: vsr.OutcomeCommitted}
}

func (p *fakePartition) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Status{Topic: "orders", Role: RolePrimary, State: StateNormal, View: 5, LogView: 5, Head: p.op, Commit: p.op, KnownCommit: p.op,
		CommitOffset: p.offset, KnownCommitOffset: p.offset + 1, EarliestOffset: 0, Primary: "127.0.0.1:1"}
}

func (p *fakePartition) Read(offset uint64, maxBytes int64, wait time.Duration) (Span, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits = append(p.waits, wait)
	if p.readErr != nil {
		return Span{}, p.readErr
	}
	begin, end, after := int64(0), int64(0), uint64(0)
	for i, next := range p.ends {
		if next <= offset {
			begin, end = p.bytes[i], p.bytes[i]
			continue
		}
		if end > begin && p.bytes[i]-begin > maxBytes {
			break
		}
		end, after = p.bytes[i], next
	}
	if end == begin && wait > 0 {
		p.mu.Unlock()
		time.Sleep(min(wait, time.Millisecond))
		p.mu.Lock()
	}
	f, err := os.Open(p.file.Name())
	if err != nil {
		return Span{}, err
	}
	p.spans++
	var source io.ReaderAt = f
	if p.source != nil {
		source = p.source(f)
	}
	return Span{Source: source, Offset: begin, Bytes: end - begin, NextOffset: after, Release: func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.released++
		_ = f.Close()
	}}, nil
}

// fakeEvents follows nothing but what it is given.
type fakeEvents struct {
	lines []string
	slow  bool
	err   error
	since int64
}

// makeFrame is a producer's frame with one message.
func makeFrame(session, request uint64, payload []byte) []byte {
	frame := wire.AppendMessage(make([]byte, wire.HeaderBytes), wire.Message{Payload: payload})
	wire.SealRequest(frame, vsr.Client{Hi: 1, Lo: 2}, session, request, 1)
	return frame
}

func payloadOf(n int, fill byte) []byte { return bytes.Repeat([]byte{fill}, n) }

var errFake = errors.New("segment 7 has a hole at op 9")
