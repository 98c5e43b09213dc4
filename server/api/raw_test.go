package api

import (
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"rejoin/server/wire"
)

// raw sends bytes on a connection of its own and returns all that comes back until it is closed.
func (s *plane) raw(t *testing.T, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", s.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(c)
	if err != nil {
		t.Errorf("%.80q: %v after %q", text, err, answer)
	}
	return string(answer)
}

// try is raw for a request that may be refused before it has been sent, with a reset.
func (s *plane) try(t *testing.T, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", s.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.WriteString(c, text)
	answer := make([]byte, 512)
	n, _ := c.Read(answer)
	return string(answer[:n])
}

// H7: a head that frames its body in two ways is refused, the connection ends, and what hides behind
// it is never taken for a request.
func TestSmuggling(t *testing.T) {
	s := start(t, nil)
	hidden := string(post(makeFrame(3, 9, nil)))
	head := "POST " + batches + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: " + mediaFrame + "\r\n"
	for name, text := range map[string]string{
		"length and chunked":      head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"chunked and length":      head + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + hidden,
		"chunked":                 head + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"identity":                head + "Transfer-Encoding: identity\r\nContent-Length: 0\r\n\r\n" + hidden,
		"two lengths":             head + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello" + hidden,
		"same length twice":       head + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello" + hidden,
		"space before colon":      head + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + hidden,
		"chunk extension":         head + "Transfer-Encoding: chunked\r\n\r\n0;a=\n\r\n\r\n" + hidden,
		"odd spelling":            head + "transfer-eNcoding: xchunked\r\nContent-Length: 0\r\n\r\n" + hidden,
		"plus":                    head + "Content-Length: +5\r\n\r\nhello" + hidden,
		"list":                    head + "Content-Length: 5,5\r\n\r\nhello" + hidden,
		"minus":                   head + "Content-Length: -1\r\n\r\n" + hidden,
		"hex":                     head + "Content-Length: 0x5\r\n\r\nhello" + hidden,
		"beyond 64 bits":          head + "Content-Length: 18446744073709551621\r\n\r\nhello" + hidden,
		"2^63":                    head + "Content-Length: 9223372036854775808\r\n\r\nhello" + hidden,
		"folded":                  head + "Content-Length: 5\r\n Transfer-Encoding: chunked\r\n\r\nhello" + hidden,
		"get with chunked":        "GET /v1/cluster HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"version 1.0 and chunked": strings.Replace(head, "1.1", "1.0", 1) + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		"not http":                "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\x00", 100) + "\r\n\r\n" + hidden,
	} {
		answer := s.raw(t, text)
		if !strings.HasPrefix(answer, "HTTP/1.1 400 ") || strings.Count(answer, "HTTP/1.1 ") != 1 || !strings.Contains(answer, `"error":"malformed"`) {
			t.Errorf("%s: %.300q", name, answer)
		}
	}
	answer := s.raw(t, head+"Content-Length: 10737418240\r\n\r\nhello"+hidden) // 10 GiB
	if !strings.HasPrefix(answer, "HTTP/1.1 413 ") || strings.Count(answer, "HTTP/1.1 ") != 1 {
		t.Errorf("10 GiB: %.300q", answer)
	}
	if s.partition.op != 0 {
		t.Errorf("%d hidden requests were appended", s.partition.op)
	}
}

func post(frame []byte) []byte {
	head := "POST " + batches + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: " + mediaFrame + "\r\nContent-Length: "
	return append([]byte(head+strconv.Itoa(len(frame))+"\r\n\r\n"), frame...)
}

func TestHeadTooLarge(t *testing.T) {
	s := start(t, nil)
	answer := s.raw(t, "GET /v1/cluster HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("a", 8000)+"\r\n\r\n")
	if !strings.HasPrefix(answer, "HTTP/1.1 431 ") {
		t.Errorf("%.200q", answer)
	}
}

func TestExpectContinue(t *testing.T) {
	s := start(t, nil)
	frame := makeFrame(3, 1, payloadOf(5000, 'x'))
	text := strings.Replace(string(post(frame)), "\r\n\r\n", "\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n", 1)
	answer := s.raw(t, text)
	if !strings.HasPrefix(answer, "HTTP/1.1 100 ") || !strings.Contains(answer, `{"op":1,"base_offset":0,"view":5}`) {
		t.Errorf("%.300q", answer)
	}
}

// A client that is gone before it can be told to go on takes no buffer with it. The request stands behind
// a read that waits, so that the server has its head and the reset comes first; start looks at the pool.
func TestContinueToNobody(t *testing.T) {
	s := start(t, nil)
	const clients = 4
	for range clients {
		c, err := net.Dial("tcp", s.Address().String())
		if err != nil {
			t.Fatal(err)
		}
		wait := "GET " + frames + "?wait_ms=300 HTTP/1.1\r\nHost: localhost\r\n\r\n"
		text := strings.Replace(string(post(makeFrame(3, 1, payloadOf(5000, 'x')))), "\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n", 1)
		head, _, _ := strings.Cut(text, "\r\n\r\n")
		if _, err := io.WriteString(c, wait+head+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the read waits", func() bool { return s.Stats().LongPolls > 0 })
		if err := c.(*net.TCPConn).SetLinger(0); err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		eventually(t, "the connection ends", func() bool { return s.Stats().ConnectionsOpen == 0 })
	}
	eventually(t, "every buffer is back", func() bool { return s.pool.Free() == s.pool.Stats().Buffers })
}

// An empty pool refuses before the body is read; the client gets the answer, not a reset.
func TestEmptyPool(t *testing.T) {
	s := start(t, nil)
	var all []*wire.Buffer
	for b := s.pool.Get(wire.OwnerTest); b != nil; b = s.pool.Get(wire.OwnerTest) {
		all = append(all, b)
	}
	for range 3 {
		a := s.post(t, makeFrame(3, 1, payloadOf(800_000, 'x')))
		if a.status != 503 || a.json["error"] != "busy" || a.json["outcome"] != "not_appended" || a.header.Get("Retry-After") != "1" {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	all[0].Release(wire.OwnerTest)
	if a := s.post(t, makeFrame(3, 1, nil)); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for _, b := range all[1:] {
		b.Release(wire.OwnerTest)
	}
}

// C10: slow and lying senders are cut at the timeout, cost no memory and no buffer for longer.
func TestSlowSenders(t *testing.T) {
	s := start(t, func(o *ClientOptions) { o.HeadTimeout, o.BodyTimeout = 300*time.Millisecond, 300*time.Millisecond })
	head := "POST " + batches + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: " + mediaFrame + "\r\nContent-Length: 1048704\r\n\r\n"
	var conns []net.Conn
	for i := range 40 {
		c, err := net.Dial("tcp", s.Address().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, head[:len(head)-i%2*50]+strings.Repeat("x", (1-i%2)*6000))
		conns = append(conns, c)
	}
	for _, c := range conns {
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		answer, err := io.ReadAll(c)
		status := strings.SplitN(string(answer), " ", 3)
		if err != nil || len(status) < 2 || status[1] != "408" && status[1] != "503" {
			t.Fatalf("%.100q, %v", answer, err)
		}
	}
	if a := s.post(t, makeFrame(3, 1, nil)); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if s.Stats().BadRequests == 0 {
		t.Error("not counted")
	}
}

func TestBodyCutInTheMiddle(t *testing.T) {
	s := start(t, nil)
	for range 100 {
		c, err := net.Dial("tcp", s.Address().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write(post(makeFrame(3, 1, payloadOf(20_000, 'x')))[:9000])
		_ = c.Close()
	}
	var a answered
	eventually(t, "the server sees that they are gone", func() bool {
		a = s.post(t, makeFrame(3, 1, nil))
		return a.status != 503
	})
	if a.status != 200 || s.partition.op != 1 {
		t.Fatalf("%d, %d ops", a.status, s.partition.op)
	}
}

// Connections whose requests the node works on are never given up: who comes beyond the cap is refused.
func TestConnectionCap(t *testing.T) {
	s := start(t, func(o *ClientOptions) { o.ConnectionsMax = 3 })
	s.partition.blocked, s.partition.entered = make(chan struct{}), make(chan struct{})
	served := make(chan answered, 3)
	for i := range 3 {
		go func() { served <- s.post(t, makeFrame(uint64(i+1), 1, nil)) }()
		<-s.partition.entered
	}
	c, err := net.Dial("tcp", s.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answer, err := io.ReadAll(c)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 503 ") || !strings.HasSuffix(string(answer), "\n") {
		t.Errorf("%q, %v", answer, err)
	}
	if got := s.Stats(); got.ConnectionsRefused != 1 || got.ConnectionsEvicted != 0 || got.ConnectionsOpen != 3 {
		t.Errorf("%+v", got)
	}
	s.partition.mu.Lock()
	s.partition.entered = nil
	s.partition.mu.Unlock()
	close(s.partition.blocked)
	for range 3 {
		if a := <-served; a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if a := s.post(t, makeFrame(4, 1, nil)); a.status != 200 {
		t.Errorf("%d", a.status)
	}
}

// C10: who holds connections and does nothing with them, or does it slowly, does not keep others out.
func TestHeldConnectionsMakeRoom(t *testing.T) {
	head := "POST " + batches + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: " + mediaFrame + "\r\nContent-Length: 1000000\r\n\r\n"
	for name, text := range map[string]string{
		"unused":       "",
		"idle":         "GET /v1/topics HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"slow head":    head[:9],
		"slow body":    head + "abc",
		"slow to read": "GET " + frames + "?max_bytes=8000000 HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for a second
			s := start(t, func(o *ClientOptions) { o.ConnectionsMax = 3 })
			for i := range 40 { // more than the sockets between take
				s.post(t, makeFrame(1, uint64(i+1), payloadOf(1_000_000, 'x')))
			}
			s.client.CloseIdleConnections()
			for range 3 {
				c, err := net.Dial("tcp", s.Address().String())
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if _, err := io.WriteString(c, text); err != nil {
					t.Fatal(err)
				}
			}
			request := string(post(makeFrame(2, 1, nil)))
			eventually(t, "another is served", func() bool { return strings.HasPrefix(s.try(t, request), "HTTP/1.1 200 ") })
		})
	}
}
