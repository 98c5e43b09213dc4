package profiles

import (
	"bytes"
	"context"
	"runtime/pprof"
	"testing"
	"time"
)

// realWindow is a CPU profile of this process while it parses profiles.
func realWindow(b *testing.B) []byte {
	b.Helper()
	var data bytes.Buffer
	if err := pprof.StartCPUProfile(&data); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(b.Context(), time.Second)
	defer cancel()
	for ctx.Err() == nil {
		contend()
		of(b, CPU, workload())
	}
	pprof.StopCPUProfile()
	return data.Bytes()
}

// BenchmarkWindow is what a window costs the process that measures, while it measures: it is written as it came.
func BenchmarkWindow(b *testing.B) {
	data, dir := realWindow(b), b.TempDir()
	if err := makeWindowsDir(dir); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := writeWindow(windowPath(dir, "n0", CPU, Window{ToNs: second}), data); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(data)), "window_bytes")
}
