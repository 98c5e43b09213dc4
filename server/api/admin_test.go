package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func (e *fakeEvents) Follow(ctx context.Context, since int64, write func([]byte) error) error {
	if e.err != nil {
		return e.err
	}
	if err := write(nil); err != nil {
		return err
	}
	e.since = since
	for _, line := range e.lines {
		if err := write([]byte(line)); err != nil {
			return err
		}
	}
	if e.slow {
		return errors.New("too slow")
	}
	<-ctx.Done()
	return ctx.Err()
}

type adminPlane struct {
	*AdminPlane
	node   *fakeNode
	events *fakeEvents
	url    string
	client *http.Client
	stop   func() error
}

func startAdmin(t *testing.T, change func(*AdminOptions)) *adminPlane {
	t.Helper()
	s := &adminPlane{node: &fakeNode{partition: newFakePartition(t), health: Health{OK: true}}, events: &fakeEvents{},
		client: &http.Client{Transport: &http.Transport{}, Timeout: 20 * time.Second}}
	o := AdminOptions{Address: "127.0.0.1:0", Node: s.node, Events: s.events,
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "rejoin_up 1\n") })}
	if change != nil {
		change(&o)
	}
	var err error
	if s.AdminPlane, err = NewAdminPlane(o); err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + s.Address().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	s.stop = func() error { cancel(); return <-done }
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// do asks and reads; of an answer without end only its head.
func (s *adminPlane) do(t *testing.T, method, path string, header ...string) answered {
	t.Helper()
	request, err := http.NewRequest(method, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			request.Host = header[i+1]
		}
	}
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	a := answered{status: response.StatusCode, header: response.Header}
	if response.Header.Get("Content-Type") == "application/x-ndjson" {
		return a
	}
	if a.body, err = io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}
	if response.Header.Get("Content-Type") == mediaJSON {
		if err := json.Unmarshal(a.body, &a.json); err != nil {
			t.Fatalf("%q: %v", a.body, err)
		}
	}
	return a
}

func TestHealth(t *testing.T) {
	s := startAdmin(t, nil)
	if a := s.do(t, "GET", "/health"); a.status != 200 || string(a.body) != `{"ok":true,"reasons":[]}`+"\n" {
		t.Errorf("%d %s", a.status, a.body)
	}
	s.node.health = Health{Reasons: []string{"no commit for 3 s while work is pending"}}
	if a := s.do(t, "GET", "/health"); a.status != 503 || !strings.Contains(string(a.body), "no commit for 3 s") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestMetricsArePassedOn(t *testing.T) {
	s := startAdmin(t, nil)
	if a := s.do(t, "GET", "/metrics"); a.status != 200 || string(a.body) != "rejoin_up 1\n" {
		t.Errorf("%d %s", a.status, a.body)
	}
	none := startAdmin(t, func(o *AdminOptions) { o.Metrics = nil })
	if a := none.do(t, "GET", "/metrics"); a.status != 404 {
		t.Errorf("%d", a.status)
	}
}

func TestEventsStream(t *testing.T) {
	s := startAdmin(t, nil)
	s.events.lines = []string{"{\"kind\":\"role\"}\n", "{\"kind\":\"fenced\"}\n"}
	response, err := s.client.Get(s.url + "/events?since=77")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for _, want := range s.events.lines {
		if !lines.Scan() || lines.Text()+"\n" != want {
			t.Fatalf("%q, %v", lines.Text(), lines.Err())
		}
	}
	if s.events.since != 77 {
		t.Errorf("since %d", s.events.since)
	}
	if err := s.stop(); err != nil { // a stream does not hold up the end
		t.Error(err)
	}
	s.stop = func() error { return nil }
	if lines.Scan() {
		t.Errorf("%q after the end", lines.Text())
	}
}

func TestEventsCutOffIsNotAnEnd(t *testing.T) {
	s := startAdmin(t, nil)
	s.events.lines, s.events.slow = []string{"{}\n"}, true
	response, err := s.client.Get(s.url + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.ReadAll(response.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
}

func TestEventsRefused(t *testing.T) {
	s := startAdmin(t, nil)
	for _, query := range []string{"?since=x", "?since=-1", "?since=1&since=2", "?from=1", "?since=9223372036854775808", "?since="} {
		if a := s.do(t, "GET", "/events"+query); a.status != 400 {
			t.Errorf("%s: %d", query, a.status)
		}
	}
	s.events.err = errors.New("too many followers")
	if a := s.do(t, "GET", "/events"); a.status != 503 || a.json["message"] != "too many followers" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// H1: what an operator's plane does not do, and for whom.
func TestAdminPlaneIsGuarded(t *testing.T) {
	if _, err := NewAdminPlane(AdminOptions{Address: "0.0.0.0:0", Node: &fakeNode{}, Events: &fakeEvents{}}); !errors.Is(err, ErrOpenWithoutToken) {
		t.Errorf("%v", err)
	}
	open := startAdmin(t, nil)
	if a := open.do(t, "GET", "/health", "Host", "rebound.example:17000"); a.status != 403 {
		t.Errorf("a foreign host: %d", a.status)
	}
	for _, host := range []string{"localhost", "localhost:1", "127.0.0.1", "[::1]:5"} {
		if a := open.do(t, "GET", "/health", "Host", host); a.status != 200 {
			t.Errorf("%s: %d", host, a.status)
		}
	}
	for _, path := range []string{"/shutdown", "/fault", "/debug/fault", "/debug/vars", "/debug/pprof/nothing", "/debug/pprof/../../x", "/"} {
		if a := open.do(t, "GET", path); a.status != 404 {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		if a := open.do(t, method, "/debug/pprof/profile?seconds=1"); a.status != 405 {
			t.Errorf("%s: %d", method, a.status)
		}
	}
	guarded := startAdmin(t, func(o *AdminOptions) { o.Token = "a-token-of-some-length" })
	for _, path := range []string{"/health", "/metrics", "/events", "/debug/pprof/", "/debug/pprof/heap", "/nothing"} {
		if a := guarded.do(t, "GET", path, "Authorization", "Bearer other"); a.status != 401 {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	if a := guarded.do(t, "GET", "/health", "Authorization", "Bearer a-token-of-some-length", "Host", "node0.example"); a.status != 200 {
		t.Errorf("%d", a.status)
	}
}

// Whoever holds all connections and does nothing with them, or may not come in at all, keeps no operator out; who is being served stays.
func TestAdminMakesRoom(t *testing.T) {
	const token = "sixteen-or-more-characters"
	s := startAdmin(t, func(o *AdminOptions) { o.Token = token })
	ask := func(c net.Conn, authorization string) string {
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = io.WriteString(c, "GET /health HTTP/1.1\r\nHost: x\r\n"+authorization+"\r\n")
		answer := make([]byte, 12)
		_, _ = io.ReadFull(c, answer)
		return string(answer)
	}
	dial := func() net.Conn {
		c, err := net.Dial("tcp", s.Address().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	stream := dial()
	if _, err := io.WriteString(stream, "GET /debug/pprof/trace?seconds=30 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+token+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the trace is taken", func() bool { return s.capture.Load() != nil })
	for i := range adminConnectionsMax - 1 {
		c := dial()
		switch i % 3 {
		case 0: // says nothing
		case 1:
			if got := ask(c, ""); got != "HTTP/1.1 401" {
				t.Fatalf("%q", got)
			}
		case 2:
			if got := ask(c, "Authorization: Bearer "+token+"\r\n"); got != "HTTP/1.1 200" {
				t.Fatalf("%q", got)
			}
		}
	}
	for range 5 {
		eventually(t, "an operator is let in", func() bool { return ask(dial(), "Authorization: Bearer "+token+"\r\n") == "HTTP/1.1 200" })
	}
	if s.capture.Load() == nil {
		t.Error("a connection that was being served was given up")
	}
	s.do(t, "GET", "/debug/pprof/cut", "Authorization", "Bearer "+token)
}

func TestProfilesAreBoundedAndOneAtATime(t *testing.T) {
	s := startAdmin(t, nil)
	for _, seconds := range []string{"100000", "61", "0", "-1", "1.5", "x", "", "18446744073709551615", "1&seconds=2", "01"} {
		for _, name := range []string{"profile", "trace", "heap"} {
			if a := s.do(t, "GET", "/debug/pprof/"+name+"?seconds="+seconds); a.status != 400 {
				t.Errorf("%s, %s: %d", name, seconds, a.status)
			}
		}
	}
	first := make(chan answered)
	go func() { first <- s.do(t, "GET", "/debug/pprof/profile?seconds=1") }()
	eventually(t, "a capture runs", func() bool { return s.capture.Load() != nil })
	for _, path := range []string{"profile?seconds=1", "profile", "trace", "heap?seconds=1"} {
		if a := s.do(t, "GET", "/debug/pprof/"+path); a.status != 409 || a.json["error"] != "capture_running" {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	if a := s.do(t, "GET", "/debug/pprof/goroutine?debug=1"); a.status != 200 || len(a.body) == 0 {
		t.Errorf("%d", a.status)
	}
	if a := <-first; a.status != 200 || len(a.body) < 100 {
		t.Errorf("%d, %d bytes", a.status, len(a.body))
	}
	if a := s.do(t, "GET", "/debug/pprof/"); a.status != 200 || !strings.Contains(string(a.body), "heap") {
		t.Errorf("%d", a.status)
	}
}

// A capture that is cut answers at once with what there is, and the next one may begin.
func TestACaptureCanBeCut(t *testing.T) {
	s := startAdmin(t, nil)
	if a := s.do(t, "GET", "/debug/pprof/cut"); a.status != 409 || a.json["error"] != "no_capture" {
		t.Errorf("%d %s", a.status, a.body)
	}
	for _, name := range []string{"profile", "trace"} {
		began := time.Now()
		capture := make(chan answered)
		go func() { capture <- s.do(t, "GET", "/debug/pprof/"+name+"?seconds=60") }()
		for s.capture.Load() == nil {
			time.Sleep(time.Millisecond)
		}
		if a := s.do(t, "GET", "/debug/pprof/cut"); a.status != 204 {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
		if a := <-capture; a.status != 200 || len(a.body) < 100 || time.Since(began) > 30*time.Second {
			t.Errorf("%s: %d, %d bytes after %v", name, a.status, len(a.body), time.Since(began))
		}
	}
}

// brokenFlight fails after its first bytes.
type brokenFlight struct{}

func (brokenFlight) WriteTo(w io.Writer) (int64, error) {
	n, _ := w.Write([]byte("half a trace"))
	return int64(n), errors.New("a snapshot is being taken already")
}

func TestFlight(t *testing.T) {
	without := startAdmin(t, nil)
	if a := without.do(t, "GET", "/debug/pprof/flight"); a.status != 409 || a.json["error"] != "no_flight" {
		t.Errorf("%d %s", a.status, a.body)
	}
	with := startAdmin(t, func(o *AdminOptions) { o.Flight = bytes.NewReader([]byte("go 1.26 trace and so on")) })
	if a := with.do(t, "GET", "/debug/pprof/flight"); a.status != 200 || !strings.HasPrefix(string(a.body), "go 1.26 trace") {
		t.Errorf("%d %s", a.status, a.body)
	}
	broken := startAdmin(t, func(o *AdminOptions) { o.Flight = brokenFlight{} })
	if a := broken.do(t, "GET", "/debug/pprof/flight"); a.status != 503 || strings.Contains(string(a.body), "half a trace") {
		t.Errorf("%d %s", a.status, a.body)
	}
	guarded := startAdmin(t, func(o *AdminOptions) { o.Token, o.Flight = "a-token-of-some-length", brokenFlight{} })
	for _, path := range []string{"/debug/pprof/flight", "/debug/pprof/cut"} {
		if a := guarded.do(t, "GET", path); a.status != 401 {
			t.Errorf("%s: %d", path, a.status)
		}
	}
}

func TestAdminRefusesBodies(t *testing.T) {
	s := startAdmin(t, nil)
	request, _ := http.NewRequest("GET", s.url+"/health", strings.NewReader("body"))
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != 400 || !response.Close {
		t.Errorf("%d, close %v", response.StatusCode, response.Close)
	}
}
