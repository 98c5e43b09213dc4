package limits

import (
	"fmt"
	"strings"
	"time"

	"rejoin/results"
)

// Line is one limit for people.
type Line struct{ Name, Text string }

// Lines tell all that was measured, in the order in which it is.
func Lines(l results.Limits) []Line {
	var all []Line
	add := func(name, format string, args ...any) { all = append(all, Line{name, fmt.Sprintf(format, args...)}) }
	for _, s := range l.Syncs {
		by := "one process"
		if s.Processes > 1 {
			by = fmt.Sprintf("%d processes at once", s.Processes)
		}
		add(fmt.Sprintf("append+sync, %s file, %s", strings.ReplaceAll(s.File, "_", "-"), by), "%s  (%d frames of %d bytes, read back)", quantilesText(s.LatencyNs), s.ReadBackFrames, l.FrameBytes)
	}
	if d := l.Disk; d.Bytes > 0 {
		add("disk, one stream", "write %s, read %s  (%d MiB, one sync, read back)", perSText(d.WriteBytesPerS), perSText(d.ReadBytesPerS), d.Bytes>>20)
	}
	if n := l.Loopback; n.Bytes > 0 {
		add("loopback, one stream", "%s, by sendfile %s  (%d MiB each)", perSText(n.BytesPerS), perSText(n.SendfileBytesPerS), n.Bytes>>20)
		add("loopback, a frame and a byte back", "%s", quantilesText(n.RoundTripNs))
	}
	for _, c := range l.Checksums {
		add("checksum "+c.Name, "%.2f µs a frame, %s", c.NsPerFrame/1e3, perSText(c.BytesPerS))
	}
	if h := l.HTTP; h.Requests > 0 {
		add("a frame by HTTP", "%s, %.1f µs CPU of both ends; bare TCP p50 %s, %.1f µs", quantilesText(h.LatencyNs), h.CPUNsPerRequest/1e3, timeText(h.TCPLatencyNs.P50), h.TCPCPUNsPerRequest/1e3)
	}
	for _, s := range l.Shapes {
		add(shapeName(s), "%.0f batches/s, %s, %.1f batches a sync", s.BatchesPerS, quantilesText(s.LatencyNs), s.BatchesPerSync)
		add("  its CPU time a batch", "%s", shapeCPUText(s))
	}
	return all
}

func shapeName(s results.ShapeLimit) string {
	load := "saturated"
	if s.AskedBatchesPerS > 0 {
		load = fmt.Sprintf("%.0f batches/s", s.AskedBatchesPerS)
	}
	return fmt.Sprintf("commit by %d of %d, %s", s.Nodes/2+1, s.Nodes, load)
}

func shapeCPUText(s results.ShapeLimit) string {
	text := fmt.Sprintf("primary %.0f µs", s.PrimaryCPUNsPerBatch/1e3)
	if s.BackupCPUNsPerBatch != nil {
		text += fmt.Sprintf(", each backup %.0f µs", *s.BackupCPUNsPerBatch/1e3)
	}
	return text + fmt.Sprintf(", producers %.0f µs  (%d producers, %d bytes, read back)", s.ProducersCPUNsPerBatch/1e3, s.Producers, s.BodyBytes)
}

func quantilesText(q results.Quantiles) string {
	return fmt.Sprintf("p50 %s p99 %s max %s", timeText(q.P50), timeText(q.P99), timeText(q.Max))
}

func timeText(ns *int64) string {
	if ns == nil {
		return "–"
	}
	d := time.Duration(*ns)
	if d < time.Millisecond {
		return d.Round(time.Microsecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}

func perSText(bytes float64) string {
	if bytes >= 1e9 {
		return fmt.Sprintf("%.1f GB/s", bytes/1e9)
	}
	return fmt.Sprintf("%.0f MB/s", bytes/1e6)
}
