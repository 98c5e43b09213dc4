package plots

import (
	"bytes"
	"fmt"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"rejoin/results"
)

// A figure is as wide as a README's column; text of 9 to 13 pt stays legible there.
const (
	sheetWidth  = 9 * vg.Inch
	sheetHeight = 4.7 * vg.Inch
	sheetMargin = vg.Length(10)
	pngDPI      = 160
)

// sheet is one figure: title and caption, a legend in rows of its own (never over the data), labels of kills, and a panel.
type sheet struct {
	ink            *ink
	title, caption string
	// note explains words of the figure, under the caption; may be empty.
	note   string
	height vg.Length
	legend []legendEntry
	marks  *marks
	panel  *plot.Plot
	// yLabel is drawn by the sheet: the library places the axis' own by its linear middle, which on a log axis pushes the panel down.
	yLabel string
	// insets stand in a row under the panel.
	insets []inset
	// empty is drawn in place of the panel if there is no panel.
	empty string
}

type legendEntry struct {
	text  string
	thumb func(c *draw.Canvas)
	// narrow is for marks that are a vertical line.
	narrow bool
}

func newSheet(ink *ink, title, caption string) *sheet {
	return &sheet{ink: ink, title: title, caption: label(caption), height: sheetHeight, empty: "no data"}
}

// newPanel returns the panel of the sheet; the caller sets range, scale and ticks.
func (s *sheet) newPanel(xLabel, yLabel string) *plot.Plot {
	s.panel, s.yLabel = s.axes(xLabel), yLabel
	return s.panel
}

// axes are a panel in our font.
func (s *sheet) axes(xLabel string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font = s.ink.text(10, nil, 0, 0).Font
		axis.Label.TextStyle.Handler = s.ink.plain
		axis.Label.TextStyle.Color = ink90
		axis.Label.Padding = 4
		axis.Tick.Label.Font = s.ink.text(9.5, nil, 0, 0).Font
		axis.Tick.Label.Handler = s.ink.plain
		axis.Tick.Label.Color = ink90
		axis.Tick.LineStyle = stroke(ink60, 0.6, nil)
		axis.LineStyle = stroke(ink60, 0.8, nil)
		axis.Tick.Length = 4
		axis.Padding = 0
	}
	p.X.Label.Text = xLabel
	p.Legend.TextStyle = s.ink.text(9, ink90, 0, 0)
	return p
}

func (s *sheet) draw(c draw.Canvas) {
	c.FillPolygon(colorWhite, corners(c.Rectangle))
	c = draw.Crop(c, sheetMargin, -sheetMargin-8, sheetMargin, -sheetMargin)
	title := s.ink.bold(13, ink90, draw.XLeft, draw.YTop)
	c.FillText(title, vg.Point{X: c.Min.X, Y: c.Max.Y}, s.title)
	c.Max.Y -= 19
	c.FillText(s.ink.text(9, ink60, draw.XLeft, draw.YTop), vg.Point{X: c.Min.X, Y: c.Max.Y}, s.caption)
	c.Max.Y -= 13
	if s.note != "" {
		c.FillText(s.ink.text(9, ink60, draw.XLeft, draw.YTop), vg.Point{X: c.Min.X, Y: c.Max.Y}, s.note)
		c.Max.Y -= noteRow
	}
	c.Max.Y -= 3
	if s.panel == nil {
		style := s.ink.text(12, ink60, draw.XCenter, draw.YCenter)
		c.StrokeLines(stroke(gridInk, 1, nil), closed(c.Rectangle))
		c.FillText(style, c.Center(), label(s.empty))
		return
	}
	c.Max.Y -= s.drawLegend(c) + 4
	c.Min.Y += s.drawInsets(c)
	if s.yLabel != "" {
		c.Min.X += yLabelWidth
	}
	if s.marks != nil {
		c.Max.Y -= s.marks.drawLabels(s, c)
		c.Max.Y -= s.marks.drawDowns(s, c)
	}
	s.drawYLabel(c)
	s.panel.Draw(c)
}

// noteRow is the height of the note's line.
const noteRow = vg.Length(13)

const yLabelWidth = vg.Length(17)

// drawYLabel writes the vertical axis' label beside the middle of the panel.
func (s *sheet) drawYLabel(c draw.Canvas) {
	style := s.ink.text(10, ink90, draw.XCenter, draw.YTop)
	style.Rotation = math.Pi / 2
	data := s.panel.DataCanvas(c)
	c.FillText(style, vg.Point{X: c.Min.X - yLabelWidth, Y: data.Center().Y}, s.yLabel)
}

const legendRow = vg.Length(14)

const legendGap = vg.Length(14)

func (e legendEntry) thumbWidth() vg.Length {
	if e.narrow {
		return 6
	}
	return 24
}

// legendRows says in which row each entry stands: in as few as the width allows, and none much fuller than another, so that no entry is left
// alone in the last.
func legendRows(widths []vg.Length, width vg.Length) []int {
	flow := func(limit vg.Length) []int {
		rows := make([]int, len(widths))
		row, x := 0, vg.Length(0)
		for i, w := range widths {
			if x > 0 && x+w > limit {
				row, x = row+1, 0
			}
			rows[i] = row
			x += w + legendGap
		}
		return rows
	}
	best := flow(width)
	if len(best) == 0 {
		return best
	}
	for limit := width - 5; limit > 0; limit -= 5 {
		narrower := flow(limit)
		if narrower[len(narrower)-1] > best[len(best)-1] {
			break
		}
		best = narrower
	}
	return best
}

// drawLegend draws the entries in rows and returns the height it took.
func (s *sheet) drawLegend(c draw.Canvas) vg.Length {
	if len(s.legend) == 0 {
		return 0
	}
	style := s.ink.text(9.5, ink90, draw.XLeft, draw.YCenter)
	widths := make([]vg.Length, len(s.legend))
	for i, e := range s.legend {
		widths[i] = e.thumbWidth() + 5 + style.Width(label(e.text))
	}
	rows := legendRows(widths, c.Max.X-c.Min.X)
	x := c.Min.X
	for i, e := range s.legend {
		if i > 0 && rows[i] != rows[i-1] {
			x = c.Min.X
		}
		y := c.Max.Y - (vg.Length(rows[i])+0.5)*legendRow
		e.thumb(&draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: x, Y: y - 5}, Max: vg.Point{X: x + e.thumbWidth(), Y: y + 5}}})
		c.FillText(style, vg.Point{X: x + e.thumbWidth() + 5, Y: y}, label(e.text))
		x += widths[i] + legendGap
	}
	return vg.Length(rows[len(rows)-1]+1) * legendRow
}

// lineThumb is a legend's sample of a line.
func lineThumb(style draw.LineStyle) func(*draw.Canvas) {
	return func(c *draw.Canvas) { c.StrokeLine2(style, c.Min.X, c.Center().Y, c.Max.X, c.Center().Y) }
}

func glyphThumb(style draw.GlyphStyle) func(*draw.Canvas) {
	return func(c *draw.Canvas) { c.DrawGlyphNoClip(style, c.Center()) }
}

func corners(r vg.Rectangle) []vg.Point {
	return []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}}
}

func closed(r vg.Rectangle) []vg.Point { return append(corners(r), r.Min) }

// writeSheet writes path.svg and path.png. The sheet is built anew for each, because drawing a panel adjusts it. A panic of the drawing library
// becomes an error.
func writeSheet(path string, build func() *sheet) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("drawing panicked: %v", p)
		}
	}()
	s := build()
	svg := vgsvg.New(sheetWidth, s.height)
	s.draw(draw.New(svg))
	if err := writeFile(path+".svg", func(w io.Writer) error { return writeSVG(w, svg) }); err != nil {
		return err
	}
	s = build()
	png := vgimg.NewWith(vgimg.UseWH(sheetWidth, s.height), vgimg.UseDPI(pngDPI))
	s.draw(draw.New(png))
	return writeFile(path+".png", func(w io.Writer) error {
		_, err := vgimg.PngCanvas{Canvas: png}.WriteTo(w)
		return err
	})
}

func writeFile(path string, write func(io.Writer) error) error {
	return results.WriteFileAtomic(path, write)
}

// writeSVG names fonts that stand in for ours where it is not installed: without them a viewer falls back to a serif.
func writeSVG(w io.Writer, svg *vgsvg.Canvas) error {
	var b bytes.Buffer
	if _, err := svg.WriteTo(&b); err != nil {
		return err
	}
	out := bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
	_, err := w.Write(out)
	return err
}
