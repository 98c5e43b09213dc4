package goals

import (
	"fmt"
	"time"
)

// The log of SeriesLog grows in one run: a stretch of ordinary load on an empty log, then as fast as a node surely takes it to its full
// length, then the ordinary load again, and at last a clean restart and a SIGKILL.
const (
	logBytesWanted   = 20 << 30
	logBytesMin      = 1 << 30 // with less, nothing is large
	logFreeShare     = 3       // of the free space: the rest is for others, and for what the run writes beside the log
	logPayloadBytes  = 256
	logBatchMessages = 100
	logFrameBytes    = 26_928 // of such a batch
	logFillPerS      = 450_000
	logSteadyPerS    = 30_000
)

// WindowWidth is that of the windows in which a sample's latency is kept.
const WindowWidth = 10 * time.Second

// Stretches of the load; each ordinary one holds a whole window wherever the run's clock began.
const (
	logStretch = 25 * time.Second
	logPause   = 5 * time.Second
	logEnd     = 30 * time.Second
	logVerify  = 100 * time.Second // three readings
)

// LogBytes is how long a log may become where so much space is free; 0: there is no room for any.
func LogBytes(freeBytes int64) int64 {
	bytes := min(logBytesWanted, freeBytes/logFreeShare)
	if bytes < logBytesMin {
		return 0
	}
	return bytes
}

// logTimes are when the steps of a log of that length begin, since the load's start.
func logTimes(bytes int64) (fill, pause, large, end time.Duration) {
	batchesPerS := float64(logFillPerS / logBatchMessages)
	filling := time.Duration(float64(bytes)/logFrameBytes/batchesPerS+1) * time.Second
	fill = logStretch
	pause = fill + filling.Truncate(time.Second)
	large = pause + logPause
	return fill, pause, large, large + logStretch
}

// largeLog is the series of a log of that length on one node.
func largeLog(bytes int64) Series {
	fill, pause, large, end := logTimes(bytes)
	return Series{Name: SeriesLog, Pairs: 1, Took: end + logEnd + logVerify, Windows: true, LogBytes: bytes,
		About: fmt.Sprintf("a log of one node that grows to %.1f GiB", float64(bytes)/(1<<30)),
		Scenario: fmt.Sprintf(`nodes: 1
payload_bytes: %d
batch_messages: %d
load:
  - {for: %v, messages_per_s: %d}
  - {for: %v, messages_per_s: %d}
  - {for: %v, messages_per_s: 0}
  - {for: %v, messages_per_s: %d}
faults:
  - {at: %v, restart: n0}
  - {at: %v, kill: n0, restart_after: 0s}
quiet_max: 120s
%s`, logPayloadBytes, logBatchMessages, fill, logSteadyPerS, pause-fill, logFillPerS, large-pause, end+logEnd-large, logSteadyPerS,
			end+2*time.Second, end+15*time.Second, demandNothing)}
}

// boots are the times from the start of a process until it has caught up, by SIGTERM or SIGKILL before it.
func boots(s Sample) (all []float64) {
	for _, k := range s.Summary.Kills {
		if k.CaughtUpMs != nil {
			all = append(all, *k.CaughtUpMs/1e3)
		}
	}
	return all
}

// lengthText says how long the log of a sample was.
func lengthText(samples []Sample) string {
	for _, s := range samples {
		for _, r := range s.Summary.Replicas {
			if r.DataBytes != nil {
				return fmt.Sprintf("a log of %.1f GiB, at most a third of the free space; its page cache is not emptied", float64(*r.DataBytes)/(1<<30))
			}
		}
	}
	return ""
}

// largeToEmpty is the median latency of a window with the whole log to that of a window with an empty one.
func largeToEmpty(s Sample) []float64 {
	if s.LogBytes == 0 || s.LoadStart == 0 {
		return nil
	}
	fill, _, large, end := logTimes(s.LogBytes)
	return ratio(s.medianIn(large, end), s.medianIn(0, fill))
}

// medianIn is the median of the last window that lies whole within a stretch of the load, ns; 0 without one. Medians of several have no mean.
func (s Sample) medianIn(from, to time.Duration) (last float64) {
	for _, w := range s.Windows {
		begin, end := time.Duration(w.FromNs)-s.LoadStart, time.Duration(w.ToNs)-s.LoadStart
		if begin >= from && end <= to && len(w.QuantileNs) > 0 && w.QuantileNs[0] != nil {
			last = float64(*w.QuantileNs[0])
		}
	}
	return last
}

// WindowQuantiles are those of Sample.Windows.
var WindowQuantiles = []float64{0.5, 0.99}
