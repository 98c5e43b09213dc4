package results

import (
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range of every latency histogram. A wider one costs memory in each producer; what falls outside is counted, not clamped.
const (
	latencyLowestNs  = int64(time.Microsecond)
	latencyHighestNs = int64(10 * time.Minute)
	latencyDigits    = 3
)

// quantileSamplesMin is how many samples must lie beyond a quantile before it is shown.
const quantileSamplesMin = 10

// Histogram holds latencies in ns. It is not safe for concurrent use: one per producer, merged afterwards; the library loses counts
// when shared.
//
// Invariant: every Record is counted in exactly one of Count's in-range part, overflow, negative.
type Histogram struct {
	hdr *hdrhistogram.Histogram
	// maxNs is exact, the library's is a bucket's edge; -1 while empty.
	maxNs    int64
	minNs    int64
	overflow int64 // above the range: part of Count, beyond every quantile below it
	negative int64 // clock errors: not part of Count
	lost     int64 // samples a merge or a refused record could not place
}

// NewHistogram returns an empty one (180 KB).
func NewHistogram() *Histogram {
	return &Histogram{hdr: hdrhistogram.New(latencyLowestNs, latencyHighestNs, latencyDigits), maxNs: -1, minNs: math.MaxInt64}
}

// Record counts one latency. Negative ones are errors of a clock and never become samples; see Health.
func (h *Histogram) Record(ns int64) {
	if ns < 0 {
		h.negative++
		return
	}
	h.maxNs = max(h.maxNs, ns)
	h.minNs = min(h.minNs, ns)
	if ns > latencyHighestNs { // the library takes values up to the end of the last bucket; the range is ours to keep
		h.overflow++
		return
	}
	if err := h.hdr.RecordValue(ns); err != nil {
		h.lost++
	}
}

// Merge adds from, which stays as it is. Percentiles are never averaged: this is the only way to join two.
func (h *Histogram) Merge(from *Histogram) {
	h.lost += h.hdr.Merge(from.hdr) + from.lost
	h.overflow += from.overflow
	h.negative += from.negative
	h.maxNs = max(h.maxNs, from.maxNs)
	h.minNs = min(h.minNs, from.minNs)
}

// Reset empties h and keeps its memory.
func (h *Histogram) Reset() {
	h.hdr.Reset()
	h.maxNs, h.minNs, h.overflow, h.negative, h.lost = -1, math.MaxInt64, 0, 0, 0
}

// Count is the number of samples, those above the range included.
func (h *Histogram) Count() int64 { return h.hdr.TotalCount() + h.overflow }

// MaxNs is the exact maximum, nil if empty.
func (h *Histogram) MaxNs() *int64 {
	if h.maxNs < 0 {
		return nil
	}
	return new(h.maxNs)
}

// MinNs is the exact minimum, nil if empty.
func (h *Histogram) MinNs() *int64 {
	if h.maxNs < 0 {
		return nil
	}
	return new(h.minNs)
}

// Enough says whether count samples carry quantile q: N(1-q) >= 10.
func Enough(count int64, q float64) bool {
	// (1-q) of the nearest float to 0.99 is a little above or below 0.01: without the slack 1,000 samples would not carry p99.
	return float64(count)*(1-q) >= quantileSamplesMin-1e-6
}

// QuantileNs returns the value at quantile q in (0, 1), nil if too few samples carry it or it lies above the range.
func (h *Histogram) QuantileNs(q float64) *int64 {
	if !Enough(h.Count(), q) {
		return nil
	}
	return h.valueAt(q)
}

// valueAt ignores how many samples there are; nil if the histogram is empty or the rank falls among those above the range.
func (h *Histogram) valueAt(q float64) *int64 {
	inRange := h.hdr.TotalCount()
	rank := int64(math.Ceil(q*float64(h.Count()) - 1e-6))
	if inRange == 0 || rank > inRange {
		return nil
	}
	// The library knows nothing of the overflow: ask for the quantile that has this rank among the samples it holds. It rounds to the
	// nearest rank, so the division here costs nothing.
	v := h.hdr.ValueAtQuantile(100 * float64(max(rank, 1)) / float64(inRange))
	return new(min(v, h.maxNs)) // a bucket's upper edge may lie above the largest sample
}

// QuantileText is QuantileNs for people: "–" for too few samples, "> 10m0s" above the range.
func (h *Histogram) QuantileText(q float64) string {
	if !Enough(h.Count(), q) {
		return "–"
	}
	v := h.valueAt(q)
	if v == nil {
		return "> " + time.Duration(latencyHighestNs).String()
	}
	return time.Duration(*v).String()
}

// Quantiles is one phase of latency_ns in summary.json; null where N(1-q) < 10 or the value lies above the range.
type Quantiles struct {
	P50   *int64 `json:"p50"`
	P90   *int64 `json:"p90"`
	P99   *int64 `json:"p99"`
	P999  *int64 `json:"p999"`
	P9999 *int64 `json:"p9999"`
	Max   *int64 `json:"max"` // exact; null only if count is 0
	Count int64  `json:"count"`
}

// Quantiles returns what summary.json shows of h.
func (h *Histogram) Quantiles() Quantiles {
	return Quantiles{
		P50: h.QuantileNs(0.5), P90: h.QuantileNs(0.9), P99: h.QuantileNs(0.99), P999: h.QuantileNs(0.999), P9999: h.QuantileNs(0.9999),
		Max: h.MaxNs(), Count: h.Count(),
	}
}

// HistogramHealth counts what makes latencies unbelievable; a run with any of them is invalid.
type HistogramHealth struct {
	OverflowCount  int64 `json:"overflow_count"`
	NegativeCount  int64 `json:"negative_count"`
	MergeLostCount int64 `json:"merge_lost_count"`
}

// Health returns h's error counts.
func (h *Histogram) Health() HistogramHealth { return HistogramHealth{h.overflow, h.negative, h.lost} }

// Err is nil for a healthy histogram and a sentence otherwise.
func (c HistogramHealth) Err() error {
	if c == (HistogramHealth{}) {
		return nil
	}
	return fmt.Errorf("latency histogram: %d samples above %v, %d negative, %d lost in merging",
		c.OverflowCount, time.Duration(latencyHighestNs), c.NegativeCount, c.MergeLostCount)
}
