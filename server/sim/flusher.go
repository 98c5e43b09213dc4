package sim

import (
	"errors"
	"fmt"
	"iter"
	"runtime/debug"

	"rejoin/server/journal"
	"rejoin/server/partition"
	"rejoin/server/vsr"
)

// flusher does a process's disk work in virtual time. The work runs as a coroutine that gives way
// before each operation that changes the disk: so everything else goes on between any two of them,
// and the process may die there.
type flusher struct {
	p     *process
	jobs  []partition.Job // queued
	group []partition.Job // being done
	busy  bool
	full  bool // the last thing that was told

	work  func()
	next  func() (int64, bool)
	stop  func()
	yield func(int64) bool
	marks int64 // when the mark was last synced
}

func (f *flusher) init(p *process) { f.p = p }

func (f *flusher) fs() *disk { return &disk{p: f.p, fs: f.p.n.fs} }

// idle is what the coroutine yields when its work is done.
const idle = -1

// run does work on the coroutine, and then done. One coroutine serves a whole life: a fresh stack
// would have to grow anew each time.
func (f *flusher) run(work, done func()) {
	if f.busy {
		panic("sim: the flusher does two things at once")
	}
	f.busy, f.work = true, work
	if f.next == nil {
		f.next, f.stop = iter.Pull(f.loop)
	}
	f.step(done)
}

func (f *flusher) loop(yield func(int64) bool) {
	defer func() {
		if x := recover(); x != nil {
			if _, ok := x.(*broken); ok {
				panic(x)
			}
			panic(&broken{"panic", fmt.Sprintf("on the disk of replica %d: %v\n%s", f.p.n.id, x, debug.Stack())})
		}
	}()
	f.yield = yield
	for {
		f.work()
		if f.p.dead || !yield(idle) {
			return
		}
	}
}

func (f *flusher) step(done func()) {
	delay, _ := f.next()
	if delay != idle {
		f.p.after(delay, func() { f.step(done) })
		return
	}
	f.busy = false
	done()
}

// wait gives way for ns; false when the process has died meanwhile.
func (f *flusher) wait(ns int64) bool { return !f.p.dead && f.yield(ns) && !f.p.dead }

func (f *flusher) queue(j partition.Job) {
	f.jobs = append(f.jobs, j)
	f.kick()
}

// kick begins to work if there is something to do.
func (f *flusher) kick() {
	if f.busy || len(f.jobs) == 0 {
		return
	}
	f.busy = true
	f.p.after(0, func() {
		f.busy = false
		f.group, f.jobs = f.jobs, nil
		f.perform()
	})
}

const markSyncNs = second

func (f *flusher) perform() {
	p, n := f.p, 0
	var err error
	f.run(func() {
		n, err = p.store.Perform(f.group, f.post)
		if err == nil && p.w.now-f.marks >= markSyncNs {
			f.marks = p.w.now
			p.log().NoteCommit(p.status().Commit)
			if err = p.log().SyncMark(); err == nil && p.n.seen.cuts == 0 {
				p.n.seen.marked = max(p.n.seen.durable, p.n.seen.kept)
			}
		}
		if err != nil && !errors.Is(err, journal.ErrDiskFull) {
			p.log().Fence(err)
		}
	}, func() { f.performed(n, err) })
}

// performed goes on, waits for room, or ends a process that cannot keep its promises.
func (f *flusher) performed(n int, err error) {
	p := f.p
	switch {
	case err == nil:
		f.group = nil
		f.tellFull(false)
		if len(f.jobs) == 0 && p.w.prepares {
			f.prepare()
			return
		}
		f.kick()
	case errors.Is(err, journal.ErrDiskFull):
		f.jobs = append(f.group[n:len(f.group):len(f.group)], f.jobs...)
		f.group = nil
		f.busy = true
		f.tellFull(true)
		p.after(fullRetryNs, func() {
			f.busy = false
			f.kick()
		})
	case !p.n.mayFail:
		p.w.fail("disk", "replica %d after %d of %d jobs: %v", p.n.id, n, len(f.group), err)
	default:
		p.n.fence(err)
	}
}

// prepare makes the next segment ahead of use, as a node does beside its writes. Here it is in their
// way: the log's locks are not for two coroutines.
func (f *flusher) prepare() {
	var err error
	f.run(func() { err = f.p.log().Prepare() }, func() {
		switch {
		case err == nil, errors.Is(err, journal.ErrDiskFull):
			f.kick()
		case !f.p.n.mayFail:
			f.p.w.fail("disk", "replica %d prepares a segment: %v", f.p.n.id, err)
		default:
			f.p.n.fence(err)
		}
	})
}

const fullRetryNs = 500 * millisecond

// tellFull tells the replica whether its disk has room.
func (f *flusher) tellFull(full bool) {
	if full == f.full {
		return
	}
	f.full = full
	f.p.after(0, func() { f.p.handle(&vsr.Input{Kind: vsr.InDiskFull, OK: full}, nil, "disk full") })
}

// post makes a completion an input.
func (f *flusher) post(in vsr.Input) {
	f.p.n.seen.completed(f.p, &in)
	switch in.Kind {
	case vsr.InCutDone:
		f.p.w.cutDone(f.p)
		f.p.w.cutIsLast(f.p)
	case vsr.InWritten:
		f.p.w.justWritten(f.p, in.ID.Op)
	}
	f.p.after(0, func() { f.p.handle(&in, nil, completionName(in.Kind)) })
}

func completionName(k vsr.InputKind) string {
	switch k {
	case vsr.InWritten:
		return "written"
	case vsr.InDurable:
		return "durable"
	case vsr.InStateSaved:
		return "saved"
	case vsr.InCutDone:
		return "cut done"
	case vsr.InFilled:
		return "filled"
	case vsr.InStaged:
		return "staged"
	case vsr.InInstalled:
		return "installed"
	case vsr.InTrimmed:
		return "trimmed"
	}
	return "done"
}

// die lets the coroutine unwind: each operation it still tries fails.
func (f *flusher) die() {
	if f.stop != nil {
		f.stop()
	}
	partition.Discard(f.group)
	partition.Discard(f.jobs)
	f.group, f.jobs = nil, nil
}
