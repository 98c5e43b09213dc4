package api

import (
	"fmt"
	"strings"
	"testing"
)

// callAs opens a session as a browser would for a page: without a body, and with what the page cannot choose.
func (s *plane) callAs(t *testing.T, host, headers string) string {
	t.Helper()
	return s.raw(t, fmt.Sprintf("POST %s?client=%032x HTTP/1.1\r\nHost:%s\r\n%sContent-Length: 0\r\nConnection: close\r\n\r\n", strings.TrimSuffix(batches, "batches")+"sessions", 7, host, headers))
}

// TestNoPageOpensSessions: neither under a rebound name nor from elsewhere; producers may under every name of the node.
func TestNoPageOpensSessions(t *testing.T) {
	s := start(t, func(o *ClientOptions) { o.Called = []string{"log0.example:7001", "127.0.0.1:7000"} })
	for _, host := range []string{" localhost", " localhost:1", " 127.0.0.1", " 127.0.0.1:17001", " 127.8.0.1:1", " [::1]:5", " [::1]", " log0.example:7001", " LOG0.example:9"} {
		if answer := s.callAs(t, host, ""); !strings.HasPrefix(answer, "HTTP/1.1 200") {
			t.Errorf("Host:%s: %s", host, answer)
		}
	}
	for _, host := range []string{" rebound.example", " rebound.example:17001", " 127.0.0.1.rebound.example:1", " localhost.rebound.example", " 192.0.2.1:17001", " [2001:db8::1]:1"} {
		if answer := s.callAs(t, host, ""); !strings.HasPrefix(answer, "HTTP/1.1 403") || !strings.Contains(answer, `"forbidden"`) {
			t.Errorf("Host:%s: %s", host, answer)
		}
	}
	for _, origin := range []string{"http://page.example", "null", "http://localhost:8000"} {
		if answer := s.callAs(t, " 127.0.0.1:17001", "Origin: "+origin+"\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 403") {
			t.Errorf("Origin %s: %s", origin, answer)
		}
	}
	const token = "sixteen-or-more-characters"
	guarded := start(t, func(o *ClientOptions) { o.Token = token })
	if answer := guarded.callAs(t, " anything.example", "Authorization: Bearer "+token+"\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 200") {
		t.Errorf("who has the token may come under any name: %s", answer)
	}
}

// TestHostAllocatesNothing: each request of a producer is judged so.
func TestHostAllocatesNothing(t *testing.T) {
	own := hostsOf("log0.example:7001")
	for _, host := range []string{"127.0.0.1:17001", "localhost:17001", "[::1]:17001", ""} {
		text := []byte(host)
		if n := testing.AllocsPerRun(100, func() {
			if !own.allow(text) {
				t.Error(host)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations", host, n)
		}
	}
}
