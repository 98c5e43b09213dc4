package results

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Trap 7: what is out of range is counted and kept as the exact maximum. TestSummaryCheck and TestOutOfRangeIsInvalid make it the verdict's.
func TestHistogramTraps(t *testing.T) {
	h := NewHistogram()
	const hour = int64(time.Hour)
	for _, ns := range []int64{0, 1, -1, math.MinInt64, 2 * hour, math.MaxInt64, 1_000_001, latencyHighestNs, latencyHighestNs + 1} {
		h.Record(ns)
	}
	if got, want := h.Count(), int64(7); got != want {
		t.Errorf("count %d, want %d: zero and above the range are samples, negative ones are not", got, want)
	}
	if got, want := h.Health(), (HistogramHealth{OverflowCount: 3, NegativeCount: 2}); got != want {
		t.Errorf("health %+v, want %+v", got, want)
	}
	if *h.MaxNs() != math.MaxInt64 || *h.MinNs() != 0 {
		t.Errorf("extremes %d..%d", *h.MinNs(), *h.MaxNs())
	}
	if h.Health().Err() == nil || NewHistogram().Health().Err() != nil {
		t.Error("only the sick histogram has an error")
	}
}

// Trap 7: two hours in a range of ten minutes: one overflow, the maximum exact, the run invalid.
func TestOutOfRangeIsInvalid(t *testing.T) {
	h := NewHistogram()
	h.Record(int64(2 * time.Hour))
	s := Summary{OfferedBatches: 1, AckedBatches: 1, Histogram: h.Health()}
	var j Judge
	j.Verified()
	s.Check(&j)
	if v, code := j.Verdict(); h.Health().OverflowCount != 1 || *h.MaxNs() != int64(2*time.Hour) || v != Invalid || code != ExitInvalid {
		t.Errorf("%+v, max %d ns, verdict %s: %v", h.Health(), *h.MaxNs(), v, j.Reasons())
	}
}

// Trap 20: the maximum is the sample, not a bucket's edge.
func TestExactMax(t *testing.T) {
	h := NewHistogram()
	h.Record(1_000_001)
	if got := *h.MaxNs(); got != 1_000_001 {
		t.Errorf("max %d: a bucket's edge", got)
	}
	if NewHistogram().MaxNs() != nil {
		t.Error("an empty histogram has no max")
	}
}

// Trap 14: a quantile is shown only where ten samples lie beyond it: with 1,000 there is a p99 and no p99.99.
func TestQuantileNeedsSamples(t *testing.T) {
	for _, c := range []struct {
		n    int64
		q    float64
		want bool
	}{
		{0, 0.5, false}, {19, 0.5, false}, {20, 0.5, true}, {99, 0.9, false}, {100, 0.9, true}, {999, 0.99, false}, {1000, 0.99, true},
		{9999, 0.999, false}, {10_000, 0.999, true}, {99_999, 0.9999, false}, {100_000, 0.9999, true},
	} {
		h := NewHistogram()
		for range c.n {
			h.Record(5_000_000)
		}
		if got := h.QuantileNs(c.q) != nil; got != c.want {
			t.Errorf("p%v of %d samples shown: %v, want %v", 100*c.q, c.n, got, c.want)
		}
	}
	h := NewHistogram()
	for range 1000 {
		h.Record(5_000_000)
	}
	if got := h.QuantileText(0.9999); got != "–" {
		t.Errorf("p99.99 of 1,000 samples prints %q", got)
	}
}

func TestQuantileAboveTheRange(t *testing.T) {
	h := NewHistogram()
	for range 1900 {
		h.Record(1_000_000)
	}
	for range 100 {
		h.Record(int64(time.Hour))
	}
	if got := h.QuantileText(0.99); got != "> 10m0s" || h.QuantileNs(0.99) != nil {
		t.Errorf("p99 = %q, want beyond the range", got)
	}
	if got := h.QuantileNs(0.9); got == nil || *got > 1_001_000 {
		t.Errorf("p90 = %v, want 1 ms: the overflow must not move the lower ranks", got)
	}
}

// exactQuantile is the nearest-rank definition over raw samples.
func exactQuantile(sorted []int64, q float64) int64 {
	return sorted[int(math.Ceil(q*float64(len(sorted))-1e-6))-1]
}

func TestKnownQuantiles(t *testing.T) {
	h := NewHistogram()
	var raw []int64
	for us := int64(1); us <= 100_000; us++ {
		h.Record(us * 1000)
		raw = append(raw, us*1000)
	}
	for _, q := range []float64{0.5, 0.9, 0.95, 0.99, 0.999, 0.9999} {
		checkWithin(t, h.QuantileNs(q), exactQuantile(raw, q))
	}
}

func checkWithin(t *testing.T, got *int64, want int64) {
	t.Helper()
	if got == nil {
		t.Errorf("no value, want %d", want)
		return
	}
	if diff := math.Abs(float64(*got - want)); diff > max(float64(want)/1000, 512) {
		t.Errorf("got %d, want %d within one bucket", *got, want)
	}
}

// TestMergedNotAveraged is case D6: two producers with disjoint latencies.
// Trap 6, D6: the p99 of two actors is that of all their samples, not the mean of their two.
func TestMergedNotAveraged(t *testing.T) {
	a, b := NewHistogram(), NewHistogram()
	for range 9_900 {
		a.Record(int64(time.Millisecond))
	}
	for range 100 {
		b.Record(int64(time.Second))
	}
	a.Merge(b)
	checkWithin(t, a.QuantileNs(0.99), int64(time.Millisecond))
	checkWithin(t, a.QuantileNs(0.995), int64(time.Second))
}

func TestMergeKeepsWhatIsInNoBucket(t *testing.T) {
	a, b := NewHistogram(), NewHistogram()
	b.Record(-1)
	b.Record(int64(2 * time.Hour))
	b.lost = 3
	a.Merge(b)
	if got, want := a.Health(), (HistogramHealth{1, 1, 3}); got != want || a.Count() != 1 || *a.MaxNs() != int64(2*time.Hour) {
		t.Errorf("health %+v, count %d; want %+v", got, a.Count(), want)
	}
}

// testSamples is a minute of 300 batches a second with an outage ramp, in random order.
func testSamples(seed uint64) []Sample {
	r := rand.New(rand.NewPCG(seed, 1))
	var samples []Sample
	for i := range int64(18_000) {
		due := i * int64(time.Second) / 300
		sent := due + r.Int64N(300_000)
		ack := sent + 800_000 + int64(r.ExpFloat64()*400_000)
		if due >= 20e9 && due < 21e9 {
			ack = 21e9 + r.Int64N(2_000_000)
		}
		samples = append(samples, Sample{due, sent, max(ack, sent)})
	}
	r.Shuffle(len(samples), func(i, j int) { samples[i], samples[j] = samples[j], samples[i] })
	return samples
}

func testTimeline() *Timeline {
	return &Timeline{WarmupEndNs: 5e9, LoadStopNs: at(60e9),
		Kills: []Kill{{Node: "n0", Role: RolePrimary, AtNs: 20e9, FirstAckNs: at(21e9), RestartNs: at(23.5e9), CaughtUpNs: at(24.2e9)}}}
}

func TestHlogRoundTrip(t *testing.T) {
	if testing.Short() {
		t.Skip("much arithmetic and nothing at once: the race detector has nothing to find")
	}
	samples, tl := testSamples(1), testTimeline()
	var file bytes.Buffer
	written, err := WriteLatencies(&file, testNow.Add(700*time.Millisecond), samples, tl.PhaseAt)
	if err != nil {
		t.Fatal(err)
	}
	read, err := ReadLatencySet(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, k := range LatencyKinds() {
		for _, p := range Phases() {
			raw := rawOf(samples, tl, k, p)
			got := read.Get(k, p)
			if len(raw) == 0 {
				if got != nil {
					t.Errorf("%s.%s appeared from nowhere", k, p)
				}
				continue
			}
			if got == nil || got.Count() != int64(len(raw)) || !got.hdr.Equals(written.Get(k, p).hdr) || *got.MaxNs() != raw[len(raw)-1] || *got.MinNs() != raw[0] {
				t.Fatalf("%s.%s read back differs", k, p)
			}
			sum += got.Count()
			for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
				if Enough(got.Count(), q) {
					checkWithin(t, got.QuantileNs(q), exactQuantile(raw, q))
				}
			}
		}
	}
	if want := int64(3 * len(samples)); sum != want {
		t.Errorf("phases hold %d samples, want %d: each in exactly one", sum, want)
	}
	if got, want := read.Overall(DueToAck).Count(), int64(55*300); got != want {
		t.Errorf("overall holds %d samples, want %d: warm-up is not part of it", got, want)
	}
}

func rawOf(samples []Sample, tl *Timeline, k LatencyKind, p Phase) []int64 {
	var raw []int64
	for _, s := range samples {
		if tl.PhaseAt(s.DueNs) == p {
			raw = append(raw, s.Of(k))
		}
	}
	slices.SortFunc(raw, cmp.Compare[int64])
	return raw
}

// TestHlogIsReadByTheLibrary holds that others' tools read the file: times, tags, counts.
func TestHlogIsReadByTheLibrary(t *testing.T) {
	samples := testSamples(2)
	var file bytes.Buffer
	if _, err := WriteLatencies(&file, testNow, samples, testTimeline().PhaseAt); err != nil {
		t.Fatal(err)
	}
	r := hdrhistogram.NewHistogramLogReader(&file)
	counts := map[string]int64{}
	var last int64
	for {
		h, err := r.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		counts[h.Tag()] += h.TotalCount()
		if length := h.EndTimeMs() - h.StartTimeMs(); length < 999 || length > 1001 || h.StartTimeMs() < last {
			t.Fatalf("interval %d..%d after %d", h.StartTimeMs(), h.EndTimeMs(), last)
		}
		last = h.StartTimeMs()
	}
	if got, want := counts["due_to_ack.steady"], int64(len(rawOf(samples, testTimeline(), DueToAck, Steady))); got != want {
		t.Errorf("steady holds %d, want %d (%v)", got, want, counts)
	}
	if first := testNow.UnixMilli() + 59_000; last != first {
		t.Errorf("last interval begins at %d, want %d", last, first)
	}
}

func TestHlogKeepsWhatIsInNoBucket(t *testing.T) {
	var file bytes.Buffer
	samples := []Sample{{DueNs: 5e9, SentNs: 5e9, AckNs: 5e9 + int64(2*time.Hour)}, {DueNs: 5.1e9, SentNs: 5e9, AckNs: 5.2e9}}
	if _, err := WriteLatencies(&file, testNow, samples, func(int64) Phase { return Steady }); err != nil {
		t.Fatal(err)
	}
	set, err := ReadLatencySet(&file)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := set.Health(), (HistogramHealth{OverflowCount: 2, NegativeCount: 1}); got != want {
		t.Errorf("health %+v, want %+v", got, want)
	}
	if got := *set.Get(DueToAck, Steady).MaxNs(); got != int64(2*time.Hour) {
		t.Errorf("max %d", got)
	}
}

func TestHlogDamage(t *testing.T) {
	var file bytes.Buffer
	if _, err := WriteLatencies(&file, testNow, testSamples(3)[:500], testTimeline().PhaseAt); err != nil {
		t.Fatal(err)
	}
	whole := file.String()
	if _, err := ReadLatencySet(strings.NewReader(whole[:len(whole)-20])); err != nil {
		t.Errorf("torn last line: %v, want none", err)
	}
	for name, bad := range map[string]string{
		"payload":     strings.Replace(whole, "HISTFAAA", "HISTF!!!", 1),
		"count":       strings.Replace(whole, "count=", "count=9", 1),
		"missing":     strings.Replace(whole, ",1.000000,", ",", 1),
		"time":        strings.Replace(whole, ",1.000000,", ",1e300,", 1),
		"no numbers":  strings.Replace(whole, "count=", "count=x", 1),
		"line length": whole + "Tag=" + strings.Repeat("x", 2*hlogLineBytesMax),
	} {
		var le *LineError
		if _, err := ReadLatencySet(strings.NewReader(bad)); !errors.As(err, &le) || le.Line == 0 {
			t.Errorf("%s: error %v, want one with a line", name, err)
		}
	}
}

func TestReadWindows(t *testing.T) {
	if testing.Short() {
		t.Skip("much arithmetic and nothing at once: the race detector has nothing to find")
	}
	var file bytes.Buffer
	samples := testSamples(4)
	if _, err := WriteLatencies(&file, testNow, samples, testTimeline().PhaseAt); err != nil {
		t.Fatal(err)
	}
	windows, err := ReadWindows(bytes.NewReader(file.Bytes()), DueToAck, 5*time.Second, 0.5, 0.99, 0.999)
	if err != nil || len(windows) != 12 {
		t.Fatalf("%d windows, %v; want 12", len(windows), err)
	}
	w := windows[4] // 20 s to 25 s: the outage
	if w.FromNs != 20e9 || w.ToNs != 25e9 || w.Count != 1500 || w.QuantileNs[2] != nil {
		t.Errorf("window %+v", w)
	}
	var raw []int64
	for _, s := range samples {
		if s.DueNs >= w.FromNs && s.DueNs < w.ToNs {
			raw = append(raw, s.Of(DueToAck))
		}
	}
	slices.Sort(raw)
	checkWithin(t, w.QuantileNs[1], exactQuantile(raw, 0.99))
	if *w.MaxNs != raw[len(raw)-1] {
		t.Errorf("max %d, want %d", *w.MaxNs, raw[len(raw)-1])
	}
}

func TestHlogOfNothing(t *testing.T) {
	var file bytes.Buffer
	if _, err := WriteLatencies(&file, testNow, nil, testTimeline().PhaseAt); err != nil {
		t.Fatal(err)
	}
	set, err := ReadLatencySet(&file)
	if err != nil || set.Overall(DueToAck).Count() != 0 {
		t.Errorf("read %v, %v", set, err)
	}
}

func TestSampleStretchesAddUp(t *testing.T) {
	for _, s := range testSamples(5)[:100] {
		if s.Of(DueToSent)+s.Of(SentToAck) != s.Of(DueToAck) {
			t.Fatalf("%+v does not add up", s)
		}
	}
}

func TestRecordAllocatesNothing(t *testing.T) {
	h := NewHistogram()
	if n := testing.AllocsPerRun(1000, func() { h.Record(1_234_567) }); n != 0 {
		t.Errorf("%v allocations a record", n)
	}
}
