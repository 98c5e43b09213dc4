package scaling

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"rejoin/cmd/bench/goals"
	"rejoin/results/compare"
)

// A log grows in one run, at a rate that is held: how long it is follows from what was acknowledged, and what its length costs shows in the latency.
const (
	growthWarmup  = 2 * time.Second
	growthFrame   = 26_928 // bytes of a batch of 100 messages of 256 bytes
	growthBatch   = 100    // messages
	growthPayload = 256
	growthReadPer = 1 << 30 // bytes a second of one reading, surely
	growthReads   = 3       // of each replica
)

// growth is a log on so many nodes that grows to that length.
func growth(name string, nodes int, bytes int64, messagesPerS int) Dimension {
	bytesPerS := int64(messagesPerS / growthBatch * growthFrame)
	load := time.Duration(bytes/bytesPerS+1)*time.Second + growthWarmup
	reading := time.Duration(int64(nodes)*growthReads*bytes/growthReadPer) * time.Second
	about := fmt.Sprintf("a log of %d GiB on %s", bytes>>30, nodesText(nodes))
	return Dimension{Name: name, Title: fmt.Sprintf("Length of the log, %s", nodesText(nodes)),
		XLabel: fmt.Sprintf("GiB of log, %s, %d messages a second held all the time (log scale)", nodesText(nodes), messagesPerS),
		Growth: &goals.Series{Name: name, About: "scaling, " + about, Pairs: 1, Windows: true, LogBytes: bytes, Took: load + reading + pointTook, Scenario: fmt.Sprintf(`nodes: %d
batch_messages: %d
payload_bytes: %d
messages_per_s: %d
warmup: %v
duration: %v
quiet_max: 120s
demands: {late_p99_max: 10s, canary_change_max: 100}
`, nodes, growthBatch, growthPayload, messagesPerS, growthWarmup, load)}}
}

func nodesText(n int) string {
	if n == 1 {
		return "one node"
	}
	return fmt.Sprintf("%d nodes", n)
}

// grown are the windows of a run that lie within its measured load, as points: the length of the log at the end of each, and what it had then.
func grown(s goals.Sample) (points []Measured) {
	from, to := s.LoadStart+growthWarmup, s.LoadStart+growthWarmup+time.Duration(s.Summary.MeasuredNs)
	acked := int64(0)
	for _, w := range s.Windows {
		acked += w.Count
		if time.Duration(w.FromNs) < from || time.Duration(w.ToNs) > to || len(w.QuantileNs) != len(goals.WindowQuantiles) {
			continue
		}
		batchesPerS := float64(w.Count) / time.Duration(w.ToNs-w.FromNs).Seconds()
		m := Measured{X: float64(acked*s.Summary.FrameBytes) / (1 << 30), N: 1, BatchesPerS: &batchesPerS, MessagesPerS: new(batchesPerS * growthBatch),
			BytesPerS: new(batchesPerS * float64(s.Summary.FrameBytes))}
		m.P50Ns, m.P99Ns = nsOf(w.QuantileNs[0]), nsOf(w.QuantileNs[1])
		points = append(points, m)
	}
	return points
}

func nsOf(v *int64) *float64 {
	if v == nil {
		return nil
	}
	return new(float64(*v))
}

const (
	// growthEnds: so many parts has a growth, of which the last is held against the first.
	growthEnds = 3
	// leapAbove is how many times the median a window's p99 has to be to be named.
	leapAbove = 2
)

// held says what the length of a log did to the latency at a rate that was held.
func held(all []Measured) string {
	part := max(len(all)/growthEnds, 1)
	first, last := all[:part], all[len(all)-part:]
	says := fmt.Sprintf("From the first third to the last, p50 by %s and p99 by %s.", factor(first, last, p50), factor(first, last, p99))
	usual := medianOf(all, p99)
	var leaps []Measured
	for _, m := range all {
		if usual != nil && m.P99Ns != nil && *m.P99Ns > leapAbove**usual {
			leaps = append(leaps, m)
		}
	}
	if len(leaps) == 0 {
		return says + fmt.Sprintf(" No 10 s had more than %d times the usual p99: it does not bend.", leapAbove)
	}
	highest := slices.MaxFunc(leaps, func(a, b Measured) int { return cmp.Compare(*a.P99Ns, *b.P99Ns) })
	return says + fmt.Sprintf(" %d of %d windows of 10 s had more than %d times the usual p99, the highest %.1f ms at %.1f GiB.", len(leaps), len(all), leapAbove, *highest.P99Ns/1e6, highest.X)
}

func p50(m Measured) *float64 { return m.P50Ns }
func p99(m Measured) *float64 { return m.P99Ns }

// factor is by how much a figure changed from some points to others.
func factor(from, to []Measured, of func(Measured) *float64) string {
	a, b := medianOf(from, of), medianOf(to, of)
	if a == nil || b == nil || *a <= 0 {
		return "no data"
	}
	return fmt.Sprintf("×%.2f", *b / *a)
}

func medianOf(all []Measured, of func(Measured) *float64) *float64 {
	var values []float64
	for _, m := range all {
		if v := of(m); v != nil {
			values = append(values, *v)
		}
	}
	return compare.EstimateOf(values).Median
}
