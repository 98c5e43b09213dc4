package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"rejoin/profiles"
	"rejoin/results"
)

// Words of --profile beside the modes of package profiles.
const (
	profileNone   = "none"
	profileFlight = "flight"
)

// cpuWindow is the length of a CPU window: what a node that dies takes with it at most.
const cpuWindow = 2 * time.Second

// profiling is what --profile asks for.
type profiling struct {
	// windows: CPU time in windows, of every process; the default.
	windows bool
	// mode of a profile over the life of every process, by pkg/profile; empty: none.
	mode profiles.Mode
	// flight: the nodes keep the last seconds of their execution trace.
	flight bool
}

// parseProfiling reads --profile of bench run: nothing, none, or modes with commas between them.
func parseProfiling(text string) (profiling, error) {
	if text == "" {
		return profiling{windows: true}, nil
	}
	if text == profileNone {
		return profiling{}, nil
	}
	p := profiling{windows: true}
	for word := range strings.SplitSeq(text, ",") {
		switch mode := profiles.Mode(strings.TrimSpace(word)).Canonical(); {
		case mode == profileNone:
			return p, errors.New("--profile none switches every profiler off, so it stands alone")
		case mode == profileFlight:
			p.flight = true
		case mode == "":
			return p, fmt.Errorf("--profile %q holds an empty mode; there are none, flight, %s", text, modeNames())
		case profiles.CheckMode(mode) != nil:
			return p, fmt.Errorf("profile mode %q is unknown; there are none, flight, %s", word, modeNames())
		case p.mode != "" && p.mode != mode:
			return p, fmt.Errorf("--profile %s and %s exclude each other: pkg/profile takes one profile of a process; do one run for each", p.mode, mode)
		default:
			p.mode = mode
		}
	}
	p.windows = p.mode != "cpu"
	return p, nil
}

func modeNames() string {
	var names []string
	for _, m := range profiles.Modes() {
		names = append(names, string(m))
	}
	return strings.Join(names, ", ")
}

// any says whether anything is taken at all.
func (p profiling) any() bool { return p.windows || p.mode != "" || p.flight }

// nodeFlag is what bench node gets as --profile; empty: nothing.
func (p profiling) nodeFlag() string {
	var words []string
	if p.mode != "" {
		words = append(words, string(p.mode))
	}
	if p.flight {
		words = append(words, profileFlight)
	}
	return strings.Join(words, ",")
}

// snapshots are the kinds that are pulled at the ends of windows: those that a process counts anyway once its mode has set the rate.
func (p profiling) snapshots() []profiles.Kind {
	switch kind := p.mode.Kind(); kind {
	case profiles.Heap, profiles.Mutex, profiles.Block, profiles.Goroutine:
		return []profiles.Kind{kind}
	}
	return nil
}

// cpuHz is the runtime's.
const cpuHz = 100

// record is what run.json says.
func (p profiling) record() results.Profiling {
	r := results.Profiling{Mode: p.String(), HeapBytes: int64(runtime.MemProfileRate), Trace: p.mode == "trace", Flight: p.flight}
	if p.windows {
		r.WindowNs = int64(cpuWindow)
	}
	if p.windows || p.mode == "cpu" {
		r.CPUHz = cpuHz
	}
	rate := int(p.mode.Rate())
	switch p.mode {
	case "mem":
		r.HeapBytes = int64(rate)
	case "mutex":
		r.MutexFraction = rate
	case "block":
		r.BlockNs = int64(rate)
	}
	r.Words = p.words()
	return r
}

func (p profiling) String() string {
	switch flag := p.nodeFlag(); {
	case flag != "":
		return flag
	case p.windows:
		return "cpu windows"
	}
	return profileNone
}

// words say what is taken, and what is not because of it.
func (p profiling) words() string {
	if !p.any() {
		return "no profiler runs"
	}
	var parts []string
	switch {
	case p.windows:
		parts = append(parts, fmt.Sprintf("CPU time at %d Hz in windows of at most %v", cpuHz, cpuWindow))
	case p.mode == "cpu":
		parts = append(parts, "CPU time over the life of each process, which leaves none for windows by phase: a process has one CPU profile; a node that is killed leaves nothing")
	}
	if p.mode != "" && p.mode != "cpu" {
		parts = append(parts, fmt.Sprintf("%s over the life of each process that is stopped cleanly", p.mode))
	}
	if kinds := p.snapshots(); len(kinds) > 0 {
		parts = append(parts, fmt.Sprintf("%s by phase", kinds[0]))
	}
	if p.flight {
		parts = append(parts, "the nodes keep the last seconds of their execution trace")
	}
	if p.mode != "" && p.mode != "cpu" && p.mode != "goroutine" || p.flight {
		parts = append(parts, "this costs the nodes time: do not compare the run with one without it")
	}
	return strings.Join(parts, "; ")
}

// startFlight keeps the last seconds of this process's execution trace if they are wanted; nil if not.
func startFlight(wanted bool) (io.WriterTo, func(), error) {
	if !wanted {
		return nil, func() {}, nil
	}
	flight, err := profiles.StartFlight()
	if err != nil {
		return nil, nil, err
	}
	return flight, flight.Stop, nil
}

// phasesOf are those of a run in order, without the quiet one, in which nothing is measured.
func phasesOf(timeline *results.Timeline, stopNs int64) []results.Phase {
	var phases []results.Phase
	for _, phase := range results.Phases() {
		holds := func(s results.Span) bool { return s.Phase == phase }
		if phase != results.Quiet && slices.ContainsFunc(timeline.Spans(stopNs), holds) {
			phases = append(phases, phase)
		}
	}
	return phases
}
