package api

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"rejoin/server/wire"
)

const frames = "/v1/topics/orders/partitions/0/frames"

// fill appends n batches of one message with payloads of size bytes, and returns their frames.
func (s *plane) fill(t *testing.T, n, size int) (log []byte, frameBytes int) {
	t.Helper()
	for i := range n {
		frame := makeFrame(3, uint64(i+1), payloadOf(size, byte(i)))
		frameBytes = len(frame)
		if a := s.post(t, frame); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	log, err := os.ReadFile(s.partition.file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return log, frameBytes
}

func TestReadGivesWholeFrames(t *testing.T) {
	for name, source := range map[string]func(*os.File) io.ReaderAt{
		"file":   nil,
		"reader": func(f *os.File) io.ReaderAt { return struct{ io.ReaderAt }{f} },
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, nil)
			s.partition.source = source
			log, one := s.fill(t, 6, 9000)
			for query, want := range map[string][]byte{
				"":                                log,
				"?offset=0":                       log,
				"?offset=2":                       log[2*one:],
				"?offset=2&max_bytes=1":           log[2*one : 3*one],
				"?max_bytes=" + strconv.Itoa(one): log[:one],
				"?offset=1&max_bytes=" + strconv.Itoa(3*one):        log[one : 4*one],
				"?offset=5&consistency=latest":                      log[5*one:],
				"?offset=5&consistency=any&max_bytes=9223372036854": log[5*one:],
				"?offset=6":                    {},
				"?offset=18446744073709551615": {},
			} {
				a := s.do(t, "GET", frames+query, nil)
				if a.status != 200 || !bytes.Equal(a.body, want) || a.header.Get("Content-Type") != mediaFrame || a.header.Get("Rejoin-Commit-Offset") != "6" {
					t.Errorf("%s: %d, %d bytes, want %d, %v", query, a.status, len(a.body), len(want), a.header)
				}
				query, _ := url.ParseQuery(strings.TrimPrefix(query, "?"))
				from, _ := strconv.ParseUint(query.Get("offset"), 10, 64)
				if next := strconv.FormatUint(from+uint64(len(want)/one), 10); a.header.Get("Rejoin-Next-Offset") != next {
					t.Errorf("%v: next offset %q, want %s", query, a.header.Get("Rejoin-Next-Offset"), next)
				}
			}
		})
	}
}

func TestReadsAtOnceDoNotShareAPosition(t *testing.T) {
	s := start(t, nil)
	log, one := s.fill(t, 8, 50_000)
	var wait sync.WaitGroup
	for reader := range 8 {
		wait.Go(func() {
			for round := range 10 {
				at := (reader + round) % 8
				a := s.do(t, "GET", frames+"?max_bytes=1&offset="+strconv.Itoa(at), nil)
				if !bytes.Equal(a.body, log[at*one:(at+1)*one]) {
					t.Errorf("offset %d: another frame", at)
				}
			}
		})
	}
	wait.Wait()
}

// TestReadsThatAreAskedForAhead: requests that are there before the answers have left are answered in their order, each whole.
func TestReadsThatAreAskedForAhead(t *testing.T) {
	s := start(t, nil)
	log, one := s.fill(t, 6, 300_000) // more than the buffers of a connection
	c, err := net.Dial("tcp", s.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	for at := range 7 {
		fmt.Fprintf(c, "GET %s?max_bytes=1&offset=%d HTTP/1.1\r\nHost: localhost\r\n\r\n", frames, at)
	}
	in := bufio.NewReader(c)
	for at := range 7 {
		answer, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if want := log[at*one : min(at+1, 6)*one]; err != nil || !bytes.Equal(body, want) {
			t.Fatalf("answer %d: %d bytes of %d, %v", at, len(body), len(want), err)
		}
	}
}

func TestReadErrors(t *testing.T) {
	s := start(t, nil)
	s.partition.readErr = ErrBelowEarliest{Earliest: 17}
	if a := s.do(t, "GET", frames, nil); a.status != 410 || a.json["error"] != "below_earliest" || a.json["earliest_offset"] != 17.0 || a.header.Get("Rejoin-View") != "5" {
		t.Errorf("%d %s", a.status, a.body)
	}
	s.partition.readErr = errFake
	if a := s.do(t, "GET", frames, nil); a.status != 503 || a.json["error"] != "unreadable" || a.json["message"] != errFake.Error()+"; try again later, or read from another replica" || a.header.Get("Retry-After") != "1" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestReadWaits(t *testing.T) {
	s := start(t, nil)
	done := make(chan answered)
	go func() { done <- s.do(t, "GET", frames+"?wait_ms=9000", nil) }()
	eventually(t, "the read waits", func() bool { return s.Stats().LongPolls > 0 })
	s.fill(t, 1, 10)
	if a := <-done; a.status != 200 || len(a.body) == 0 {
		t.Errorf("%d, %d bytes", a.status, len(a.body))
	}
	if a := s.do(t, "GET", frames+"?offset=1&wait_ms=20", nil); a.status != 200 || len(a.body) != 0 {
		t.Errorf("%d, %d bytes", a.status, len(a.body))
	}
	for _, wait := range s.partition.waits {
		if wait > readWaitSlice {
			t.Errorf("a wait of %v in one piece", wait)
		}
	}
}

func TestWaitIsBounded(t *testing.T) {
	r, ok := parseRead([]byte("wait_ms=18446744073709551615&max_bytes=18446744073709551615"))
	if !ok || r.wait != readWaitMax || r.maxBytes != readBytesMax {
		t.Errorf("%+v, %v", r, ok)
	}
}

func TestWaitingReadsAreBoundedAndEndWithTheServer(t *testing.T) {
	s := start(t, func(o *ClientOptions) { o.ConnectionsMax = 4 })
	done := make(chan answered, 2)
	for range 2 {
		go func() { done <- s.do(t, "GET", frames+"?wait_ms=10000", nil) }()
	}
	eventually(t, "both reads wait", func() bool { return s.Stats().LongPolls == 2 })
	if a := s.do(t, "GET", frames+"?wait_ms=1", nil); a.status != 429 || a.json["error"] != "too_many_waiting" || a.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := s.do(t, "GET", frames, nil); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if a := <-done; a.status != 200 {
			t.Errorf("%d", a.status)
		}
	}
}

// A reader that goes away or does not read releases its span.
func TestSpansAreReleasedWhateverTheReaderDoes(t *testing.T) {
	s := start(t, func(o *ClientOptions) { o.WriteTimeout = 200 * time.Millisecond })
	s.fill(t, 10, 1_000_000)
	for range 5 {
		c, err := net.Dial("tcp", s.Address().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, "GET "+frames+"?max_bytes=8000000 HTTP/1.1\r\nHost: localhost\r\n\r\n")
	}
	eventually(t, "every span is released", func() bool {
		s.partition.mu.Lock()
		defer s.partition.mu.Unlock()
		return s.partition.released >= 5
	})
}

// Frames go from the file to the socket by sendfile. The process is traced by strace where it exists.
func TestReadsUseSendfile(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil || os.Getenv("REJOIN_TRACED") != "" {
		if os.Getenv("REJOIN_TRACED") == "" {
			t.Skip("strace is not installed")
		}
		s := start(t, nil)
		log, _ := s.fill(t, 4, 100_000)
		if a := s.do(t, "GET", frames, nil); !bytes.Equal(a.body, log) {
			t.Fatalf("%d, %d bytes", a.status, len(a.body))
		}
		return
	}
	out := t.TempDir() + "/calls"
	traced := exec.Command(strace, "-f", "-qq", "-e", "trace=sendfile", "-o", out, os.Args[0], "-test.run=^TestReadsUseSendfile$")
	traced.Env = append(os.Environ(), "REJOIN_TRACED=1")
	if text, err := traced.CombinedOutput(); err != nil {
		if strings.Contains(string(text), "ptrace") {
			t.Skip("tracing is not allowed here")
		}
		t.Fatalf("%v: %s", err, text)
	}
	calls, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	sent := 0
	for line := range strings.Lines(string(calls)) {
		if at := strings.LastIndex(line, "= "); strings.Contains(line, "sendfile") && at > 0 {
			n, _ := strconv.Atoi(strings.TrimSpace(line[at+2:])) // an error is a word, and counts as nothing
			sent += max(n, 0)
		}
	}
	if want := 4 * (100_000 + wire.HeaderBytes); sent < want {
		t.Errorf("sendfile sent %d bytes, want %d:\n%s", sent, want, calls)
	}
}

// What fasthttp and the runtime recognise: a plain limit over a plain file, on a connection that has
// the TCP one's ReadFrom.
func TestSpansKeepTheTypesOfSendfile(t *testing.T) {
	f, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var ctx fasthttp.RequestCtx
	if err := new(ClientPlane).answerSpan(&ctx, Span{Source: f, Offset: 5, Bytes: 100}); err != nil {
		t.Fatal(err)
	}
	limited, ok := ctx.Response.BodyStream().(*io.LimitedReader)
	if !ok || limited.R != io.Reader(f) || limited.N != 100 {
		t.Errorf("the stream is a %T", ctx.Response.BodyStream())
	}
	if at, _ := f.Seek(0, io.SeekCurrent); at != 5 {
		t.Errorf("the file stands at %d", at)
	}
	if _, ok := net.Conn(new(conn)).(io.ReaderFrom); !ok {
		t.Error("a connection has no ReadFrom")
	}
}
