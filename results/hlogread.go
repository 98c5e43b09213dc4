package results

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// hlogLineBytesMax bounds one encoded histogram: a full one of our range has 150 KB before compression and base64.
const hlogLineBytesMax = 1 << 20

// exactCounts is a parsed Exact comment; it speaks of the interval line after it.
type exactCounts struct {
	tag                      string
	count, minNs, maxNs      int64
	overflow, negative, lost int64
}

// ReadHlog streams an interval log; each interval's histogram belongs to the callback. Lines without a tag of ours are passed over.
// Damage is a *LineError, except that a torn last line ends the log.
func ReadHlog(in io.Reader, each func(Interval) error) error {
	lines := bufio.NewReaderSize(in, hlogLineBytesMax)
	var exact *exactCounts
	for number := 1; ; number++ {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return &LineError{number, ErrLineTooLong}
		case err == io.EOF: // a line without its end is a torn write: what it holds cannot be trusted
			return nil
		case err != nil:
			return fmt.Errorf("read interval log: %w", err)
		}
		line = bytes.TrimRight(line, "\r\n")
		if rest, ok := bytes.CutPrefix(line, []byte("#[Exact: ")); ok {
			if exact, err = parseExact(string(rest)); err != nil {
				return &LineError{number, err}
			}
			continue
		}
		rest, ok := bytes.CutPrefix(line, []byte("Tag="))
		if !ok {
			continue
		}
		interval, ours, err := parseInterval(string(rest), exact)
		if err != nil {
			return &LineError{number, err}
		}
		exact = nil
		if ours {
			if err := each(interval); err != nil {
				return err
			}
		}
	}
}

func parseExact(s string) (*exactCounts, error) {
	var e exactCounts
	_, err := fmt.Sscanf(strings.TrimSuffix(s, "]"), "Tag=%s count=%d min_ns=%d max_ns=%d overflow=%d negative=%d lost=%d",
		&e.tag, &e.count, &e.minNs, &e.maxNs, &e.overflow, &e.negative, &e.lost)
	if err != nil {
		return nil, fmt.Errorf("exact counts: %w", err)
	}
	return &e, nil
}

// parseInterval reads "<tag>,<start s>,<length s>,<max>,<payload>".
func parseInterval(s string, exact *exactCounts) (i Interval, ours bool, err error) {
	f := strings.SplitN(s, ",", 5)
	if len(f) != 5 {
		return i, false, fmt.Errorf("interval has %d fields, want 5", len(f))
	}
	kind, phase, ok := strings.Cut(f[0], ".")
	if !ok {
		return i, false, nil
	}
	start, err := secondsToNs(f[1])
	if err != nil {
		return i, false, err
	}
	length, err := secondsToNs(f[2])
	if err != nil {
		return i, false, err
	}
	hdr, err := hdrhistogram.Decode([]byte(f[4]))
	if err != nil {
		return i, false, fmt.Errorf("decode histogram: %w", err)
	}
	i = Interval{start, start + length, LatencyKind(kind), Phase(phase), adopt(hdr)}
	if exact != nil {
		err = i.restore(*exact)
	}
	return i, true, err
}

func secondsToNs(s string) (int64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("interval time: %w", err)
	}
	if math.Abs(v) > 1e9 || math.IsNaN(v) {
		return 0, fmt.Errorf("interval time %q is out of range", s)
	}
	return int64(math.Round(v * float64(time.Second))), nil
}

// adopt makes a decoded histogram one of ours; extremes are a bucket's edges until restore.
func adopt(hdr *hdrhistogram.Histogram) *Histogram {
	h := NewHistogram()
	if hdr.TotalCount() == 0 {
		return h
	}
	h.lost = h.hdr.Merge(hdr)
	h.minNs, h.maxNs = hdr.Min(), hdr.Max()
	return h
}

// restore puts back what the format does not hold, and refuses a payload that does not match its comment.
func (i *Interval) restore(e exactCounts) error {
	h := i.Histogram
	h.minNs, h.maxNs, h.overflow, h.negative = e.minNs, e.maxNs, e.overflow, e.negative
	h.lost += e.lost
	if e.tag != i.tag() || e.count != h.Count() {
		return fmt.Errorf("interval %s holds %d samples, its exact counts are of %s with %d", i.tag(), h.Count(), e.tag, e.count)
	}
	return nil
}

// ReadLatencySet merges all intervals of a log per kind and phase.
func ReadLatencySet(in io.Reader) (*LatencySet, error) {
	set := NewLatencySet()
	err := ReadHlog(in, func(i Interval) error {
		set.of(i.Kind, i.Phase).Merge(i.Histogram)
		return nil
	})
	return set, err
}

// ReadLatencySet merges latency.hlog per kind and phase.
func (f Folder) ReadLatencySet() (*LatencySet, error) {
	file, err := OpenRegular(f.Latency())
	if err != nil {
		return nil, err
	}
	defer file.Close()
	set, err := ReadLatencySet(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Latency(), err)
	}
	return set, nil
}

// Window is a stretch of the run with the latencies of all batches due in it.
type Window struct {
	FromNs, ToNs int64
	Count        int64
	MaxNs        *int64
	// QuantileNs holds one value per quantile asked for; nil where too few samples carry it.
	QuantileNs []*int64
}

// ReadWindows merges the intervals of one kind into windows of width seconds counted from run start; windows without samples are absent.
func ReadWindows(in io.Reader, kind LatencyKind, width time.Duration, quantiles ...float64) ([]Window, error) {
	widthNs := max(int64(width.Round(time.Second)), intervalNs)
	var windows []Window
	sum := NewHistogram()
	var at int64
	flush := func() {
		if sum.Count() == 0 {
			return
		}
		w := Window{FromNs: at, ToNs: at + widthNs, Count: sum.Count(), MaxNs: sum.MaxNs()}
		for _, q := range quantiles {
			w.QuantileNs = append(w.QuantileNs, sum.QuantileNs(q))
		}
		windows = append(windows, w)
		sum.Reset()
	}
	err := ReadHlog(in, func(i Interval) error {
		if i.Kind != kind {
			return nil
		}
		if from := i.FromNs - i.FromNs%widthNs; from != at {
			flush()
			at = from
		}
		sum.Merge(i.Histogram)
		return nil
	})
	flush()
	return windows, err
}

// ReadWindows reads windows of latency.hlog.
func (f Folder) ReadWindows(kind LatencyKind, width time.Duration, quantiles ...float64) ([]Window, error) {
	file, err := OpenRegular(f.Latency())
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return ReadWindows(file, kind, width, quantiles...)
}
