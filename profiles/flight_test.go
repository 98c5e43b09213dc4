package profiles

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestFlightIsReadByGoToolTrace(t *testing.T) {
	flight, err := StartFlight()
	if err != nil {
		t.Fatal(err)
	}
	defer flight.Stop()
	if _, err := StartFlight(); err == nil {
		t.Error("a second recorder in one process")
	}
	contend()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/debug/pprof/flight" || r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if _, err := flight.WriteTo(w); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "n0-flight-7.trace")
	if err := FetchFlight(t.Context(), server.Listener.Addr().String(), "secret", path); err != nil {
		t.Fatal(err)
	}
	dump, err := exec.Command("go", "tool", "trace", "-d=parsed", path).CombinedOutput()
	if err != nil || !bytes.Contains(dump, []byte("StateTransition")) {
		t.Errorf("%v: %.300s", err, dump)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 2*flightBytes {
		t.Errorf("%v, %v", info, err)
	}
}

// What is no trace leaves no file.
func TestFetchFlightRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		is     error
		words  string
	}{
		"refused": {http.StatusConflict, `{"error":"no_flight"}`, errRefused, "no_flight"},
		"empty":   {http.StatusOK, "", ErrEmpty, "0 bytes"},
		"page":    {http.StatusOK, "<html>and more than sixteen bytes", ErrMalformed, "does not begin like a trace"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		}))
		dir := t.TempDir()
		err := FetchFlight(t.Context(), server.Listener.Addr().String(), "", filepath.Join(dir, "x.trace"))
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", name, err)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
			t.Errorf("%s left %v, %v", name, files, err)
		}
		server.Close()
	}
}
