package server

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// fullPipe is a standard error that nobody reads from, until it is drained.
type fullPipe struct {
	began   chan struct{} // somebody writes
	drained chan struct{}
	once    sync.Once

	mu      sync.Mutex
	written bytes.Buffer
}

func newFullPipe() *fullPipe {
	return &fullPipe{began: make(chan struct{}), drained: make(chan struct{})}
}

func (p *fullPipe) Write(b []byte) (int, error) {
	p.once.Do(func() { close(p.began) })
	<-p.drained
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.written.Write(b)
}

func (p *fullPipe) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.written.String()
}

// TestLogLinesThatNobodyReads: who logs never waits. What finds no room is counted, and told of once there is.
func TestLogLinesThatNobodyReads(t *testing.T) {
	pipe := newFullPipe()
	lines := newLogLines()
	log := lines.logger(slog.New(slog.NewTextHandler(pipe, nil))).With("node", 1).WithGroup("disk")
	log.Info("first", "op", 0)
	<-pipe.began
	for i := range logLinesMax + 3 {
		log.Info("another", "op", i+1)
	}
	log.Debug("below the level")
	close(pipe.drained)
	lines.close()
	got := pipe.String()
	if n := strings.Count(got, "msg=another node=1 disk.op="); n != logLinesMax {
		t.Errorf("%d lines were written, want %d", n, logLinesMax)
	}
	if !strings.Contains(got, "lines=3") || strings.Contains(got, "below") {
		t.Errorf("nobody tells that 3 lines were dropped:\n%.500s", got)
	}
}

// TestNodeWhoseLogNobodyReads lets a node take office, serve and stop while its standard error is a full pipe.
func TestNodeWhoseLogNobodyReads(t *testing.T) {
	c := newCluster(t, 1, TopicConfig{Name: "orders", Partitions: 2})
	pipe := newFullPipe()
	c.logTo = pipe
	c.start(0)
	<-pipe.began
	p := c.producer("orders", 0, 1)
	p.send()
	n := c.nodes[0]
	c.nodes[0] = nil
	n.stop()
	select {
	case err := <-n.done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the node never stops")
	}
	close(pipe.drained)
}
