package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startBinaries are builds of bench that BenchmarkStart holds against one another; make weight names two.
var startBinaries = flag.String("start.binaries", "", "builds of bench whose start is measured, separated by commas")

// initBytesMax is what a package of ours may allocate before main: each command, and each node, waits for it.
const initBytesMax = 32 << 10

// TestStartPreparesNothing: what a package needs for its work it makes when it begins, and not at every start. The runtime tells what each has
// allocated by then.
func TestStartPreparesNothing(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	told := regexp.MustCompile(`(?m)^init (rejoin/\S+) @.* (\d+) bytes, \d+ allocs$`).FindAllSubmatch(out, -1)
	if len(told) < 5 {
		t.Fatalf("the runtime tells of %d packages of ours:\n%s", len(told), out)
	}
	for _, m := range told {
		if bytes, err := strconv.Atoi(string(m[2])); err != nil || bytes > initBytesMax {
			t.Errorf("%s allocates %s bytes before main, at most %d are for nothing that is used later: make it at its first use (sync.OnceValue)", m[1], m[2], initBytesMax)
		}
	}
}

// BenchmarkStart starts each build in turn until it has told its version, so that what the machine does meets all alike, and reports medians: time
// from start to end, CPU time, and the most memory that was resident.
func BenchmarkStart(b *testing.B) {
	if *startBinaries == "" {
		b.Skip("names no builds: pass -start.binaries, or run make weight")
	}
	type starts struct{ wall, cpu, resident []float64 }
	paths := strings.Split(*startBinaries, ",")
	measured := make([]starts, len(paths))
	for b.Loop() {
		for i, path := range paths {
			cmd := exec.Command(path, "version")
			began := time.Now()
			if err := cmd.Run(); err != nil {
				b.Fatalf("%s version: %v", path, err)
			}
			m, state := &measured[i], cmd.ProcessState
			m.wall = append(m.wall, float64(time.Since(began))/1e6)
			m.cpu = append(m.cpu, float64(state.UserTime()+state.SystemTime())/1e6)
			m.resident = append(m.resident, float64(state.SysUsage().(*syscall.Rusage).Maxrss)/1024)
		}
	}
	median := func(of []float64) float64 {
		slices.Sort(of)
		return of[len(of)/2]
	}
	for i, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		name := filepath.Base(path)
		b.ReportMetric(float64(info.Size())/(1<<20), name+"-MiB")
		b.ReportMetric(median(measured[i].wall), name+"-ms")
		b.ReportMetric(median(measured[i].cpu), name+"-cpu-ms")
		b.ReportMetric(median(measured[i].resident), name+"-resident-MiB")
	}
	b.ReportMetric(0, "ns/op") // of all builds together it says nothing
}
