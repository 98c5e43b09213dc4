package main

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"rejoin/results"
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

// outputQueue is how many lines wait for a slow reader; what comes beyond is counted and left out, because a run waits for nobody.
const outputQueue = 8192

// eventsOutput writes lines for programs.
type eventsOutput struct {
	mu      sync.Mutex
	queue   chan []byte
	done    chan struct{}
	dropped int64
	viewAt  time.Time
	closed  bool
}

func newEventsOutput(out io.Writer) *eventsOutput {
	o := &eventsOutput{queue: make(chan []byte, outputQueue), done: make(chan struct{})}
	go func() {
		defer close(o.done)
		failed := false
		for line := range o.queue {
			if !failed {
				_, err := out.Write(line)
				failed = err != nil // nobody reads any more; the run goes on
			}
		}
	}()
	return o
}

func (o *eventsOutput) put(l outputLine) {
	l.SchemaVersion, l.TMonoNs = outputSchemaVersion, monoNow()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	if l.Type == outputVerdict {
		l.DroppedLines = o.dropped
	}
	text, err := json.Marshal(l)
	if err != nil {
		panic("bench: an output line cannot be spelled: " + err.Error())
	}
	select {
	case o.queue <- append(text, '\n'):
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

// outputCloseLimit is how long the end of a run waits for a reader that does not take the rest.
const outputCloseLimit = 5 * time.Second

// close writes what waits.
func (o *eventsOutput) close() {
	o.mu.Lock()
	if !o.closed {
		o.closed = true
		close(o.queue)
	}
	o.mu.Unlock()
	select {
	case <-o.done:
	case <-time.After(outputCloseLimit):
	}
}
