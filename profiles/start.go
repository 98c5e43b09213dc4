package profiles

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/pkg/profile"

	"rejoin/results"
)

// Mode is what Start profiles.
type Mode string

// Modes are those that users may ask for, in the order of help texts.
func Modes() []Mode { return []Mode{"cpu", "mem", "mutex", "block", "trace", "goroutine", "clock"} }

// Canonical is the mode that a synonym stands for: heap and allocs are two views of the one file of mem.
func (m Mode) Canonical() Mode {
	if m == "heap" || m == "allocs" {
		return "mem"
	}
	return m
}

// CheckMode refuses a mode that does not exist; an empty one is none.
func CheckMode(mode Mode) error {
	mode = mode.Canonical()
	if mode == "" || slices.Contains(Modes(), mode) {
		return nil
	}
	var names []string
	for _, m := range Modes() {
		names = append(names, string(m))
	}
	return fmt.Errorf("profile mode %q is unknown; there are %s", mode, strings.Join(names, ", "))
}

// started mirrors the flag in pkg/profile: there a second Start ends the process by log.Fatal, here it is an error.
var started atomic.Bool

// Session is one running profile of this process.
type Session struct {
	mode    Mode
	dir     string
	partial string // directory of the unfinished file
	inner   interface{ Stop() }
	stopped atomic.Bool
}

// Start profiles this process until Stop, by github.com/pkg/profile, and never by its signal hook: that would exit at SIGINT before the
// caller has cleaned up, and knows no SIGTERM. An empty mode profiles nothing. A process that is killed leaves a directory <mode>-partial-*
// in dir and no file, and keeps the file of an earlier process.
//
// The library reports nothing and ends the process where it cannot go on, so everything that it would fail at is tried before.
func Start(mode Mode, dir string) (*Session, error) {
	mode = mode.Canonical()
	if err := CheckMode(mode); err != nil {
		return nil, err
	}
	if mode == "" {
		return &Session{}, nil
	}
	if !started.CompareAndSwap(false, true) {
		return nil, fmt.Errorf("start %s profile: %w", mode, ErrRunning)
	}
	s, err := start(mode, dir)
	if err != nil {
		started.Store(false)
		return nil, fmt.Errorf("start %s profile: %w", mode, err)
	}
	return s, nil
}

func start(mode Mode, dir string) (*Session, error) {
	if err := probe(mode); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make its folder: %w", err)
	}
	partial, err := os.MkdirTemp(dir, string(mode)+"-partial-")
	if err != nil {
		return nil, fmt.Errorf("make its folder: %w", err)
	}
	inner := profile.Start(option(mode), profile.ProfilePath(partial), profile.NoShutdownHook, profile.Quiet)
	return &Session{mode: mode, dir: dir, partial: partial, inner: inner}, nil
}

// probe starts what can run once a process and stops it again. pkg/profile drops the first error and dies of the second.
func probe(mode Mode) error {
	switch mode {
	case "cpu":
		if err := pprof.StartCPUProfile(io.Discard); err != nil {
			return fmt.Errorf("%w: %w", ErrRunning, err)
		}
		pprof.StopCPUProfile()
	case "trace":
		if err := trace.Start(io.Discard); err != nil {
			return fmt.Errorf("%w: %w", ErrRunning, err)
		}
		trace.Stop()
	}
	return nil
}

func option(mode Mode) func(*profile.Profile) {
	return map[Mode]func(*profile.Profile){
		"cpu": profile.CPUProfile, "mem": profile.MemProfile, "mutex": profile.MutexProfile, "block": profile.BlockProfile,
		"trace": profile.TraceProfile, "goroutine": profile.GoroutineProfile, "clock": profile.ClockProfile,
	}[mode]
}

// Rate is what pkg/profile sets: bytes allocated between two samples (mem), one of so many contentions (mutex), one block of so many ns
// (block); 0 for other modes. Numbers taken at different rates must not be compared.
func (m Mode) Rate() int64 {
	switch m {
	case "mem":
		return profile.DefaultMemProfileRate
	case "mutex", "block":
		return 1
	}
	return 0
}

// File is the name of the file that a session leaves in its folder, as pkg/profile gives it.
func (m Mode) File() string {
	if m == "trace" {
		return "trace.out"
	}
	return string(m.Canonical()) + ".pprof"
}

// Kind is what a file of the mode measures.
func (m Mode) Kind() Kind {
	if m.Canonical() == "mem" {
		return Heap
	}
	return Kind(m)
}

// Stop ends the profile, checks that the file is complete and gives it its name: cpu.pprof, mem.pprof … or trace.out in the folder. It
// returns the path; "" without a profile and at every call after the first.
func (s *Session) Stop() (string, error) {
	if s.inner == nil || !s.stopped.CompareAndSwap(false, true) {
		return "", nil
	}
	s.inner.Stop()
	started.Store(false)
	path, err := s.finish()
	if err != nil {
		return "", fmt.Errorf("stop %s profile: %w", s.mode, err)
	}
	return path, nil
}

func (s *Session) finish() (string, error) {
	from, to := filepath.Join(s.partial, s.mode.File()), filepath.Join(s.dir, s.mode.File())
	if s.mode == "trace" {
		if err := checkTrace(from); err != nil {
			return "", err
		}
		if err := os.Rename(from, to); err != nil {
			return "", err
		}
		return to, os.Remove(s.partial)
	}
	p, err := ReadFile(from)
	if err != nil {
		return "", err
	}
	meta := p.Meta()
	meta.Kind, meta.Go, meta.Rate = s.mode.Kind(), runtime.Version(), s.mode.Rate()
	if err := newProfile(p.pb, meta).WriteFile(to); err != nil {
		return "", err
	}
	return to, os.RemoveAll(s.partial)
}

// checkTrace looks at the header; the whole of a trace is checked by `go tool trace`.
func checkTrace(path string) error {
	f, err := results.OpenRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 16)
	if _, err := io.ReadFull(f, head); err != nil {
		if errors.Is(err, io.EOF) {
			return ErrEmpty
		}
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if !bytes.HasPrefix(head, []byte("go 1.")) {
		return fmt.Errorf("%w: it does not begin like a trace", ErrMalformed)
	}
	return nil
}
