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
	x, fs := unopened(t)
	fs.happens = func() {
		x.must(x.log.Cut(16))
		x.frames = x.frames[:16]
		x.append(4, 9000)
		x.sync()
	}
	x.wantHeld(19, 19)
	x.wantHeld(1, 20)
	fs.happens = nil
	if _, _, err := x.log.ReadFrame(21, nil); !errors.Is(err, journal.ErrNotHeld) {
		t.Errorf("of what was cut the reader is told %v", err)
	}
}

// unopened is the log of segmented with its sealed segments not opened yet.
func unopened(t *testing.T) (*fixture, *meanwhile) {
	x := segmented(t)
	x.fs.CrashHard()
	fs := &meanwhile{FS: x.fs}
	x.opts.FS = fs
	x.reopen()
	return x, fs
}

// A cut far above an op says nothing of it: whoever looks for it meanwhile finds it.
func TestAnUnrelatedCutHidesNothing(t *testing.T) {
	for name, read := range map[string]func(l *journal.Log) error{
		"a header":  func(l *journal.Log) error { _, err := l.Header(3); return err },
		"a frame":   func(l *journal.Log) error { _, _, err := l.ReadFrame(3, nil); return err },
		"a message": func(l *journal.Log) error { _, err := l.OpOf(2); return err },
		"a span": func(l *journal.Log) error {
			s, err := l.Span(3, 5, 1<<20)
			if err == nil {
				s.Release()
			}
			return err
		},
	} {
		x, fs := unopened(t)
		fs.happens = func() { x.must(x.log.Cut(38)) }
		if err := read(x.log); err != nil {
			t.Errorf("who looks for %s is told: %v", name, err)
		}
		x.wantHeld(1, 38)
	}
}

// A segment that goes by retention while it is being opened is trimmed, and not damaged.
func TestATrimWhileASegmentIsOpened(t *testing.T) {
	x, fs := unopened(t)
	fs.happens = func() {
		_, err := x.log.Trim(15)
		x.must(err)
	}
	if _, _, err := x.log.ReadFrame(3, nil); !errors.Is(err, journal.ErrTrimmed) {
		t.Errorf("the reader is told %v", err)
	}
	x.wantHoles()
}
