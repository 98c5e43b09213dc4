package server

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

const (
	// logLinesMax is room for what a node tells when all its partitions change their roles at once, several times over. When it is full,
	// lines are dropped and counted.
	logLinesMax = 1024

	// logPatience is how long the end of a node waits for its last lines to be written.
	logPatience = time.Second
)

// logLines takes a node's log lines and writes them on a goroutine of its own. Whoever logs never waits for the reader of
// standard error: a turn would hold its partition for as long as a pipe is full.
type logLines struct {
	queue    chan logLine
	dropped  atomic.Uint64
	reported uint64        // of dropped, in lines; the writer's own
	ended    chan struct{} // to the writer: write what is queued, and end
	done     chan struct{}
}

type logLine struct {
	handler slog.Handler
	record  slog.Record
}

// newLogLines starts the writer. Close ends it.
func newLogLines() *logLines {
	l := &logLines{queue: make(chan logLine, logLinesMax), ended: make(chan struct{}), done: make(chan struct{})}
	go l.run()
	return l
}

// logger returns one that writes as to does, through the queue.
func (l *logLines) logger(to *slog.Logger) *slog.Logger {
	return slog.New(&queuedHandler{Handler: to.Handler(), lines: l})
}

// close writes what is queued, as far as patience lasts. A writer that is stuck ends with the process.
func (l *logLines) close() {
	close(l.ended)
	patience := time.NewTimer(logPatience)
	defer patience.Stop()
	select {
	case <-l.done:
	case <-patience.C:
	}
}

func (l *logLines) put(line logLine) {
	select {
	case l.queue <- line:
	default:
		l.dropped.Add(1)
	}
}

func (l *logLines) run() {
	defer close(l.done)
	for {
		select {
		case line := <-l.queue:
			l.write(line)
		case <-l.ended:
			if len(l.queue) == 0 {
				return
			}
		}
	}
}

// write puts out how many lines were dropped so far, then this one. What a handler fails at is lost: there is nobody left to tell.
func (l *logLines) write(line logLine) {
	ctx := context.Background()
	if dropped := l.dropped.Load(); dropped != l.reported {
		lost := slog.NewRecord(time.Now(), slog.LevelWarn, "log lines were dropped: they are not taken off standard error fast enough", 0)
		lost.Add("lines", dropped-l.reported)
		l.reported = dropped
		_ = line.handler.Handle(ctx, lost)
	}
	_ = line.handler.Handle(ctx, line.record)
}

// queuedHandler is a handler whose lines are written later.
type queuedHandler struct {
	slog.Handler
	lines *logLines
}

// Handle queues a line.
func (h *queuedHandler) Handle(_ context.Context, r slog.Record) error {
	h.lines.put(logLine{h.Handler, r.Clone()})
	return nil
}

// WithAttrs is of slog.Handler.
func (h *queuedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &queuedHandler{h.Handler.WithAttrs(attrs), h.lines}
}

// WithGroup is of slog.Handler.
func (h *queuedHandler) WithGroup(name string) slog.Handler {
	return &queuedHandler{h.Handler.WithGroup(name), h.lines}
}
