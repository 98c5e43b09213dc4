package journal_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"rejoin/server/journal"
)

// Readers and Prepare run while the write side appends, syncs, cuts and trims, on real files. What a
// reader gets is always a whole op, and no race of theirs makes a hole.
func TestReadersBesideTheWriter(t *testing.T) {
	x := &fixture{TB: t}
	x.opts = options(journal.OS(t.TempDir()))
	x.reopen()
	x.append(30, 900)
	x.sync()
	done := make(chan struct{})
	var wg sync.WaitGroup
	run := func(do func() error) {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := do(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range uint64(3) {
		next := i * 7
		run(func() error { return readSomething(x.log, &next) })
	}
	run(x.log.Prepare)
	for range 10 {
		x.append(25, 900)
		x.sync()
		end := uint64(len(x.frames))
		x.must(x.log.Cut(end - 12))
		x.frames = x.frames[:end-12]
		_, err := x.log.Trim(end - 30)
		x.must(err)
	}
	close(done)
	wg.Wait()
	x.wantHoles()
	x.must(x.log.Close())
	if _, err := x.log.Header(x.log.Written().Op); !errors.Is(err, journal.ErrClosed) {
		t.Fatal(err)
	}
}

// readSomething reads an op in three ways.
func readSomething(log *journal.Log, next *uint64) error {
	*next = *next*5 + 3
	start, end := log.Start(), log.Written().Op
	if end < start {
		return nil
	}
	op := start + *next%(end-start+1)
	gone := func(err error) bool {
		return errors.Is(err, journal.ErrNotHeld) || errors.Is(err, journal.ErrTrimmed)
	}
	h, b, err := log.ReadFrame(op, nil)
	if err != nil && !gone(err) {
		return err
	}
	if err == nil && (h.Op != op || len(b) != 128+int(h.BodyBytes)) {
		return errors.New("another op was read")
	}
	if _, err := log.OpOf(op - 1); err != nil && !gone(err) {
		return err
	}
	span, err := log.Span(op, op+4, 1<<20)
	if err != nil {
		if gone(err) {
			return nil
		}
		return err
	}
	defer span.Release()
	_, err = span.File().ReadAt(make([]byte, span.Bytes), span.Offset)
	if err == io.EOF { // a cut has truncated the file meanwhile; the descriptor itself stays good
		return nil
	}
	return err
}

// Readers that meet the same damage at once, while the log grows, agree on one hole.
func TestReadersMeetDamageTogether(t *testing.T) {
	root := t.TempDir()
	x := &fixture{TB: t}
	x.opts = options(journal.OS(root))
	x.reopen()
	x.append(40, 2000)
	x.sync()
	x.must(x.log.Close())
	x.reopen()
	harm := func(name string, at int64) {
		b, err := os.ReadFile(filepath.Join(root, name))
		x.must(err)
		b[at] ^= 1
		x.must(os.WriteFile(filepath.Join(root, name), b, 0o600))
	}
	name, off := x.place(10)
	harm(name, off+300)
	harm(secondIndex, 80)
	x.must(os.Remove(filepath.Join(root, dir, "00000000000000000015.seg")))
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i := range uint64(8) {
		wg.Go(func() {
			<-begin
			for op := uint64(1); op <= 35; op++ {
				op := 1 + (op+5*i)%35
				_, _, err := x.log.ReadFrame(op, nil)
				if damaged := op >= 10 && op <= 21; damaged != errors.Is(err, journal.ErrDamaged) || !damaged && err != nil {
					t.Errorf("op %d: %v", op, err)
				}
				if _, err := x.log.OpOf(op - 1); err != nil {
					t.Error(err)
				}
			}
		})
	}
	close(begin)
	for range 20 {
		x.append(1, 2000)
		x.sync()
	}
	wg.Wait()
	x.wantHoles(opRange{10, 21})
	misfits, err := x.log.Fill(x.frames[9:21])
	x.must(err)
	x.must(errors.Join(misfits...))
	x.wantHeld(1, 60)
	x.must(x.log.Close())
	x.reopen()
	x.wantHeld(1, 60)
	x.must(x.log.Close())
}
