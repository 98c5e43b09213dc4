package api

import (
	"bytes"
	"context"
	"net/http"
	"net/http/pprof"
	"strconv"
	"strings"
	"time"
)

// captureSecondsMax bounds a profile over time, and captureDefault is what net/http/pprof takes
// without ?seconds= at most.
const (
	captureSecondsMax = 60
	captureDefault    = 30 * time.Second
)

const profilesPath = "/debug/pprof/"

// Names beside those of profiles: what they do is ours, not net/http/pprof's.
const (
	cutName    = "cut"
	flightName = "flight"
)

// adminProfiles are the profiles by name. Those marked take time to be taken, also without ?seconds=.
func adminProfiles() map[string]struct {
	handler http.Handler
	timed   bool
} {
	type profile = struct {
		handler http.Handler
		timed   bool
	}
	return map[string]profile{
		"cmdline":      {http.HandlerFunc(pprof.Cmdline), false},
		"symbol":       {http.HandlerFunc(pprof.Symbol), false},
		"profile":      {http.HandlerFunc(pprof.Profile), true},
		"trace":        {http.HandlerFunc(pprof.Trace), true},
		"allocs":       {pprof.Handler("allocs"), false},
		"block":        {pprof.Handler("block"), false},
		"goroutine":    {pprof.Handler("goroutine"), false},
		"heap":         {pprof.Handler("heap"), false},
		"mutex":        {pprof.Handler("mutex"), false},
		"threadcreate": {pprof.Handler("threadcreate"), false},
	}
}

// mountProfiles serves net/http/pprof. Its import registers it on the default mux as well, which
// nothing in this program serves.
func (a *AdminPlane) mountProfiles(mux *http.ServeMux) {
	for name, profile := range adminProfiles() {
		mux.Handle(profilesPath+name, a.bounded(profile.handler, profile.timed))
	}
	mux.HandleFunc(profilesPath+cutName, a.cutCapture)
	mux.HandleFunc(profilesPath+flightName, a.flight)
	mux.HandleFunc(profilesPath, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != profilesPath {
			answerAdmin(w, http.StatusNotFound, "not_found", "there is no such profile")
			return
		}
		pprof.Index(w, r)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		answerAdmin(w, http.StatusNotFound, "not_found", refusedNoRoute.message)
	})
}

// bounded refuses a capture that is too long, and a second one beside it: the runtime has one CPU
// profile, and two captures would measure each other.
func (a *AdminPlane) bounded(profile http.Handler, timed bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		takes, ok := captureTime(r.URL.Query()["seconds"], timed)
		if !ok {
			answerAdmin(w, http.StatusBadRequest, "malformed", "seconds is a whole number from 1 to "+strconv.Itoa(captureSecondsMax)+", given once")
			return
		}
		if takes > 0 {
			ctx, cut := context.WithCancel(r.Context())
			defer cut()
			if !a.capture.CompareAndSwap(nil, &cut) {
				answerAdmin(w, http.StatusConflict, "capture_running", "another profile is being captured; there is one at a time, try again when it has ended")
				return
			}
			defer a.capture.Store(nil)
			if timed { // a difference of two snapshots that ends early is an error there
				r = r.WithContext(ctx)
			}
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(takes + adminAnswerTimeout))
		profile.ServeHTTP(w, r)
	})
}

// cutCapture ends the profile over time that is being taken: its own request is answered at once, with what there is. So a caller who
// learns meanwhile that something else begins need not mix the two.
func (a *AdminPlane) cutCapture(w http.ResponseWriter, _ *http.Request) {
	cut := a.capture.Load()
	if cut == nil {
		answerAdmin(w, http.StatusConflict, "no_capture", "no profile over time is being captured")
		return
	}
	(*cut)()
	w.WriteHeader(http.StatusNoContent)
}

// flight answers the last seconds of the execution trace. They are written to memory first: a client that reads slowly would otherwise keep
// others from the recorder, and a failure half-way could not be told any more.
func (a *AdminPlane) flight(w http.ResponseWriter, _ *http.Request) {
	if a.options.Flight == nil {
		answerAdmin(w, http.StatusConflict, "no_flight", "this node keeps no flight record; it was started without that profile mode")
		return
	}
	var trace bytes.Buffer
	if _, err := a.options.Flight.WriteTo(&trace); err != nil {
		answerAdmin(w, http.StatusServiceUnavailable, "busy", "the flight record cannot be taken now: "+err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(trace.Bytes())
}

func captureTime(seconds []string, timed bool) (takes time.Duration, ok bool) {
	switch {
	case len(seconds) == 0 && timed:
		return captureDefault, true
	case len(seconds) == 0:
		return 0, true
	case len(seconds) > 1 || strings.HasPrefix(seconds[0], "0"):
		return 0, false
	}
	n, ok := parseUint([]byte(seconds[0]))
	return time.Duration(n) * time.Second, ok && n >= 1 && n <= captureSecondsMax
}
