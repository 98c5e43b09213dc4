package partition

import (
	"errors"
	"fmt"
	"sync/atomic"

	"rejoin/server/journal"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// JobKind says what a Job is.
type JobKind uint8

// The jobs of the disk.
const (
	JobAppend    JobKind = iota + 1 // Frame, Commit
	JobFill                         // Frame
	JobCut                          // ID, Top
	JobState                        // State, Commit
	JobTable                        // Table, Keep, Lease
	JobTrim                         // ID, Table, Lease: whole segments below ID.Op go, however few bytes are left
	JobStage                        // Frame
	JobStageDrop                    //
	JobInstall                      // State, Table
)

// Job is work for the disk. Jobs are done in the order in which they were queued, each durable
// before the next begins; appends in a row share one sync, and so do the frames that close holes.
type Job struct {
	Kind   JobKind
	Frame  *wire.Buffer // held by OwnerJournal until the job is done
	Commit vsr.ID
	ID     vsr.ID
	Top    vsr.ID
	State  vsr.State
	Table  vsr.Table
	Keep   uint64 // ops from here on are not trimmed

	// Nor are those from Lease on, while a transfer to a peer needs them; 0, or nil: none. It is read when the job
	// is done: a transfer may have begun since it was queued.
	Lease *atomic.Uint64
}

func cut(log *journal.Log, j *Job, post func(vsr.Input)) error {
	end := min(j.ID.Op, log.Written().Op)
	if err := log.CutKeeping(j.ID.Op, j.Top); errors.Is(err, journal.ErrDiskFull) { // the log has failed over it: no other try, the next start goes on
		return fmt.Errorf("cut to op %d: %v", j.ID.Op, err)
	} else if err != nil {
		return fmt.Errorf("cut to op %d: %w", j.ID.Op, err)
	}
	if held := log.Written().Op; held < end { // a start can go on from there, a replica that runs has committed more
		return fmt.Errorf("cut to op %d: the log ends at op %d, for damage behind it leaves the next one no place; the next start fetches what is missing", end, held)
	}
	post(vsr.Input{Kind: vsr.InCutDone, ID: j.ID})
	return nil
}

func (d *Disk) saveState(j *Job, post func(vsr.Input)) error {
	s := journal.State{View: j.State.View, LogView: j.State.LogView, Commit: j.Commit, Wiped: j.State.Wiped, WipedAbove: j.State.Kept, Lives: j.State.Lives}
	if err := d.Log().SaveState(s); err != nil {
		return fmt.Errorf("save view %d: %w", s.View, err)
	}
	d.logView = s.LogView
	post(vsr.Input{Kind: vsr.InStateSaved, State: j.State})
	return nil
}

// groupMax bounds the frames that one sync makes durable.
const groupMax = 512

// group returns the frames of the jobs at the front that are of one kind.
func (d *Disk) group(jobs []Job) []journal.Frame {
	d.frames = d.frames[:0]
	for i := range jobs {
		if jobs[i].Kind != jobs[0].Kind || i == groupMax {
			break
		}
		d.frames = append(d.frames, journal.Frame{Header: jobs[i].Frame.Header, Bytes: jobs[i].Frame.Frame()})
	}
	return d.frames
}

// appendGroup writes the appends at the front of jobs and makes them durable with one sync.
func (d *Disk) appendGroup(log *journal.Log, jobs []Job, post func(vsr.Input)) (int, error) {
	defer func() { clear(d.frames) }() // lent for the call only
	frames := d.group(jobs)
	n, err := appendSome(log, frames)
	if err != nil {
		return 0, fmt.Errorf("append ops %d to %d: %w", frames[0].Header.Op, frames[len(frames)-1].Header.Op, err)
	}
	post(vsr.Input{Kind: vsr.InWritten, ID: frames[n-1].Header.ID()})
	log.NoteCommit(jobs[n-1].Commit)
	id, err := log.Sync()
	if err != nil {
		return 0, fmt.Errorf("sync up to op %d: %w", frames[n-1].Header.Op, err)
	}
	post(vsr.Input{Kind: vsr.InDurable, ID: id})
	return n, nil
}

// appendSome appends the first of frames, as many as there is room for and one at least, and returns how many. The rest
// is to be tried again.
func appendSome(log *journal.Log, frames []journal.Frame) (int, error) {
	err := log.Append(frames)
	if err == nil {
		return len(frames), nil
	}
	if n := int(log.Written().Op + 1 - frames[0].Header.Op); n > 0 && errors.Is(err, journal.ErrDiskFull) {
		return n, nil
	}
	return 0, err
}

// fillGroup closes holes with the frames at the front of jobs, which become durable with one sync for each segment. A frame that
// does not fit is not taken: the hole stays and is asked for again, elsewhere.
func (d *Disk) fillGroup(log *journal.Log, jobs []Job, post func(vsr.Input)) (int, error) {
	defer func() { clear(d.frames) }()
	frames := d.group(jobs)
	misfits, err := log.Fill(frames)
	for i, misfit := range misfits {
		post(vsr.Input{Kind: vsr.InFilled, ID: frames[i].Header.ID(), OK: misfit == nil})
		if in, ok := Damaged(misfit); ok {
			post(in)
		}
	}
	if n := len(misfits); err != nil {
		return n, fmt.Errorf("close the hole at op %d: %w", frames[min(n, len(frames)-1)].Header.Op, err)
	}
	return len(frames), nil
}

// Damaged is what the replica is told of an error of the log; false where it is no damage.
func Damaged(err error) (vsr.Input, bool) {
	var d *journal.DamageError
	if !errors.As(err, &d) {
		return vsr.Input{}, false
	}
	return vsr.Input{Kind: vsr.InDamaged, ID: vsr.ID{Op: d.Op}, Hole: vsr.OpRange{From: d.Hole.First, To: d.Hole.Last}}, true
}

func releaseJob(j *Job) {
	if j.Frame != nil {
		j.Frame.Release(wire.OwnerJournal)
		j.Frame = nil
	}
}

// Discard releases jobs that will never be done.
func Discard(jobs []Job) {
	for i := range jobs {
		releaseJob(&jobs[i])
	}
}
