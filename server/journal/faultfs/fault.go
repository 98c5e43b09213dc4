package faultfs

import (
	"errors"
	"strings"
	"syscall"
)

// What an FS says that no disk would.
var (
	ErrStopped = errors.New("stopped: the machine is about to crash") // after StopBefore
	ErrStale   = errors.New("handle of before the crash")
)

// Verb is a kind of operation.
type Verb string

// The verbs. Those from VerbWrite on change something and are counted.
const (
	VerbOpen     Verb = "open"
	VerbRead     Verb = "read"
	VerbClose    Verb = "close"
	VerbWrite    Verb = "write"
	VerbTruncate Verb = "truncate"
	VerbSync     Verb = "sync"
	VerbSyncDir  Verb = "syncdir"
	VerbCreate   Verb = "create"
	VerbRename   Verb = "rename"
	VerbRemove   Verb = "remove"
	VerbMkdir    Verb = "mkdir"
)

// Fault is something that goes wrong once, or as long as it stands when Sticky.
type Fault struct {
	Verb   Verb
	Name   string // end of the path, "" for any
	After  int    // matching operations that pass first
	Sticky bool

	Err         error // what the operation returns; nil lets it succeed
	ShortBytes  int   // of a write with Err: what lands before
	DropDirty   bool  // of a sync with Err: dirty pages look clean from now on and are not on the disk
	Lie         bool  // of a sync: says it did, and did not
	AstrayBytes int64 // of a write: it lands so much further on
	Offset      int64 // of a read with Err: a range that must be touched, when Bytes > 0
	Bytes       int64
}

// Inject adds a fault to the script.
func (f *FS) Inject(fault Fault) { f.faults = append(f.faults, &fault) }

// Heal removes all faults.
func (f *FS) Heal() { f.faults = nil }

// StopBefore lets operations with an index below k through, counted from now, and refuses all later
// ones with ErrStopped until Crash or Kill.
func (f *FS) StopBefore(k int) { f.stopBefore = f.ops + k }

// Stopped tells whether an operation was refused.
func (f *FS) Stopped() bool { return f.ops > f.stopBefore }

// take finds the first fault that strikes, and removes it unless it is sticky.
func (f *FS) take(verb Verb, name string, off, n int64) *Fault {
	for i, x := range f.faults {
		if x.Verb != verb || !strings.HasSuffix(name, x.Name) {
			continue
		}
		if x.Bytes > 0 && (off+n <= x.Offset || off >= x.Offset+x.Bytes) {
			continue
		}
		if x.After > 0 {
			x.After--
			continue
		}
		if !x.Sticky {
			f.faults = append(f.faults[:i:i], f.faults[i+1:]...)
		}
		return x
	}
	return nil
}

// read passes an operation that changes nothing.
func (f *FS) read(verb Verb, name string) error { return f.step(verb, name, 0, 0) }

func (f *FS) readRange(name string, off, n int64) error { return f.step(VerbRead, name, off, n) }

func (f *FS) step(verb Verb, name string, off, n int64) error {
	if f.Stopped() {
		return ErrStopped
	}
	if x := f.take(verb, name, off, n); x != nil {
		return x.Err
	}
	return nil
}

func (f *FS) change(verb Verb, name string) error {
	_, err := f.changeFault(verb, name)
	return err
}

// changeFault passes an operation that changes something. A fault comes back also where the
// operation is to go on in its own wrong way.
func (f *FS) changeFault(verb Verb, name string) (*Fault, error) {
	if f.ops >= f.stopBefore {
		f.ops = f.stopBefore + 1
		return nil, ErrStopped
	}
	if f.OnOp != nil {
		f.OnOp(f.ops, verb, name)
	}
	f.ops++
	if f.ReadOnly {
		return nil, syscall.EROFS
	}
	if x := f.take(verb, name, 0, 0); x != nil {
		return x, x.Err
	}
	return nil, nil
}
