package plots

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// inset is a small panel under the one of a sheet, such as a stretch of it that is too short to be seen there.
type inset struct {
	title, note string
	panel       *plot.Plot
}

const (
	insetHeight = vg.Length(150) // with its title
	insetGap    = vg.Length(16)
	insetsMax   = 4 // in one row
)

// addInsets makes room for a row of them.
func (s *sheet) addInsets(row []inset) {
	if len(row) > 0 {
		s.insets = row[:min(len(row), insetsMax)]
		s.height += insetHeight
	}
}

// drawInsets draws them at the foot of c, and returns the height they took. One or two are as broad as each of three.
func (s *sheet) drawInsets(c draw.Canvas) vg.Length {
	if len(s.insets) == 0 {
		return 0
	}
	columns := vg.Length(max(len(s.insets), 3))
	width := (c.Max.X - c.Min.X - (columns-1)*insetGap) / columns
	for i, in := range s.insets {
		left := c.Min.X + vg.Length(i)*(width+insetGap)
		at := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: left, Y: c.Min.Y}, Max: vg.Point{X: left + width, Y: c.Min.Y + insetHeight - 14}}}
		at.FillText(s.ink.bold(9, ink90, draw.XLeft, draw.YTop), vg.Point{X: left, Y: at.Max.Y}, label(in.title))
		at.FillText(s.ink.text(9, ink60, draw.XLeft, draw.YTop), vg.Point{X: left, Y: at.Max.Y - 12}, label(in.note))
		at.Max.Y -= 29
		in.panel.Draw(at)
	}
	return insetHeight
}
