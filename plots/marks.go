package plots

import (
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"rejoin/plots/axis"
	"rejoin/results"
)

// marks draws what happened, behind the data of a time axis: shaded spans, kills, the bounds of the measured load.
type marks struct {
	spans []SpanMark
	kills []KillMark
	downs []DownMark
	// boundsNs are the end of the warm-up and the stop of the load, those that are known.
	boundsNs []int64
}

func (f *Figures) marks() *marks {
	m := &marks{spans: f.Spans, kills: f.Kills, downs: f.Downs}
	for _, at := range []int64{f.WarmupEndNs, f.LoadStopNs} {
		if at > 0 {
			m.boundsNs = append(m.boundsNs, at)
		}
	}
	return m
}

var spanColors = [spanKinds]color.NRGBA{SpanOutage: orange, SpanRepair: skyBlue, SpanTransfer: green}

const (
	laneHeight = vg.Length(3.5)
	// spanWidthMin keeps a repair of 50 ms visible on an axis of minutes.
	spanWidthMin = vg.Length(1.5)
)

// killStyle is the line of a SIGKILL, termStyle that of a SIGTERM.
func killStyle() draw.LineStyle { return stroke(ink90, 1.1, dotted) }
func termStyle() draw.LineStyle { return stroke(ink60, 1.1, dashed) }

func (k KillMark) style() draw.LineStyle {
	if k.How == results.Restarted {
		return termStyle()
	}
	return killStyle()
}

// boundStyle is the line of the warm-up's end and the load's stop.
func boundStyle() draw.LineStyle { return stroke(ink60, 0.8, dashDot) }

func (m *marks) Plot(c draw.Canvas, p *plot.Plot) {
	toX, _ := p.Transforms(&c)
	for kind := range spanKinds {
		for _, s := range m.spans {
			if s.Kind == kind {
				drawSpan(c, s, toX)
			}
		}
	}
	grid{vertical: true, horizontal: true}.Plot(c, p) // above the shades, below the lines
	for _, at := range m.boundsNs {
		if x := toX(axis.Seconds(at)); c.ContainsX(x) {
			c.StrokeLine2(boundStyle(), x, c.Min.Y, x, c.Max.Y)
		}
	}
	for _, k := range m.kills {
		if x := toX(axis.Seconds(k.AtNs)); c.ContainsX(x) {
			c.StrokeLine2(k.style(), x, c.Min.Y, x, c.Max.Y)
		}
	}
}

func drawSpan(c draw.Canvas, s SpanMark, toX func(float64) vg.Length) {
	from, to := max(toX(axis.Seconds(s.FromNs)), c.Min.X), min(toX(axis.Seconds(s.ToNs)), c.Max.X)
	if to < c.Min.X || from > c.Max.X {
		return
	}
	to = max(to, from+spanWidthMin)
	c.FillPolygon(tint(spanColors[s.Kind]), corners(vg.Rectangle{Min: vg.Point{X: from, Y: c.Min.Y}, Max: vg.Point{X: to, Y: c.Max.Y}}))
	foot := c.Min.Y + vg.Length(s.Kind)*laneHeight // a lane for each kind tells them apart without colour
	c.FillPolygon(spanColors[s.Kind], corners(vg.Rectangle{Min: vg.Point{X: from, Y: foot}, Max: vg.Point{X: to, Y: foot + laneHeight}}))
}

// spanThumb shows a span's tint with its bar in its lane.
func spanThumb(k SpanKind) func(*draw.Canvas) {
	return func(c *draw.Canvas) {
		c.FillPolygon(tint(spanColors[k]), corners(c.Rectangle))
		foot := c.Min.Y + vg.Length(k)*laneHeight*0.9
		c.FillPolygon(spanColors[k], corners(vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: foot}, Max: vg.Point{X: c.Max.X, Y: foot + laneHeight*0.9}}))
	}
}

// legend lists the kinds that occur.
func (m *marks) legend() []legendEntry {
	var entries []legendEntry
	for kind := range spanKinds {
		for _, s := range m.spans {
			if s.Kind == kind {
				entries = append(entries, legendEntry{text: kind.legend(), thumb: spanThumb(kind)})
				break
			}
		}
	}
	entries = append(entries, m.downLegend()...)
	for _, how := range []results.HowEnded{results.Killed, results.Restarted} {
		if i := slices.IndexFunc(m.kills, func(k KillMark) bool { return k.How.Signal() == how.Signal() }); i >= 0 {
			entries = append(entries, legendEntry{how.Signal(), uprightThumb(m.kills[i].style()), true})
		}
	}
	if len(m.boundsNs) > 0 {
		entries = append(entries, legendEntry{"warm-up end, load stop", uprightThumb(boundStyle()), true})
	}
	return entries
}

func uprightThumb(style draw.LineStyle) func(*draw.Canvas) {
	return func(c *draw.Canvas) { c.StrokeLine2(style, c.Center().X, c.Min.Y-1, c.Center().X, c.Max.Y+1) }
}

const (
	killRow     = vg.Length(12)
	killRowsMax = 2
)

func (k KillMark) text() string {
	if k.Role == "" {
		return label(k.Node) + " " + string(k.How.Word())
	}
	return fmt.Sprintf("%s %s (%s)", label(k.Node), k.How.Word(), label(k.Role))
}

// drawLabels writes the kills' labels above the panel, in as few rows as keep them apart, and returns the height it took. Labels that would need
// more rows than there are stay away; their lines remain.
func (m *marks) drawLabels(s *sheet, c draw.Canvas) vg.Length {
	style := s.ink.text(9, ink90, draw.XCenter, draw.YCenter)
	data := s.panel.DataCanvas(c)
	toX, _ := s.panel.Transforms(&data)
	type placed struct {
		mark  KillMark
		x, at vg.Length // centre of the text, x of the kill
		row   int
	}
	var out []placed
	var ends [killRowsMax]vg.Length
	rows := 0
	for _, k := range m.kills {
		at := toX(axis.Seconds(k.AtNs))
		if at < data.Min.X || at > data.Max.X {
			continue
		}
		half := style.Width(k.text())/2 + 3
		x := min(max(at, data.Min.X+half), data.Max.X-half)
		for row := range killRowsMax {
			if x-half >= ends[row] {
				ends[row] = x + half
				out = append(out, placed{k, x, at, row})
				rows = max(rows, row+1)
				break
			}
		}
	}
	bottom := c.Max.Y - vg.Length(rows)*killRow
	for _, p := range out {
		y := bottom + (vg.Length(p.row)+0.5)*killRow
		c.StrokeLine2(p.mark.style(), p.at, bottom-2, p.at, y-killRow/2)
		c.FillText(style, vg.Point{X: p.x, Y: y}, p.mark.text())
	}
	if rows == 0 {
		return 0
	}
	return vg.Length(rows)*killRow + 2
}
