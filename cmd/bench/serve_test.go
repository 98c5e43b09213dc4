package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"rejoin/results"
)

// freePort is one that the page may take.
func freePort(t *testing.T) int {
	t.Helper()
	held, err := reservePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	port := held.numbers[0]
	if err := held.release(); err != nil {
		t.Fatal(err)
	}
	return port
}

func startLivePage(t *testing.T, token string) *livePage {
	t.Helper()
	p, err := newLivePage(fmt.Sprint(freePort(t)), token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return p
}

// serverSent reads a stream as the specification of server-sent events has it: fields until an empty line, comments passed over.
func serverSent(body io.Reader, take func(kind, data string) bool) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	kind, data := "message", ""
	for lines.Scan() {
		line := lines.Text()
		if line == "" {
			if data != "" && !take(kind, strings.TrimSuffix(data, "\n")) {
				return nil
			}
			kind, data = "message", ""
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			kind = value
		case "data":
			data += value + "\n"
		case "retry", "":
		default:
			return fmt.Errorf("field %q is none of the format", field)
		}
	}
	return lines.Err()
}

func getPage(t *testing.T, address, header string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if name, value, ok := strings.Cut(header, ": "); ok {
		request.Header.Set(name, value)
		if name == "Host" {
			request.Host = value
		}
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text)
}

// TestRunIsServedLive follows a whole run as a page would, from before its load to its verdict.
func TestRunIsServedLive(t *testing.T) {
	port := freePort(t)
	address := fmt.Sprintf("http://127.0.0.1:%d", port)
	root, scenario := t.TempDir(), memoryScenario(t, "demands: {late_p99_max: 1s, canary_change_max: 100}")
	done := make(chan int, 1)
	go func() {
		done <- run(t.Context(), []string{"--results", root, "run", scenario, "--quiet", "--http", fmt.Sprint(port)}, io.Discard, io.Discard)
	}()
	var response *http.Response
	var err error
	for deadline := time.Now().Add(10 * time.Second); ; {
		if response, err = http.Get(address + "/live"); err == nil || time.Now().After(deadline) {
			break
		}
		time.Sleep(10 * time.Millisecond) // until the port is open
	}
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("content type %q", got)
	}
	seen := map[string]int{}
	steps := map[string]bool{}
	var verdict runVerdict
	err = serverSent(response.Body, func(kind, data string) bool {
		seen[kind]++
		var v liveView
		switch kind {
		case outputProgress:
			err = json.Unmarshal([]byte(data), &v)
			steps[v.Step] = true
		case outputVerdict:
			err = json.Unmarshal([]byte(data), &verdict)
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", kind, err, data)
		}
		return kind != "end"
	})
	code := <-done
	if err != nil || verdict.Verdict == "" || verdict.ExitCode != code || seen[outputVerdict] < 1 || seen["end"] != 1 || seen[outputEvent] < 5 || seen[outputProgress] < 4 || !steps[stepLoad] || !steps["verify"] {
		t.Errorf("error %v, exit code %d, verdict %+v, messages %v, steps %v", err, code, verdict, seen, steps)
	}
}

func TestSlowReadersHoldNobodyUp(t *testing.T) {
	p := startLivePage(t, "")
	conn, err := net.Dial("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if _, err := conn.Read(make([]byte, 1)); err != nil { // it has begun, and from here on nobody reads
		t.Fatal(err)
	}
	detail := strings.Repeat("x", 4096)
	began := time.Now()
	for range 20_000 { // 80 MB
		p.hub.event(results.Event{Kind: results.KindKill, Detail: detail})
	}
	took := time.Since(began)
	_, _, counts := p.hub.look()
	if took > 10*time.Second || counts.dropped < 10_000 || counts.events != 20_000 {
		t.Errorf("published in %v; %+v", took, counts)
	}
	began = time.Now()
	p.close()
	if took := time.Since(began); took > liveCloseLimit+2*time.Second {
		t.Errorf("the end of the run waited %v for a reader that takes nothing", took)
	}
}

// A reader whose queue was full when the verdict came is told it all the same.
func TestVerdictIsNeverDropped(t *testing.T) {
	p := startLivePage(t, "")
	response, err := http.Get("http://" + p.address + "/live")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	for range 20 * liveQueueMax {
		p.hub.event(results.Event{Kind: results.KindRepairEnd, Detail: strings.Repeat("x", 2000)})
	}
	p.hub.verdict(runVerdict{Verdict: results.Fail, ExitCode: 1, Reasons: []string{}})
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		p.close()
	}()
	said := 0
	if err := serverSent(response.Body, func(kind, _ string) bool {
		if kind == outputVerdict {
			said++
		}
		return kind != "end"
	}); err != nil || said == 0 {
		t.Errorf("error %v, the verdict was said %d times", err, said)
	}
	<-closed
}

func TestReadersAreBoundedAndGoAway(t *testing.T) {
	p := startLivePage(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	for range liveReadersMax {
		request, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.address+"/live", nil)
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatal(response, err)
		}
		defer response.Body.Close()
	}
	if response, text := getPage(t, "http://"+p.address+"/live", ""); response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, "32 readers") {
		t.Errorf("one too many: %d %s", response.StatusCode, text)
	}
	cancel()
	for deadline := time.Now().Add(10 * time.Second); ; {
		p.hub.message("still there?") // a reader that has gone is noticed by writing to it
		if _, _, counts := p.hub.look(); counts.readers == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("readers that have gone are kept")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestMetricsAreWhatPrometheusReads(t *testing.T) {
	p := startLivePage(t, "")
	p.hub.view(sampleView())
	p.hub.verdict(runVerdict{Verdict: results.Pass})
	response, text := getPage(t, "http://"+p.address+"/metrics", "")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil || response.StatusCode != http.StatusOK || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain") {
		t.Fatalf("status %d: %v\n%s", response.StatusCode, err, text)
	}
	for name, want := range map[string]float64{"rejoin_bench_batches_due_total": 3600, "rejoin_bench_batches_acked_per_second": 300, "rejoin_bench_batches_waiting": 4,
		"rejoin_bench_step_elapsed_seconds": 12, "rejoin_bench_faults_in_force": 1, "rejoin_bench_exit_code": 0} {
		f := families[name]
		if f == nil || f.GetHelp() == "" || f.GetMetric()[0].GetGauge().GetValue()+f.GetMetric()[0].GetCounter().GetValue() != want {
			t.Errorf("%s is %v, want %v", name, f, want)
		}
	}
	lag := families["rejoin_bench_node_lag_ops"].GetMetric()
	if len(lag) != 2 || lag[1].GetLabel()[0].GetValue() != "n1" || lag[1].GetGauge().GetValue() != 1500 {
		t.Errorf("lags are %v", lag)
	}
	if q := families["rejoin_bench_ack_latency_seconds"].GetMetric(); len(q) != 2 || q[0].GetGauge().GetValue() != 0.0012 {
		t.Errorf("latencies are %v", q)
	}
}

func TestLivePageIsGuarded(t *testing.T) {
	for _, test := range []struct{ asked, token, want string }{
		{"0.0.0.0:17999", "", "can be reached from other machines"}, {"[::]:17999", "", "can be reached"}, {"example.org:80", "", "can be reached"},
		{"0.0.0.0:17999", "x", "the token has 1 characters, which can be guessed; set one of 16 or more (openssl rand -base64 24), or listen on 127.0.0.1"},
		{"0.0.0.0:17999", "fifteen letters", "has 15 characters"}, {"127.0.0.1", "", "no address"}, {":0", "", "1 to 65535"}, {"70000", "", "1 to 65535"}, {"localhost:http", "", "1 to 65535"},
	} {
		if _, err := newLivePage(test.asked, test.token); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.asked, err, test.want)
		}
	}
	if address, err := liveAddress("0.0.0.0:17999", "sixteen letters!"); err != nil || address != "0.0.0.0:17999" {
		t.Errorf("%s, %v", address, err)
	}
	open := startLivePage(t, "")
	if response, _ := getPage(t, "http://"+open.address+"/", "Host: evil.example"); response.StatusCode != http.StatusForbidden {
		t.Errorf("a foreign name on loopback: %d", response.StatusCode)
	}
	response, text := getPage(t, "http://"+open.address+"/", "")
	if response.StatusCode != 200 || !strings.Contains(text, "page.js") || !strings.Contains(response.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%d %v", response.StatusCode, response.Header)
	}

	guarded := startLivePage(t, "open sesame")
	base := "http://" + guarded.address
	for _, path := range []string{"/", "/live", "/metrics", "/other"} {
		if response, text := getPage(t, base+path, ""); response.StatusCode != http.StatusUnauthorized || strings.Contains(text, "sesame") {
			t.Errorf("%s without a token: %d %s", path, response.StatusCode, text)
		}
	}
	for header, want := range map[string]int{"Authorization: Bearer open sesame": 200, "Authorization: Bearer open": 401, "Cookie: rejoin_watch=open sesame": 401} {
		if response, _ := getPage(t, base+"/metrics", header); response.StatusCode != want {
			t.Errorf("%s: %d, want %d", header, response.StatusCode, want)
		}
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	wrong, err := client.PostForm(base+"/login", url.Values{"token": {"guess"}})
	if err != nil || wrong.StatusCode != http.StatusUnauthorized || len(wrong.Cookies()) != 0 {
		t.Errorf("a wrong token: %v %v", wrong, err)
	}
	right, err := client.PostForm(base+"/login", url.Values{"token": {"open sesame"}})
	if err != nil || right.StatusCode != http.StatusSeeOther || len(right.Cookies()) != 1 {
		t.Fatalf("the right token: %v %v", right, err)
	}
	cookie := right.Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || strings.Contains(cookie.Value, "sesame") {
		t.Errorf("cookie %v", cookie)
	}
	if response, _ := getPage(t, base+"/metrics", "Cookie: "+cookie.Name+"="+cookie.Value); response.StatusCode != 200 {
		t.Errorf("with the cookie: %d", response.StatusCode)
	}
}

// TestDocsTellWhatIsServed holds docs/watching.md to every metric and every field of a line.
func TestDocsTellWhatIsServed(t *testing.T) {
	text, err := os.ReadFile("../../docs/watching.md")
	if err != nil {
		t.Fatal(err)
	}
	descs := make(chan *prometheus.Desc, 100)
	(&liveCollector{}).Describe(descs)
	close(descs)
	for d := range descs {
		_, rest, _ := strings.Cut(d.String(), `fqName: "`)
		name, _, _ := strings.Cut(rest, `"`)
		if name == "" || !strings.Contains(string(text), "`"+name) {
			t.Errorf("metric %q is not told", name)
		}
	}
	for _, kind := range []reflect.Type{reflect.TypeFor[outputLine](), reflect.TypeFor[liveView](), reflect.TypeFor[liveNode](), reflect.TypeFor[liveTransfer](),
		reflect.TypeFor[liveNext](), reflect.TypeFor[runVerdict]()} {
		for field := range kind.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("%s of %s is not told", name, kind.Name())
			}
		}
	}
}
