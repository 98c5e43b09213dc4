package axis

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Tick is a mark of an axis; one without a label is a mark only.
type Tick struct {
	Value float64
	Label string
}

// labelsMax is how many labels a vertical axis carries without crowding.
const labelsMax = 15

// LogTicks are 1-2-5 ticks; only the powers of ten are labelled when all would crowd.
func LogTicks(lo, hi float64, text func(float64) string) []Tick {
	if !(lo > 0) || !(hi >= lo) || math.IsInf(hi, 0) {
		return nil
	}
	var ticks []Tick
	for v := Floor125(lo); v <= hi*(1+1e-9) && len(ticks) < 200; v = Next125(v) {
		if v >= lo*(1-1e-9) {
			ticks = append(ticks, Tick{Value: v, Label: text(v)})
		}
	}
	if len(ticks) > labelsMax {
		for i, tick := range ticks {
			if m := tick.Value / math.Pow(10, math.Floor(math.Log10(tick.Value)+1e-9)); m > 1.5 {
				ticks[i].Label = ""
			}
		}
	}
	return ticks
}

// ZeroLogTicks are those of a ZeroLog: 0, then powers of ten.
func ZeroLogTicks(_, hi float64) []Tick {
	ticks := []Tick{{Value: 0, Label: "0"}}
	for decade := 1.0; decade <= hi*(1+1e-9) && len(ticks) < 100; decade *= 10 {
		ticks = append(ticks, Tick{Value: decade, Label: CountText(int64(decade))})
		for _, m := range []float64{2, 5} {
			if m*decade <= hi {
				ticks = append(ticks, Tick{Value: m * decade})
			}
		}
	}
	return ticks
}

// niceSteps are steps of a time axis that people count in, in seconds.
var niceSteps = []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600}

// SecondTicks are those of a time axis in seconds.
func SecondTicks(lo, hi float64) []Tick {
	span := hi - lo
	if !(span > 0) || math.IsInf(span, 0) {
		return nil
	}
	step := Ceil125(span / 12)
	for _, s := range niceSteps {
		if span/s <= 12 {
			step = s
			break
		}
	}
	return linear(lo, hi, step)
}

// CountTicks are those of a linear axis of counts.
func CountTicks(lo, hi float64) []Tick {
	if !(hi > lo) || math.IsInf(hi-lo, 0) {
		return nil
	}
	return linear(lo, hi, Ceil125((hi-lo)/6))
}

func linear(lo, hi, step float64) []Tick {
	var ticks []Tick
	for i := math.Ceil(lo/step-1e-9) + 0; i*step <= hi*(1+1e-9) && len(ticks) < 100; i++ {
		ticks = append(ticks, Tick{Value: i * step, Label: NumberText(i * step)})
	}
	return ticks
}

// PercentileTicks mark the nines up to the axis' end.
func PercentileTicks(_, hi float64) []Tick {
	ticks := []Tick{{Value: 0, Label: "0 %"}, {Value: QuantileX(0.5), Label: "50 %"}, {Value: 1, Label: "90 %"}}
	for nines := 2; nines <= 8 && float64(nines) <= hi+1e-9; nines++ {
		text := "99"
		if nines > 2 {
			text += "." + strings.Repeat("9", nines-2)
		}
		ticks = append(ticks, Tick{Value: float64(nines), Label: text + " %"})
	}
	return ticks
}

// DurationText is short: 500 µs, 2.5 ms, 1 s.
func DurationText(ns float64) string {
	for _, u := range []struct {
		ns   float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if ns >= u.ns*(1-1e-9) {
			return NumberText(ns/u.ns) + " " + u.name
		}
	}
	return NumberText(ns) + " ns"
}

// NumberText has three digits that count and no exponent below a million.
func NumberText(v float64) string {
	if !Finite(v) {
		return "–"
	}
	if math.Abs(v) >= 1000 && math.Abs(v) < 1e15 {
		return CountText(int64(math.Round(v)))
	}
	return strconv.FormatFloat(round3(v)+0, 'g', -1, 64) // adding 0 takes the sign from -0
}

func round3(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	if err != nil {
		return v
	}
	return r
}

// CountText groups thousands: 18,000.
func CountText(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// BytesText uses binary units, as the terminal and the bounds of bench compare do.
func BytesText(n int64) string {
	v := float64(n)
	for _, u := range []struct {
		bytes float64
		name  string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if v >= u.bytes {
			return NumberText(v/u.bytes) + " " + u.name
		}
	}
	return fmt.Sprintf("%d B", n)
}

// Seconds are ns as seconds.
func Seconds(ns int64) float64 { return float64(ns) / float64(time.Second) }
