package plots

import (
	"fmt"
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"rejoin/plots/axis"
)

// recoveryKillsMax bounds the figure's height; a soak of hundreds of kills shows its first ones and says so.
const recoveryKillsMax = 24

const (
	barRow   = vg.Length(15)
	killGap  = vg.Length(14)
	barThick = vg.Length(10)
)

var barColors = [barKinds]color.NRGBA{BarOutage: orange, BarRepair: skyBlue, BarTransfer: green, BarCatchup: purple}

func (f *Figures) recoverySheet(ink *ink) *sheet {
	s := newSheet(ink, "Recovery by kill: how long, and how much was moved", f.Caption)
	kills := f.Recovery
	if len(kills) > recoveryKillsMax {
		s.caption = label(fmt.Sprintf("%s · first %d of %d kills", f.Caption, recoveryKillsMax, len(kills)))
		kills = kills[:recoveryKillsMax]
	}
	if len(kills) == 0 {
		s.empty = "no data: no process of a node was ended"
		return s
	}
	p := s.newPanel("duration (s)", "")
	p.X.Min, p.X.Max, p.X.Tick.Marker = 0, recoveryAxisEnd(kills, ink), ticker(axis.SecondTicks)
	p.Y.Min, p.Y.Max, p.Y.Tick.Marker = 0, 1, plot.ConstantTicks(nil)
	p.Y.LineStyle.Width = 0
	p.Add(grid{vertical: true}, recoveryBars{kills, s.ink})
	s.height = 95 + vg.Length(len(kills))*(barRow*vg.Length(barKinds)+killGap)
	return s
}

// recoveryPanel is about how wide the panel beside the labels is.
const recoveryPanel = sheetWidth - 2*sheetMargin - recoveryMargin - 20

// recoveryAxisEnd leaves, in seconds, room for the text behind every bar.
func recoveryAxisEnd(kills []Recovery, ink *ink) float64 {
	style := ink.text(9, ink90, draw.XLeft, draw.YCenter)
	end := 0.0
	for _, k := range kills {
		for i := range k.Bars {
			b := &k.Bars[i]
			if !(b.DurationNs > 0) || !axis.Finite(b.DurationNs) {
				continue
			}
			text := float64((barTextGap + style.Width(barText(b)) + 4) / recoveryPanel)
			end = max(end, b.DurationNs/1e9/(1-min(text, 0.9)))
		}
	}
	if end == 0 {
		return 1
	}
	return end
}

const barTextGap = vg.Length(5)

// recoveryBars draws a block of rows per kill, the first kill at the top. Labels stand in a column of their own at the left.
type recoveryBars struct {
	kills []Recovery
	ink   *ink
}

// recoveryMargin is the column of the labels; GlyphBoxes asks the panel for it.
const recoveryMargin = vg.Length(235)

// GlyphBoxes keeps the room at the left free.
func (r recoveryBars) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{{X: 0, Y: 0.5, Rectangle: vg.Rectangle{Min: vg.Point{X: -recoveryMargin}, Max: vg.Point{X: 0}}}}
}

func (r recoveryBars) Plot(c draw.Canvas, p *plot.Plot) {
	toX, _ := p.Transforms(&c)
	block := (c.Max.Y - c.Min.Y) / vg.Length(len(r.kills))
	for i, k := range r.kills {
		top := c.Max.Y - vg.Length(i)*block
		r.drawKill(c, k, top-killGap/2, block-killGap, toX)
		if i > 0 {
			c.StrokeLine2(stroke(gridInk, 0.8, nil), c.Min.X-recoveryMargin, top, c.Max.X, top)
		}
	}
}

func (r recoveryBars) drawKill(c draw.Canvas, k Recovery, top, height vg.Length, toX func(float64) vg.Length) {
	name := r.ink.bold(10, ink90, draw.XLeft, draw.YTop)
	note := r.ink.text(9, ink60, draw.XLeft, draw.YTop)
	left := c.Min.X - recoveryMargin
	c.FillText(name, vg.Point{X: left, Y: top}, killTitle(k))
	for i, line := range killNotes(k) {
		c.FillText(note, vg.Point{X: left, Y: top - vg.Length(i+1)*13 - 2}, line)
	}
	row := height / vg.Length(barKinds)
	axis := r.ink.text(9, ink90, draw.XRight, draw.YCenter)
	for kind := range barKinds {
		y := top - row*(vg.Length(kind)+0.5)
		c.FillText(axis, vg.Point{X: c.Min.X - 6, Y: y}, kind.String())
		r.drawBar(c, k.bar(kind), y, toX)
	}
	c.StrokeLine2(stroke(ink60, 0.8, nil), c.Min.X, top+2, c.Min.X, top-height-2)
}

func killTitle(k Recovery) string {
	if k.Role == "" {
		return label(k.Node)
	}
	return fmt.Sprintf("%s (%s)", label(k.Node), label(k.Role))
}

func killNotes(k Recovery) []string {
	notes := []string{string(k.How.Word()) + " at " + axis.DurationText(float64(k.AtNs))}
	if k.BeforeLoad || k.AtNs < 0 {
		notes[0] = string(k.How.Word()) + " before the load"
	}
	if axis.Finite(k.DownNs) && k.DownNs > 0 {
		return append(notes, "down "+axis.DurationText(k.DownNs))
	}
	return append(notes, "not restarted")
}

// bar returns the bar of a kind; one that never began has no duration.
func (k Recovery) bar(kind BarKind) *RecoveryBar {
	for i := range k.Bars {
		if k.Bars[i].Kind == kind {
			return &k.Bars[i]
		}
	}
	return nil
}

func (r recoveryBars) drawBar(c draw.Canvas, b *RecoveryBar, y vg.Length, toX func(float64) vg.Length) {
	text := r.ink.text(9, ink90, draw.XLeft, draw.YCenter)
	end := c.Min.X
	if b != nil && b.DurationNs > 0 && axis.Finite(b.DurationNs) {
		end = min(max(toX(b.DurationNs/1e9), c.Min.X+spanWidthMin), c.Max.X)
		box := vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: y - barThick/2}, Max: vg.Point{X: end, Y: y + barThick/2}}
		c.FillPolygon(barColors[b.Kind], corners(box))
	}
	if b == nil {
		text.Color = ink60
	}
	c.FillText(text, vg.Point{X: end + barTextGap, Y: y}, barText(b))
}

// barText is what stands behind a bar: "1.2 s · 2 transfers · 3,400 ops · 118 MB".
func barText(b *RecoveryBar) string {
	if b == nil {
		return "–"
	}
	var parts []string
	switch {
	case b.Unfinished:
		parts = append(parts, "not finished")
	case !axis.Finite(b.DurationNs) || b.DurationNs < 0:
		parts = append(parts, "no data")
	default:
		parts = append(parts, axis.DurationText(b.DurationNs))
	}
	if b.GapNs > 0 {
		gap := "longest gap " + axis.DurationText(b.GapNs)
		if b.GapLaterAtNs > 0 {
			gap += fmt.Sprintf(" (later, at %.1f s)", b.GapLaterAtNs/1e9)
		}
		parts = append(parts, gap)
	}
	if b.Count > 1 {
		parts = append(parts, fmt.Sprintf("%s in all", axis.CountText(b.Count)))
	}
	if b.Ops > 0 {
		parts = append(parts, axis.CountText(b.Ops)+" ops")
	}
	if b.Bytes > 0 {
		parts = append(parts, axis.BytesText(b.Bytes))
	}
	return strings.Join(parts, " · ")
}
