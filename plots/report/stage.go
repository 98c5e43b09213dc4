package report

import (
	"strings"

	"rejoin/plots/axis"
)

// stage is one horizontal axis with everything that is drawn along it. Its unit is ms of run time, or thousandths of a nine (percentiles).
type stage struct {
	ID     string
	Label  string // what it shows, for those who do not see it
	Kind   stageKind
	From   float64
	To     float64
	XLabel string
	XTicks []xTick
	Lanes  []lane
	Panels []panel
	Lines  []line
	Shades []shade
	Jumps  []jump
}

type stageKind string

const (
	timeStage       stageKind = "time"
	percentileStage stageKind = "percentile"
	orderStageKind  stageKind = "order" // of runs, from 1
)

// Width is the length of the axis.
func (s *stage) Width() float64 { return s.To - s.From }

// xTick is a mark of the horizontal axis.
type xTick struct {
	At    float64
	Label string
}

// lane is a row of boxes: what one node was at each time.
type lane struct {
	Name  string
	Boxes []box
}

// box is a stretch of a lane. Class chooses its look, Text stands in it if it fits, Title says it in full.
type box struct {
	From, To           float64
	Class, Text, Title string
}

// line is a vertical line through all panels.
type line struct {
	At           float64
	Class, Title string
}

// shade is a stretch behind the data of all panels.
type shade struct {
	From, To     float64
	Class, Title string
}

// jump zooms to a stretch.
type jump struct {
	From, To float64
	Label    string
}

// panel is one vertical axis.
type panel struct {
	ID     string
	Title  string
	Note   string
	YTicks []yTick
	Series []series
	Tall   bool
	// Empty stands in place of a drawing: "no data", with the reason if it is known.
	Empty string
}

// yTick is placed by its distance from the top, in percent.
type yTick struct {
	Top   float64
	Label string
}

// series is one line, or a cloud of dots.
type series struct {
	ID    string
	Label string
	// Look is a class of the style sheet: colour and dash, or dot.
	Look string
	Path string
	// Fine takes the place of Path when the zoom is narrow; "" if there is no finer one.
	Fine string
	// Unit chooses how the script spells a value: ns, ops, or per_s.
	Unit string
	// Data is what the cursor reads: from, to, value.
	Data [][3]float64
}

// scale places a value on a vertical axis: 0 at its foot, 1 at its top.
type scale func(v float64) float64

func logScale(lo, hi float64) scale {
	return func(v float64) float64 { return axis.Log{}.Normalize(lo, hi, v) }
}

func zeroLogScale(hi float64) scale {
	return func(v float64) float64 { return axis.ZeroLog{}.Normalize(0, hi, v) }
}

func linearScale(hi float64) scale { return func(v float64) float64 { return v / hi } }

// yTicks places the ticks of a vertical axis.
func (s scale) yTicks(ticks []axis.Tick) []yTick {
	var out []yTick
	for _, t := range ticks {
		out = append(out, yTick{Top: 100 * (1 - s(t.Value)), Label: t.Label})
	}
	return out
}

// timeTicks are those of a time axis of ms.
func timeTicks(fromMs, toMs float64) []xTick {
	var out []xTick
	for _, t := range axis.SecondTicks(fromMs/1e3, toMs/1e3) {
		out = append(out, xTick{At: t.Value * 1e3, Label: t.Label})
	}
	return out
}

// Swatch is the sample of the series in its legend.
func (s series) Swatch() string {
	if strings.Contains(s.Look, "dots") || strings.Contains(s.Look, "squares") {
		return "M15 6h0"
	}
	return "M1 6H29"
}
