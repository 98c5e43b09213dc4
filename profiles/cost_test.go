package profiles

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"io"
	"runtime/pprof"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is what the kernel counted for this process, user and system.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// fixedWork is the same work each time, with stacks some calls deep: about as long as a window.
func fixedWork() {
	block := bytes.Repeat([]byte("a batch of the log "), 1800)
	w, _ := flate.NewWriter(io.Discard, flate.BestSpeed) // the level is a valid one
	for range 22000 {
		w.Reset(io.Discard)
		_, _ = w.Write(block)
		_ = w.Close()
		sum := sha256.Sum256(block)
		block[int(sum[0])] ^= sum[1]
	}
}

// BenchmarkCPUProfile is what a CPU profile at 100 Hz costs a busy process, its file and the gathering of it included: the CPU time that fixed
// work takes with one and without one, in turn. CPU time, because then it matters less what else the machine does; in turn, because it drifts.
//
//	go test ./profiles -run '^$' -bench CPUProfile -benchtime 5x
func BenchmarkCPUProfile(b *testing.B) {
	var shares []float64
	timed := func(profiled bool) time.Duration {
		before := cpuTime(b)
		if profiled {
			if err := pprof.StartCPUProfile(io.Discard); err != nil {
				b.Fatal(err)
			}
		}
		fixedWork()
		if profiled {
			pprof.StopCPUProfile() // gathers, names and packs
		}
		return cpuTime(b) - before
	}
	timed(true) // warm
	for i := 0; b.Loop(); i++ {
		first := timed(i%2 == 0)
		second := timed(i%2 == 1)
		with, without := first, second
		if i%2 == 1 {
			with, without = second, first
		}
		shares = append(shares, 100*(float64(with)/float64(without)-1))
	}
	slices.Sort(shares)
	b.ReportMetric(shares[len(shares)/2], "%-more-cpu")
	b.ReportMetric(shares[0], "%-least")
	b.ReportMetric(shares[len(shares)-1], "%-most")
}
