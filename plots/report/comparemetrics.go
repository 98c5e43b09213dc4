package report

import (
	"fmt"
	"math"
	"slices"

	"rejoin/plots/axis"
	"rejoin/results/compare"
)

// metricSection is a table whose rows have a dot and a whisker on a common axis of B against A in percent.
type metricSection struct {
	ID, Caption string
	// Ends are the texts at both ends of the axis.
	Ends   [2]string
	Judged bool
	Rows   []metricRow
	Empty  string
}

type metricRow struct {
	Label, A, AInterval, B, BInterval, Difference, P, Note, Class string
	Whisker                                                       *whisker
}

// whisker is placed in percent of its track; 50 is no difference.
type whisker struct {
	Dot, Left, Width      float64
	Beyond                string // above or below, where the difference lies beyond the axis
	FloorLeft, FloorWidth float64
	// Interval says that the whisker is one, not only the dot.
	Interval bool
	Class    string
	Title    string
}

// fractionMax bounds the axis: what lies beyond is drawn at its end and stands in the text.
const fractionMax = 2.0

func metricsOf(c *compare.Comparison, primary bool) metricSection {
	s := metricSection{ID: "metrics-others", Caption: "All other metrics, with their intervals. They are not judged.", Judged: primary, Empty: "There are none."}
	if primary {
		s.ID, s.Caption, s.Empty = "metrics-primary", "The primary metrics: median over runs, its interval, and B against A.", "no data: the scenario names no primary metric"
	}
	var chosen []compare.Metric
	reach := 0.0
	for _, m := range c.Metrics {
		if m.Primary != primary {
			continue
		}
		chosen = append(chosen, m)
		reach = max(reach, reachOf(m))
	}
	reach = min(max(axis.Ceil125(reach), 0.01), fractionMax)
	s.Ends = [2]string{signedPercent(-reach), signedPercent(reach)}
	for _, m := range chosen {
		s.Rows = append(s.Rows, metricRowOf(m, reach))
	}
	return s
}

// reachOf is how far a metric's whisker goes from the middle.
func reachOf(m compare.Metric) float64 {
	reach := 0.0
	var all []*float64
	if d := m.Difference; d != nil {
		all = append(all, d.Fraction, d.FracLo, d.FracHi)
	}
	for _, f := range append(all, m.FloorFraction) {
		if f != nil && finite(*f) {
			reach = max(reach, math.Abs(*f))
		}
	}
	return reach
}

func metricRowOf(m compare.Metric, reach float64) metricRow {
	r := metricRow{Label: m.Label, A: estimateText(m.A, m.Unit), AInterval: intervalText(m.A, m.Unit), B: estimateText(m.B, m.Unit), BInterval: intervalText(m.B, m.Unit),
		Difference: noData, P: "–", Note: m.Note}
	if m.HolmP != nil {
		r.P = fmt.Sprintf("%.4f", *m.HolmP)
	}
	switch m.Finding {
	case compare.Worse:
		r.Class, r.Note = "bad", "✗ "+r.Note
	case compare.Improved:
		r.Class, r.Note = "ok", "✓ "+r.Note
	}
	if m.Difference == nil {
		return r
	}
	r.Difference = m.Difference.Words
	if m.Difference.Fraction != nil {
		r.Whisker = whiskerOf(m, reach)
	}
	return r
}

func whiskerOf(m compare.Metric, reach float64) *whisker {
	place := func(f float64) float64 { return 50 + 50*min(max(f/reach, -1), 1) }
	d := m.Difference
	w := &whisker{Dot: place(*d.Fraction), Class: "even", Title: m.Label + ": " + signedPercent(*d.Fraction)}
	if *d.Fraction > reach {
		w.Beyond = "above"
	} else if *d.Fraction < -reach {
		w.Beyond = "below"
	}
	if m.Finding != "" {
		w.Class = map[string]string{compare.Worse: "worse", compare.Improved: "improved"}[m.Finding]
	}
	if d.FracLo != nil && d.FracHi != nil && finite(*d.FracLo) && finite(*d.FracHi) {
		w.Interval, w.Left = true, place(*d.FracLo)
		w.Width = place(*d.FracHi) - w.Left
		w.Title += fmt.Sprintf(", from %s to %s", signedPercent(*d.FracLo), signedPercent(*d.FracHi))
	}
	if f := m.FloorFraction; f != nil && finite(*f) {
		w.FloorLeft = place(-*f)
		w.FloorWidth = place(*f) - w.FloorLeft
		w.Title += fmt.Sprintf("; noise floor %s", percentText(f))
	}
	return w
}

func signedPercent(f float64) string {
	if !finite(f) {
		return "–"
	}
	sign := ""
	if f > 0 {
		sign = "+"
	} else if f < 0 {
		sign = "−"
	}
	return sign + axis.NumberText(math.Abs(100*f)) + " %"
}

func estimateText(e compare.Estimate, u compare.Unit) string {
	if e.Median == nil {
		return noData
	}
	return metricText(*e.Median, u)
}

func intervalText(e compare.Estimate, u compare.Unit) string {
	if e.Lo == nil || e.Hi == nil {
		return fmt.Sprintf("no interval, n = %d", e.N)
	}
	return fmt.Sprintf("%s to %s, n = %d", metricText(*e.Lo, u), metricText(*e.Hi, u), e.N)
}

func metricText(v float64, u compare.Unit) string {
	switch u {
	case compare.Nanoseconds:
		return axis.DurationText(v)
	case compare.NsPerMessage:
		return axis.DurationText(v) + "/msg"
	case compare.Bytes:
		return axis.BytesText(int64(math.Round(v)))
	case compare.BytesPerMessage:
		return axis.BytesText(int64(math.Round(v))) + "/msg"
	case compare.Share:
		return percentText(&v)
	case compare.BatchesPerSecond:
		return axis.NumberText(v) + "/s"
	}
	return axis.NumberText(v)
}

// orderStage shows the primary metrics of each run in the order in which the runs were made.
func orderStage(c *compare.Comparison) stage {
	places := map[string][]float64{}
	s := stage{ID: "order", Kind: orderStageKind, From: 0.5, XLabel: "runs in the order in which they were made", Label: "Primary metrics of each run, in the order of the runs"}
	for i, letter := range c.Order {
		side := string(letter)
		places[side] = append(places[side], float64(i+1))
		s.XTicks = append(s.XTicks, xTick{float64(i + 1), fmt.Sprintf("%d %s", i+1, side)})
	}
	s.To = float64(len(s.XTicks)) + 0.5
	if len(s.XTicks) == 0 {
		s.To = 1.5
	}
	for i, m := range c.Metrics {
		if m.Primary {
			s.Panels = append(s.Panels, orderPanel(fmt.Sprintf("order-%d", i), m, places))
		}
	}
	return s
}

func orderPanel(id string, m compare.Metric, places map[string][]float64) panel {
	p := panel{ID: id, Title: m.Label, Note: "one dot a run, or a kill; linear scale, not from zero"}
	unit := "ns"
	if m.Unit != compare.Nanoseconds && m.Unit != compare.NsPerMessage {
		unit = "plain"
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	both := []series{{ID: id + "-a", Label: "A", Look: "look-blue bigdots", Unit: unit}, {ID: id + "-b", Label: "B", Look: "look-vermillion squares", Unit: unit}}
	for i, e := range []compare.Estimate{m.A, m.B} {
		at := places[[]string{"A", "B"}[i]]
		for _, v := range e.Values {
			if v.Run >= 0 && v.Run < len(at) && finite(v.Value) {
				both[i].Data = append(both[i].Data, [3]float64{at[v.Run], at[v.Run], v.Value})
				lo, hi = min(lo, v.Value), max(hi, v.Value)
			}
		}
		slices.SortFunc(both[i].Data, func(a, b [3]float64) int { return int(a[0] - b[0]) })
	}
	if lo > hi {
		p.Empty = "no data: no run has this metric"
		return p
	}
	margin := max((hi-lo)*0.15, math.Abs(hi)*0.01, 1e-9)
	lo, hi = lo-margin, hi+margin
	place := scale(func(v float64) float64 { return (v - lo) / (hi - lo) })
	for _, t := range axis.CountTicks(lo, hi) {
		p.YTicks = append(p.YTicks, yTick{100 * (1 - place(t.Value)), metricText(t.Value, m.Unit)})
	}
	for _, s := range both {
		s.Path = dotPath(s.Data, place)
		p.Series = append(p.Series, s)
	}
	return p
}
