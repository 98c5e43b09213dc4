package sim

import (
	"errors"
	"math"
	"path"
	"strings"

	"rejoin/server/journal"
	"rejoin/server/journal/faultfs"
)

// errDied is what every operation of a dead process comes to.
var errDied = errors.New("the process has died")

// disk is a process's view of its node's file system: each change takes time, and a dead process
// changes nothing any more.
type disk struct {
	p  *process
	fs *faultfs.FS
}

var _ journal.FS = (*disk)(nil)

const (
	shortNs = 10 * microsecond // mean, of an operation that only touches memory
)

// pass lets an operation's time go by before it happens.
func (d *disk) pass(mean int64) error { return d.passWithin(mean, math.MaxInt64) }

func (d *disk) passWithin(mean, most int64) error {
	p := d.p
	if p.dead {
		return errDied
	}
	if p.opsLeft == 0 {
		p.opsLeft = unlimited
		p.w.after(0, func() {
			if p.alive() {
				p.n.end(p.how)
			}
		})
		mean = second // it will not come to it
	} else if p.opsLeft > 0 {
		p.opsLeft--
	}
	if !p.disk.wait(min(p.n.rng.around(mean), most)) {
		return errDied
	}
	return nil
}

// passSync does so for a sync. One that is slow does not outlast the faults.
func (d *disk) passSync() error {
	w := d.p.w
	mean := w.setup.syncNs
	if w.faulty && d.p.n.rng.chance(w.setup.slowSync) {
		return d.passWithin(100*mean, max(w.setup.faultNs-w.now, mean))
	}
	return d.pass(mean)
}

// Open opens a file.
func (d *disk) Open(name string) (journal.File, error) {
	if d.p.dead {
		return nil, errDied
	}
	f, err := d.fs.Open(name)
	if err != nil {
		return nil, err
	}
	return &diskFile{d, f}, nil
}

// Create makes a file.
func (d *disk) Create(name string) (journal.File, error) {
	if err := d.pass(shortNs); err != nil {
		return nil, err
	}
	f, err := d.fs.Create(name)
	if err != nil {
		return nil, err
	}
	return &diskFile{d, f}, nil
}

// Rename moves a file.
func (d *disk) Rename(from, to string) error {
	if err := d.pass(shortNs); err != nil {
		return err
	}
	if strings.HasPrefix(path.Base(to), "next") { // that of a segment, to be written over
		d.p.w.cover.Recycled++
	}
	return d.fs.Rename(from, to)
}

// Remove removes a file.
func (d *disk) Remove(name string) error {
	d.p.w.removing(d.p, name)
	if err := d.pass(shortNs); err != nil {
		return err
	}
	return d.fs.Remove(name)
}

// Mkdir makes a directory.
func (d *disk) Mkdir(name string) error {
	if err := d.pass(shortNs); err != nil {
		return err
	}
	return d.fs.Mkdir(name)
}

// List lists a directory.
func (d *disk) List(dir string) ([]string, error) {
	if d.p.dead {
		return nil, errDied
	}
	return d.fs.List(dir)
}

// SyncDir makes names durable.
func (d *disk) SyncDir(dir string) error {
	if err := d.passSync(); err != nil {
		return err
	}
	return d.fs.SyncDir(dir)
}

// FreeBytes tells what is left.
func (d *disk) FreeBytes() (uint64, error) { return d.fs.FreeBytes() }

// diskFile is an open file of a process.
type diskFile struct {
	d *disk
	journal.File
}

// ReadAt reads.
func (f *diskFile) ReadAt(b []byte, off int64) (int, error) {
	if f.d.p.dead {
		return 0, errDied
	}
	return f.File.ReadAt(b, off)
}

// Writev writes into the page cache.
func (f *diskFile) Writev(bufs [][]byte, off int64) error {
	if err := f.d.pass(shortNs); err != nil {
		return err
	}
	return f.File.Writev(bufs, off)
}

// WriteZeros writes into the page cache.
func (f *diskFile) WriteZeros(off, bytes int64) error {
	if err := f.d.pass(shortNs); err != nil {
		return err
	}
	return f.File.WriteZeros(off, bytes)
}

// Exclusive says what the kernel would, as far as anybody can foresee: what was lent may be on its way still.
func (f *diskFile) Exclusive(lent bool) bool {
	return f.d.p.w.setup.recycles && (!lent || f.d.p.n.rng.chance(0.5))
}

// Truncate changes the size.
func (f *diskFile) Truncate(size int64) error {
	if err := f.d.pass(shortNs); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

// Sync makes the data durable.
func (f *diskFile) Sync() error {
	if err := f.d.passSync(); err != nil {
		return err
	}
	for f.d.p.n.syncsHeld || f.d.p.w.now < f.d.p.n.stalledUntil {
		if !f.d.p.disk.wait(millisecond) {
			return errDied
		}
	}
	return f.File.Sync()
}

// Close closes the handle.
func (f *diskFile) Close() error {
	if f.d.p.dead {
		return errDied
	}
	return f.File.Close()
}
