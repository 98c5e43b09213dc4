package partition

import (
	"errors"
	"fmt"
	"sync/atomic"

	"rejoin/server/journal"
	"rejoin/server/vsr"
)

// Disk does a partition's disk jobs, in the order in which they were queued. It belongs to one
// goroutine, its owner's flusher; Log may be asked by anybody, and changes when a staged chain takes
// the log's place.
type Disk struct {
	options  DiskOptions
	log      atomic.Pointer[journal.Log]
	staging  *journal.Log    // the chain that is being staged, or nil
	logView  uint64          // as saved last
	switched bool            // a staged chain has the log's name, and has yet to be opened
	retained retention       // of the last checkpoint
	frames   []journal.Frame // memory of the group that is being written
}

// DiskOptions say which log a Disk opens, and what it keeps of it.
type DiskOptions struct {
	Journal        journal.Options
	RetentionBytes int64 // whole segments beyond this are trimmed, oldest first; 0: never
	LeaseBytes     int64 // a running transfer may hold back so many bytes more, and no more
}

// OpenDisk recovers the log. A switch to a staged chain that a crash has interrupted is finished
// first; one that had not been decided is undone.
func OpenDisk(o DiskOptions) (*Disk, *journal.Recovered, error) {
	d := &Disk{options: o}
	if err := d.finishSwitch(); err != nil {
		return nil, nil, err
	}
	log, rec, err := journal.Open(o.Journal)
	if err != nil {
		return nil, nil, err
	}
	d.log.Store(log)
	d.logView = rec.State.LogView
	return d, rec, nil
}

// Log is the present log.
func (d *Disk) Log() *journal.Log { return d.log.Load() }

// Close closes the log.
func (d *Disk) Close() error {
	d.dropStaging()
	return d.Log().Close()
}

// Perform does jobs and posts their completions. It returns how many it has done: fewer than all
// with journal.ErrDiskFull, after which the rest may be tried again, or with an error after which
// the node must fence itself. A full disk does not hold back a vote: see saveViews.
func (d *Disk) Perform(jobs []Job, post func(vsr.Input)) (done int, err error) {
	for done < len(jobs) {
		n, err := d.next(jobs[done:], post)
		for i := range jobs[done : done+n] {
			releaseJob(&jobs[done+i])
		}
		done += n
		if errors.Is(err, journal.ErrDiskFull) {
			if trimmed, e := d.retainMore(jobs[done:], post); trimmed || e != nil {
				err = e
			} else if d.giveUpStaging(jobs[done:]) {
				err = removeTree(d.options.Journal.FS, d.stagingDir())
			} else if e := d.saveViews(jobs[done:], post); e != nil {
				err = e
			}
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// giveUpStaging drops what is staged when the replica has given it up behind writes that found no room:
// else the chain itself would hold the room that they wait for, for ever.
func (d *Disk) giveUpStaging(jobs []Job) bool {
	if d.switched {
		return false
	}
	for i := range jobs {
		if jobs[i].Kind == JobInstall {
			return false
		}
		if jobs[i].Kind != JobStageDrop {
			continue
		}
		d.dropStaging()
		for k := range jobs[:i+1] {
			if jobs[k].Kind == JobStage || jobs[k].Kind == JobStageDrop {
				releaseJob(&jobs[k])
				jobs[k] = Job{}
			}
		}
		return true
	}
	return false
}

// saveViews does what raises the view alone before the writes that wait for room in front of it: the
// state file has its place, and a replica whose disk is full can still take part in a view change. A
// raised log_view says that those writes are done, and waits for them.
func (d *Disk) saveViews(jobs []Job, post func(vsr.Input)) error {
	for i := range jobs {
		j := &jobs[i]
		if j.Kind == JobInstall { // it brings a state file of its own, with the view as of when it was queued
			return nil
		}
		if j.Kind != JobState {
			continue
		}
		if j.State.LogView != d.logView {
			return nil
		}
		j.Commit = vsr.ID{} // it may rest on what could not be written
		if err := d.saveState(j, post); err != nil {
			return err
		}
		*j = Job{}
	}
	return nil
}

// next does the first of jobs, or as many appends at their front as one sync may cover.
func (d *Disk) next(jobs []Job, post func(vsr.Input)) (int, error) {
	j, log := &jobs[0], d.Log()
	switch j.Kind {
	case 0: // done already
		return 1, nil
	case JobAppend:
		return d.appendGroup(log, jobs, post)
	case JobFill:
		return d.fillGroup(log, jobs, post) // after a full disk the rest is tried again
	case JobCut:
		return 1, cut(log, j, post)
	case JobState:
		return 1, d.saveState(j, post)
	case JobTable:
		return 1, d.checkpoint(log, j, post)
	case JobTrim:
		return 1, trimBelow(log, j, post)
	case JobStage:
		return d.stage(jobs, post)
	case JobStageDrop:
		d.dropStaging()
		return 1, removeTree(d.options.Journal.FS, d.stagingDir())
	case JobInstall:
		if err := d.install(j, post); err != nil {
			return 0, err // after a full disk it goes on where it stopped
		}
		return 1, nil
	}
	panic(fmt.Sprintf("partition: job kind %d", j.Kind))
}
