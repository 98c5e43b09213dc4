package loadgen

import (
	"slices"
	"sync/atomic"
	"time"
)

// Live is what an observer sees of a running load. Producers write it, each its own part, and any
// goroutine may read it.
type Live struct {
	producers []liveProducer
	reads     liveReads
	start     atomic.Pointer[liveStart] // nil until the first due time is fixed
}

type liveStart struct {
	base  time.Time
	at    time.Time // due times count from here
	table Timetable
	// closed: what was sent is what was due.
	closed bool
}

// liveLatencies is how many of its latest latencies a producer shows: several seconds at the default
// rate; at higher ones it is a sample of the last part of a second.
const liveLatencies = 128

type liveProducer struct {
	sent, acked, unknown, failed, tries atomic.Int64

	lastAckNs atomic.Int64  // since the base; 0: none yet
	count     atomic.Uint64 // latencies written so far
	latencies [liveLatencies]atomic.Int64
	_         [64]byte // keeps the next producer's counters off this cache line
}

// NewLive makes the counters of a run with so many producers (0: the default).
func NewLive(producers int) *Live {
	return &Live{producers: make([]liveProducer, Options{Producers: producers}.WithDefaults().Producers)}
}

// note counts the end of a batch.
func (p *liveProducer) note(r Record) {
	switch r.Outcome {
	case OutcomeOK:
		n := p.count.Load()
		p.latencies[n%liveLatencies].Store(r.DoneNs - r.DueNs)
		p.count.Store(n + 1)
		p.lastAckNs.Store(r.DoneNs)
		p.acked.Add(1)
	case OutcomeFailed:
		p.failed.Add(1)
	default:
		p.unknown.Add(1)
	}
}

// LastAckNs is when the latest acknowledgement of any producer arrived, since the base; 0 if none.
// The harness polls it to see the first one after a kill; exact times are in the ledger.
func (l *Live) LastAckNs() int64 {
	latest := int64(0)
	for i := range l.producers {
		latest = max(latest, l.producers[i].lastAckNs.Load())
	}
	return latest
}

// Progress is one look at a running load, in batches. Due is what the timetable has asked for so far:
// Due - Acked - Unknown - Failed wait or are in flight.
type Progress struct {
	AtNs                            int64 // since the base
	Due, Sent                       int64
	Acked, Unknown, Failed, Tries   int64
	RecentP50Ns, RecentP99Ns, MaxNs *int64 // due to acknowledged, since the last look; nil without samples

	Read                 int64  // by all consumers together
	ReadP50Ns, ReadP99Ns *int64 // due to read, since the last look
}

// Observer takes looks at a Live and remembers the last one. It belongs to one goroutine.
type Observer struct {
	live *Live
	seen []uint64
	read uint64
}

// NewObserver makes an observer.
func (l *Live) NewObserver() *Observer {
	return &Observer{live: l, seen: make([]uint64, len(l.producers))}
}

// Look takes a look. Before the load has started everything is 0. Quantiles here are for the eye:
// they rest on the few latest batches; the histograms of the run come from the ledger.
func (o *Observer) Look() Progress {
	var p Progress
	start := o.live.start.Load()
	if start != nil {
		p.AtNs = int64(time.Since(start.base))
		p.Due = int64(start.table.DueBy(time.Since(start.at)))
	}
	var recent []int64
	for i := range o.live.producers {
		source := &o.live.producers[i]
		p.Sent += source.sent.Load()
		p.Acked += source.acked.Load()
		p.Unknown += source.unknown.Load()
		p.Failed += source.failed.Load()
		p.Tries += source.tries.Load()
		count := source.count.Load()
		for n := max(o.seen[i], count-min(count, liveLatencies)); n < count; n++ {
			recent = append(recent, source.latencies[n%liveLatencies].Load())
		}
		o.seen[i] = count
	}
	if start != nil && start.closed {
		p.Due = p.Sent
	}
	p.RecentP50Ns, p.RecentP99Ns, p.MaxNs = threeOf(recent)
	recent, o.read = o.live.reads.since(o.read)
	p.Read = int64(o.read)
	p.ReadP50Ns, p.ReadP99Ns, _ = threeOf(recent)
	return p
}

// threeOf are median, p99 and maximum; nil of nothing.
func threeOf(samples []int64) (p50, p99, highest *int64) {
	if len(samples) == 0 {
		return nil, nil, nil
	}
	slices.Sort(samples)
	at := func(q float64) *int64 { return &samples[int(q*float64(len(samples)-1)+0.5)] }
	return at(0.5), at(0.99), at(1)
}
