package profiles

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"time"

	"rejoin/results"
)

// OwnOptions are those of OwnWindows.
type OwnOptions struct {
	Dir   string       // the run's profiles folder; must exist
	Name  string       // of this process in files and labels; empty: "generator"
	Role  string       // empty: "generator"
	NowNs func() int64 // the run's time axis; required
	// Window is the length of one profile; 0: 2 s.
	Window time.Duration
	// Borders end windows early; nil: there are none.
	Borders *Borders
	// Snapshots (Heap, Mutex, Block, Goroutine) are taken beside, at the beginning and the end of each window.
	Snapshots []Kind
	// NoCPU leaves the CPU profile to somebody else and takes only the snapshots.
	NoCPU bool
}

func unknownRole(string) string { return results.RoleUnknown }

func (o *OwnOptions) complete() error {
	if o.Name == "" {
		o.Name = "generator"
	}
	if o.Role == "" {
		o.Role = "generator"
	}
	if o.Window == 0 {
		o.Window = windowDefault
	}
	switch {
	case o.Dir == "":
		return errors.New("own profile windows: they need a folder")
	case o.NowNs == nil:
		return errors.New("own profile windows: they need the run's clock")
	case !nodeName().MatchString(o.Name):
		return fmt.Errorf("own profile windows: the name %q holds more than letters, digits and \"_\"", o.Name)
	case o.Window < 0:
		return fmt.Errorf("own profile windows: a negative length (%v)", o.Window)
	}
	return checkSnapshots(o.Snapshots)
}

func checkSnapshots(kinds []Kind) error {
	for _, k := range kinds {
		if !k.snapshot() || k == Contention {
			return fmt.Errorf("profile windows: there is no snapshot of kind %q", k)
		}
	}
	return nil
}

// OwnWindows takes CPU profiles of this process until ctx is done, which ends the last window early and keeps it, as a border does.
// ErrRunning: something else profiles this process, for instance Start.
func OwnWindows(ctx context.Context, o OwnOptions) (Captured, error) {
	if err := o.complete(); err != nil {
		return Captured{}, err
	}
	if err := makeWindowsDir(o.Dir); err != nil {
		return Captured{}, err
	}
	book := &logbook{node: o.Name}
	for ctx.Err() == nil {
		if err := o.snapshots(book); err != nil {
			return book.report(), err
		}
		if err := ownWindow(ctx, o, book); err != nil {
			return book.report(), fmt.Errorf("own profile window: %w", err)
		}
	}
	err := o.snapshots(book)
	return book.report(), err
}

// ownWindow writes what the runtime gives, as it comes: it is read after the load.
func ownWindow(ctx context.Context, o OwnOptions, book *logbook) error {
	if o.NoCPU {
		awaitEnd(ctx, o.Borders.wait(), o.Window)
		return nil
	}
	var data bytes.Buffer
	border := o.Borders.wait()
	w := Window{FromNs: o.NowNs(), Role: o.Role}
	if err := pprof.StartCPUProfile(&data); err != nil {
		return fmt.Errorf("%w: %w", ErrRunning, err)
	}
	awaitEnd(ctx, border, o.Window)
	w.ToNs = o.NowNs() // sampling ends here; the runtime needs up to 100 ms to say what it saw
	pprof.StopCPUProfile()
	w.DurationNs = w.ToNs - w.FromNs
	if err := writeWindow(windowPath(o.Dir, o.Name, CPU, w), data.Bytes()); err != nil {
		return err
	}
	book.took(CPU, w)
	return nil
}

// awaitEnd waits for the end of a window.
func awaitEnd(ctx context.Context, border <-chan struct{}, length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-border:
	case <-timer.C:
	}
}

// snapshots writes what this process has counted since it began.
func (o *OwnOptions) snapshots(book *logbook) error {
	for _, kind := range o.Snapshots {
		var data bytes.Buffer
		w := Window{FromNs: o.NowNs(), Role: o.Role}
		if err := pprof.Lookup(string(kind)).WriteTo(&data, 0); err != nil {
			return fmt.Errorf("own %s snapshot: %w", kind, err)
		}
		w.ToNs = o.NowNs()
		if err := writeWindow(windowPath(o.Dir, o.Name, kind, w), data.Bytes()); err != nil {
			return err
		}
		book.took(kind, w)
	}
	return nil
}
