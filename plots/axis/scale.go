// Package axis is what drawings share whatever draws them: scales, ticks, and numbers as text. It knows no run and no drawing library.
// Every function takes any value, NaN and infinities too, and answers with something finite, or with nothing.
package axis

import "math"

// Log is a log axis that cannot panic: what is not above 0 lies at the foot, and a range that collapses lies in the middle.
type Log struct{}

// Normalize places v in 0 to 1 between lo and hi.
func (Log) Normalize(lo, hi, v float64) float64 {
	if !(v > 0) {
		return 0
	}
	if !(lo > 0) || !(hi > lo) {
		return 0.5
	}
	return math.Log(v/lo) / math.Log(hi/lo)
}

// zeroFoot is the part of a ZeroLog that lies below 1.
const zeroFoot = 0.09

// ZeroLog is a log axis from 1 with a row for 0 at its foot; between them lies a linear stretch.
type ZeroLog struct{}

// Normalize places v in 0 to 1 between 0 and hi.
func (ZeroLog) Normalize(_, hi, v float64) float64 {
	switch {
	case !(v > 0):
		return 0
	case v < 1:
		return v * zeroFoot
	case !(hi > 1):
		return zeroFoot
	}
	return zeroFoot + (1-zeroFoot)*math.Log(v)/math.Log(hi)
}

// QuantileX places quantile q on a percentile axis: each further nine takes the same room.
func QuantileX(q float64) float64 { return -math.Log10(1 - min(max(q, 0), 1-1e-9)) }

// Floor125 returns the largest of …, 1, 2, 5, 10, … that is not above v > 0.
func Floor125(v float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{10, 5, 2} {
		if m*decade <= v*(1+1e-9) {
			return m * decade
		}
	}
	return decade
}

// Ceil125 returns the smallest of …, 1, 2, 5, 10, … that is not below v > 0.
func Ceil125(v float64) float64 {
	if f := Floor125(v); f >= v*(1-1e-9) {
		return f
	} else {
		return Next125(f)
	}
}

// Next125 follows Floor125's values.
func Next125(v float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(v)+1e-9))
	switch m := v / decade; {
	case m < 1.5:
		return 2 * decade
	case m < 3:
		return 5 * decade
	}
	return 10 * decade
}

// LogRange returns a log axis' bounds around the positive finite values; false if there are none. One value alone gets room on both sides.
func LogRange(values []float64) (lo, hi float64, ok bool) {
	lo, hi = math.Inf(1), 0
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 0) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if hi == 0 {
		return 0, 0, false
	}
	lo, hi = Floor125(lo), Ceil125(hi)
	if hi < lo*3 {
		lo, hi = Floor125(lo*0.6), Next125(hi)
	}
	return lo, hi, true
}

// Finite says that v is a number.
func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
