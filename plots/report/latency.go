package report

import (
	"fmt"
	"math"

	"rejoin/plots"
	"rejoin/plots/axis"
	"rejoin/results"
)

// latencySection is the table of percentiles by phase and the curve.
type latencySection struct {
	Curve stage
	Table table
	Parts table // where the time went: waiting to be sent, and being served
}

func latencyOf(s *source) latencySection {
	out := latencySection{Curve: percentileStageOf("percentiles", "Latency by percentile and phase", s.figures.Percentiles)}
	if s.summary == nil {
		out.Table.Empty, out.Parts.Empty = noData, noData
		return out
	}
	sum := s.summary
	columns := append(words("phase"), numbers("p50", "p90", "p99", "p99.9", "p99.99", "max", "batches")...)
	out.Table = table{ID: "latency-by-phase", Columns: columns,
		Caption: "Latency from due to acknowledged, by phase of the due time. Batch weight: one batch is one sample, " + messagesText(s.run.Asked.BatchMessages) +
			" “–”: fewer than ten samples lie above this percentile."}
	addQuantiles(&out.Table, sum.LatencyNs)
	out.Parts = table{ID: "latency-parts", Columns: columns,
		Caption: "Where the time went, all phases but the warm-up together: a batch waits from due to sent (for the generator, or for the answer to the batch before it), then it is served."}
	for _, part := range []struct {
		name string
		of   map[string]results.Quantiles
	}{{"due to sent", sum.LateNs}, {"sent to acknowledged", sum.ServiceNs}, {"due to acknowledged", sum.LatencyNs}} {
		if q, ok := part.of[results.Overall]; ok {
			out.Parts.add(quantileCells(part.name, q)...)
		}
	}
	return out
}

// messagesText says what a sample is not.
func messagesText(perBatch int) string {
	if perBatch <= 0 {
		return "however many messages it holds."
	}
	return fmt.Sprintf("however many messages it holds (here %s): a million messages are not a million samples.", axis.CountText(int64(perBatch)))
}

func addQuantiles(t *table, of map[string]results.Quantiles) {
	for _, phase := range results.Phases() {
		if q, ok := of[string(phase)]; ok && q.Count > 0 {
			t.add(quantileCells(string(phase), q)...)
		}
	}
	if q, ok := of[results.Overall]; ok {
		t.addIn("total", quantileCells("all but warm-up", q)...)
	}
	if len(t.Rows) == 0 {
		t.Empty = "no data: no batch was acknowledged"
	}
}

func quantileCells(name string, q results.Quantiles) []string {
	return []string{name, nsText(q.P50), nsText(q.P90), nsText(q.P99), nsText(q.P999), nsText(q.P9999), nsText(q.Max), axis.CountText(q.Count)}
}

// nine is the width of one nine on a percentile axis.
const nine = 1000

// percentileLooks go by the order of distributions.
var percentileLooks = []string{"look-blue", "look-vermillion dash", "look-green dashdot", "look-purple dotted", "look-ink longdash"}

// percentileStageOf draws distributions over a log percentile axis, each only as far as its samples carry.
func percentileStageOf(id, label string, of []plots.Distribution) stage {
	lo, hi, end := math.Inf(1), 0.0, 1.0
	for _, d := range of {
		for _, pt := range d.Points {
			if pt.LatencyNs > 0 {
				lo = min(lo, pt.LatencyNs)
			}
			hi, end = max(hi, pt.LatencyNs), max(end, axis.QuantileX(pt.Q))
		}
	}
	return percentileStageWithin(id, label, of, [2]float64{lo, hi}, end)
}

// percentileStageWithin draws them between given latencies and up to a given number of nines, so that several drawings have one scale.
func percentileStageWithin(id, label string, of []plots.Distribution, between [2]float64, nines float64) stage {
	out := stage{ID: id, Kind: percentileStage, Label: label, To: nines * 1.02 * nine, XLabel: "percentile of batches (each further nine takes the same room)"}
	for _, t := range axis.PercentileTicks(0, nines*1.02) {
		out.XTicks = append(out.XTicks, xTick{t.Value * nine, t.Label})
	}
	p := panel{ID: id, Title: label, Note: "log scale; a curve ends where fewer than ten samples lie above", Tall: true}
	lo, hi, ok := axis.LogRange(between[:])
	if !ok {
		p.Empty = "no data: no phase has the 20 batches that a median needs"
	}
	place := logScale(lo, hi)
	if ok {
		p.YTicks = place.yTicks(axis.LogTicks(lo, hi, axis.DurationText))
	}
	for i, d := range of {
		s := series{ID: fmt.Sprintf("%s-%d", id, i), Look: percentileLooks[i%len(percentileLooks)], Unit: "ns",
			Label: fmt.Sprintf("%s (%s)", d.Label, counted(d.Count, "batch"))}
		for _, pt := range d.Points {
			if finite(pt.LatencyNs) {
				x := axis.QuantileX(pt.Q) * nine
				s.Data = append(s.Data, [3]float64{x, x, pt.LatencyNs})
			}
		}
		if s.Path = curvePath(s.Data, place); s.Path == "" {
			s.Label += ": too few"
		}
		p.Series = append(p.Series, s)
	}
	out.Panels = []panel{p}
	return out
}
