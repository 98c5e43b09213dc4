package sim

import (
	"flag"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

var (
	seedFlag  = flag.Uint64("sim.seed", 0, "play this seed only, with its trace")
	seedsFlag = flag.Uint64("sim.seeds", 30, "number of seeds")
	firstFlag = flag.Uint64("sim.first", 1, "first seed")
	failsFlag = flag.Int("sim.fails", 1, "stop after so many failures")
)

func TestOne(t *testing.T) {
	if *seedFlag == 0 {
		t.Skip()
	}
	var out io.Writer = os.Stdout
	rep, err := Run(*seedFlag, Options{Trace: out})
	t.Log(rep.Setup, rep.Coverage.String())
	if err != nil {
		t.Fatal(err)
	}
}

func TestSeeds(t *testing.T) {
	if *seedFlag != 0 {
		t.Skip()
	}
	var sum Coverage
	var mu sync.Mutex
	var wg sync.WaitGroup
	var next atomic.Uint64
	next.Store(*firstFlag)
	fails := 0
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			arena, err := NewArena()
			if err != nil {
				t.Error(err)
				return
			}
			for {
				seed := next.Add(1) - 1
				mu.Lock()
				stop := fails >= *failsFlag
				mu.Unlock()
				if seed >= *firstFlag+*seedsFlag || stop {
					return
				}
				rep, err := Run(seed, Options{Arena: arena})
				mu.Lock()
				sum.Add(&rep.Coverage)
				if err != nil {
					fails++
					t.Error(err)
				}
				mu.Unlock()
				if err != nil {
					arena, _ = NewArena()
				}
			}
		})
	}
	wg.Wait()
	t.Log(sum.String())
}
