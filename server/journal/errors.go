package journal

import (
	"errors"
	"fmt"
	"syscall"
)

// Sentinels; errors returned wrap one of them where they apply.
var (
	ErrDiskFull   = errors.New("no room")                                   // nothing was changed; may be tried again
	ErrNotHeld    = errors.New("op is above the end of the log")            // not here (yet)
	ErrTrimmed    = errors.New("op is below the start of the log")          // retention has removed it
	ErrDamaged    = errors.New("damaged")                                   // a hole: known to have been here, not readable
	ErrForeign    = errors.New("files of another cluster or group")         // refused at Open
	ErrUnreadable = errors.New("no readable copy")                          // of a state file
	ErrNoPlace    = errors.New("place in the segment is not known yet")     // Fill the lower ops of the hole first
	ErrMismatch   = errors.New("frame is not the one that belongs here")    // Fill of a wrong frame
	ErrClosed     = errors.New("log is closed")                             // after Close
	errLeftover   = errors.New("record of another history, place or group") // ends the log
)

// FaultError is a failure of the disk after which nothing is known of what was not synced before.
// The node must stop acknowledging. File is relative to the data directory.
type FaultError struct {
	File string
	Verb string // write, sync, close, rename, truncate, create, remove, open, read
	Err  error
}

func (e *FaultError) Error() string { return fmt.Sprintf("%s %s: %v", e.Verb, e.File, e.Err) }
func (e *FaultError) Unwrap() error { return e.Err }

// DamageError names the place of bytes that are not what was written. It is ErrDamaged.
type DamageError struct {
	File   string
	Offset int64 // of the frame in the file, -1 when it is not known
	Op     uint64
	Hole   OpRange // all that is known as damaged around op
	Err    error
}

func (e *DamageError) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("op %d, in %s, is damaged: %v", e.Op, e.File, e.Err)
	}
	return fmt.Sprintf("op %d at %s:%d is damaged: %v", e.Op, e.File, e.Offset, e.Err)
}
func (e *DamageError) Unwrap() error        { return e.Err }
func (e *DamageError) Is(target error) bool { return target == ErrDamaged }

// damageOr returns d if its cause says that the bytes are gone, or not what was written. Anything else that an
// operating system answers, out of descriptors or memory perhaps, says only that this try has failed.
func damageOr(verb string, d *DamageError) error {
	if !isDamage(d.Err) {
		return fmt.Errorf("%s %s for op %d: %w", verb, d.File, d.Op, d.Err)
	}
	return d
}

// isDamage tells whether err says that the bytes are gone, or not what was written: what a check of them says, or one of
// these answers. An answer that is not foreseen here is none: a start ends the log at damage above its mark, and what it
// cuts there may have been acknowledged.
func isDamage(err error) bool {
	var answer syscall.Errno
	if !errors.As(err, &answer) {
		return true
	}
	switch answer {
	case syscall.ENOENT,
		syscall.EIO, syscall.ENODATA, syscall.EILSEQ, // the medium has lost it, or its own checksum fails
		syscall.EUCLEAN, syscall.EBADMSG: // the file system's data or their checksum
		return true
	}
	return false
}

// isFull tells an error that says only that there is no room.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// isShort tells an error of making a file that says only that there was no room, no descriptor or no memory for it. The next
// try may find some.
func isShort(err error) bool {
	return isFull(err) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

// noRoom makes an ErrDiskFull of an error that says no more than that.
func noRoom(verb, name string, err error) error {
	return fmt.Errorf("%s %s: %w: %w", verb, name, ErrDiskFull, err)
}

func fault(file, verb string, err error) error {
	if err == nil {
		return nil // before anything that allocates
	}
	var already *FaultError
	if errors.As(err, &already) {
		return err
	}
	return &FaultError{File: file, Verb: verb, Err: err}
}
