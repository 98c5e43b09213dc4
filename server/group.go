package server

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"rejoin/server/api"
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

	part    *partition.Partition // whose turn it is; see inbox
	changed bool                 // the turn's: role or state has changed since the last snapshot

	inbox   *inbox
	ticking atomic.Bool // a tick waits in the inbox: who is late is not chased by more
	jobs    jobQueue
	prepare chan struct{} // one slot: the next segment may be wanted
	served  chan uint64   // first ops of what was sent unchecked, for the scrub; what does not fit is not looked at
	full    fullness

	clients  clients
	snapshot atomic.Pointer[snapshot]
	readable atomic.Uint64 // readers see ops up to here, as far as they are written
	raised   broadcast     // readable has risen, or what was readable has been written
	wrote    uint64        // the flusher's: the last op written, at most
	beatAt   atomic.Int64  // when the last beat came, CLOCK_MONOTONIC
	beatView atomic.Uint64 // and its view
}

// snapshot is the replica's status for everybody else.
type snapshot struct {
	vsr.Status
	progressMonoNs int64 // when head, commit, view or log_view last rose
}

func newGroup(n *node, number uint32, topic TopicConfig, index int) *group {
	g := &group{node: n, number: number, topic: topic, index: index,
		prepare: make(chan struct{}, 1), served: make(chan uint64, servedOps)}
	g.inbox = newInbox(g.handle)
	g.jobs.wake = make(chan struct{}, 1)
	g.clients.waiting = map[uint64]*waiter{}
	g.raised.ch = make(chan struct{})
	return g
}

// postInput hands an input to the partition. It blocks while the inbox is full.
func (g *group) postInput(in vsr.Input) { g.inbox.post(item{in: in}) }

// postDone is postInput for what the disk has done. Where acknowledgements rest on syncs alone, the replica need
// not hear of what is only written; readers wait for it where others have committed it before.
func (g *group) postDone(in vsr.Input) {
	switch in.Kind {
	case vsr.InWritten:
		if g.readable.Load() > g.wrote {
			g.raised.fire()
		}
		g.wrote = in.ID.Op
		if g.topic.Durability == DurabilityPersisted {
			return
		}
	case vsr.InCutDone, vsr.InInstalled: // the log may end earlier now
		g.wrote = 0
	}
	g.postInput(in)
}

// tick lets 10 ms pass. It does not wait.
func (g *group) tick() {
	if !g.ticking.Swap(true) {
		g.inbox.postNow(item{in: vsr.Input{Kind: vsr.InTick}})
	}
}

// loop handles what the turns of others have left.
func (g *group) loop(ctx context.Context) {
	g.inbox.begin()
	for {
		select {
		case <-ctx.Done():
			g.drain()
			return
		case <-g.inbox.wake:
			g.inbox.run()
		}
	}
}

// handle lets one input happen. Its caller has the turn: nobody else touches the partition meanwhile.
func (g *group) handle(it *item) {
	if it.in.Kind == vsr.InTick {
		g.ticking.Store(false)
	}
	g.part.Handle(&it.in, it.frame)
	it.release()
	if g.changed || it.in.Kind == vsr.InTick {
		g.publish()
	}
}

// drain lets go of everything once the loop has ended.
func (g *group) drain() {
	g.inbox.close()
	g.part.Close()
	g.clients.dismiss(partition.Answer{Outcome: vsr.OutcomeUnknown, Primary: vsr.NoPrimary, Detail: "this node is stopping"})
}

// publish shows the replica's status to everybody else.
func (g *group) publish() {
	s := &snapshot{Status: g.part.Status(), progressMonoNs: wire.MonoNow()}
	if was := g.snapshot.Load(); was != nil && was.Head == s.Head && was.Commit == s.Commit && was.View == s.View && was.LogView == s.LogView {
		s.progressMonoNs = was.progressMonoNs
	}
	if g.node.disowned() {
		s.State, s.Role = string(api.StateFenced), string(api.RoleNone)
	}
	g.changed = false
	g.snapshot.Store(s)
}

// flush does the disk's work, a batch of jobs at a time.
func (g *group) flush(ctx context.Context) {
	each := time.NewTicker(time.Second)
	defer each.Stop()
	patience := time.NewTimer(time.Hour)
	patience.Stop()
	gathered := newGathering()
	post := g.postDone // made once, so that a flush allocates nothing
	var jobs []partition.Job
	for {
		if g.jobs.empty() {
			select {
			case <-ctx.Done():
				return
			case <-g.jobs.wake:
			case <-each.C:
				g.noteMark()
			}
			continue
		}
		turn := g.node.turns.takeFree()
		if !turn && gathered.pays() {
			turn = g.node.turns.take(ctx.Done(), patience)
		}
		jobs = g.jobs.take(jobs) // now, not before: what came while this one waited shares its sync
		gathered.note(len(jobs))
		if err := g.node.use(jobs); err != nil {
			if turn {
				g.node.turns.giveBack()
			}
			g.jobs.putBack(jobs)
			g.node.fence(g, err)
			return
		}
		began := time.Now()
		done, err := g.disk.Perform(jobs, post)
		g.node.metrics.flushed(time.Since(began))
		if turn {
			g.node.turns.giveBack()
		}
		if g.disk.Log().PrepareDue() { // it may have rolled, or have made room
			wakeUp(g.prepare)
		}
		g.jobs.putBack(jobs[done:])
		switch {
		case err == nil:
			g.tellFull(&g.full.writing, nil)
			select {
			case <-each.C: // who always finds work must see to the mark too
				g.noteMark()
			default:
			}
		case isDiskFull(err):
			g.tellFull(&g.full.writing, err)
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
	var rest <-chan time.Time
	if g.node.config.Limits.SegmentsReady > 1 {
		resting := time.NewTicker(restEvery)
		defer resting.Stop()
		rest = resting.C
	}
	var written vsr.ID // at the last look
	for {
		err := g.disk.Log().Prepare()
		full := isDiskFull(err)
		if err != nil && !full && !errors.Is(err, journal.ErrClosed) {
			g.node.fence(g, err)
			return
		}
		if !full {
			err = nil
		}
		g.tellFull(&g.full.preparing, err)
		retry := again.C
		if !full {
			retry = nil
		}
		select {
		case <-ctx.Done():
			return
		case <-g.prepare:
		case <-retry:
		case <-rest:
			now := g.disk.Log().Written()
			if now == written && !full {
				g.prepareAtRest(ctx, now)
			}
			written = now
		}
	}
}

// restEvery is for how long nothing must have been written for the log to be at rest.
const restEvery = 100 * time.Millisecond

// prepareAtRest makes the segments that are to be ready beyond the next, until something is written.
func (g *group) prepareAtRest(ctx context.Context, written vsr.ID) {
	for ctx.Err() == nil && g.disk.Log().Written() == written {
		more, err := g.disk.Log().PrepareMore()
		if err != nil && !errors.Is(err, journal.ErrClosed) {
			g.node.fence(g, err)
		}
		if !more {
			return
		}
	}
}

// fullness joins what the flusher and the preparer know of the disk.
type fullness struct {
	mu                       sync.Mutex
	writing, preparing, told bool
}

// tellFull notes one's finding, why there is no room or nil, and posts a change of both together. The loop never comes here.
func (g *group) tellFull(finding *bool, why error) {
	f := &g.full
	f.mu.Lock()
	defer f.mu.Unlock()
	*finding = why != nil
	if now := f.writing || f.preparing; now != f.told {
		f.told = now
		if now { // the disk may have room, and the process no descriptor
			g.node.log.Warn("no room for what is to be written; nothing new is taken until there is some", "topic", g.topic.Name, "partition", g.index, "why", why)
		}
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

func (q *jobQueue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.jobs) == 0
}

// take moves all jobs out. The memory of those taken last is used again.
func (q *jobQueue) take(last []partition.Job) []partition.Job {
	clear(last)
	q.mu.Lock()
	defer q.mu.Unlock()
	jobs := q.jobs
	q.jobs = last[:0]
	return jobs
}

// putBack returns what could not be done to the front.
func (q *jobQueue) putBack(jobs []partition.Job) {
	if len(jobs) == 0 {
		return
	}
	q.mu.Lock()
	q.jobs = slices.Concat(jobs, q.jobs)
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
	mu     sync.Mutex
	ch     chan struct{}
	wanted bool // somebody has been given ch
}

func (b *broadcast) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wanted = true
	return b.ch
}

func (b *broadcast) fire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.wanted {
		return
	}
	close(b.ch)
	b.ch, b.wanted = make(chan struct{}), false
}
