package plots

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"rejoin/plots/axis"
)

// point is a value in axis units.
type point struct{ x, y float64 }

// lines draws runs of points; gaps between runs stay gaps.
type lines struct {
	runs  [][]point
	style draw.LineStyle
}

func (l lines) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	for _, run := range l.runs {
		pts := make([]vg.Point, 0, len(run))
		for _, pt := range run {
			pts = append(pts, vg.Point{X: toX(pt.x), Y: toY(pt.y)})
		}
		if len(pts) == 1 { // a lone value would be no line at all
			c.DrawGlyph(draw.GlyphStyle{Color: l.style.Color, Radius: 2, Shape: draw.CircleGlyph{}}, pts[0])
			continue
		}
		c.StrokeLines(l.style, c.ClipLinesXY(pts)...)
	}
}

// levels draws each window of time as a line with a tick at both ends, neighbours apart: its value holds for the window as a whole, not for
// each moment in it.
type levels struct {
	windows []level
	style   draw.LineStyle
}

type level struct{ from, to, y float64 }

// levelTick is how far an end's tick reaches to both sides.
const levelTick = vg.Length(3)

func (l levels) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	for _, w := range l.windows {
		drawLevel(c, l.style, vg.Point{X: max(toX(w.from), c.Min.X) + 0.8, Y: toY(w.y)}, min(toX(w.to), c.Max.X)-0.8)
	}
}

func drawLevel(c draw.Canvas, style draw.LineStyle, from vg.Point, toX vg.Length) {
	if toX < from.X {
		return
	}
	c.StrokeLine2(style, from.X, from.Y, toX, from.Y)
	style.Dashes = nil
	for _, x := range []vg.Length{from.X, toX} {
		c.StrokeLine2(style, x, from.Y-levelTick, x, from.Y+levelTick)
	}
}

// levelThumb is a legend's sample of a window.
func levelThumb(style draw.LineStyle) func(*draw.Canvas) {
	return func(c *draw.Canvas) { drawLevel(*c, style, vg.Point{X: c.Min.X, Y: c.Center().Y}, c.Max.X) }
}

// dots draws points as glyphs.
type dots struct {
	points []point
	style  draw.GlyphStyle
}

func (d dots) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	for _, pt := range d.points {
		c.DrawGlyphNoClip(d.style, vg.Point{X: toX(pt.x), Y: toY(pt.y)})
	}
}

// grid draws lines at the labelled ticks of both axes, fainter ones at the others.
type grid struct{ vertical, horizontal bool }

func (g grid) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	style := func(t plot.Tick) draw.LineStyle {
		if t.Label == "" {
			return stroke(gridInk, 0.3, nil)
		}
		return stroke(gridInk, 0.7, nil)
	}
	if g.vertical {
		for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
			if x := toX(t.Value); c.ContainsX(x) {
				c.StrokeLine2(style(t), x, c.Min.Y, x, c.Max.Y)
			}
		}
	}
	if g.horizontal {
		for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
			if y := toY(t.Value); c.ContainsY(y) {
				c.StrokeLine2(style(t), c.Min.X, y, c.Max.X, y)
			}
		}
	}
}

// splitAtGaps cuts a series into runs of finite points.
func splitAtGaps(points []point) [][]point {
	var runs [][]point
	open := false
	for _, pt := range points {
		if !axis.Finite(pt.x) || !axis.Finite(pt.y) {
			open = false
			continue
		}
		if !open {
			runs = append(runs, nil)
			open = true
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], pt)
	}
	return runs
}

// columnsMax is how many columns a down-sampled series has: about one per pixel of the PNG's panel.
const columnsMax = 1000

// downsample keeps the first, lowest, highest and last point of each column of a run that spans [0, xMax], in their order: the outlier that a
// figure exists to show is never thinned away, and a file holds at most four points a column.
func downsample(run []point, xMax float64) []point {
	if len(run) <= 4*columnsMax || !(xMax > 0) {
		return run
	}
	column := func(pt point) int { return int(math.Floor(pt.x / xMax * columnsMax)) }
	var out []point
	for from := 0; from < len(run); {
		to := from + 1
		for to < len(run) && column(run[to]) == column(run[from]) {
			to++
		}
		out = appendExtremes(out, run[from:to])
		from = to
	}
	return out
}

func appendExtremes(out, run []point) []point {
	lowest, highest := 0, 0
	for i, pt := range run {
		if pt.y < run[lowest].y {
			lowest = i
		}
		if pt.y > run[highest].y {
			highest = i
		}
	}
	last := -1
	for _, i := range []int{0, min(lowest, highest), max(lowest, highest), len(run) - 1} {
		if i > last {
			out = append(out, run[i])
			last = i
		}
	}
	return out
}
