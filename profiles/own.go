package profiles

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
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
	case !nodeName.MatchString(o.Name):
		return fmt.Errorf("own profile windows: the name %q holds more than letters, digits and \"_\"", o.Name)
	case o.Window < 0:
		return fmt.Errorf("own profile windows: a negative length (%v)", o.Window)
	}
	return nil
}

// OwnWindows takes CPU profiles of this process until ctx is done, which ends the last window early and keeps it. ErrRunning: something
// else profiles this process, for instance Start.
func OwnWindows(ctx context.Context, o OwnOptions) (Captured, error) {
	if err := o.complete(); err != nil {
		return Captured{}, err
	}
	book := &logbook{node: o.Name}
	for ctx.Err() == nil {
		if err := ownWindow(ctx, o, book); err != nil {
			return book.report(), fmt.Errorf("own profile window: %w", err)
		}
	}
	return book.report(), nil
}

func ownWindow(ctx context.Context, o OwnOptions, book *logbook) error {
	var data bytes.Buffer
	w := Window{FromNs: o.NowNs(), Role: o.Role}
	if err := pprof.StartCPUProfile(&data); err != nil {
		return fmt.Errorf("%w: %w", ErrRunning, err)
	}
	pause(ctx, o.Window)
	pprof.StopCPUProfile()
	w.ToNs = o.NowNs()
	p, err := stamp(data.Bytes(), o.Name, CPU, runtime.Version(), w)
	if err != nil {
		return err
	}
	if err := writeWindow(windowPath(o.Dir, o.Name, CPU, w.FromNs), p); err != nil {
		return err
	}
	book.took(p.meta.Windows[0])
	return nil
}
