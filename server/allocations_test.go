package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"testing"
	"time"

	"rejoin/server/wire"
)

// rawClient posts batches on one connection and allocates nothing for it.
type rawClient struct {
	t        *testing.T
	conn     net.Conn
	in       *bufio.Reader
	producer *producer
	request  []byte // head and frame, sealed anew for each batch
	frame    []byte // of request
	messages uint32
	stamped  [wire.HeaderBytes]byte
}

// newRawClient connects to the node that takes appends of p's partition.
func newRawClient(t *testing.T, p *producer, messages int) *rawClient {
	frame := make([]byte, wire.HeaderBytes)
	for range messages {
		frame = wire.AppendMessage(frame, wire.Message{Payload: make([]byte, 256)})
	}
	head := fmt.Sprintf("POST %s/batches HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/vnd.rejoin.frame\r\nAccept: application/vnd.rejoin.frame\r\nContent-Length: %d\r\n\r\n", p.path, len(frame))
	r := &rawClient{t: t, producer: p, messages: uint32(messages), request: append([]byte(head), frame...)}
	r.frame = r.request[len(head):]
	for _, n := range p.c.config.Nodes {
		conn, err := net.Dial("tcp", n.Listen.Client)
		if err != nil {
			t.Fatal(err)
		}
		r.conn, r.in = conn, bufio.NewReader(conn)
		if r.post() {
			t.Cleanup(func() { conn.Close() })
			return r
		}
		conn.Close()
	}
	t.Fatal("no node takes a batch")
	return nil
}

// post sends the producer's next batch; false: it was refused.
func (r *rawClient) post() bool {
	p := r.producer
	p.request++
	wire.SealRequest(r.frame, p.client, p.session, p.request, r.messages)
	r.conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := r.conn.Write(r.request); err != nil {
		r.t.Fatal(err)
	}
	taken := false
	for first := true; ; first = false {
		line, err := r.in.ReadSlice('\n')
		if err != nil {
			r.t.Fatal(err)
		}
		if first {
			taken = string(line[9:12]) == "200"
		}
		if len(line) <= 2 {
			break
		}
	}
	if taken {
		if _, err := io.ReadFull(r.in, r.stamped[:]); err != nil {
			r.t.Fatal(err)
		}
	}
	return taken
}

// TestBatchAllocations holds what three nodes together allocate for a batch, over real sockets and
// files: less than once, and nothing that grows with the body. What runs beside batches, beats and a
// status each tick, is in the figure, so it allows 4: on a slow disk more ticks fall to a batch.
func TestBatchAllocations(t *testing.T) {
	if testing.Short() {
		t.Skip("make test plays it; with -short make check plays this package under the race detector, whose allocations would be counted, too")
	}
	c := newCluster(t, 3, TopicConfig{Name: "orders", Partitions: 1})
	c.config.Limits.SegmentBytes = 64 << 20
	c.start(0, 1, 2)
	perBatch := func(client *rawClient) (count, bytes uint64) {
		const batches, rounds = 200, 3
		counts, sizes := make([]uint64, rounds), make([]uint64, rounds)
		for round := range rounds { // another test's goroutine, or a collection, may fall into one of them
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range batches {
				if !client.post() {
					t.Fatal("refused")
				}
			}
			runtime.ReadMemStats(&after)
			counts[round], sizes[round] = (after.Mallocs-before.Mallocs)/batches, (after.TotalAlloc-before.TotalAlloc)/batches
		}
		return slices.Min(counts), slices.Min(sizes)
	}
	smallCount, smallBytes := perBatch(newRawClient(t, c.producer("orders", 0, 1), 2))
	largeCount, largeBytes := perBatch(newRawClient(t, c.producer("orders", 0, 2), 200))
	t.Logf("small: %d allocations of %d bytes a batch; large: %d of %d", smallCount, smallBytes, largeCount, largeBytes)
	if most := max(smallCount, largeCount); most > 4 {
		t.Errorf("%d allocations a batch on three nodes together, want at most 4", most)
	}
	if largeBytes > smallBytes+2048 {
		t.Errorf("allocation grows with the body: %d bytes a batch of 2 messages, %d a batch of 200", smallBytes, largeBytes)
	}
}
