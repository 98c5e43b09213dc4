package wire

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"rejoin/server/vsr"
)

func mustPool(t testing.TB, make func(int) (*Pool, error), buffers int) *Pool {
	t.Helper()
	p, err := make(buffers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err, p.Leaks())
		}
	})
	return p
}

func mustPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got, _ := recover().(string); !strings.Contains(got, want) {
			t.Errorf("panic %q, want one with %q", got, want)
		}
	}()
	f()
}

func TestPoolGivesEachBufferOnceAndThenNil(t *testing.T) {
	for name, make := range map[string]func(int) (*Pool, error){"plain": NewPool, "checked": NewCheckedPool} {
		t.Run(name, func(t *testing.T) {
			p := mustPool(t, make, 3)
			seen := map[*byte]bool{}
			var out []*Buffer
			for range 3 {
				b := p.Get(OwnerTest)
				if len(b.Data()) != SlotBytes || cap(b.Data()) != SlotBytes || len(b.Frame()) != 0 {
					t.Fatalf("data %d/%d, frame %d bytes", len(b.Data()), cap(b.Data()), len(b.Frame()))
				}
				seen[unsafe.SliceData(b.Data())] = true
				out = append(out, b)
			}
			if p.Get(OwnerTest) != nil || len(seen) != 3 || p.Free() != 0 {
				t.Fatalf("free %d, distinct %d", p.Free(), len(seen))
			}
			out[0].Header = vsr.Header{Op: 7}
			for _, b := range out {
				b.Release(OwnerTest)
			}
			s := p.Stats()
			if s.Free != 3 || s.Misses != 1 || s.References[OwnerTest] != 0 {
				t.Fatalf("stats %+v", s)
			}
			for range 3 {
				b := p.Get(OwnerTest)
				if b.Header != (vsr.Header{}) {
					t.Fatal("a header survived the release")
				}
				defer b.Release(OwnerTest)
			}
		})
	}
}

func TestPoolSizeIsRefused(t *testing.T) {
	for _, n := range []int{-1, 0, poolBuffersMax + 1} {
		if _, err := NewPool(n); err == nil {
			t.Errorf("a pool of %d was made", n)
		}
		if _, err := NewCheckedPool(n); err == nil {
			t.Errorf("a checked pool of %d was made", n)
		}
	}
}

func TestBufferStaysOutUntilTheLastReference(t *testing.T) {
	p := mustPool(t, NewCheckedPool, 1)
	b := p.Get(OwnerRequest)
	b.SetFrame(200)
	b.Retain(OwnerPeerSend)
	b.Pass(OwnerRequest, OwnerPartition)
	b.Release(OwnerPartition)
	if p.Free() != 0 {
		t.Fatal("free with a reference left")
	}
	if leaks := p.Leaks(); len(leaks) != 1 || !strings.Contains(leaks[0], "peer_send x1") {
		t.Fatalf("leaks %q", leaks)
	}
	if err := p.Close(); err == nil {
		t.Fatal("closed with a buffer out")
	}
	b.Release(OwnerPeerSend)
	if p.Free() != 1 || p.Leaks() != nil {
		t.Fatal("not free")
	}
}

func TestCheckedPoolFindsMisuse(t *testing.T) {
	p := mustPool(t, NewCheckedPool, 2)
	b := p.Get(OwnerRing)
	mustPanic(t, "journal lets go of buffer 0, which it does not hold; held by ring x1", func() { b.Release(OwnerJournal) })
	late := b.Data()
	late[5] = 1
	b.SetFrame(10)
	b.Release(OwnerRing)
	if late[5] != poison {
		t.Error("released memory was not poisoned")
	}
	mustPanic(t, "ring lets go of buffer 0", func() { b.Release(OwnerRing) })
	late[5] = 2
	mustPanic(t, "byte 5 of buffer 0 was written after its release", func() { p.Get(OwnerTest) })
	p.free = append(p.free, 0)
}

func TestPlainPoolPanicsOnDoubleRelease(t *testing.T) {
	p := mustPool(t, NewPool, 1)
	b := p.Get(OwnerRing)
	b.Release(OwnerRing)
	mustPanic(t, "ring releases buffer 0, which nobody holds", func() { b.Release(OwnerRing) })
	b.refs.Store(0)
	mustPanic(t, "ring retains buffer 0, which nobody holds", func() { b.Retain(OwnerRing) })
}

func TestAdoptMapsAddressesAndCopiesStrangers(t *testing.T) {
	p := mustPool(t, NewCheckedPool, 3)
	lent := p.Get(OwnerRequest)
	body := append(lent.Data()[:0], "in the slab"...)
	if got := p.Adopt(OwnerRequest, body); got != lent || string(got.Frame()) != "in the slab" {
		t.Fatal("the slab's own slice was not found")
	}
	if p.Stats().CopiedBytes != 0 {
		t.Fatal("copied")
	}
	foreign := p.Adopt(OwnerRequest, []byte("foreign"))
	if string(foreign.Frame()) != "foreign" || p.Stats().CopiedBytes != 7 {
		t.Fatalf("frame %q, copied %d", foreign.Frame(), p.Stats().CopiedBytes)
	}
	if p.Adopt(OwnerRequest, make([]byte, SlotBytes+1)) != nil {
		t.Error("a body that does not fit was adopted")
	}
	empty := p.Adopt(OwnerRequest, nil)
	if p.Adopt(OwnerRequest, []byte("x")) != nil {
		t.Error("adopted by an empty pool")
	}
	mustPanic(t, "4 bytes into buffer", func() { p.Adopt(OwnerRequest, body[4:]) })
	for _, b := range []*Buffer{lent, foreign, empty} {
		b.Release(OwnerRequest)
	}
	mustPanic(t, "nobody holds it", func() { p.Adopt(OwnerRequest, body) })
}

func TestReleaseGivesMemoryBackToTheKernel(t *testing.T) {
	p := mustPool(t, NewPool, 1)
	for _, said := range []bool{true, false} {
		b := p.Get(OwnerTest)
		data := b.Data()
		data[0], data[residentBytes], data[SlotBytes-1] = 1, 1, 1
		if said {
			b.SetFrame(SlotBytes)
		}
		b.Release(OwnerTest)
		// The kernel gives zeros where it took pages away.
		if data[0] != 1 || data[residentBytes] != 0 || data[SlotBytes-1] != 0 {
			t.Fatalf("bytes %d %d %d", data[0], data[residentBytes], data[SlotBytes-1])
		}
	}
}

// A buffer costs the pages that were written, whatever the machine thinks of huge ones.
func TestBuffersCostOnlyWhatWasWritten(t *testing.T) {
	const buffers, written = 64, 36 << 10
	p := mustPool(t, NewPool, buffers)
	before := anonymousBytes(t)
	for range buffers {
		b := p.Get(OwnerTest)
		clear(b.Data()[:written])
		b.SetFrame(written)
		defer b.Release(OwnerTest)
	}
	if grown := anonymousBytes(t) - before; grown > buffers*written*4 {
		t.Errorf("%d bytes for %d buffers of %d", grown, buffers, written)
	}
}

// anonymousBytes is RssAnon of this process.
func anonymousBytes(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	var kib int
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

func TestPoolAllocatesNothing(t *testing.T) {
	p := mustPool(t, NewPool, 4)
	got := testing.AllocsPerRun(200, func() {
		b := p.Get(OwnerRequest)
		b = p.Adopt(OwnerRequest, b.Data()[:40_000])
		b.Retain(OwnerRing)
		b.Pass(OwnerRequest, OwnerPartition)
		b.Release(OwnerPartition)
		b.Release(OwnerRing)
	})
	if got != 0 {
		t.Fatalf("%v allocations a round", got)
	}
}

func TestPoolIsWholeAfterConcurrentUse(t *testing.T) {
	p := mustPool(t, NewCheckedPool, 5)
	var wait sync.WaitGroup
	for worker := range 8 {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(worker)))
			for range 300 {
				b := p.Get(OwnerRequest)
				if b == nil {
					continue
				}
				n := 1 + random.IntN(300)
				for i := range b.Data()[:n] {
					b.Data()[i] = byte(worker)
				}
				b.SetFrame(n)
				b.Retain(OwnerRing)
				done := make(chan struct{})
				go func() {
					defer close(done)
					for _, at := range b.Frame() {
						if at != byte(worker) {
							t.Error("a frame changed under a reference")
							break
						}
					}
					b.Release(OwnerRing)
				}()
				b.Release(OwnerRequest)
				<-done
			}
		})
	}
	wait.Wait()
	if s := p.Stats(); s.Free != 5 {
		t.Fatalf("%+v %q", s, p.Leaks())
	}
}

func BenchmarkPoolGetRelease(b *testing.B) {
	p := mustPool(b, NewPool, 64)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			buffer := p.Get(OwnerRequest)
			buffer.SetFrame(35_400)
			buffer.Release(OwnerRequest)
		}
	})
}
