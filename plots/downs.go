package plots

import (
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"rejoin/plots/axis"
)

const (
	downRow   = vg.Length(12)
	downThick = vg.Length(7)
	// downRowsMax bounds the strip; a larger cluster shows the first nodes that were away.
	downRowsMax = 8
)

// downNodes are the nodes that were away, in order of name.
func (m *marks) downNodes() []string {
	var nodes []string
	for _, d := range m.downs {
		if !slices.Contains(nodes, d.Node) {
			nodes = append(nodes, d.Node)
		}
	}
	slices.SortFunc(nodes, CompareNodes)
	return nodes[:min(len(nodes), downRowsMax)]
}

// downsHeight is how much room the rows take.
func (m *marks) downsHeight() vg.Length {
	if n := len(m.downNodes()); n > 0 {
		return vg.Length(n)*downRow + 3
	}
	return 0
}

// drawDowns draws a row for each node that was away at the top of c, above the panel's data, and returns the height it took.
func (m *marks) drawDowns(s *sheet, c draw.Canvas) vg.Length {
	nodes := m.downNodes()
	if len(nodes) == 0 {
		return 0
	}
	data := s.panel.DataCanvas(c)
	toX, _ := s.panel.Transforms(&data)
	height := m.downsHeight()
	for _, k := range m.kills { // the line that joins a kill's label with the panel
		if x := toX(axis.Seconds(k.AtNs)); data.ContainsX(x) {
			c.StrokeLine2(k.style(), x, c.Max.Y-height, x, c.Max.Y)
		}
	}
	name := s.ink.text(9, ink90, draw.XRight, draw.YCenter)
	for row, node := range nodes {
		y := c.Max.Y - (vg.Length(row)+0.5)*downRow
		c.FillText(name, vg.Point{X: data.Min.X - 5, Y: y}, label(node))
		c.StrokeLine2(stroke(gridInk, 0.5, nil), data.Min.X, y, data.Max.X, y)
		m.drawDownRow(s, node, vg.Rectangle{Min: vg.Point{X: data.Min.X, Y: y - downThick/2}, Max: vg.Point{X: data.Max.X, Y: y + downThick/2}}, c, toX)
	}
	return height
}

// drawDownRow draws the bars of a node within the box, each with its text where it overlaps no other bar.
func (m *marks) drawDownRow(s *sheet, node string, box vg.Rectangle, c draw.Canvas, toX func(float64) vg.Length) {
	style := s.ink.text(8.5, ink90, draw.XLeft, draw.YCenter)
	type bar struct {
		from, to vg.Length
		mark     DownMark
	}
	var bars []bar
	for _, d := range m.downs {
		from, to := max(toX(axis.Seconds(d.FromNs)), box.Min.X), min(toX(axis.Seconds(d.ToNs)), box.Max.X)
		if d.Node == node && from <= box.Max.X && to >= box.Min.X {
			bars = append(bars, bar{from, min(max(to, from+spanWidthMin), box.Max.X), d})
		}
	}
	for i, b := range bars {
		drawDownBar(c, vg.Rectangle{Min: vg.Point{X: b.from, Y: box.Min.Y}, Max: vg.Point{X: b.to, Y: box.Max.Y}}, lookOf(node), b.mark.Stopped)
		left, right := box.Min.X, box.Max.X // where the text may stand
		if i > 0 {
			left = bars[i-1].to + style.Width(bars[i-1].mark.text()) + 8 // behind the text of the one before
		}
		if i+1 < len(bars) {
			right = bars[i+1].from
		}
		text, y := b.mark.text(), (box.Min.Y+box.Max.Y)/2
		switch width := style.Width(text); {
		case b.to+3+width <= right:
			fillTextOnWhite(c, style, vg.Point{X: b.to + 3, Y: y}, text)
		case b.from-3-width >= left:
			fillTextOnWhite(c, style, vg.Point{X: b.from - 3 - width, Y: y}, text)
		case b.to-b.from >= width+16: // on the bar itself
			fillTextOnWhite(c, style, vg.Point{X: (b.from + b.to - width) / 2, Y: y}, text)
		}
	}
}

// fillTextOnWhite keeps lines that pass from striking a text through.
func fillTextOnWhite(c draw.Canvas, style draw.TextStyle, at vg.Point, text string) {
	box := vg.Rectangle{Min: vg.Point{X: at.X - 1, Y: at.Y - downRow/2}, Max: vg.Point{X: at.X + style.Width(text) + 1, Y: at.Y + downRow/2}}
	c.FillPolygon(colorWhite, corners(box))
	c.FillText(style, at, text)
}

// drawDownBar is a filled bar with the node's dash in it for a process that is gone, a hollow one for a process that is stopped.
func drawDownBar(c draw.Canvas, r vg.Rectangle, look nodeLook, stopped bool) {
	if !stopped {
		c.FillPolygon(tint(look.color), corners(r))
		y := (r.Min.Y + r.Max.Y) / 2
		c.StrokeLine2(stroke(look.color, 3, look.dashes), r.Min.X, y, r.Max.X, y)
	}
	c.StrokeLines(stroke(look.color, 0.8, nil), closed(r))
}

// text is what stands beside a bar: "down 4 s".
func (d DownMark) text() string {
	word := "down"
	if d.Stopped {
		word = "stopped"
	}
	switch {
	case d.Open && d.BeforeLoad:
		return word + " all the time"
	case d.BeforeLoad:
		return word + " since before the load"
	case d.Open:
		return word + " to the end"
	}
	return word + " " + axis.DurationText(float64(d.ToNs-d.FromNs))
}

// downLegend lists the kinds of bars that occur.
func (m *marks) downLegend() []legendEntry {
	var entries []legendEntry
	for _, kind := range []struct {
		stopped bool
		text    string
	}{{false, "node down (to its restart)"}, {true, "node stopped (SIGSTOP to SIGCONT)"}} {
		if looks := m.downLooks(kind.stopped); len(looks) > 0 {
			entries = append(entries, legendEntry{text: kind.text, thumb: downThumb(looks, kind.stopped)})
		}
	}
	return entries
}

// downLooks are those of the nodes that have a bar of a kind, in the order of the rows, each once.
func (m *marks) downLooks(stopped bool) []nodeLook {
	var numbers []int
	for _, node := range m.downNodes() {
		has := slices.ContainsFunc(m.downs, func(d DownMark) bool { return d.Node == node && d.Stopped == stopped })
		if n := LookNumber(node); has && !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	var looks []nodeLook
	for _, n := range numbers {
		looks = append(looks, nodeLooks[n])
	}
	return looks
}

// downThumb is a bar of each look that occurs, side by side: a legend in a colour of its own would stand for no bar.
func downThumb(looks []nodeLook, stopped bool) func(*draw.Canvas) {
	return func(c *draw.Canvas) {
		const gap = vg.Length(1.5)
		width := (c.Max.X - c.Min.X + gap) / vg.Length(len(looks))
		for i, look := range looks {
			from := c.Min.X + vg.Length(i)*width
			drawDownBar(*c, vg.Rectangle{Min: vg.Point{X: from, Y: c.Center().Y - downThick/2}, Max: vg.Point{X: from + width - gap, Y: c.Center().Y + downThick/2}}, look, stopped)
		}
	}
}
