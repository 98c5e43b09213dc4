package plots

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"rejoin/plots/axis"
)

// phaseLooks by the order of distributions given.
var phaseLooks = []struct {
	color  color.NRGBA
	dashes []vg.Length
	shape  draw.GlyphDrawer
}{
	{blue, solid, draw.CircleGlyph{}},
	{vermillion, dashed, draw.BoxGlyph{}},
	{green, dashDot, draw.PyramidGlyph{}},
	{purple, dotted, draw.SquareGlyph{}},
	{black, []vg.Length{10, 4}, draw.RingGlyph{}},
}

func (f *Figures) percentilesSheet(ink *ink) *sheet {
	s := newSheet(ink, "Latency by percentile and phase, only as far as the samples carry", f.Caption)
	var values []float64
	end := 0.0
	for _, d := range f.Percentiles {
		for _, pt := range d.Points {
			values = append(values, pt.LatencyNs)
			end = max(end, axis.QuantileX(pt.Q))
		}
	}
	lo, hi, ok := axis.LogRange(values)
	if !ok {
		return s
	}
	p := s.newPanel("percentile of batches (each further nine takes the same room)", "latency (log scale)")
	p.X.Min, p.X.Max, p.X.Tick.Marker = 0, max(end, 1)*1.02, ticker(axis.PercentileTicks)
	p.Y.Min, p.Y.Max, p.Y.Scale, p.Y.Tick.Marker = lo, hi, axis.Log{}, ticker(durationTicks)
	p.Add(grid{vertical: true, horizontal: true})
	for i, d := range f.Percentiles {
		look := phaseLooks[i%len(phaseLooks)]
		style := stroke(look.color, 1.8, look.dashes)
		glyph := draw.GlyphStyle{Color: look.color, Radius: vg.Points(3.2), Shape: look.shape}
		curve := quantileCurve(d.Points)
		if len(curve) == 0 {
			s.legend = append(s.legend, legendEntry{
				text: fmt.Sprintf("%s: too few samples (n = %s)", d.Label, axis.CountText(d.Count)), thumb: glyphThumb(glyph)})
			continue
		}
		p.Add(lines{[][]point{curve}, style}, dots{curve[len(curve)-1:], glyph})
		s.legend = append(s.legend, legendEntry{text: fmt.Sprintf("%s (n = %s)", d.Label, axis.CountText(d.Count)), thumb: func(c *draw.Canvas) {
			lineThumb(style)(c)
			glyphThumb(glyph)(c)
		}})
	}
	return s
}

// quantileCurve keeps what a log axis can hold.
func quantileCurve(points []QuantilePoint) []point {
	var curve []point
	for _, pt := range points {
		if pt.LatencyNs > 0 && axis.Finite(pt.LatencyNs) && axis.Finite(pt.Q) {
			curve = append(curve, point{axis.QuantileX(pt.Q), pt.LatencyNs})
		}
	}
	return curve
}
