package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// plane is a running client plane over a fake node.
type plane struct {
	*ClientPlane
	partition *fakePartition
	pool      *wire.Pool
	url       string
	client    *http.Client
	stop      func() error
}

const batches = "/v1/topics/orders/partitions/0/batches"

// Two goroutines of fasthttp outlive its servers by design: a clock, and the sweeper of idle workers,
// which notices the end when its sleep of ten seconds is over.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

// start runs a plane until the test ends, and then looks whether the pool is whole.
func start(t testing.TB, change func(*ClientOptions)) *plane {
	t.Helper()
	pool, err := wire.NewCheckedPool(32)
	if err != nil {
		t.Fatal(err)
	}
	s := &plane{partition: newFakePartition(t), pool: pool}
	o := ClientOptions{Address: "127.0.0.1:0", Node: &fakeNode{partition: s.partition}, Pool: pool}
	if change != nil {
		change(&o)
	}
	s.pool = o.Pool
	if s.ClientPlane, err = NewClientPlane(o); err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + s.Address().String()
	s.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 300}, Timeout: 20 * time.Second}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stopped := false
	s.stop = func() error {
		stopped = true
		cancel()
		return <-done
	}
	t.Cleanup(func() {
		if !stopped {
			if err := s.stop(); err != nil {
				t.Error(err)
			}
		}
		s.client.CloseIdleConnections()
		if stats := s.pool.Stats(); stats.Free != stats.Buffers {
			t.Errorf("the pool is not whole: %+v %q", stats, s.pool.Leaks())
		}
		if s.partition.released != s.partition.spans {
			t.Errorf("%d of %d spans were released", s.partition.released, s.partition.spans)
		}
	})
	return s
}

type answered struct {
	status int
	header http.Header
	body   []byte
	json   map[string]any
}

func (s *plane) do(t testing.TB, method, path string, body io.Reader, header ...string) answered {
	t.Helper()
	request, err := http.NewRequest(method, s.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	a := answered{status: response.StatusCode, header: response.Header}
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

func (s *plane) post(t testing.TB, frame []byte, header ...string) answered {
	t.Helper()
	return s.do(t, "POST", batches, bytes.NewReader(frame), append([]string{"Content-Type", mediaFrame}, header...)...)
}

func TestAppendAnswers(t *testing.T) {
	s := start(t, nil)
	a := s.post(t, makeFrame(3, 1, payloadOf(30_000, 'x')))
	if a.status != 200 || string(a.body) != `{"op":1,"base_offset":0,"view":5}`+"\n" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for name, want := range map[string]string{"Rejoin-Commit-Offset": "1", "Rejoin-Known-Commit-Offset": "2", "Rejoin-Earliest-Offset": "0",
		"Rejoin-State": "normal", "Rejoin-View": "5", "Rejoin-Primary": "127.0.0.1:1"} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	a = s.post(t, makeFrame(3, 2, payloadOf(10, 'x')), "Accept", mediaFrame)
	h, err := wire.ParseSealed(a.body)
	if a.status != 200 || len(a.body) != wire.HeaderBytes || err != nil || h.Op != 2 || h.BaseOffset != 1 || h.Request != 2 {
		t.Fatalf("%d, %d bytes, %+v, %v", a.status, len(a.body), h, err)
	}
}

func TestOutcomesBecomeAnswers(t *testing.T) {
	s := start(t, nil)
	for _, c := range []struct {
		outcome    vsr.Outcome
		status     int
		code       string
		fate       string
		retryAfter bool
	}{
		{vsr.OutcomeNotPrimary, 421, "not_primary", "not_appended", false},
		{vsr.OutcomeBusy, 503, "busy", "not_appended", true},
		{vsr.OutcomeDiskFull, 507, "disk_full", "not_appended", true},
		{vsr.OutcomeDiffers, 409, "request_differs", "not_appended", false},
		{vsr.OutcomeSuperseded, 409, "request_superseded", "unknown", false},
		{vsr.OutcomeEvicted, 409, "session_evicted", "unknown", false},
		{vsr.OutcomeUnknown, 503, "unknown", "unknown", true},
		{vsr.OutcomeFenced, 503, "fenced", "not_appended", true},
	} {
		s.partition.result = &Result{Outcome: c.outcome, Primary: "127.0.0.1:9", View: 7, RetryAfter: 20 * time.Millisecond, Progress: "op 3 of 9"}
		a := s.post(t, makeFrame(3, 1, nil))
		check := func(a answered, fate any) {
			t.Helper()
			if a.status != c.status || a.json["error"] != c.code || a.json["outcome"] != fate || a.json["primary"] != "127.0.0.1:9" ||
				a.json["view"] != 7.0 || a.json["progress"] != "op 3 of 9" || a.json["message"] == "" {
				t.Errorf("%v: %d %s", c.outcome, a.status, a.body)
			}
			if said := strings.Contains(fmt.Sprint(a.json["message"]), "op 3 of 9"); said != (c.outcome == vsr.OutcomeUnknown) {
				t.Errorf("%v: says why nothing is known: %v, %s", c.outcome, said, a.body)
			}
			if got := a.header.Get("Retry-After"); (got == "1") != c.retryAfter {
				t.Errorf("%v: Retry-After %q", c.outcome, got)
			}
			if a.header.Get("Rejoin-State") != "normal" {
				t.Errorf("%v: no Rejoin headers", c.outcome)
			}
		}
		check(a, c.fate)
		check(s.do(t, "POST", "/v1/topics/orders/partitions/0/sessions?client=000102030405060708090a0b0c0d0e0f", nil), c.fate)
		check(s.do(t, "GET", "/v1/topics/orders/partitions/0/frames?consistency=latest", nil), nil)
	}
}

// What the cluster file lets a batch have at most.
func TestBatchLimits(t *testing.T) {
	frame := func(messages, payload int) []byte {
		frame := make([]byte, wire.HeaderBytes)
		for range messages {
			frame = wire.AppendMessage(frame, wire.Message{Payload: payloadOf(payload, 'x')})
		}
		wire.SealRequest(frame, vsr.Client{Hi: 1, Lo: 2}, 3, 1, uint32(messages))
		return frame
	}
	s := start(t, func(o *ClientOptions) { o.BatchBytes, o.BatchMessages = 4096, 10 })
	for _, c := range []struct{ messages, payload, status int }{
		{1, 4096 - wire.MessagePrefixBytes, 200}, {1, 4097 - wire.MessagePrefixBytes, 413}, {1, 200_000, 413}, {10, 5, 200}, {11, 5, 413},
	} {
		a := s.post(t, frame(c.messages, c.payload))
		if a.status != c.status || c.status == 413 && (a.json["error"] != "too_large" || a.json["outcome"] != "not_appended") {
			t.Errorf("%d messages of %d bytes: %d %s", c.messages, c.payload, a.status, a.body)
		}
	}
	for _, o := range []ClientOptions{{BatchBytes: wire.BodyBytesMax + 1}, {BatchBytes: -1}, {BatchMessages: wire.MessagesMax + 1}, {BatchMessages: -1}} {
		o.Address, o.Node, o.Pool = "127.0.0.1:0", &fakeNode{}, s.pool
		if _, err := NewClientPlane(o); err == nil {
			t.Errorf("%d bytes, %d messages were taken", o.BatchBytes, o.BatchMessages)
		}
	}
}

func TestRefusals(t *testing.T) {
	s := start(t, nil)
	good := makeFrame(3, 1, payloadOf(100, 'x'))
	changed := func(change func([]byte)) []byte {
		frame := bytes.Clone(good)
		change(frame)
		return frame
	}
	sessions := "/v1/topics/orders/partitions/0/sessions"
	frames := "/v1/topics/orders/partitions/0/frames"
	for _, c := range []struct {
		name, method, path, media string
		body                      []byte
		status                    int
		code                      string
	}{
		{"body sum", "POST", batches, mediaFrame, changed(func(b []byte) { b[200]++ }), 400, "malformed"},
		{"magic", "POST", batches, mediaFrame, changed(func(b []byte) { b[0]++ }), 400, "malformed"},
		{"stamped", "POST", batches, mediaFrame, changed(func(b []byte) { b[64]++ }), 400, "malformed"},
		{"longer than its header says", "POST", batches, mediaFrame, append(bytes.Clone(good), 0), 400, "malformed"},
		{"short", "POST", batches, mediaFrame, good[:127], 400, "malformed"},
		{"one byte", "POST", batches, mediaFrame, good[:1], 400, "malformed"},
		{"no body", "POST", batches, mediaFrame, nil, 400, "malformed"},
		{"query", "POST", batches + "?acks=1", mediaFrame, good, 400, "malformed"},
		{"media", "POST", batches, "application/octet-stream", good, 415, "unsupported_media_type"},
		{"no media", "POST", batches, "", good, 415, "unsupported_media_type"},
		{"large", "POST", batches, mediaFrame, make([]byte, wire.FrameBytesMax+1), 413, "too_large"},
		{"topic", "POST", "/v1/topics/nope/partitions/0/batches", mediaFrame, good, 404, "not_found"},
		{"partition", "POST", "/v1/topics/orders/partitions/1/batches", mediaFrame, good, 404, "not_found"},
		{"partition's form", "POST", "/v1/topics/orders/partitions/00/batches", mediaFrame, good, 400, "malformed"},
		{"action", "GET", "/v1/topics/orders/partitions/0/nothing", "", nil, 404, "not_found"},
		{"path", "GET", "/", "", nil, 404, "not_found"},
		{"method", "PUT", batches, mediaFrame, good, 405, "method_not_allowed"},
		{"method of read", "POST", frames, mediaFrame, nil, 405, "method_not_allowed"},
		{"body of read", "GET", frames, "", good, 400, "malformed"},
		{"session media", "POST", sessions, "text/plain", []byte("x"), 415, "unsupported_media_type"},
		{"session size", "POST", sessions, mediaJSON, make([]byte, sessionBytesMax+1), 413, "too_large"},
		{"session form", "POST", sessions, mediaJSON, []byte(`{"client":"1234"}`), 400, "malformed"},
		{"session zero", "POST", sessions, mediaJSON, []byte(`{"client":"00000000000000000000000000000000"}`), 400, "malformed"},
		{"session empty", "POST", sessions, "", nil, 400, "malformed"},
		{"offset sign", "GET", frames + "?offset=-1", "", nil, 400, "malformed"},
		{"offset plus", "GET", frames + "?offset=+5", "", nil, 400, "malformed"},
		{"offset large", "GET", frames + "?offset=18446744073709551616", "", nil, 400, "malformed"},
		{"misspelt", "GET", frames + "?ofset=1", "", nil, 400, "malformed"},
		{"twice", "GET", frames + "?offset=1&offset=2", "", nil, 400, "malformed"},
		{"consistency", "GET", frames + "?consistency=some", "", nil, 400, "malformed"},
	} {
		header := []string{}
		if c.media != "" {
			header = append(header, "Content-Type", c.media)
		}
		var body io.Reader
		if c.body != nil {
			body = bytes.NewReader(c.body)
		}
		a := s.do(t, c.method, c.path, body, header...)
		if a.status != c.status || a.json["error"] != c.code || a.json["message"] == "" {
			t.Errorf("%s: %d %s", c.name, a.status, a.body)
		}
		if c.path == batches && c.method == "POST" && (a.json["outcome"] != "not_appended" || a.header.Get("Rejoin-View") != "5") {
			t.Errorf("%s: %s %v", c.name, a.body, a.header)
		}
	}
	if s.partition.op != 0 {
		t.Errorf("%d ops were appended", s.partition.op)
	}
}

// H6: nothing is unpacked, whatever it would become.
func TestCompressedBodiesAreRefused(t *testing.T) {
	s := start(t, nil)
	for _, encoding := range []string{"gzip", "zstd", "br", "deflate", "gzip, gzip"} {
		a := s.post(t, make([]byte, 16<<10), "Content-Encoding", encoding)
		if a.status != 415 || a.json["error"] != "unsupported_media_type" {
			t.Errorf("%s: %d %s", encoding, a.status, a.body)
		}
	}
}

func TestToken(t *testing.T) {
	const token = "a-token-of-some-length"
	s := start(t, func(o *ClientOptions) { o.Token = token })
	frame := makeFrame(3, 1, nil)
	for _, authorization := range []string{"", "Bearer", "Bearer ", "Bearer wrong", "Bearer " + token + "x", "Basic " + token, token, "Bearer  " + token} {
		for _, path := range []string{batches, "/v1/cluster", "/nothing", "/openapi.yaml"} {
			a := s.do(t, "POST", path, bytes.NewReader(frame), "Content-Type", mediaFrame, "Authorization", authorization)
			if a.status != 401 || a.json["error"] != "unauthorized" || a.header.Get("WWW-Authenticate") != "Bearer" || a.header.Get("Rejoin-View") != "" {
				t.Errorf("%q %s: %d %s", authorization, path, a.status, a.body)
			}
		}
	}
	for _, scheme := range []string{"Bearer ", "bearer "} {
		if a := s.post(t, frame, "Authorization", scheme+token); a.status != 200 {
			t.Errorf("%q: %d %s", scheme, a.status, a.body)
		}
	}
}

// H3: a topic's name is checked as it came, and has one spelling.
func TestTopicNamesOfOtherForms(t *testing.T) {
	s := start(t, nil)
	for _, name := range []string{"../../x", "..%2f..%2fx", "%2e%2e", "..%5cx", "..\\x", "%00", ".", "..", "", strings.Repeat("a", 65), strings.Repeat("a", 300),
		"Orders", "ordеrs", "orders%20", "orders.", "%6frders", "orders;x", "/orders", "./orders"} {
		for method, action := range map[string]string{"POST": "batches", "GET": "frames", "DELETE": "batches"} {
			raw := fmt.Sprintf("%s /v1/topics/%s/partitions/0/%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", method, name, action, mediaFrame)
			answer := s.raw(t, raw)
			if !strings.HasPrefix(answer, "HTTP/1.1 400 ") {
				t.Errorf("%s %q: %.60q", method, name, answer)
			}
		}
	}
}

func TestSessions(t *testing.T) {
	s := start(t, nil)
	sessions := "/v1/topics/orders/partitions/0/sessions"
	a := s.do(t, "POST", sessions, strings.NewReader(`{"client":"000102030405060708090a0b0c0d0e0f"}`), "Content-Type", mediaJSON)
	if a.status != 200 || string(a.body) != `{"session":1,"op":1}`+"\n" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	a = s.do(t, "POST", sessions+"?client=000102030405060708090A0B0C0D0E0F", nil)
	if a.status != 200 || a.json["session"] != 2.0 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	want := vsr.Client{Hi: 0x0001020304050607, Lo: 0x08090a0b0c0d0e0f}
	if got := s.partition.sessions; got[0] != want || got[1] != want {
		t.Errorf("%+v", got)
	}
}

func TestTopicsAndCluster(t *testing.T) {
	s := start(t, nil)
	if a := s.do(t, "GET", "/v1/topics", nil); a.status != 200 || string(a.body) != `{"topics":[{"name":"orders","partitions":1,"durability":"persisted"}]}`+"\n" {
		t.Errorf("%d %s", a.status, a.body)
	}
	a := s.do(t, "GET", "/v1/cluster", nil)
	partition := a.json["nodes"].([]any)[0].(map[string]any)["partitions"].([]any)[0].(map[string]any)
	for _, field := range []string{"role", "view", "log_view", "head", "commit", "known_commit", "state", "progress", "last_progress_ns", "commit_offset"} {
		if _, ok := partition[field]; !ok {
			t.Errorf("no %s in %s", field, a.body)
		}
	}
}

// TestClusterOfOneNode: who polls a node often asks for that node alone.
func TestClusterOfOneNode(t *testing.T) {
	s := start(t, nil)
	all := s.do(t, "GET", "/v1/cluster", nil).json["nodes"].([]any)
	for n := range all {
		a := s.do(t, "GET", fmt.Sprintf("/v1/cluster?node=%d", n), nil)
		if one := a.json["nodes"].([]any); len(one) != 1 || !reflect.DeepEqual(one[0], all[n]) {
			t.Errorf("node %d: %s", n, a.body)
		}
	}
	for _, bad := range []string{"node=", "node=-1", fmt.Sprint("node=", len(all)), "node=0x0", "node=99999999999999999999"} {
		if a := s.do(t, "GET", "/v1/cluster?"+bad, nil); a.status != 400 || a.json["error"] != "malformed" {
			t.Errorf("%s: %d %s", bad, a.status, a.body)
		}
	}
}

func TestConstructorRefuses(t *testing.T) {
	pool, _ := wire.NewPool(1)
	node := &fakeNode{partition: newFakePartition(t)}
	for _, c := range []struct {
		name    string
		options ClientOptions
		says    string
	}{
		{"open", ClientOptions{Address: "0.0.0.0:0"}, "needs a bearer token"},
		{"open by port", ClientOptions{Address: ":0"}, "needs a bearer token"},
		{"open v6", ClientOptions{Address: "[::]:0"}, "needs a bearer token"},
		{"open with a short token", ClientOptions{Address: "0.0.0.0:0", Token: "short"}, "16 characters"},
		{"token with a line break", ClientOptions{Address: "127.0.0.1:0", Token: "0123456789abcdef\n"}, "line break"},
		{"address", ClientOptions{Address: "127.0.0.1"}, "write host:port"},
		{"connections", ClientOptions{Address: "127.0.0.1:0", ConnectionsMax: -1}, "one is the least"},
		{"timeout", ClientOptions{Address: "127.0.0.1:0", BodyTimeout: -1}, "negative"},
	} {
		c.options.Node, c.options.Pool = node, pool
		p, err := NewClientPlane(c.options)
		if err == nil || !strings.Contains(err.Error(), c.says) || p != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := NewClientPlane(ClientOptions{Address: "127.0.0.1:0"}); err == nil {
		t.Error("no node, and no error")
	}
	open, err := NewClientPlane(ClientOptions{Address: "0.0.0.0:0", Token: "0123456789abcdef", Node: node, Pool: pool})
	if err != nil {
		t.Fatal(err)
	}
	defer open.listener.Close()
	_, port, _ := strings.Cut(open.Address().String(), "]:")
	if _, err := NewClientPlane(ClientOptions{Address: "127.0.0.1:" + port, Node: node, Pool: pool}); err == nil || !strings.Contains(err.Error(), "another node may be running") {
		t.Errorf("a taken port: %v", err)
	}
}

// A node that is told to stop while it starts must end, too.
func TestStoppedBeforeItServes(t *testing.T) {
	stopped, stop := context.WithCancel(context.Background())
	stop()
	pool, _ := wire.NewPool(1)
	node := &fakeNode{partition: newFakePartition(t)}
	for range 50 {
		p, err := NewClientPlane(ClientOptions{Address: "127.0.0.1:0", Node: node, Pool: pool})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(stopped); err != nil {
			t.Fatal(err)
		}
	}
}
