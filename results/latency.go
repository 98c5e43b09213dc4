package results

import (
	"cmp"
	"slices"
)

// LatencyKind is one of the three stretches of a batch's life; the first two add up to the third.
type LatencyKind string

const (
	DueToSent LatencyKind = "due_to_sent" // the generator's lateness
	SentToAck LatencyKind = "sent_to_ack" // service time
	DueToAck  LatencyKind = "due_to_ack"  // response time, what a user waits
	DueToRead LatencyKind = "due_to_read" // end to end: what a consumer waits
)

// LatencyKinds of an acknowledged batch, in the order of its life.
func LatencyKinds() []LatencyKind { return []LatencyKind{DueToSent, SentToAck, DueToAck} }

// Sample is one acknowledged batch, ns since run start. A batch is one sample, however many messages it holds.
type Sample struct {
	DueNs  int64
	SentNs int64 // first try
	AckNs  int64
}

// Of is the length of one stretch; negative only if a clock was wrong.
func (s Sample) Of(k LatencyKind) int64 {
	switch k {
	case DueToSent:
		return s.SentNs - s.DueNs
	case SentToAck:
		return s.AckNs - s.SentNs
	case DueToAck:
		return s.AckNs - s.DueNs
	}
	panic("results: latency kind " + string(k) + " is none")
}

// Read is one batch as a consumer met it, ns since run start.
type Read struct {
	DueNs  int64
	ReadNs int64
}

type latencyKey struct {
	kind  LatencyKind
	phase Phase
}

// LatencySet is one histogram per kind and phase, made when first needed. Not safe for concurrent use: one per producer, then Merge.
type LatencySet struct {
	histograms map[latencyKey]*Histogram
}

// NewLatencySet returns an empty set.
func NewLatencySet() *LatencySet { return &LatencySet{histograms: map[latencyKey]*Histogram{}} }

// Record counts a batch in the three histograms of its phase.
func (s *LatencySet) Record(p Phase, sample Sample) {
	for _, k := range LatencyKinds() {
		s.of(k, p).Record(sample.Of(k))
	}
}

// RecordRead counts what a consumer read.
func (s *LatencySet) RecordRead(p Phase, r Read) { s.of(DueToRead, p).Record(r.ReadNs - r.DueNs) }

func (s *LatencySet) of(k LatencyKind, p Phase) *Histogram {
	key := latencyKey{k, p}
	h := s.histograms[key]
	if h == nil {
		h = NewHistogram()
		s.histograms[key] = h
	}
	return h
}

// Get returns the histogram of one kind and phase, nil if it has none.
func (s *LatencySet) Get(k LatencyKind, p Phase) *Histogram { return s.histograms[latencyKey{k, p}] }

// Overall merges all phases of a kind but the warm-up.
func (s *LatencySet) Overall(k LatencyKind) *Histogram {
	all := NewHistogram()
	for key, h := range s.histograms {
		if key.kind == k && key.phase != Warmup {
			all.Merge(h)
		}
	}
	return all
}

// Merge adds from, which stays as it is.
func (s *LatencySet) Merge(from *LatencySet) {
	for key, h := range from.histograms {
		s.of(key.kind, key.phase).Merge(h)
	}
}

// Quantiles returns what summary.json shows of a kind: each phase that has samples, and Overall.
func (s *LatencySet) Quantiles(k LatencyKind) map[string]Quantiles {
	out := map[string]Quantiles{Overall: s.Overall(k).Quantiles()}
	for key, h := range s.histograms {
		if key.kind == k {
			out[string(key.phase)] = h.Quantiles()
		}
	}
	return out
}

// Health sums the errors of all histograms, the warm-up's included.
func (s *LatencySet) Health() HistogramHealth {
	var sum HistogramHealth
	for _, h := range s.histograms {
		c := h.Health()
		sum.OverflowCount += c.OverflowCount
		sum.NegativeCount += c.NegativeCount
		sum.MergeLostCount += c.MergeLostCount
	}
	return sum
}

// keys returns the keys in a fixed order.
func (s *LatencySet) keys() []latencyKey {
	var keys []latencyKey
	for key := range s.histograms {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b latencyKey) int {
		return cmp.Or(cmp.Compare(a.phase, b.phase), cmp.Compare(a.kind, b.kind))
	})
	return keys
}

// reset empties all histograms and keeps their memory.
func (s *LatencySet) reset() {
	for _, h := range s.histograms {
		h.Reset()
	}
}
