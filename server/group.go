package server

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"rejoin/server/journal"
	"rejoin/server/partition"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// group is one partition of one topic on this node: its loop, its flusher and its clients.
type group struct {
	node   *node
	number uint32
	topic  TopicConfig
	index  int // of the partition in its topic

	disk *partition.Disk

	part    *partition.Partition // the loop's
	changed bool                 // the loop's: role or state has changed since the last snapshot

	inbox   chan item
	ticks   chan struct{} // one slot: a loop that is late is not chased by old ticks
	jobs    jobQueue
	prepare chan struct{} // one slot: the next segment may be wanted
	served  chan uint64   // first ops of what was sent unchecked, for the scrub; what does not fit is not looked at
	full    fullness

	clients  clients
	snapshot atomic.Pointer[snapshot]
	readable atomic.Uint64 // readers see ops up to here
	raised   broadcast     // readable has risen
	beatAt   atomic.Int64  // when the last beat came, CLOCK_MONOTONIC
	beatView atomic.Uint64 // and its view
}

// item is an input with the frame it speaks of, if any: one reference, of wire.OwnerPartition.
type item struct {
	in    vsr.Input
	frame *wire.Buffer
}

// inboxItems bounds what waits for a loop: a pipeline of prepares, a chunk of a repair and some.
const inboxItems = 1024

// snapshot is the replica's status for everybody else.
type snapshot struct {
	vsr.Status
	progressMonoNs int64 // when head, commit, view or log_view last rose
}

func newGroup(n *node, number uint32, topic TopicConfig, index int) *group {
	g := &group{node: n, number: number, topic: topic, index: index,
		inbox: make(chan item, inboxItems), ticks: make(chan struct{}, 1), prepare: make(chan struct{}, 1), served: make(chan uint64, servedOps)}
	g.jobs.wake = make(chan struct{}, 1)
	g.clients.waiting = map[uint64]chan partition.Answer{}
	g.raised.ch = make(chan struct{})
	return g
}

// post hands an input to the loop. It blocks while the inbox is full, which holds back whoever
// brings more than the loop takes.
func (g *group) post(it item) bool {
	select {
	case g.inbox <- it:
		return true
	case <-g.node.stopping.Done():
		if it.frame != nil {
			it.frame.Release(wire.OwnerPartition)
		}
		return false
	}
}

func (g *group) postInput(in vsr.Input) { g.post(item{in: in}) }

// loop is the only goroutine that touches the partition.
func (g *group) loop(ctx context.Context) {
	defer g.drain()
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.ticks:
			g.handle(item{in: vsr.Input{Kind: vsr.InTick}})
			g.publish()
		case it := <-g.inbox:
			g.handle(it)
			if g.changed {
				g.publish()
			}
		}
	}
}

func (g *group) handle(it item) {
	g.part.Handle(&it.in, it.frame)
	if it.frame != nil {
		it.frame.Release(wire.OwnerPartition)
	}
}

// drain lets go of everything once the loop has ended.
func (g *group) drain() {
	for {
		select {
		case it := <-g.inbox:
			if it.frame != nil {
				it.frame.Release(wire.OwnerPartition)
			}
		default:
			g.part.Close()
			g.clients.dismiss(partition.Answer{Outcome: vsr.OutcomeUnknown, Primary: vsr.NoPrimary, Detail: "this node is stopping"})
			return
		}
	}
}

// publish shows the replica's status to everybody else.
func (g *group) publish() {
	s := &snapshot{Status: g.part.Status(), progressMonoNs: wire.MonoNow()}
	if was := g.snapshot.Load(); was != nil && was.Head == s.Head && was.Commit == s.Commit && was.View == s.View && was.LogView == s.LogView {
		s.progressMonoNs = was.progressMonoNs
	}
	g.changed = false
	g.snapshot.Store(s)
}

// flush does the disk's work, a batch of jobs at a time.
func (g *group) flush(ctx context.Context) {
	each := time.NewTicker(time.Second)
	defer each.Stop()
	for {
		jobs := g.jobs.take()
		if len(jobs) == 0 {
			select {
			case <-ctx.Done():
				return
			case <-g.jobs.wake:
			case <-each.C:
				g.noteMark()
			}
			continue
		}
		began := time.Now()
		if err := g.node.use(jobs); err != nil {
			g.node.fence(g, err)
			return
		}
		done, err := g.disk.Perform(jobs, g.postInput)
		g.node.metrics.flushed(time.Since(began))
		wakeUp(g.prepare) // it may have rolled, or have made room
		g.jobs.putBack(jobs[done:])
		switch {
		case err == nil:
			g.tellFull(&g.full.writing, false)
		case isDiskFull(err):
			g.tellFull(&g.full.writing, true)
			if !sleep(ctx, diskFullRetry) {
				return
			}
		default:
			g.disk.Log().Fence(err)
			g.node.fence(g, err)
			return
		}
	}
}

// diskFullRetry is how often a full disk is tried again.
const diskFullRetry = 500 * time.Millisecond

// noteMark makes the mark durable, with the present commit, once a second.
func (g *group) noteMark() {
	s := g.snapshot.Load()
	g.disk.Log().NoteCommit(s.Commit)
	if err := g.disk.Log().SyncMark(); err != nil && !isDiskFull(err) {
		g.disk.Log().Fence(err)
		g.node.fence(g, err)
	}
}

// keepPrepared makes the next segment ahead of use. Where there is no room for it the disk counts as
// full while there still is room in the present segment: so clients are refused before anything of
// theirs is stamped, and what is stamped can be written.
func (g *group) keepPrepared(ctx context.Context) {
	again := time.NewTicker(diskFullRetry)
	defer again.Stop()
	for {
		err := g.disk.Log().Prepare()
		full := err != nil && isDiskFull(err)
		if err != nil && !full && !errors.Is(err, journal.ErrClosed) {
			g.node.fence(g, err)
			return
		}
		g.tellFull(&g.full.preparing, full)
		retry := again.C
		if !full {
			retry = nil
		}
		select {
		case <-ctx.Done():
			return
		case <-g.prepare:
		case <-retry:
		}
	}
}

// fullness joins what the flusher and the preparer know of the disk.
type fullness struct {
	mu                       sync.Mutex
	writing, preparing, told bool
}

// tellFull notes one's finding and posts a change of both together. The loop never comes here.
func (g *group) tellFull(finding *bool, full bool) {
	f := &g.full
	f.mu.Lock()
	defer f.mu.Unlock()
	*finding = full
	if now := f.writing || f.preparing; now != f.told {
		f.told = now
		g.postInput(vsr.Input{Kind: vsr.InDiskFull, OK: now})
	}
}

// jobQueue is the way from the loop to the flusher. It has no bound of its own, the replica bounds what it
// queues: a primary by the pipeline; a backup, whose disk may be slow or full, by the ring, since it takes
// no prepare while its head is further than that above what is durable; and in a pull by the chunks
// that it allows its server to be ahead of this disk.
type jobQueue struct {
	mu   sync.Mutex
	jobs []partition.Job
	wake chan struct{}
}

func (q *jobQueue) put(j partition.Job) {
	q.mu.Lock()
	q.jobs = append(q.jobs, j)
	q.mu.Unlock()
	wakeUp(q.wake)
}

func (q *jobQueue) take() []partition.Job {
	q.mu.Lock()
	defer q.mu.Unlock()
	jobs := q.jobs
	q.jobs = nil
	return jobs
}

// putBack returns what could not be done to the front.
func (q *jobQueue) putBack(jobs []partition.Job) {
	if len(jobs) == 0 {
		return
	}
	q.mu.Lock()
	q.jobs = append(jobs, q.jobs...)
	q.mu.Unlock()
}

func wakeUp(slot chan struct{}) {
	select {
	case slot <- struct{}{}:
	default:
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// broadcast wakes everybody who waits for a change.
type broadcast struct {
	mu sync.Mutex
	ch chan struct{}
}

func (b *broadcast) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ch
}

func (b *broadcast) fire() {
	b.mu.Lock()
	close(b.ch)
	b.ch = make(chan struct{})
	b.mu.Unlock()
}
