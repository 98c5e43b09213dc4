package main

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"rejoin/results"
	"rejoin/server/wire"
)

// outputLine is one line of `bench run --json`. Type says which of the pointers is there; docs/watching.md tells the schema.
type outputLine struct {
	SchemaVersion int            `json:"schema_version"`
	Type          string         `json:"type"`
	TMonoNs       int64          `json:"t_mono_ns"` // raw CLOCK_MONOTONIC of the moment it was told
	Message       *string        `json:"message,omitempty"`
	Event         *results.Event `json:"event,omitempty"`
	Progress      *liveView      `json:"progress,omitempty"`
	Verdict       *runVerdict    `json:"verdict,omitempty"`
	DroppedLines  int64          `json:"dropped_lines,omitempty"` // with the verdict: the reader was too slow for them
}

// outputSchemaVersion rises when a reader of the old lines would misread the new ones.
const outputSchemaVersion = 1

// Types of an output line.
const (
	outputMessage  = "message"
	outputEvent    = "event"
	outputProgress = "progress"
	outputVerdict  = "verdict"
)

// outputQueue is how many lines wait for a slow reader; what comes beyond is counted and left out, because a run under way waits
// for nobody.
const outputQueue = 8192

// eventsOutput writes lines for programs. The verdict has a place of its own behind the queue, so that a full one cannot cost it.
type eventsOutput struct {
	queue chan []byte
	done  chan struct{} // closed when nothing more will be written

	mu      sync.Mutex
	dropped int64
	viewAt  time.Time
	closed  bool
	hurry   bool        // the reader had its time: what is queued is dropped
	last    *outputLine // the verdict, which ends the lines; nil while there is none
}

func newEventsOutput(out io.Writer) *eventsOutput {
	o := &eventsOutput{queue: make(chan []byte, outputQueue), done: make(chan struct{})}
	go o.write(out)
	return o
}

// write ends when close has been called or nobody reads any more; the run goes on in either case.
func (o *eventsOutput) write(out io.Writer) {
	defer close(o.done)
	for line := range o.queue {
		if o.skip() {
			continue
		}
		if _, err := out.Write(line); err != nil {
			return
		}
	}
	if line := o.lastLine(); line != nil {
		_, _ = out.Write(line)
	}
}

// skip counts a line that comes too late for a slow reader.
func (o *eventsOutput) skip() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.hurry {
		o.dropped++
	}
	return o.hurry
}

// lastLine is the verdict with what was dropped before it, up to now.
func (o *eventsOutput) lastLine() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last == nil {
		return nil
	}
	o.last.DroppedLines = o.dropped
	return o.last.spelled()
}

func (l outputLine) spelled() []byte {
	text, err := json.Marshal(l)
	if err != nil {
		panic("bench: an output line cannot be spelled: " + err.Error())
	}
	return append(text, '\n')
}

func (o *eventsOutput) put(l outputLine) {
	l.SchemaVersion, l.TMonoNs = outputSchemaVersion, wire.MonoNow()
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed || o.last != nil: // the verdict is the last line
		return
	case l.Type == outputVerdict:
		o.last = &l
		return
	}
	select {
	case o.queue <- l.spelled():
	default:
		o.dropped++
	}
}

func (o *eventsOutput) message(text string) { o.put(outputLine{Type: outputMessage, Message: &text}) }

func (o *eventsOutput) event(e results.Event) { o.put(outputLine{Type: outputEvent, Event: &e}) }

func (o *eventsOutput) verdict(v runVerdict) { o.put(outputLine{Type: outputVerdict, Verdict: &v}) }

// view is told a second's view once.
func (o *eventsOutput) view(v *liveView) {
	o.mu.Lock()
	now := time.Now()
	due := now.Sub(o.viewAt) >= plainEvery-viewEvery/2
	if due {
		o.viewAt = now
	}
	o.mu.Unlock()
	if due {
		o.put(outputLine{Type: outputProgress, Progress: v})
	}
}

// outputCloseLimit is how long the end of a run waits for a reader that does not take the lines before the verdict.
const outputCloseLimit = 5 * time.Second

// close writes what waits. A reader that is too slow for it loses lines, but not the verdict: close waits for it until the reader takes it or
// goes, or a person interrupts; after an interrupt only as long again.
func (o *eventsOutput) close(interrupted <-chan struct{}, say func(text string)) {
	o.mu.Lock()
	if !o.closed {
		o.closed = true
		close(o.queue)
	}
	o.mu.Unlock()
	select {
	case <-o.done:
		return
	case <-time.After(outputCloseLimit):
	}
	o.mu.Lock()
	o.hurry = true
	o.mu.Unlock()
	say("the reader of --json has taken nothing for a while; waiting until it takes the verdict (Ctrl-C ends)")
	select {
	case <-o.done:
		return
	case <-interrupted:
	}
	select {
	case <-o.done:
	case <-time.After(outputCloseLimit):
	}
}
