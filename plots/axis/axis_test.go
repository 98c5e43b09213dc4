package axis

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func labels(ticks []Tick) string {
	var out []string
	for _, t := range ticks {
		if t.Label != "" {
			out = append(out, t.Label)
		}
	}
	return strings.Join(out, ", ")
}

func TestTicks(t *testing.T) {
	durations := func(lo, hi float64) []Tick { return LogTicks(lo, hi, DurationText) }
	for _, c := range []struct {
		name   string
		ticker func(lo, hi float64) []Tick
		lo, hi float64
		want   string
	}{
		{"narrow log has labels inside", durations, 2.1e6, 8.7e6, "5 ms"},
		{"log", durations, 5e5, 1e9, "500 µs, 1 ms, 2 ms, 5 ms, 10 ms, 20 ms, 50 ms, 100 ms, 200 ms, 500 ms, 1 s"},
		{"wide log labels decades", durations, 1e3, 1e10, "1 µs, 10 µs, 100 µs, 1 ms, 10 ms, 100 ms, 1 s, 10 s"},
		{"log of nothing", durations, 0, 1, ""},
		{"log of NaN", durations, math.NaN(), math.NaN(), ""},
		{"lag", ZeroLogTicks, 0, 5000, "0, 1, 10, 100, 1,000"},
		{"seconds", SecondTicks, 0, 70, "0, 10, 20, 30, 40, 50, 60, 70"},
		{"six minutes", SecondTicks, 0, 360, "0, 30, 60, 90, 120, 150, 180, 210, 240, 270, 300, 330, 360"},
		{"two hours", SecondTicks, 0, 7200, "0, 600, 1,200, 1,800, 2,400, 3,000, 3,600, 4,200, 4,800, 5,400, 6,000, 6,600, 7,200"},
		{"no time", SecondTicks, 0, 0, ""},
		{"counts", CountTicks, 0, 324, "0, 100, 200, 300"},
		{"percentiles", PercentileTicks, 0, 3.2, "0 %, 50 %, 90 %, 99 %, 99.9 %"},
	} {
		if got := labels(c.ticker(c.lo, c.hi)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestScalesStayFinite(t *testing.T) {
	nasty := []float64{0, -1, 1, 1e-300, 1e300, math.NaN(), math.Inf(1), math.Inf(-1)}
	for _, s := range []interface {
		Normalize(lo, hi, v float64) float64
	}{Log{}, ZeroLog{}} {
		for _, lo := range []float64{0, 1, -1} {
			for _, hi := range []float64{0, 1, 10} {
				for _, v := range nasty {
					if got := s.Normalize(lo, hi, v); math.IsNaN(got) {
						t.Errorf("%T(%v, %v, %v) is NaN", s, lo, hi, v)
					}
				}
			}
		}
	}
	if got := (Log{}).Normalize(1, 100, 10); math.Abs(got-0.5) > 1e-12 {
		t.Errorf("10 of 1..100 lies at %v", got)
	}
	if got := (ZeroLog{}).Normalize(0, 100, 10); math.Abs(got-(zeroFoot+(1-zeroFoot)/2)) > 1e-12 {
		t.Errorf("10 of 0..100 lies at %v", got)
	}
}

func TestLogRange(t *testing.T) {
	for _, c := range []struct {
		values []float64
		lo, hi float64
		ok     bool
	}{
		{nil, 0, 0, false},
		{[]float64{0, -3, math.NaN(), math.Inf(1)}, 0, 0, false},
		{[]float64{3e6, 0, 7e6}, 2e6, 1e7, true},
		{[]float64{1}, 0.5, 2, true},
		{[]float64{2.1, 8.7}, 2, 10, true},
	} {
		lo, hi, ok := LogRange(c.values)
		if ok != c.ok || math.Abs(lo-c.lo) > 1e-9*c.lo || math.Abs(hi-c.hi) > 1e-9*c.hi {
			t.Errorf("range of %v is %v..%v, %v; want %v..%v", c.values, lo, hi, ok, c.lo, c.hi)
		}
	}
}

func TestSteps125(t *testing.T) {
	var got []float64
	for v := 0.5; v < 3000; v = Next125(v) {
		got = append(got, round3(v))
	}
	if want := []float64{0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000}; !slices.Equal(got, want) {
		t.Errorf("steps %v", got)
	}
	for v, want := range map[float64][2]float64{1: {1, 1}, 1.5: {1, 2}, 2: {2, 2}, 4.9: {2, 5}, 9.99: {5, 10}, 1e6: {1e6, 1e6}} {
		if lo, hi := Floor125(v), Ceil125(v); math.Abs(lo-want[0]) > 1e-9*lo || math.Abs(hi-want[1]) > 1e-9*hi {
			t.Errorf("%v lies in %v..%v, want %v", v, lo, hi, want)
		}
	}
}

func TestTexts(t *testing.T) {
	for got, want := range map[string]string{
		DurationText(860_000): "860 µs", DurationText(2.5e6): "2.5 ms", DurationText(1e9): "1 s", DurationText(74e9): "74 s", DurationText(12): "12 ns",
		DurationText(0): "0 ns", DurationText(math.NaN()): "– ns", DurationText(1_234_567_890): "1.23 s",
		CountText(0): "0", CountText(999): "999", CountText(10_800_000): "10,800,000", CountText(-1234): "-1,234",
		BytesText(42 << 20): "42 MiB", BytesText(1023): "1023 B", BytesText(1536): "1.5 KiB", NumberText(math.Copysign(0, -1)): "0",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
