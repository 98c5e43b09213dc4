package partition

import (
	"errors"
	"fmt"

	"rejoin/server/journal"
)

// Untold tells whether err says that a log cannot be told any more though its disk works: damage took
// the client table, or what comes before the log's first op.
func Untold(err error) bool {
	return errors.Is(err, ErrTableLost) || errors.Is(err, journal.ErrUnreadable)
}

// Forget puts an empty log of a replica that has forgotten what it acknowledged in the place of one
// that cannot be told any more: its peers hold what it held, and it earns its vote back from them. What
// it must never forget, its views and the lives that it knows, stays; where these are unreadable too it returns the reason. It is
// not for a group of one, whose only copy this is.
func Forget(o DiskOptions) error {
	d := &Disk{options: o}
	state, err := journal.ReadState(o.Journal)
	if err != nil {
		return fmt.Errorf("forget a log that cannot be told: %w", err)
	}
	if err := removeTree(o.Journal.FS, d.stagingDir()); err != nil {
		return err
	}
	empty := o.Journal
	empty.Dir = d.stagingDir()
	log, _, err := journal.Open(empty)
	if err != nil {
		return fmt.Errorf("forget a log that cannot be told: %w", err)
	}
	err = log.SaveState(journal.State{View: state.View, LogView: state.LogView, Wiped: true, Lives: state.Lives})
	if err == nil {
		err = log.SyncMark()
	}
	if e := log.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = rename(o.Journal.FS, d.stagingDir(), d.readyDir())
	}
	if err != nil {
		return fmt.Errorf("forget a log that cannot be told: %w", err)
	}
	return d.finishSwitch()
}
