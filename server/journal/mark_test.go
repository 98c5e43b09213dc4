package journal_test

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"rejoin/server/journal"
	"rejoin/server/journal/faultfs"
)

const blockBytes = 4096 // of a copy in a state file

// rotNewestMark destroys the newer of the two copies of the mark.
func rotNewestMark(x *fixture) {
	b, err := x.fs.ReadFile(dir + "/mark")
	x.must(err)
	off := int64(0)
	if binary.LittleEndian.Uint64(b[blockBytes+8:]) > binary.LittleEndian.Uint64(b[8:]) {
		off = blockBytes
	}
	x.fs.Rot(dir+"/mark", off+30, 1)
}

// After a cut neither copy of the mark tells of more than the log holds.
func TestNoCopyOfTheMarkOutlivesACut(t *testing.T) {
	x := segmented(t)
	x.must(x.log.Cut(5))
	rotNewestMark(x)
	x.crash()
	x.wantEnd(5, 5)
}

// A mark that fell back to an older copy does not make a torn group of what an index proves durable.
func TestAnIndexRaisesTheMark(t *testing.T) {
	x := newFixture(t)
	x.append(2, 2000)
	x.sync()
	x.append(38, 2000)
	x.sync()
	rotNewestMark(x)
	x.fs.Delete(dir + "/00000000000000000008.idx")
	n, off := x.place(10)
	x.fs.Overwrite(n, off, zeros(128))
	x.crash()
	x.wantEnd(40, 40)
	x.wantHoles(opRange{10, 14})
}

// With the mark lost and damage at the end, no crash during Open makes the next one believe that it
// knows the top.
func TestCrashWhileTheTopIsUnknown(t *testing.T) {
	base := segmented(t)
	base.fs.Delete(dir + "/mark")
	n, off := base.place(39)
	base.fs.Rot(n, off, 1)
	for k := 0; ; k++ {
		x := *base
		x.fs = base.fs.Clone()
		x.opts.FS = x.fs
		x.fs.StopBefore(k)
		_, _, err := journal.Open(x.opts)
		if err != nil && !errors.Is(err, faultfs.ErrStopped) {
			t.Fatal(err)
		}
		x.fs.Crash(rand.New(rand.NewPCG(uint64(k), 3)))
		x.reopen()
		if !x.rec.TopUnknown {
			t.Fatalf("stop before %d: %+v", k, x.rec)
		}
		x.wantEnd(38, 38)
		if err == nil {
			break
		}
	}
}

// An empty last segment behind a hole whose ops have no place cannot be appended to: the log ends
// before the hole.
func TestEmptySegmentBehindDamage(t *testing.T) {
	x := newFixture(t)
	x.append(7, 2000)
	x.sync()
	_, err := x.fs.Create(dir + "/00000000000000000008.seg")
	x.must(err)
	x.must(x.fs.SyncDir(dir))
	n, off := x.place(5)
	x.fs.Rot(n, off, 1)
	for range 2 {
		x.crash()
		x.wantEnd(4, 7)
		x.wantHoles()
	}
	x.must(x.log.Append(x.frames[4:]))
	x.append(5, 2000)
	x.sync()
	x.crash()
	x.wantEnd(12, 12)
	x.wantHeld(1, 12)
}

func TestIndexWithoutASegmentIsRemoved(t *testing.T) {
	x := segmented(t)
	orphan := dir + "/00000000000000000099.idx"
	b, err := x.fs.ReadFile(dir + "/00000000000000000008.idx")
	x.must(err)
	f, err := x.fs.Create(orphan)
	x.must(err)
	x.must(f.Writev([][]byte{b}, 0))
	x.kill()
	if _, err := x.fs.Open(orphan); err == nil {
		t.Fatal("an index without a segment is still there")
	}
	x.wantEnd(40, 40)
}

// A large state file survives a crash before every operation of a save, torn sectors included.
func TestStateFileUnderCrashes(t *testing.T) {
	const payloadBytes = 3000
	for seed := range uint64(100) {
		for k := 0; ; k++ {
			fs := faultfs.New()
			last := uint64(1)
			sf, err := journal.CreateStateFile(fs, "node", payloadBytes, payload(payloadBytes, last))
			if err != nil {
				t.Fatal(err)
			}
			fs.StopBefore(k)
			for err == nil && last < 4 {
				last++
				err = sf.Save(payload(payloadBytes, last))
			}
			fs.Crash(rand.New(rand.NewPCG(seed, uint64(k))))
			_, got, openErr := journal.OpenStateFile(fs, "node", payloadBytes)
			if openErr != nil {
				t.Fatalf("seed %d, stop before %d: %v", seed, k, openErr)
			}
			if g := string(got); g != string(payload(payloadBytes, last)) && (err == nil || g != string(payload(payloadBytes, last-1))) {
				t.Fatalf("seed %d, stop before %d: neither the last payload nor the one before", seed, k)
			}
			if err == nil {
				break
			}
		}
	}
}

// hookFS runs a function once before a read of a segment.
type hookFS struct {
	journal.FS
	before *func()
}

type hookFile struct {
	journal.File
	before *func()
}

func (f hookFS) Open(name string) (journal.File, error)   { return f.wrap(f.FS.Open(name)) }
func (f hookFS) Create(name string) (journal.File, error) { return f.wrap(f.FS.Create(name)) }
func (f hookFS) wrap(file journal.File, err error) (journal.File, error) {
	if err != nil {
		return nil, err
	}
	return hookFile{file, f.before}, nil
}

func (f hookFile) ReadAt(b []byte, off int64) (int, error) {
	if do := *f.before; do != nil {
		*f.before = nil
		do()
	}
	return f.File.ReadAt(b, off)
}

// A reader that a cut overtakes does not take other ops in the old place for damage.
func TestReadOvertakenByACut(t *testing.T) {
	var before func()
	x := &fixture{TB: t, fs: faultfs.New()}
	x.opts = options(hookFS{x.fs, &before})
	x.reopen()
	x.append(6, 1000)
	x.sync()
	before = func() {
		x.must(x.log.Cut(3))
		x.frames = x.frames[:3]
		x.append(4, 900)
	}
	x.wantHeld(5, 5) // which is another one by now
	x.wantHoles()
	x.wantHeld(1, 7)
	before = func() { x.must(x.log.Cut(3)) }
	if _, _, err := x.log.ReadFrame(5, nil); !errors.Is(err, journal.ErrNotHeld) {
		t.Fatal(err)
	}
}
