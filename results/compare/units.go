package compare

import (
	"fmt"
	"math"
	"strings"
)

// scale is how a value is written: divided by Divisor, with Digits behind the point, and Name behind it.
type scale struct {
	divisor float64
	digits  int
	name    string
}

// scaleFor chooses by the size of a value, so that three digits or more are told. What a value is for (a message) stands in its label.
func (u Unit) scaleFor(v float64) scale {
	v = math.Abs(v)
	switch u {
	case Nanoseconds, NsPerMessage:
		switch {
		case v >= 1e9:
			return scale{1e9, 2, "s"}
		case v >= 1e8:
			return scale{1e6, 0, "ms"}
		case v >= 1e7:
			return scale{1e6, 1, "ms"}
		case v >= 1e5 && u == Nanoseconds || v >= 1e6:
			return scale{1e6, 2, "ms"}
		case v >= 1e4:
			return scale{1e3, 1, "µs"}
		case v >= 1e3:
			return scale{1e3, 2, "µs"}
		}
		return scale{1, 0, "ns"}
	case Bytes, BytesPerMessage:
		switch {
		case v >= 1<<30:
			return scale{1 << 30, 2, "GiB"}
		case v >= 1<<20:
			return scale{1 << 20, 1, "MiB"}
		case v >= 10<<10:
			return scale{1 << 10, 1, "KiB"}
		}
		return scale{1, 0, "B"}
	case Share:
		return scale{0.01, 2, "%"}
	case BatchesPerSecond:
		return scale{1, 1, "/s"}
	}
	return scale{1, 0, ""}
}

func (s scale) bare(v float64) string { return fmt.Sprintf("%.*f", s.digits, v/s.divisor) }

// text is a value with its unit.
func (u Unit) text(v float64) string {
	s := u.scaleFor(v)
	return strings.TrimSpace(s.bare(v) + " " + s.name) // a count has no unit
}

// text is the median with its unit, or –.
func (e Estimate) text(u Unit) string {
	if e.Median == nil {
		return "–"
	}
	return u.text(*e.Median)
}

// text is the median with its unit, or –.
func (s scale) text(e Estimate) string {
	if e.Median == nil {
		return "–"
	}
	return strings.TrimSpace(s.bare(*e.Median) + " " + s.name)
}

// interval is without a unit; – if there is none.
func (s scale) interval(e Estimate) string {
	if e.Lo == nil || e.Hi == nil {
		return "–"
	}
	return fmt.Sprintf("[%s, %s]", s.bare(*e.Lo), s.bare(*e.Hi))
}

// scaleOf is one scale for all medians of a row, so that they compare by eye.
func (u Unit) scaleOf(estimates ...Estimate) scale {
	largest := 0.0
	for _, e := range estimates {
		if e.Median != nil {
			largest = max(largest, math.Abs(*e.Median))
		}
	}
	return u.scaleFor(largest)
}

func pText(p float64) string {
	if p < 0.0001 {
		return "0.0001 or less"
	}
	return fmt.Sprintf("%.4f", p)
}
