package server

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"rejoin/server/api"
	"rejoin/server/journal"
	"rejoin/server/partition"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

var _ api.Partition = (*group)(nil)

// clients are the requests that wait for an answer of the partition.
type clients struct {
	mu      sync.Mutex
	last    uint64
	closed  bool
	waiting map[uint64]*waiter
	idle    sync.Pool // of *waiter that nobody can answer any more
}

// waiter is one request's place to wait.
type waiter struct {
	token    uint64
	answered chan partition.Answer // one slot, for the one answer
	patience *time.Timer
}

// clientPatience ends a wait that nothing else has ended: the replica answers what it holds back
// after a second, and what is parked when its primacy ends.
const clientPatience = 10 * time.Second

// enter makes a request known; nil once everybody was dismissed.
func (c *clients) enter(patience time.Duration) *waiter {
	w, _ := c.idle.Get().(*waiter)
	if w == nil {
		w = &waiter{answered: make(chan partition.Answer, 1), patience: time.NewTimer(patience)}
	} else {
		w.patience.Reset(patience)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.last++
	w.token = c.last
	c.waiting[w.token] = w
	return w
}

func (c *clients) answer(token uint64, a partition.Answer) {
	c.mu.Lock()
	w := c.waiting[token]
	delete(c.waiting, token)
	c.mu.Unlock()
	if w != nil {
		w.answered <- a
	}
}

// leave lets another request have the place of one that was answered.
func (c *clients) leave(w *waiter) {
	w.patience.Stop()
	c.idle.Put(w)
}

// forget takes a request out that was not answered. Its answer may come this moment, so nobody else gets its place.
func (c *clients) forget(w *waiter) {
	w.patience.Stop()
	c.mu.Lock()
	delete(c.waiting, w.token)
	c.mu.Unlock()
}

// dismiss answers everybody and lets nobody in any more.
func (c *clients) dismiss(a partition.Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for token, w := range c.waiting {
		w.answered <- a
		delete(c.waiting, token)
	}
}

// Append waits for the outcome of one try.
func (g *group) Append(frame *wire.Buffer) api.Result {
	return g.ask(vsr.Input{Kind: vsr.InRequest, Header: frame.Header}, frame, clientPatience)
}

// Register opens a session.
func (g *group) Register(client vsr.Client) api.Result {
	frame := g.node.pool.Get(wire.OwnerPartition)
	if frame == nil {
		return api.Result{Outcome: vsr.OutcomeBusy, Progress: "all frame buffers are in use"}
	}
	frame.SetFrame(wire.HeaderBytes)
	return g.ask(vsr.Input{Kind: vsr.InRegister, Header: vsr.Header{Client: client, BodySum: wire.Sum(nil)}}, frame, clientPatience)
}

// Barrier waits until a read here sees everything acknowledged before.
func (g *group) Barrier(deadline time.Time) api.Result {
	return g.ask(vsr.Input{Kind: vsr.InReadLatest}, nil, min(time.Until(deadline), clientPatience))
}

func (g *group) ask(in vsr.Input, frame *wire.Buffer, patience time.Duration) api.Result {
	w := g.clients.enter(patience)
	if w == nil {
		if frame != nil {
			frame.Release(wire.OwnerPartition)
		}
		return api.Result{Outcome: vsr.OutcomeBusy, Progress: "this node is stopping"}
	}
	in.Token, in.Now = w.token, time.Now().UnixNano()
	if !g.inbox.post(item{in: in, frame: frame}) {
		g.clients.forget(w)
		return api.Result{Outcome: vsr.OutcomeBusy, Progress: "this node is stopping"}
	}
	select {
	case a := <-w.answered:
		g.clients.leave(w)
		return g.result(&a)
	case <-w.patience.C:
	}
	g.clients.forget(w)
	g.postInput(vsr.Input{Kind: vsr.InForget, Token: w.token})
	return g.result(&partition.Answer{Outcome: vsr.OutcomeUnknown, Primary: vsr.NoPrimary, Detail: "the partition has not answered in time"})
}

func (g *group) result(a *partition.Answer) api.Result {
	r := api.Result{Outcome: a.Outcome, Header: a.Header, View: a.View, Progress: a.Detail, Primary: g.node.clientAddress(a.Primary)}
	if a.Outcome == vsr.OutcomeBusy {
		r.RetryAfter = time.Second
	}
	return r
}

// Status is a snapshot at most a tick old.
func (g *group) Status() api.Status {
	s := g.snapshot.Load()
	return api.Status{Topic: g.topic.Name, Partition: g.index, Role: api.Role(s.Role), State: api.State(s.State), Fetching: s.Fetching, View: s.View, LogView: s.LogView,
		Head: s.Head.Op, Commit: s.Commit.Op, KnownCommit: max(s.KnownCommit, s.Commit.Op),
		CommitOffset: s.CommitOffset, KnownCommitOffset: max(s.KnownOffset, s.CommitOffset), EarliestOffset: g.disk.Log().EarliestOffset(),
		Primary: g.node.clientAddress(s.Primary), Progress: progress(s), LastProgressNs: s.progressMonoNs}
}

// progress says in words what the replica is busy with.
func progress(s *snapshot) string {
	switch {
	case s.Waiting:
		return "waiting for a replica that is away: only it may hold an op of the log"
	case s.PullTarget > 0:
		return fmt.Sprintf("%s %d..%d", s.State, s.Head.Op+1, s.PullTarget)
	case s.Holes > 0:
		return fmt.Sprintf("closing %d damaged ranges", s.Holes)
	case s.DiskFull:
		return "disk full"
	}
	return ""
}

// Read finds committed frames for a reader, and waits for them at the end of the log.
func (g *group) Read(offset uint64, maxBytes int64, wait time.Duration) (api.Span, error) {
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	for {
		raised := g.raised.wait()
		span, found, err := g.readNow(offset, maxBytes)
		if found || err != nil {
			return span, err
		}
		select {
		case <-raised:
		case <-deadline.C:
			return api.Span{}, nil
		case <-g.node.stopping.Done():
			return api.Span{}, nil
		}
	}
}

func (g *group) readNow(offset uint64, maxBytes int64) (api.Span, bool, error) {
	if earliest := g.disk.Log().EarliestOffset(); offset < earliest {
		return api.Span{}, false, api.ErrBelowEarliest{Earliest: earliest}
	}
	last := min(g.readable.Load(), g.disk.Log().Written().Op)
	op, err := g.disk.Log().OpOf(offset)
	if errors.Is(err, journal.ErrNotHeld) || err == nil && op > last {
		return api.Span{}, false, nil
	}
	if err != nil {
		return api.Span{}, false, err
	}
	span, err := g.disk.Log().Span(op, last, maxBytes)
	if err != nil {
		g.damaged(err)
		return api.Span{}, false, err
	}
	file, err := journal.OwnFile(span.File(), span.Offset)
	if err != nil {
		span.Release()
		return api.Span{}, false, err
	}
	g.suspect(op)
	release := func() {
		_ = file.Close() // opened for reading only
		span.Release()
	}
	return api.Span{Source: file, Offset: span.Offset, Bytes: span.Bytes, NextOffset: span.NextOffset, Release: release}, true, nil
}
