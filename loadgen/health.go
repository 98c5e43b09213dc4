package loadgen

import (
	"math"
	"runtime"
	"runtime/metrics"
	"time"

	"golang.org/x/sys/unix"
)

// Health is what the generator's own process cost and suffered during the load. A generator that
// was starved or paused measured itself.
type Health struct {
	WallNs   int64
	CPUNs    int64   // user and system
	CPUShare float64 // of all cores, 0 to 1

	GCPauses int64 // stops of the world for a collection, two or more each

	// SchedLatencyP50Ns and SchedLatencyP99Ns are upper edges of the runtime's buckets; nil if nothing was counted.
	SchedLatencyP50Ns, SchedLatencyP99Ns *int64
}

const (
	metricSched = "/sched/latencies:seconds"
	metricPause = "/sched/pauses/total/gc:seconds"
)

// usage is one reading of the process's counters.
type usage struct {
	at           time.Time
	cpu          time.Duration
	sched, pause buckets
}

// buckets is a runtime histogram at one moment.
type buckets struct {
	edges  []float64 // seconds; one more than counts
	counts []uint64
}

func readUsage() usage {
	u := usage{at: time.Now()}
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err == nil {
		u.cpu = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	samples := []metrics.Sample{{Name: metricSched}, {Name: metricPause}}
	metrics.Read(samples)
	for i, into := range []*buckets{&u.sched, &u.pause} {
		if samples[i].Value.Kind() == metrics.KindFloat64Histogram {
			h := samples[i].Value.Float64Histogram()
			*into = buckets{edges: h.Buckets, counts: append([]uint64(nil), h.Counts...)}
		}
	}
	return u
}

func healthBetween(from, to usage) Health {
	h := Health{WallNs: int64(to.at.Sub(from.at)), CPUNs: int64(to.cpu - from.cpu)}
	if h.WallNs > 0 {
		h.CPUShare = float64(h.CPUNs) / float64(h.WallNs) / float64(runtime.NumCPU())
	}
	sched, pause := to.sched.since(from.sched), to.pause.since(from.pause)
	h.SchedLatencyP50Ns, h.SchedLatencyP99Ns = sched.quantile(0.5), sched.quantile(0.99)
	h.GCPauses = int64(pause.total())
	return h
}

// since is what was counted after an earlier reading.
func (b buckets) since(before buckets) buckets {
	out := buckets{edges: b.edges, counts: append([]uint64(nil), b.counts...)}
	for i := range before.counts {
		if i < len(out.counts) {
			out.counts[i] -= before.counts[i]
		}
	}
	return out
}

func (b buckets) total() (sum uint64) {
	for _, n := range b.counts {
		sum += n
	}
	return sum
}

// quantile is the upper edge of the bucket that holds quantile q, in ns.
func (b buckets) quantile(q float64) *int64 {
	var seen uint64
	total := b.total()
	if total == 0 {
		return nil
	}
	rank := uint64(math.Ceil(q * float64(total)))
	for i, n := range b.counts {
		if seen += n; seen >= rank {
			edge := b.edges[i+1]
			if math.IsInf(edge, 1) {
				edge = b.edges[i]
			}
			ns := int64(edge * 1e9)
			return &ns
		}
	}
	return nil
}
