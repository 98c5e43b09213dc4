package results

import (
	"errors"
	"fmt"
)

var (
	// ErrNoRun says that a name or path holds no run.json.
	ErrNoRun = errors.New("no run folder")
	// ErrSchema says that a file was written by a version this one cannot read.
	ErrSchema = errors.New("unknown schema version")
	// ErrHeld says that a process still fills a folder.
	ErrHeld = errors.New("in use by the process that made it")
	// ErrNotRegular says that a name in a run folder is a directory, a pipe or a device, and therefore not read.
	ErrNotRegular = errors.New("not a regular file; a run folder holds none but such")
	// ErrLineTooLong says that a line of an NDJSON file or interval log exceeds its bound; it was skipped.
	ErrLineTooLong = errors.New("line too long")
)

// LineError is damage at a known line of a file. The reader that returned it stands behind that line and may go on.
type LineError struct {
	Line int // counted from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }
