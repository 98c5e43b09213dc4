package scaling

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"rejoin/cmd/bench/goals"
	"rejoin/results/compare"
)

// A log grows in one run, at a rate that is held: how long it is follows from what was acknowledged, and what its length costs shows in the latency.
const (
	growthRest    = 10 * time.Second // what a run before it left to the disk is done by then
	growthWarmup  = 2 * time.Second
	growthFrame   = 26_928 // bytes of a batch of 100 messages of 256 bytes
	growthBatch   = 100    // messages
	growthPayload = 256
	growthReadPer = 1 << 30 // bytes a second of one reading, surely
	growthReads   = 3       // of each replica
)

// BoundedGiB is what the log beside one that grows keeps.
const BoundedGiB = 1

// growth is a log on so many nodes that grows to that length.
func growth(name string, nodes int, bytes int64, messagesPerS int) Dimension {
	bytesPerS := int64(messagesPerS / growthBatch * growthFrame)
	load := time.Duration(bytes/bytesPerS+1)*time.Second + growthWarmup
	series := func(name string, kept int64, settings string) goals.Series {
		reading := time.Duration(int64(nodes)*growthReads*kept/growthReadPer) * time.Second
		return goals.Series{Name: name, About: fmt.Sprintf("scaling, %d GiB into a log on %s, of which it keeps %d", bytes>>30, nodesText(nodes), kept>>30),
			Pairs: 1, Windows: true, LogBytes: kept, Took: growthRest + load + reading + pointTook, Scenario: fmt.Sprintf(`nodes: %d
batch_messages: %d
payload_bytes: %d
messages_per_s: %d
rest: %v
warmup: %v
duration: %v
quiet_max: 120s
demands: {late_p99_max: 10s, canary_change_max: 100}
%s`, nodes, growthBatch, growthPayload, messagesPerS, growthRest, growthWarmup, load, settings)}
	}
	return Dimension{Name: name, Title: fmt.Sprintf("Length of the log, %s", nodesText(nodes)),
		XLabel: fmt.Sprintf("GiB written, %s, %s messages a second held all the time (log scale)", nodesText(nodes), thousands(messagesPerS)),
		Growth: &Growth{Whole: series(name, bytes, ""), Bounded: series(name+"-bounded", BoundedGiB<<30, fmt.Sprintf("cluster: {retention_bytes: %d}\n", BoundedGiB<<30))}}
}

func thousands(n int) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }

func nodesText(n int) string {
	if n == 1 {
		return "one node"
	}
	return fmt.Sprintf("%d nodes", n)
}

// grown are the windows of a run that lie within its measured load, as points: what had been written at the end of each, and its latency.
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

// nearest is the point at which about so much had been written; an empty one without any.
func nearest(all []Measured, x float64) Measured {
	if len(all) == 0 {
		return Measured{}
	}
	return slices.MinFunc(all, func(a, b Measured) int { return cmp.Compare(math.Abs(a.X-x), math.Abs(b.X-x)) })
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
	// growthSide is how many windows have to lie on each side of a bend.
	growthSide = 2
	// bendAbove is how many times the p50 before it the p50 from a window on has to be.
	bendAbove = 1.5
	// leapAbove is how many times the median a window's p99 has to be to be named.
	leapAbove = 2
)

// held says what the length of a log did to the latency at a rate that was held, and what came of the same load where the log did not grow.
func held(all, bounded []Measured) string {
	says := heldText(all)
	if len(bounded) > 1 {
		says += fmt.Sprintf(" The same load into a log that keeps %d GiB: %s", BoundedGiB, heldText(bounded))
	}
	return says
}

func heldText(all []Measured) string {
	return growthBend(all) + " " + changeText(all) + rangeText(all) + leapText(all)
}

// growthBend tells from where on p50 was most above what it had been.
func growthBend(all []Measured) string {
	at, most := 0, bendAbove
	for i := growthSide; i+growthSide <= len(all); i++ {
		before, after := medianOf(all[:i], p50), medianOf(all[i:], p50)
		if before != nil && after != nil && *before > 0 && *after / *before >= most {
			at, most = i, *after / *before
		}
	}
	if at == 0 {
		return "It does not bend."
	}
	return fmt.Sprintf("It bends at %.1f GiB: p50 was %.2f ms before and %.2f ms from there on.", all[at].X, *medianOf(all[:at], p50)/1e6, *medianOf(all[at:], p50)/1e6)
}

// changeText is by how much latency changed from the first part to the last.
func changeText(all []Measured) string {
	part := max(len(all)/growthEnds, 1)
	first, last := all[:part], all[len(all)-part:]
	return fmt.Sprintf("From the first third to the last p50 by %s and p99 by %s.", factor(first, last, p50), factor(first, last, p99))
}

// leapText counts the windows whose p99 stands out; empty without any.
func leapText(all []Measured) string {
	usual := medianOf(all, p99)
	var leaps []Measured
	for _, m := range all {
		if usual != nil && m.P99Ns != nil && *m.P99Ns > leapAbove**usual {
			leaps = append(leaps, m)
		}
	}
	if len(leaps) == 0 {
		return ""
	}
	highest := slices.MaxFunc(leaps, func(a, b Measured) int { return cmp.Compare(*a.P99Ns, *b.P99Ns) })
	return fmt.Sprintf(" %d of %d windows of 10 s had more than %d times the usual p99, the highest %.1f ms at %.1f GiB.", len(leaps), len(all), leapAbove, *highest.P99Ns/1e6, highest.X)
}

// rangeText tells where p50 was least and most; empty without any.
func rangeText(all []Measured) string {
	known := slices.DeleteFunc(slices.Clone(all), func(m Measured) bool { return m.P50Ns == nil })
	if len(known) == 0 {
		return ""
	}
	byP50 := func(a, b Measured) int { return cmp.Compare(*a.P50Ns, *b.P50Ns) }
	least, most := slices.MinFunc(known, byP50), slices.MaxFunc(known, byP50)
	return fmt.Sprintf(" p50 was least, %.2f ms, at %.1f GiB, and most, %.2f ms, at %.1f GiB.", *least.P50Ns/1e6, least.X, *most.P50Ns/1e6, most.X)
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
