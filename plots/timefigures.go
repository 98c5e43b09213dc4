package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"rejoin/plots/axis"
)

// outageNote keeps apart what tables call the outage phase and what is shaded.
const outageNote = "Bars above: node away. The outage phase of the tables is from a kill or a stop to the first acknowledgement (primary) or to the node's return (backup)."

// lagNote says how much of a lag is none.
func (f *Figures) lagNote() string {
	const polled = "Nodes are polled each 20 ms, each by itself: what is committed in that time, and one op, "
	if f.LagFloorOps == 0 {
		return polled + "is no lag."
	}
	return fmt.Sprintf("%s%d together, is no lag, and drawn as 0.", polled, f.LagFloorOps)
}

// lagOps is a lag as it is drawn.
func (f *Figures) lagOps(ops float64) float64 {
	if ops <= float64(f.LagFloorOps) {
		return 0
	}
	return ops
}

// timePanel returns a panel over run time with marks behind what is added later; false if there is no time to show.
func (f *Figures) timePanel(s *sheet, yLabel string) (*plot.Plot, bool) {
	if f.EndNs <= 0 {
		return nil, false
	}
	p := s.newPanel("run time (s)", yLabel)
	p.X.Min, p.X.Max = 0, axis.Seconds(f.EndNs)
	p.X.Tick.Marker = ticker(axis.SecondTicks)
	s.marks = f.marks()
	s.height += s.marks.downsHeight() // the data keep their room
	if len(f.Kills)+len(f.Downs) > 0 {
		s.note = outageNote
		s.height += noteRow
	}
	p.Add(s.marks)
	return p, true
}

type look struct {
	line  draw.LineStyle
	glyph draw.GlyphStyle // drawn instead of the line if it has a shape
}

var latencyLooks = [seriesStyles]look{
	StyleP50:  {line: stroke(blue, 1.8, solid)},
	StyleP99:  {line: stroke(vermillion, 1.6, dashed)},
	StyleP999: {line: stroke(purple, 1.6, dashDot)},
	StyleMax:  {glyph: draw.GlyphStyle{Color: ink90, Radius: vg.Points(1.7), Shape: draw.CircleGlyph{}}},
}

// belowStyle marks values that a log axis cannot hold, at its foot.
var belowStyle = draw.GlyphStyle{Color: ink60, Radius: vg.Points(3), Shape: draw.TriangleGlyph{}}

func (f *Figures) latencySheet(ink *ink) *sheet {
	s := newSheet(ink, "Latency over the run, from the time a batch was due to its acknowledgement", f.Caption)
	var values []float64
	for _, series := range f.Latency {
		for _, step := range series.Steps {
			values = append(values, step.LatencyNs)
		}
	}
	lo, hi, ok := axis.LogRange(values)
	if !ok {
		return s
	}
	p, ok := f.timePanel(s, "latency (log scale)")
	if !ok {
		return s
	}
	p.Y.Min, p.Y.Max, p.Y.Scale, p.Y.Tick.Marker = lo, hi, axis.Log{}, ticker(durationTicks)
	var below []point
	for _, series := range f.Latency {
		if len(series.Steps) == 0 {
			continue
		}
		look := latencyLooks[series.Style]
		switch {
		case look.glyph.Shape != nil:
			p.Add(dots{stepMiddles(series.Steps, p.X.Max), look.glyph})
			s.legend = append(s.legend, legendEntry{text: series.Label, thumb: glyphThumb(look.glyph), narrow: true})
		case isWide(series.Steps):
			p.Add(levels{stepLevels(series.Steps), look.line})
			s.legend = append(s.legend, legendEntry{text: series.Label, thumb: levelThumb(look.line)})
		default:
			p.Add(lines{stepRuns(series.Steps), look.line})
			s.legend = append(s.legend, legendEntry{text: series.Label, thumb: lineThumb(look.line)})
		}
		for _, step := range series.Steps {
			if step.LatencyNs <= 0 {
				below = append(below, point{axis.Seconds(step.FromNs+step.ToNs) / 2, lo})
			}
		}
	}
	if len(below) > 0 {
		p.Add(dots{below, belowStyle})
		s.legend = append(s.legend, legendEntry{text: "below scale", thumb: glyphThumb(belowStyle)})
	}
	s.legend = append(s.legend, s.marks.legend()...)
	return s
}

// isWide says whether windows are longer than the second by which the rest of the figure goes.
func isWide(steps []LatencyStep) bool {
	return slices.ContainsFunc(steps, func(s LatencyStep) bool { return s.ToNs-s.FromNs > secondNs })
}

// stepLevels are the windows that a log axis can hold.
func stepLevels(steps []LatencyStep) []level {
	var out []level
	for _, s := range steps {
		if s.LatencyNs > 0 && axis.Finite(s.LatencyNs) {
			out = append(out, level{axis.Seconds(s.FromNs), axis.Seconds(s.ToNs), s.LatencyNs})
		}
	}
	return out
}

// stepRuns draws each window as a level; neighbours are joined, windows left out are gaps.
func stepRuns(steps []LatencyStep) [][]point {
	var points []point
	var lastTo int64 = math.MinInt64
	for _, st := range steps {
		if st.FromNs != lastTo {
			points = append(points, point{math.NaN(), 0})
		}
		y := st.LatencyNs
		if !(y > 0) {
			y = math.NaN()
		}
		points = append(points, point{axis.Seconds(st.FromNs), y}, point{axis.Seconds(st.ToNs), y})
		lastTo = st.ToNs
	}
	return splitAtGaps(points)
}

// stepMiddles are the positive values as points, at the middle of their windows.
func stepMiddles(steps []LatencyStep, xMax float64) []point {
	var points []point
	for _, st := range steps {
		if st.LatencyNs > 0 && axis.Finite(st.LatencyNs) {
			points = append(points, point{axis.Seconds(st.FromNs)/2 + axis.Seconds(st.ToNs)/2, st.LatencyNs})
		}
	}
	return downsample(points, xMax)
}

func (f *Figures) throughputSheet(ink *ink) *sheet {
	s := newSheet(ink, "Offered and acknowledged batches a second", f.Caption)
	var offered, acked []point
	top := 0.0
	for _, r := range f.Throughput {
		for _, v := range []float64{r.OfferedPerS, r.AckedPerS} {
			if axis.Finite(v) {
				top = max(top, v)
			}
		}
		// A level over the second: what was counted is an amount of that second, not a speed at its start.
		from, to := axis.Seconds(r.TNs), axis.Seconds(r.TNs)+1
		offered = append(offered, point{from, r.OfferedPerS}, point{to, r.OfferedPerS})
		acked = append(acked, point{from, r.AckedPerS}, point{to, r.AckedPerS})
	}
	offeredRuns, ackedRuns := splitAtGaps(offered), splitAtGaps(acked)
	if len(offeredRuns)+len(ackedRuns) == 0 {
		return s
	}
	p, ok := f.timePanel(s, "batches per second")
	if !ok {
		return s
	}
	p.Y.Min, p.Y.Max, p.Y.Tick.Marker = 0, max(top*1.08, 1), ticker(axis.CountTicks)
	for _, series := range []struct {
		text  string
		runs  [][]point
		style draw.LineStyle
	}{ // where both agree the narrow one lies on the broad one
		{"offered (due)", offeredRuns, stroke(color.NRGBA{0x99, 0x99, 0x99, 255}, 4.5, solid)},
		{"acknowledged", ackedRuns, stroke(blue, 1.6, solid)},
	} {
		for i, run := range series.runs {
			series.runs[i] = downsample(run, p.X.Max)
		}
		p.Add(lines{series.runs, series.style})
		s.legend = append(s.legend, legendEntry{text: series.text, thumb: lineThumb(series.style)})
	}
	s.legend = append(s.legend, s.marks.legend()...)
	return s
}

func (f *Figures) lagSheet(ink *ink) *sheet {
	bin := lagBinNs(f.EndNs)
	s := newSheet(ink, "Lag of each replica behind the highest commit seen, highest in each "+axis.DurationText(float64(bin)), f.Caption)
	top, any := 0.0, false
	for _, series := range f.Lag {
		for _, pt := range series.Points {
			if axis.Finite(pt.LagOps) {
				top, any = max(top, pt.LagOps), true
			}
		}
	}
	if !any {
		return s
	}
	p, ok := f.timePanel(s, "lag (ops, log scale above 1)")
	if !ok {
		return s
	}
	if s.note == "" {
		s.height += noteRow
	}
	s.note = f.lagNote()
	p.Y.Min, p.Y.Max, p.Y.Scale, p.Y.Tick.Marker = 0, axis.Ceil125(max(top, 10)), axis.ZeroLog{}, ticker(axis.ZeroLogTicks)
	if f.LagFloorOps > 1 {
		floor := lagFloorBand{float64(f.LagFloorOps)}
		p.Add(floor)
		s.legend = append(s.legend, legendEntry{text: fmt.Sprintf("no lag (up to %d ops)", f.LagFloorOps), thumb: floor.thumb})
	}
	for _, series := range f.Lag {
		look := lookOf(series.Node)
		style := stroke(look.color, 1.5, look.dashes)
		runs := lagRuns(series.Points, bin, f.lagOps)
		text := series.Node
		if len(runs) == 0 {
			text = fmt.Sprintf("%s (no data)", series.Node)
		}
		p.Add(lines{runs, style})
		s.legend = append(s.legend, legendEntry{text: text, thumb: lineThumb(style)})
	}
	s.legend = append(s.legend, s.marks.legend()...)
	s.addInsets(f.returnInsets(s))
	return s
}

// lagFloorBand is the part of a lag axis in which nothing is drawn, because so much is no lag.
type lagFloorBand struct{ ops float64 }

func (b lagFloorBand) Plot(c draw.Canvas, p *plot.Plot) {
	_, toY := p.Transforms(&c)
	box := vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: toY(0)}, Max: vg.Point{X: c.Max.X, Y: toY(b.ops)}}
	c.FillPolygon(lagFloorInk, corners(box))
}

func (b lagFloorBand) thumb(c *draw.Canvas) { c.FillPolygon(lagFloorInk, corners(c.Rectangle)) }

var lagFloorInk = color.NRGBA{0x99, 0x99, 0x99, 60}

// lagBins is about how many stretches a lag line has: polls 20 ms apart would be a black band.
const lagBins = 300

// lagBinNs is a round stretch of time, no shorter than a poll.
func lagBinNs(endNs int64) int64 {
	return int64(axis.Floor125(max(float64(endNs)/lagBins, 20e6)))
}

// lagRuns keeps the highest lag of each bin; a bin in which a node never answered is a gap.
func lagRuns(points []LagPoint, binNs int64, drawn func(ops float64) float64) [][]point {
	var pts []point
	lastBin := int64(math.MinInt64)
	for _, pt := range points {
		bin := pt.TNs / binNs
		lag := drawn(max(pt.LagOps, 0)) // max keeps a NaN
		if math.IsInf(lag, 0) {
			lag = math.NaN()
		}
		switch n := len(pts); {
		case bin != lastBin:
			pts = append(pts, point{axis.Seconds(pt.TNs), lag})
			lastBin = bin
		case math.IsNaN(pts[n-1].y) || lag > pts[n-1].y:
			pts[n-1] = point{axis.Seconds(pt.TNs), lag}
		}
	}
	return splitAtGaps(pts)
}
