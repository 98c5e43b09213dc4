package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Bound is one --fail-on: a change of a metric that a build must not bring.
//
//	bound  = metric op limit
//	op     = ">" | "<"
//	limit  = sign number "%"     B against A, in per cent: steady.p99>+10%
//	       | sign number unit    B less A:                 kill.primary.gap>+200ms
//	       | number unit         B itself:                 steady.p99>5ms
//	sign   = "+" | "-"
//	unit   = "ns" | "us" | "ms" | "s"       for times
//	       | "B" | "KiB" | "MiB" | "GiB"    for bytes
//	       | "" | "/s"                      for rates, shares and counts
//
// Blanks are allowed between the parts. A metric that a bound names is judged like a primary one.
type Bound struct {
	Text   string
	Metric string
	Above  bool // ">"
	Kind   BoundKind
	// Limit is a fraction (0.1 for 10 %) of a relative bound, otherwise in the metric's unit.
	Limit float64
}

// BoundKind is what a limit is held against.
type BoundKind int

const (
	Relative BoundKind = iota // B/A - 1
	Change                    // B - A
	Level                     // B
)

// BoundError says where in the text of a bound something is wrong.
type BoundError struct {
	Text   string
	At     int // byte offset
	Reason string
}

// Error is the text with a caret under the place.
func (e *BoundError) Error() string {
	return fmt.Sprintf("bound: %s\n  %s\n  %s^", e.Reason, e.Text, strings.Repeat(" ", len([]rune(e.Text[:min(e.At, len(e.Text))]))))
}

// ParseBound reads one bound. Its error is a *BoundError.
func ParseBound(text string) (Bound, error) {
	wrong := func(at int, format string, args ...any) (Bound, error) {
		return Bound{}, &BoundError{Text: text, At: at, Reason: fmt.Sprintf(format, args...)}
	}
	op := strings.IndexAny(text, "<>")
	if op < 0 {
		return wrong(len(text), "it needs > or < behind a metric, such as steady.p99>+10%%")
	}
	b := Bound{Text: text, Metric: strings.TrimSpace(text[:op]), Above: text[op] == '>'}
	definition, ok := definitionOf(b.Metric)
	if !ok {
		return wrong(0, "there is no metric %q; there are %s", b.Metric, metricNames())
	}
	at := op + 1
	at += len(text[at:]) - len(strings.TrimLeft(text[at:], " "))
	rest := text[at:]
	end := strings.IndexFunc(strings.TrimLeft(rest, "+-"), func(r rune) bool { return !strings.ContainsRune("0123456789.", r) })
	signs := len(rest) - len(strings.TrimLeft(rest, "+-"))
	if end < 0 {
		end = len(rest) - signs
	}
	if signs > 1 {
		return wrong(at+1, "one sign is enough")
	}
	number, err := strconv.ParseFloat(rest[:signs+end], 64)
	if err != nil {
		return wrong(at, "here stands no number; pass one such as +10%%, +2ms or 5ms")
	}
	unit := strings.TrimSpace(rest[signs+end:])
	unitAt := at + signs + end
	b.Limit = number
	if unit == "%" {
		if b.Limit /= 100; signs == 0 {
			return wrong(at, "a change in per cent needs its sign: +%g%% is more than A, -%g%% less", number, number)
		}
		return b, nil
	}
	factor, ok := unitFactors(definition.Unit)[unit]
	if !ok {
		return wrong(unitAt, "%q is no unit of %s; it takes %% or %s", unit, b.Metric, unitNames(definition.Unit))
	}
	b.Limit *= factor
	b.Kind = Level
	if signs > 0 {
		b.Kind = Change
	}
	return b, nil
}

func definitionOf(name string) (Definition, bool) {
	for _, d := range Definitions() {
		if d.Name == name {
			return d, true
		}
	}
	return Definition{}, false
}

func metricNames() string {
	var names []string
	for _, d := range Definitions() {
		names = append(names, d.Name)
	}
	return strings.Join(names, ", ")
}

func unitFactors(u Unit) map[string]float64 {
	switch u {
	case Nanoseconds, NsPerMessage:
		return map[string]float64{"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
	case Bytes, BytesPerMessage:
		return map[string]float64{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
	case BatchesPerSecond:
		return map[string]float64{"": 1, "/s": 1}
	}
	return map[string]float64{"": 1}
}

func unitNames(u Unit) string {
	names := []string{}
	for name := range unitFactors(u) {
		if name == "" {
			name = "a plain number"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// judgeBounds holds every bound. A bound on a change is broken only by a change that the tests found; one on a level by B's median. A bound
// that asks for a change, such as steady.p99>-10%, is held only by a change that they found: where nothing was told apart, nobody can say.
func (c *Comparison) judgeBounds(bounds []Bound) {
	for _, b := range bounds {
		r := BoundResult{Bound: b.Text, Metric: b.Metric}
		i := slices.IndexFunc(c.Metrics, func(m Metric) bool { return m.Name == b.Metric })
		r.Outcome, r.Reason = b.hold(&c.Metrics[i]) // primary metrics are always there
		c.Bounds = append(c.Bounds, r)
	}
}

func (b Bound) hold(m *Metric) (outcome, reason string) {
	if m.B.Median == nil || b.Kind != Level && m.Difference == nil {
		return NotJudged, "no data"
	}
	var is float64
	var words string
	switch {
	case b.Kind == Level:
		is, words = *m.B.Median, "B is "+m.B.text(m.Unit)
	case b.Kind == Change:
		is, words = m.Difference.Absolute, m.Difference.Words
	case m.Difference.Fraction == nil:
		return NotJudged, "a value is 0, so there is no percentage"
	default:
		is, words = *m.Difference.Fraction, m.Difference.Words
	}
	beyond := b.Above && is > b.Limit || !b.Above && is < b.Limit
	switch {
	case math.IsNaN(is):
		return NotJudged, "no data"
	case !m.Judgeable:
		return NotJudged, fmt.Sprintf("%s; %s", words, m.Note)
	case b.asksForChange() && m.Finding == "":
		return NotJudged, fmt.Sprintf("%s; %s, and this bound asks for a difference", words, m.Note)
	case b.Kind != Level && beyond && m.Finding == "":
		return Held, fmt.Sprintf("%s, but %s", words, m.Note)
	case beyond:
		return Broken, words
	}
	return Held, words
}

// asksForChange says that no change at all would lie beyond the bound.
func (b Bound) asksForChange() bool {
	return b.Kind != Level && (b.Above && b.Limit < 0 || !b.Above && b.Limit > 0)
}

// Broken are the bounds that were broken.
func (c *Comparison) Broken() []BoundResult {
	return slices.DeleteFunc(slices.Clone(c.Bounds), func(r BoundResult) bool { return r.Outcome != Broken })
}
