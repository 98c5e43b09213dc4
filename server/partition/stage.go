package partition

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"rejoin/server/journal"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// A staged chain is a log of its own beside the partition's:
//
//	<dir>.staging   being written; removed at a start
//	<dir>.ready     whole and synced: the switch is decided, by this name, and is finished at a start
//	<dir>           the log
const (
	stagingSuffix = ".staging"
	readySuffix   = ".ready"
)

func (d *Disk) stagingDir() string { return d.options.Journal.Dir + stagingSuffix }
func (d *Disk) readyDir() string   { return d.options.Journal.Dir + readySuffix }
func (d *Disk) parentDir() string  { return path.Dir(d.options.Journal.Dir) }

// stage writes the frames at the front of jobs to the chain; the first of a chain begins it.
func (d *Disk) stage(jobs []Job, post func(vsr.Input)) (int, error) {
	defer func() { clear(d.frames) }() // lent for the call only
	frames := d.group(jobs)
	first := &frames[0].Header
	if d.staging == nil {
		if err := d.beginStaging(first); err != nil {
			return 0, err
		}
	}
	n, err := appendSome(d.staging, frames)
	if err != nil {
		return 0, fmt.Errorf("stage ops %d to %d: %w", first.Op, frames[len(frames)-1].Header.Op, err)
	}
	last := frames[n-1].Header.ID()
	if _, err := d.staging.Sync(); err != nil {
		return 0, fmt.Errorf("sync the staged chain up to op %d: %w", last.Op, err)
	}
	if d.staging.HasSealed() { // not all at the switch: a segment without an index stays open, and a chain may have thousands
		if err := d.staging.SyncMark(); err != nil {
			return 0, fmt.Errorf("index the staged chain up to op %d: %w", last.Op, err)
		}
	}
	post(vsr.Input{Kind: vsr.InStaged, ID: last})
	return n, nil
}

func (d *Disk) beginStaging(first *vsr.Header) error {
	if err := removeTree(d.options.Journal.FS, d.stagingDir()); err != nil {
		return err
	}
	o := d.options.Journal
	o.Dir = d.stagingDir()
	o.Base = journal.Base{ID: vsr.ID{Op: first.Op - 1, Sum: first.Parent}, NextOffset: first.BaseOffset}
	log, _, err := journal.Open(o)
	if err != nil {
		return fmt.Errorf("begin to stage at op %d: %w", first.Op, err)
	}
	d.staging = log
	return nil
}

// dropStaging lets a chain go that is not wanted. Its files are the caller's to remove.
func (d *Disk) dropStaging() {
	if d.staging != nil {
		_ = d.staging.Close() // nothing rests on it
		d.staging = nil
	}
}

// install puts the staged chain in the log's place. Its name decides: before it is ready the log is
// the old one, from then on the new one, wherever a crash falls.
func (d *Disk) install(j *Job, post func(vsr.Input)) error {
	if !d.switched {
		if err := d.switchLogs(j); err != nil {
			return err
		}
		d.switched = true // a full disk may interrupt what follows, and it is tried again
	}
	log, rec, err := journal.Open(d.options.Journal)
	if err != nil {
		return fmt.Errorf("open the installed chain: %w", err)
	}
	if rec.Held != j.Table.ID {
		return fmt.Errorf("the installed chain ends in op %d, not in %d", rec.Held.Op, j.Table.ID.Op)
	}
	d.switched = false
	d.log.Store(log)
	post(vsr.Input{Kind: vsr.InInstalled})
	return nil
}

// switchLogs completes the staged chain and lets its files take the place of the log's.
func (d *Disk) switchLogs(j *Job) error {
	s := d.staging
	if s == nil || s.Written() != j.Table.ID {
		panic(fmt.Sprintf("partition: the staged chain does not end in op %d", j.Table.ID.Op))
	}
	s.NoteCommit(j.Table.ID)
	err := s.SaveTable(journal.Table{ID: j.Table.ID, NextOffset: j.Table.Offset, Bytes: encodeTable(&j.Table)})
	if err == nil {
		err = s.SaveState(journal.State{View: j.State.View, LogView: j.State.LogView, Commit: j.Table.ID, Wiped: j.State.Wiped, WipedAbove: j.State.Kept, Lives: j.State.Lives})
	}
	if err == nil {
		err = s.SyncMark()
	}
	if err == nil {
		d.staging = nil
		err = s.Close()
	}
	if err != nil {
		return fmt.Errorf("complete the staged chain: %w", err)
	}
	if err := d.options.Journal.FS.Rename(d.stagingDir(), d.readyDir()); err != nil {
		return fmt.Errorf("rename %s to %s: %w", d.stagingDir(), d.readyDir(), err)
	}
	_ = d.Log().Close() // its files go
	return d.finishSwitch()
}

// finishSwitch completes a decided switch and removes what was only begun.
func (d *Disk) finishSwitch() error {
	fsys := d.options.Journal.FS
	if err := journal.MkdirAll(fsys, d.parentDir()); err != nil {
		return err
	}
	names, err := fsys.List(d.parentDir())
	if err != nil {
		return fmt.Errorf("list %s: %w", d.parentDir(), err)
	}
	base := path.Base(d.options.Journal.Dir)
	for _, name := range names {
		if name == base+stagingSuffix {
			if err := removeTree(fsys, d.stagingDir()); err != nil {
				return err
			}
		}
	}
	for _, name := range names {
		if name != base+readySuffix {
			continue
		}
		if err := fsys.SyncDir(d.parentDir()); err != nil { // whoever gave the name, this life or a former one: the old log goes
			return fmt.Errorf("sync %s: %w", d.parentDir(), err)
		}
		if err := removeTree(fsys, d.options.Journal.Dir); err != nil {
			return err
		}
		return rename(fsys, d.readyDir(), d.options.Journal.Dir)
	}
	return nil
}

// rename changes a directory's name, durably.
func rename(fsys journal.FS, from, to string) error {
	if err := fsys.Rename(from, to); err != nil {
		return fmt.Errorf("rename %s to %s: %w", from, to, err)
	}
	if err := fsys.SyncDir(path.Dir(to)); err != nil {
		return fmt.Errorf("sync %s: %w", path.Dir(to), err)
	}
	return nil
}

// removeTree removes a directory of files, if it is there, durably.
func removeTree(fsys journal.FS, dir string) error {
	parent, base := path.Split(dir)
	parent = strings.TrimSuffix(parent, "/")
	names, err := fsys.List(parent)
	if err != nil {
		return fmt.Errorf("list %s: %w", parent, err)
	}
	there := false
	for _, name := range names {
		there = there || name == base
	}
	if !there {
		return nil
	}
	files, err := fsys.List(dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	for _, name := range files {
		if err := fsys.Remove(path.Join(dir, name)); err != nil {
			return fmt.Errorf("remove %s: %w", path.Join(dir, name), err)
		}
	}
	if err := errors.Join(fsys.SyncDir(dir), fsys.Remove(dir), fsys.SyncDir(parent)); err != nil {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	return nil
}

// stageFrame queues the next frame of a chain.
func (p *Partition) stageFrame(h *vsr.Header) {
	if p.frame == nil || p.frame.Header.ID() != h.ID() {
		panic(fmt.Sprintf("partition: no frame to stage for op %d", h.Op))
	}
	p.frame.Retain(wire.OwnerJournal)
	p.outside.Work(Job{Kind: JobStage, Frame: p.frame})
}

// reset follows the log to another one: nothing of the old one is in memory any more.
func (p *Partition) reset() {
	p.ring.clear()
	p.readable.reset()
	p.loggedBytes = 0
}
