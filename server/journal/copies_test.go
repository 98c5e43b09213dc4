package journal_test

import (
	"bytes"
	"testing"
	"unsafe"

	"rejoin/server/journal"
)

// The slices that Append is given reach the file system as they are: same base address, same length,
// in one call for each segment, and the log copies no byte of them.
func TestAppendHandsOnTheSlices(t *testing.T) {
	x := newFixture(t)
	group := x.make(10, 2500) // six to a segment
	type slice struct {
		base *byte
		n    int
	}
	var got []slice
	calls := 0
	x.fs.OnWritev = func(name string, bufs [][]byte, off int64) {
		if len(bufs) == 1 && bufs[0][0] == 0 { // zero fill
			return
		}
		calls++
		if last := bufs[len(bufs)-1]; len(last) < 4096 && bytes.Count(last, []byte{0}) == len(last) { // what fills up the page
			bufs = bufs[:len(bufs)-1]
		}
		for _, b := range bufs {
			got = append(got, slice{unsafe.SliceData(b), len(b)})
		}
	}
	x.must(x.log.Append(group))
	if calls != 2 || len(got) != len(group) {
		t.Fatalf("%d calls, %d slices", calls, len(got))
	}
	for i, f := range group {
		if got[i] != (slice{unsafe.SliceData(f.Bytes), len(f.Bytes)}) {
			t.Fatalf("frame %d was copied", i)
		}
	}
}

// nullFS takes writes and keeps nothing, so that only the log's own allocations are counted.
type nullFS struct{ journal.FS }

type nullFile struct{ journal.File }

func (f nullFS) Create(name string) (journal.File, error) {
	file, err := f.FS.Create(name)
	return nullFile{file}, err
}
func (nullFile) Writev([][]byte, int64) error  { return nil }
func (nullFile) Sync() error                   { return nil }
func (nullFile) WriteZeros(int64, int64) error { return nil }
func (nullFile) StartWriting(int64, int64)     {}
func (nullFile) Exclusive(bool) bool           { return false }

func newNullLog(t testing.TB) *journal.Log {
	x := newFixture(t)
	o := options(nullFS{x.fs})
	o.Dir, o.SegmentBytes = "null", 1<<31
	o.SegmentBytes = 1 << 30
	log, _, err := journal.Open(o)
	x.must(err)
	return log
}

func manyFrames(n, payloadBytes int) []journal.Frame {
	x := &fixture{}
	return x.make(n, payloadBytes)
}

func TestAppendAllocatesNothing(t *testing.T) {
	frames := manyFrames(4000, 300)
	log := newNullLog(t)
	appendSync := func() {
		if err := log.Append(frames[:4]); err != nil {
			t.Fatal(err)
		}
		if _, err := log.Sync(); err != nil {
			t.Fatal(err)
		}
		frames = frames[4:]
	}
	for range 100 {
		appendSync()
	}
	// The growth of the index of the open segment, amortised, is all there may be.
	if n := testing.AllocsPerRun(800, appendSync); n > 0 {
		t.Fatalf("%v allocations for an append of 4 frames and a sync", n)
	}
}

func BenchmarkAppendSync(b *testing.B) {
	frames := manyFrames(b.N, 300)
	log := newNullLog(b)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range frames {
		if err := log.Append(frames[i : i+1]); err != nil {
			b.Fatal(err)
		}
		if _, err := log.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}
