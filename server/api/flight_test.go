package api

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// C1: 200 requests at once, each with a body of its own, committed late: what is stored is what was
// sent, also when the connections are used again meanwhile.
func TestBodiesAreNotReused(t *testing.T) {
	const posts, rounds = 200, 3
	s := start(t, func(o *ClientOptions) {
		o.Pool, _ = wire.NewCheckedPool(posts)
		o.ConnectionsMax = posts * (rounds + 1) // the client closes most of its connections after each answer, the server notices later
	})
	s.partition.delay = 20 * time.Millisecond
	var wait sync.WaitGroup
	var mu sync.Mutex
	answeredAt := map[uint64]uint64{} // request by op
	for producer := range posts {
		wait.Go(func() {
			for round := range rounds {
				request := uint64(producer*rounds + round + 1)
				payload := make([]byte, 100+producer*41)
				for i := 0; i+8 <= len(payload); i += 8 {
					binary.LittleEndian.PutUint64(payload[i:], request)
				}
				a := s.post(t, makeFrame(uint64(producer+1), request, payload))
				if a.status != 200 {
					t.Errorf("%d %s", a.status, a.body)
					return
				}
				mu.Lock()
				answeredAt[uint64(a.json["op"].(float64))] = request
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	log := s.do(t, "GET", "/v1/topics/orders/partitions/0/frames?max_bytes=8000000", nil).body
	stored := 0
	for len(log) > 0 {
		h, err := wire.ParseSealed(log)
		if err != nil {
			t.Fatal(err)
		}
		body := log[wire.HeaderBytes : wire.HeaderBytes+h.BodyBytes]
		if err := wire.CheckBody(&h, body); err != nil {
			t.Fatal(err)
		}
		if answeredAt[h.Op] != h.Request {
			t.Fatalf("op %d holds request %d, the answer to %d named it", h.Op, h.Request, answeredAt[h.Op])
		}
		m, _, _ := wire.NextMessage(body)
		if got := binary.LittleEndian.Uint64(m.Payload); got != h.Request {
			t.Fatalf("op %d of request %d holds the bytes of request %d", h.Op, h.Request, got)
		}
		stored++
		log = log[wire.HeaderBytes+h.BodyBytes:]
	}
	if stored != posts*rounds {
		t.Fatalf("%d of %d are stored", stored, posts*rounds)
	}
}

// Zero-copy: the frame given to Append begins where a pool buffer begins, the HTTP reader filled it
// directly, and what it had to copy is no more than its own buffer, before and behind. It also holds
// requestOf against the version of fasthttp in use: a head from elsewhere would lead nowhere near a
// request, and the body into memory of fasthttp.
func TestFramesAreReadIntoThePool(t *testing.T) {
	const httpBuffer = 4096
	var starts []uintptr
	s := start(t, func(o *ClientOptions) { starts = bufferAddresses(o.Pool) })
	inPool := func(b []byte) bool {
		at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
		return slices.ContainsFunc(starts, func(begin uintptr) bool { return at >= begin && at < begin+wire.SlotBytes })
	}
	var direct, passed atomic.Int64
	observe := func(b []byte) {
		passed.Add(int64(len(b)))
		if inPool(b) {
			direct.Add(int64(len(b)))
		}
	}
	s.listener.observeRead.Store(&observe)
	s.partition.onAppend = func(frame *wire.Buffer) {
		if at := uintptr(unsafe.Pointer(unsafe.SliceData(frame.Frame()))); !slices.Contains(starts, at) {
			t.Error("the frame is not at the start of a pool buffer")
		}
	}
	for _, size := range []int{100, 35_400, 1_000_000} {
		for request := range 20 { // the first of a connection as well as the later ones
			frame := makeFrame(3, uint64(request+1), payloadOf(size, 'x'))
			direct.Store(0)
			passed.Store(0)
			if a := s.post(t, frame); a.status != 200 {
				t.Fatalf("%d %s", a.status, a.body)
			}
			if copied := int64(len(frame)) - direct.Load(); copied > 2*httpBuffer || passed.Load() < int64(len(frame)) {
				t.Fatalf("a batch of %d bytes: %d read, %d copied", len(frame), passed.Load(), copied)
			}
		}
	}
	if got := s.pool.Stats().CopiedBytes; got != 0 {
		t.Errorf("the pool copied %d bytes", got)
	}
}

// bufferAddresses takes every buffer of a pool once, to learn where they begin.
func bufferAddresses(p *wire.Pool) []uintptr {
	var all []uintptr
	for b := p.Get(wire.OwnerTest); b != nil; b = p.Get(wire.OwnerTest) {
		defer b.Release(wire.OwnerTest)
		all = append(all, uintptr(unsafe.Pointer(unsafe.SliceData(b.Data()))))
	}
	return all
}

// The appends of one connection allocate nothing in proportion to their bodies: 60 of 1 MB each stay
// below one body in all, in both ends of the test.
func TestAppendAllocatesNoBodies(t *testing.T) {
	s := start(t, func(o *ClientOptions) { o.Pool, _ = wire.NewPool(4) })
	s.partition.result = &Result{Outcome: vsr.OutcomeCommitted, Header: vsr.Header{Op: 1}}
	text := post(makeFrame(3, 1, payloadOf(1_000_000, 'x')))
	c, err := net.Dial("tcp", s.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answer := make([]byte, 4096)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 60 {
		if _, err := c.Write(text); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(answer); err != nil || !bytes.HasPrefix(answer[:n], []byte("HTTP/1.1 200 ")) {
			t.Fatalf("%q, %v", answer[:n], err)
		}
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1_000_000 {
		t.Errorf("%d bytes were allocated for 60 batches", got)
	}
}

// C11: idle connections, used and unused, do not hold up a shutdown, and what is in flight is
// answered first.
func TestShutdownAnswersWhatIsInFlight(t *testing.T) {
	s := start(t, func(o *ClientOptions) { o.ShutdownGrace = time.Minute })
	s.partition.blocked, s.partition.entered = make(chan struct{}), make(chan struct{}, 20)
	for i := range 100 {
		c, err := net.Dial("tcp", s.Address().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if i%2 == 0 { // used once
			_, _ = io.WriteString(c, "GET /v1/topics HTTP/1.1\r\nHost: localhost\r\n\r\n")
			if _, err := io.ReadAtLeast(c, make([]byte, 400), 100); err != nil {
				t.Fatal(err)
			}
		}
	}
	results := make(chan answered, 20)
	for i := range 20 {
		go func() { results <- s.post(t, makeFrame(3, uint64(i+1), payloadOf(20_000, byte(i)))) }()
	}
	for range 20 {
		<-s.partition.entered
	}
	var unused []*conn
	s.listener.each(func(c *conn) {
		if !c.used.Load() {
			unused = append(unused, c)
		}
	})
	stopped := make(chan error, 1)
	go func() { stopped <- s.stop() }()
	eventually(t, "the server stops", s.stopping.Load)
	close(s.partition.blocked)
	for range 20 {
		a := <-results
		if a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	for _, c := range unused { // fasthttp alone would have waited five seconds for each
		if !c.killed.Load() {
			t.Error("a connection without a request was waited for")
		}
	}
	if len(unused) != 50 {
		t.Errorf("%d connections had no request", len(unused))
	}
	if _, err := net.Dial("tcp", s.Address().String()); err == nil {
		t.Error("still listening")
	}
}

// Requests that do not end are cut at the end of the grace, half-sent ones give their buffer back.
func TestShutdownCutsWhatDoesNotEnd(t *testing.T) {
	s := start(t, func(o *ClientOptions) { o.ShutdownGrace = 200 * time.Millisecond })
	s.partition.blocked, s.partition.entered = make(chan struct{}), make(chan struct{}, 1)
	half, err := net.Dial("tcp", s.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	defer half.Close()
	_, _ = half.Write(post(makeFrame(3, 1, payloadOf(50_000, 'x')))[:20_000])
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		request, _ := http.NewRequest("POST", s.url+batches, bytes.NewReader(makeFrame(3, 1, nil)))
		request.Header.Set("Content-Type", mediaFrame)
		if response, err := s.client.Do(request); err == nil {
			t.Errorf("answered %d", response.StatusCode)
			_ = response.Body.Close()
		}
	}()
	<-s.partition.entered
	eventually(t, "two buffers are lent", func() bool { return s.pool.Free() == 30 })
	err = s.stop()
	if !errors.Is(err, ErrCutOff) || !strings.Contains(err.Error(), "1 connections") {
		t.Errorf("%v", err)
	}
	if s.pool.Free() != 31 {
		t.Errorf("the half request's buffer is not back: %v", s.pool.Leaks())
	}
	close(s.partition.blocked)
	<-ended
	eventually(t, "all buffers are back", func() bool { return s.pool.Free() == 32 })
}

func TestPipelinedRequests(t *testing.T) {
	s := start(t, nil)
	var text []byte
	for i := range 10 {
		text = append(text, post(makeFrame(3, uint64(i+1), payloadOf(3000*i, 'x')))...)
	}
	text = append(text, "GET /v1/topics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"...)
	answer := s.raw(t, string(text))
	for op := range 10 {
		if !strings.Contains(answer, fmt.Sprintf(`{"op":%d,"base_offset":%d,"view":5}`, op+1, op)) {
			t.Errorf("no answer to op %d in %q", op+1, answer)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	pool, _ := wire.NewPool(64)
	partition := newFakePartition(b)
	partition.result = &Result{Outcome: vsr.OutcomeCommitted, Header: vsr.Header{Op: 1, View: 5}}
	s := start(b, func(o *ClientOptions) { o.Pool, o.Node = pool, &fakeNode{partition: partition} })
	request := post(makeFrame(3, 1, payloadOf(35_000, 'x')))
	c, err := net.Dial("tcp", s.Address().String())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	answer := make([]byte, 4096)
	b.SetBytes(int64(len(request)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(request); err != nil {
			b.Fatal(err)
		}
		n, err := c.Read(answer)
		if err != nil || !bytes.HasPrefix(answer[:n], []byte("HTTP/1.1 200 ")) {
			b.Fatalf("%q, %v", answer[:n], err)
		}
	}
}
