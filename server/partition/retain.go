package partition

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"rejoin/server/journal"
	"rejoin/server/vsr"
)

// retention is what the last checkpoint left, for when a full disk asks again.
type retention struct {
	keep  journal.Keep   // no Bytes: no checkpoint was made since the start
	lease *atomic.Uint64 // of a transfer to a peer; may be nil
}

// Boot tells what the state machine starts from, and trims before that what the log holds beyond its retention, by
// the checkpoints that are there: since they were made the retention may have been lowered, and where the disk is full
// nothing is committed that would bring another one.
func (d *Disk) Boot(rec *journal.Recovered, c *vsr.Config, past Past) (vsr.Boot, error) {
	log := d.Log()
	b, err := Boot(log, rec, c, past)
	if err != nil || d.options.RetentionBytes == 0 {
		return b, err
	}
	op := tableOp(rec)
	from := log.Expendable(d.keep(op, min(op, keptFrom(b.Commit.Op, c.RingOps))))
	if from <= log.Start() {
		return b, nil
	}
	if err := trim(log, from, func(vsr.Input) {}); err != nil { // nobody is there yet to be told
		return b, err
	}
	rec.Findings = append(rec.Findings, fmt.Sprintf("retention has taken ops %d to %d", b.Start, log.Start()-1))
	beginAt(&b, log.Start())
	return b, nil
}

// beginAt lets a replica start with a log that has been trimmed since it was read.
func beginAt(b *vsr.Boot, start uint64) {
	b.Start = start
	b.Holes = slices.DeleteFunc(b.Holes, func(h vsr.OpRange) bool { return h.To < start })
	if len(b.Holes) > 0 {
		b.Holes[0].From = max(b.Holes[0].From, start)
	}
}

// keptFrom is the first op that no retention takes: what is uncommitted lies in the ring.
func keptFrom(commit, ringOps uint64) uint64 {
	if commit <= ringOps {
		return 0
	}
	return commit - ringOps
}

// keep is what retention leaves where ops up to committed count, beside those from an op on.
func (d *Disk) keep(committed, from uint64) journal.Keep {
	return journal.Keep{Bytes: d.options.RetentionBytes, Committed: committed, From: from, LeaseBytes: d.options.LeaseBytes}
}

// checkpoint saves the client table, which lets older segments go: a start needs them no more. Where there is no room
// for it those go that the earlier ones let go.
func (d *Disk) checkpoint(log *journal.Log, j *Job, post func(vsr.Input)) error {
	if _, err := saveTable(log, &j.Table); err != nil || d.options.RetentionBytes == 0 {
		return err
	}
	d.retained = retention{d.keep(j.Table.ID.Op, min(j.Keep, j.Table.ID.Op)), j.Lease}
	_, err := d.retain(log, post)
	return err
}

// retain trims what is beyond the retention as of the last checkpoint, but for what a transfer needs now.
func (d *Disk) retain(log *journal.Log, post func(vsr.Input)) (trimmed bool, err error) {
	keep := d.retained.keep
	if d.retained.lease != nil {
		keep.Lease = d.retained.lease.Load()
	}
	start := log.Start()
	err = trim(log, log.Expendable(keep), post)
	return log.Start() > start, err
}

// retainMore trims once more for jobs the first of which found no room: since the last checkpoint, and without room
// there is no next one, a transfer that held ops back may have ended.
func (d *Disk) retainMore(jobs []Job, post func(vsr.Input)) (trimmed bool, err error) {
	if d.retained.keep.Bytes == 0 || len(jobs) == 0 || jobs[0].Kind == JobInstall { // the log is about to be another one
		return false, nil
	}
	return d.retain(d.Log(), post)
}

// saveTable checkpoints the client table; false where the disk is full.
func saveTable(log *journal.Log, t *vsr.Table) (saved bool, err error) {
	err = log.SaveTable(journal.Table{ID: t.ID, NextOffset: t.Offset, Bytes: encodeTable(t)})
	if errors.Is(err, journal.ErrDiskFull) { // it would only have saved time at the next start
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("checkpoint the client table at op %d: %w", t.ID.Op, err)
	}
	return true, nil
}

// trimBelow lets the log begin where others do. Unlike retention it leaves one checkpoint that a start can
// use, not two: where that rots before the next one is made, this log cannot be told any more.
func trimBelow(log *journal.Log, j *Job, post func(vsr.Input)) error {
	from := min(j.ID.Op, j.Table.ID.Op+1)
	if lease := j.Lease.Load(); lease > 0 {
		from = min(from, lease)
	}
	if from = log.Border(from); from <= log.Start() { // it is asked for again and again: no checkpoint for nothing
		return nil
	}
	if saved, err := saveTable(log, &j.Table); !saved {
		return err
	}
	if err := log.Divide(from); errors.Is(err, journal.ErrDiskFull) { // it will be asked for again
		return nil
	} else if err != nil {
		return fmt.Errorf("let the log begin at op %d: %w", from, err)
	}
	return trim(log, from, post)
}

func trim(log *journal.Log, from uint64, post func(vsr.Input)) error {
	if from <= log.Start() {
		return nil
	}
	post(vsr.Input{Kind: vsr.InTrimmed, ID: vsr.ID{Op: from}}) // first: what is about to go must not be offered to a peer
	if _, err := log.Trim(from); err != nil {
		return fmt.Errorf("trim the log: %w", err)
	}
	return nil
}
