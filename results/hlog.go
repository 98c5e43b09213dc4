package results

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// latency.hlog is an HdrHistogram V2 interval log that any reader of the format takes:
//
//	#[Histogram log format version 1.3]
//	#[BaseTime: 1764437708 (seconds since epoch)]          run start, cut to the whole second the format can hold
//	#[Exact: Tag=due_to_ack.steady count=300 min_ns=… max_ns=… overflow=0 negative=0 lost=0]
//	Tag=due_to_ack.steady,17.000000,1.000000,2.345,HISTFAAA…
//
// An interval is one second of due time since run start and one phase; values are ns (so the max column is ms). The Exact comment before
// each line keeps what the format cannot: the exact extremes and the samples that are in no bucket.

const intervalNs = int64(time.Second)

// Interval is one line of latency.hlog.
type Interval struct {
	FromNs, ToNs int64 // since run start
	Kind         LatencyKind
	Phase        Phase
	Histogram    *Histogram
}

func (i Interval) tag() string { return string(i.Kind) + "." + string(i.Phase) }

// HlogWriter writes intervals one by one.
type HlogWriter struct {
	out    io.Writer
	log    *hdrhistogram.HistogramLogWriter
	baseMs int64
}

// NewHlogWriter writes the head. runStart is the wall time of t_ns 0.
func NewHlogWriter(out io.Writer, runStart time.Time) (*HlogWriter, error) {
	w := &HlogWriter{out: out, log: hdrhistogram.NewHistogramLogWriter(out), baseMs: runStart.Unix() * 1000}
	w.log.SetBaseTime(w.baseMs)
	for _, step := range []func() error{
		w.log.OutputLogFormatVersion,
		func() error { return w.log.OutputComment("[latencies in ns, by second and phase of the due time]") },
		func() error { return w.log.OutputBaseTime(w.baseMs) },
		func() error { return w.log.OutputStartTime(w.baseMs) },
		w.log.OutputLegend,
	} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("write interval log: %w", err)
		}
	}
	return w, nil
}

// Write appends one interval; its bounds are cut to whole ms, the format's unit.
func (w *HlogWriter) Write(i Interval) error {
	tag := i.tag()
	if strings.ContainsAny(tag, ", \r\n") { // the library's own check lets a comma at the end through
		return fmt.Errorf("write interval log: tag %q holds a separator", tag)
	}
	h := i.Histogram
	exact := fmt.Sprintf("#[Exact: Tag=%s count=%d min_ns=%d max_ns=%d overflow=%d negative=%d lost=%d]\n",
		tag, h.Count(), h.minNs, h.maxNs, h.overflow, h.negative, h.lost)
	if _, err := io.WriteString(w.out, exact); err != nil {
		return fmt.Errorf("write interval log: %w", err)
	}
	h.hdr.SetTag(tag)
	h.hdr.SetStartTimeMs(w.baseMs + i.FromNs/int64(time.Millisecond))
	h.hdr.SetEndTimeMs(w.baseMs + i.ToNs/int64(time.Millisecond))
	if err := w.log.OutputIntervalHistogram(h.hdr); err != nil {
		return fmt.Errorf("write interval log: %w", err)
	}
	return nil
}

// WriteLatencies writes all samples (of all producers, in any order; they are sorted in place) and what consumers read as an interval log
// and returns the histograms per phase, which equal the merged intervals. Phases are known only after the run, hence samples and not histograms come in:
// 24 bytes a batch.
func WriteLatencies(out io.Writer, runStart time.Time, samples []Sample, phaseOf func(dueNs int64) Phase, reads ...Read) (*LatencySet, error) {
	buffered := bufio.NewWriter(out)
	w, err := NewHlogWriter(buffered, runStart)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(samples, func(a, b Sample) int { return cmp.Compare(a.DueNs, b.DueNs) })
	slices.SortFunc(reads, func(a, b Read) int { return cmp.Compare(a.DueNs, b.DueNs) })
	total, second := NewLatencySet(), NewLatencySet()
	for len(samples)+len(reads) > 0 {
		first := int64(math.MaxInt64)
		if len(samples) > 0 {
			first = samples[0].DueNs
		}
		if len(reads) > 0 {
			first = min(first, reads[0].DueNs)
		}
		begin := floorSecond(first)
		for ; len(samples) > 0 && samples[0].DueNs < begin+intervalNs; samples = samples[1:] {
			second.Record(phaseOf(samples[0].DueNs), samples[0])
		}
		for ; len(reads) > 0 && reads[0].DueNs < begin+intervalNs; reads = reads[1:] {
			second.RecordRead(phaseOf(reads[0].DueNs), reads[0])
		}
		if err := w.writeSecond(begin, second); err != nil {
			return nil, err
		}
		total.Merge(second)
		second.reset()
	}
	if err := buffered.Flush(); err != nil {
		return nil, fmt.Errorf("write interval log: %w", err)
	}
	return total, nil
}

// floorSecond is right for negative times too: a due time before the run's start is a caller's error that shall stay visible.
func floorSecond(tNs int64) int64 {
	r := tNs % intervalNs
	if r < 0 {
		r += intervalNs
	}
	return tNs - r
}

func (w *HlogWriter) writeSecond(beginNs int64, set *LatencySet) error {
	for _, key := range set.keys() {
		h := set.histograms[key]
		if h.Count() == 0 && h.negative == 0 && h.lost == 0 {
			continue
		}
		if err := w.Write(Interval{beginNs, beginNs + intervalNs, key.kind, key.phase, h}); err != nil {
			return err
		}
	}
	return nil
}

// WriteLatencies writes latency.hlog atomically.
func (f Folder) WriteLatencies(runStart time.Time, samples []Sample, phaseOf func(dueNs int64) Phase, reads ...Read) (*LatencySet, error) {
	var set *LatencySet
	err := WriteFileAtomic(f.Latency(), func(out io.Writer) (err error) {
		set, err = WriteLatencies(out, runStart, samples, phaseOf, reads...)
		return err
	})
	return set, err
}
