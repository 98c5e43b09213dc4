package main

import (
	"sync"

	"rejoin/results"
	"rejoin/server/wire"
)

// recorder writes the harness's events. Until the run's time 0 is known it holds them back, because their t_ns depends on it.
type recorder struct {
	mu      sync.Mutex
	out     *results.EventWriter
	baseNs  int64 // raw CLOCK_MONOTONIC of t_ns 0; 0 while unknown
	waiting []results.Event
	watch   func(results.Event) // if given, told every event as it is written; it never waits
	err     error               // the first write error; the run is then invalid
}

func newRecorder(folder results.Folder) (*recorder, error) {
	out, err := folder.AppendEvents()
	if err != nil {
		return nil, err
	}
	return &recorder{out: out}, nil
}

// write records an event of the harness; TMonoNs 0 means now.
func (r *recorder) write(e results.Event) {
	if e.TMonoNs == 0 {
		e.TMonoNs = wire.MonoNow()
	}
	if e.Source == "" {
		e.Source = results.SourceHarness
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.baseNs == 0 {
		r.waiting = append(r.waiting, e)
		return
	}
	r.put(e)
}

func (r *recorder) put(e results.Event) {
	e.TNs = e.TMonoNs - r.baseNs
	if r.watch != nil {
		r.watch(e)
	}
	if err := r.out.Write(e); err != nil && r.err == nil {
		r.err = err
	}
}

// setBase fixes time 0 and writes what waited for it.
func (r *recorder) setBase(monoNs int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.baseNs = monoNs
	for _, e := range r.waiting {
		r.put(e)
	}
	r.waiting = nil
}

// base is the raw CLOCK_MONOTONIC of t_ns 0; false while it is not known.
func (r *recorder) base() (int64, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.baseNs, r.baseNs != 0
}

// close fixes time 0 if nobody did, so that nothing is lost, and closes the file.
func (r *recorder) close() error {
	if _, known := r.base(); !known {
		r.setBase(wire.MonoNow())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.out.Close(); r.err == nil {
		r.err = err
	}
	return r.err
}
