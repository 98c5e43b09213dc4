package sim

import (
	"flag"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

var (
	seedFlag  = flag.Uint64("sim.seed", 0, "play this seed only, and print its trace")
	seedsFlag = flag.Uint64("sim.seeds", 500, "number of seeds of the campaign")
	firstFlag = flag.Uint64("sim.first", 1, "first seed of the campaign")
)

func TestOne(t *testing.T) {
	if *seedFlag == 0 {
		t.Skip("no -sim.seed")
	}
	report, err := Run(*seedFlag, Options{Trace: os.Stdout})
	t.Log(report.Setup, report.Coverage.String())
	if err != nil {
		t.Fatal(err)
	}
}

func TestKeptSeeds(t *testing.T) {
	arena := newArena(t)
	for _, seed := range Kept() {
		if _, err := Run(seed, Options{Arena: arena}); err != nil {
			t.Fatal(err)
		}
	}
}

func newArena(t *testing.T) *Arena {
	arena, err := NewArena()
	if err != nil {
		t.Fatal(err)
	}
	return arena
}

// campaign plays seeds on every core until one fails.
type campaign struct {
	t      *testing.T
	next   atomic.Uint64
	end    uint64
	failed atomic.Bool

	mu  sync.Mutex
	sum Coverage
}

func (c *campaign) play() {
	arena := newArena(c.t)
	for !c.failed.Load() {
		seed := c.next.Add(1) - 1
		if seed >= c.end {
			break
		}
		report, err := Run(seed, Options{Arena: arena})
		c.mu.Lock()
		c.sum.Add(&report.Coverage)
		c.mu.Unlock()
		if err != nil {
			c.failed.Store(true)
			c.t.Error(err)
			return
		}
	}
	if err := arena.Close(); err != nil {
		c.t.Error(err)
	}
}

// TestSeeds is the campaign, which fails as vacuous when it has not met what it is there for.
func TestSeeds(t *testing.T) {
	if *seedFlag != 0 {
		t.Skip("-sim.seed")
	}
	c := &campaign{t: t, end: *firstFlag + *seedsFlag}
	c.next.Store(*firstFlag)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(c.play)
	}
	wg.Wait()
	t.Log(c.sum.String())
	if *seedsFlag >= 300 && !t.Failed() {
		for _, short := range c.sum.Short() {
			t.Errorf("vacuous: %s", short)
		}
	}
}

// TestCheckedMemory plays seeds on memory that is poisoned when it is released.
func TestCheckedMemory(t *testing.T) {
	arena, err := NewCheckedArena(160)
	if err != nil {
		t.Fatal(err)
	}
	for seed, played := uint64(1), 0; played < 10; seed++ {
		if o := draw(seed); o.config.RingOps > 16 { // the memory would be too small for a run in comfort
			continue
		}
		played++
		if _, err := Run(seed, Options{Arena: arena}); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkSeeds tells what a seed costs.
func BenchmarkSeeds(b *testing.B) {
	arena, err := NewArena()
	if err != nil {
		b.Fatal(err)
	}
	seed, virtual := uint64(0), int64(0)
	for b.Loop() {
		seed++
		report, err := Run(seed, Options{Arena: arena})
		if err != nil {
			b.Fatal(err)
		}
		virtual += report.Coverage.VirtualNs
	}
	b.ReportMetric(float64(virtual)/float64(b.Elapsed().Nanoseconds()), "virtual-s/s")
}
