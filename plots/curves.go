package plots

import (
	"fmt"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"rejoin/plots/axis"
)

// Curve is a figure of how something depends on one number; both axes are logarithmic.
type Curve struct {
	Name           string // of the files
	Title, Caption string
	Note           string // under the caption; may be empty
	XLabel, YLabel string
	// Durations says that values are ns.
	Durations bool
	Lines     []CurveLine
}

// CurveLine is one line of it.
type CurveLine struct {
	Label  string
	Points []CurvePoint // by rising X; what is not above 0 is left out
}

// CurvePoint is one value.
type CurvePoint struct{ X, Y float64 }

// DrawCurves writes NAME.svg and NAME.png of each into dir, which it makes.
func DrawCurves(dir string, curves []Curve) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, c := range curves {
		ink := newInk()
		if err := writeSheet(filepath.Join(dir, c.Name), func() *sheet { return c.sheet(ink) }); err != nil {
			return fmt.Errorf("figure %s: %w", c.Name, err)
		}
	}
	return nil
}

func (c Curve) sheet(ink *ink) *sheet {
	s := newSheet(ink, c.Title, c.Caption)
	s.note = c.Note
	var xs, ys []float64
	for _, l := range c.Lines {
		for _, pt := range l.points() {
			xs, ys = append(xs, pt.x), append(ys, pt.y)
		}
	}
	xLo, xHi, okX := axis.LogRange(xs)
	yLo, yHi, okY := axis.LogRange(ys)
	if !okX || !okY {
		return s
	}
	p := s.newPanel(c.XLabel, c.YLabel)
	p.X.Min, p.X.Max, p.X.Tick.Marker = math.Log10(xLo), math.Log10(xHi), ticker(powerTicks)
	p.Y.Min, p.Y.Max, p.Y.Scale, p.Y.Tick.Marker = yLo, yHi, axis.Log{}, ticker(numberTicks)
	if c.Durations {
		p.Y.Tick.Marker = ticker(durationTicks)
	}
	p.Add(grid{vertical: true, horizontal: true})
	for i, l := range c.Lines {
		look := phaseLooks[i%len(phaseLooks)]
		style := stroke(look.color, 1.8, look.dashes)
		glyph := draw.GlyphStyle{Color: look.color, Radius: vg.Points(3.2), Shape: look.shape}
		points := l.points()
		for n := range points {
			points[n].x = math.Log10(points[n].x)
		}
		p.Add(lines{[][]point{points}, style}, dots{points, glyph})
		s.legend = append(s.legend, legendEntry{text: l.Label, thumb: func(c *draw.Canvas) {
			lineThumb(style)(c)
			glyphThumb(glyph)(c)
		}})
	}
	return s
}

// points are those that a log axis can hold.
func (l CurveLine) points() (all []point) {
	for _, pt := range l.Points {
		if pt.X > 0 && pt.Y > 0 && axis.Finite(pt.X) && axis.Finite(pt.Y) {
			all = append(all, point{pt.X, pt.Y})
		}
	}
	return all
}

// powerTicks are ticks of an axis that holds logarithms. The library places an axis' label by the middle of its values: on its own log axis
// that lies far to the right and pushes the panel away.
func powerTicks(lo, hi float64) []axis.Tick {
	ticks := numberTicks(math.Pow(10, lo), math.Pow(10, hi))
	for i := range ticks {
		ticks[i].Value = math.Log10(ticks[i].Value)
	}
	return ticks
}

func numberTicks(lo, hi float64) []axis.Tick { return axis.LogTicks(lo, hi, axis.NumberText) }
