package journal_test

import (
	"errors"
	"testing"

	"rejoin/server/journal"
)

// meanwhile is a file system on which something happens once while a file of ops is being opened.
type meanwhile struct {
	journal.FS
	happens func()
}

func (m *meanwhile) Open(name string) (journal.File, error) {
	if happens := m.happens; happens != nil {
		m.happens = nil
		happens()
	}
	return m.FS.Open(name)
}

// A reader whose segment was cut while it was being opened must not look for its op there, though the log has grown
// past that op again: it is in another segment now.
func TestACutWhileASegmentIsOpened(t *testing.T) {
	x := segmented(t)
	x.fs.CrashHard()
	fs := &meanwhile{FS: x.fs}
	x.opts.FS = fs
	x.reopen()
	fs.happens = func() {
		x.must(x.log.Cut(16))
		x.frames = x.frames[:16]
		x.append(4, 9000)
		x.sync()
	}
	if _, _, err := x.log.ReadFrame(19, nil); !errors.Is(err, journal.ErrNotHeld) {
		t.Errorf("the reader is told %v", err)
	}
	x.wantHeld(1, 20)
}
