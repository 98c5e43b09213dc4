package partition

import (
	"errors"
	"fmt"

	"rejoin/server/journal"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// JobKind says what a Job is.
type JobKind uint8

// The jobs of the disk.
const (
	JobAppend JobKind = iota + 1 // Frame, Commit
	JobFill                      // Frame
	JobCut                       // ID, Top
	JobState                     // State, Commit
	JobTable                     // Table
)

// Job is work for the disk. Jobs are done in the order in which they were queued, each durable
// before the next begins; appends in a row share one sync.
type Job struct {
	Kind   JobKind
	Frame  *wire.Buffer // held by OwnerJournal until the job is done
	Commit vsr.ID
	ID     vsr.ID
	Top    vsr.ID
	State  vsr.State
	Table  vsr.Table
}

// Perform does jobs and posts their completions. It returns how many it has done: fewer than all
// with journal.ErrDiskFull, after which the rest may be tried again, or with an error after which
// the node must fence itself.
func Perform(log *journal.Log, jobs []Job, post func(vsr.Input)) (done int, err error) {
	for done < len(jobs) {
		n, err := performNext(log, jobs[done:], post)
		for i := range jobs[done : done+n] {
			releaseJob(&jobs[done+i])
		}
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

func performNext(log *journal.Log, jobs []Job, post func(vsr.Input)) (int, error) {
	j := &jobs[0]
	switch j.Kind {
	case JobAppend:
		return appendGroup(log, jobs, post)
	case JobFill:
		return 1, fill(log, j, post)
	case JobCut:
		if err := log.CutKeeping(j.ID.Op, j.Top); err != nil {
			return 0, fmt.Errorf("cut to op %d: %w", j.ID.Op, err)
		}
		post(vsr.Input{Kind: vsr.InCutDone, ID: j.ID})
	case JobState:
		if err := log.SaveState(journal.State{View: j.State.View, LogView: j.State.LogView, Commit: j.Commit, Wiped: j.State.Wiped}); err != nil {
			return 0, fmt.Errorf("save view %d: %w", j.State.View, err)
		}
		post(vsr.Input{Kind: vsr.InStateSaved, State: j.State})
	case JobTable:
		err := log.SaveTable(journal.Table{ID: j.Table.ID, NextOffset: j.Table.Offset, Bytes: encodeTable(&j.Table)})
		if err != nil && !errors.Is(err, journal.ErrDiskFull) { // a checkpoint only saves time at the next start
			return 0, fmt.Errorf("checkpoint the client table at op %d: %w", j.Table.ID.Op, err)
		}
	default:
		panic(fmt.Sprintf("partition: job kind %d", j.Kind))
	}
	return 1, nil
}

// appendGroupMax bounds the frames of one write.
const appendGroupMax = 512

// appendGroup writes the appends at the front of jobs and makes them durable with one sync.
func appendGroup(log *journal.Log, jobs []Job, post func(vsr.Input)) (int, error) {
	var space [appendGroupMax]journal.Frame
	frames := space[:0]
	for i := range jobs {
		if jobs[i].Kind != JobAppend || i == appendGroupMax {
			break
		}
		frames = append(frames, journal.Frame{Header: jobs[i].Frame.Header, Bytes: jobs[i].Frame.Frame()})
	}
	n := len(frames)
	if err := log.Append(frames); err != nil {
		return 0, fmt.Errorf("append ops %d to %d: %w", frames[0].Header.Op, frames[n-1].Header.Op, err)
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

// fill closes a hole. A frame that does not fit it is not taken: the hole stays and is asked for
// again, elsewhere.
func fill(log *journal.Log, j *Job, post func(vsr.Input)) error {
	err := log.Fill(journal.Frame{Header: j.Frame.Header, Bytes: j.Frame.Frame()})
	if errors.Is(err, journal.ErrMismatch) || errors.Is(err, journal.ErrNoPlace) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("close the hole at op %d: %w", j.Frame.Header.Op, err)
	}
	post(vsr.Input{Kind: vsr.InFilled, ID: j.Frame.Header.ID()})
	return nil
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
