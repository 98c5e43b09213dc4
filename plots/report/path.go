package report

import (
	"math"
	"strconv"

	"rejoin/plots/axis"
)

// panelUnits is the height of every drawing in its own units; the style sheet stretches it to the panel.
const panelUnits = 1000

// pathBuilder writes the data of an SVG path.
type pathBuilder struct {
	b     []byte
	scale scale
}

func (p *pathBuilder) number(v float64) {
	p.b = strconv.AppendFloat(p.b, math.Round(v*10)/10+0, 'f', -1, 64) // adding 0 takes the sign from -0
}

func (p *pathBuilder) y(v float64) float64 { return panelUnits * (1 - min(max(p.scale(v), 0), 1)) }

func (p *pathBuilder) move(x, v float64) {
	p.b = append(p.b, 'M')
	p.number(x)
	p.b = append(p.b, ' ')
	p.number(p.y(v))
}

func (p *pathBuilder) line(x, v float64) {
	p.b = append(p.b, 'L')
	p.number(x)
	p.b = append(p.b, ' ')
	p.number(p.y(v))
}

func (p *pathBuilder) across(x float64) {
	p.b = append(p.b, 'H')
	p.number(x)
}

func (p *pathBuilder) upright(v float64) {
	p.b = append(p.b, 'V')
	p.number(p.y(v))
}

// stepPath draws each stretch as a level. Neighbours are joined if join is set; what lies apart is not.
func stepPath(data [][3]float64, s scale, join bool) string {
	p := pathBuilder{scale: s}
	end := math.Inf(-1)
	for _, d := range data {
		if join && d[0] == end {
			p.upright(d[2])
		} else {
			p.move(d[0], d[2])
		}
		p.across(d[1])
		end = d[1]
	}
	return string(p.b)
}

// dotPath is a dot in the middle of each stretch: a line without length, which round caps make a dot of the same size at any zoom.
func dotPath(data [][3]float64, s scale) string {
	p := pathBuilder{scale: s}
	for _, d := range data {
		p.move((d[0]+d[1])/2, d[2])
		p.b = append(p.b, "h0"...)
	}
	return string(p.b)
}

// curvePath joins points, whose stretches have no length.
func curvePath(data [][3]float64, s scale) string {
	p := pathBuilder{scale: s}
	for i, d := range data {
		if i == 0 {
			p.move(d[0], d[2])
		} else {
			p.line(d[0], d[2])
		}
	}
	return string(p.b)
}

// merged joins neighbours of equal value: most of a lag is zero.
func merged(data [][3]float64) [][3]float64 {
	var out [][3]float64
	for _, d := range data {
		if n := len(out); n > 0 && out[n-1][1] == d[0] && out[n-1][2] == d[2] {
			out[n-1][1] = d[1]
		} else {
			out = append(out, d)
		}
	}
	return out
}

// msOf is ns as ms, to a tenth: finer than any drawing shows.
func msOf(ns int64) float64 { return math.Round(float64(ns)/1e5) / 10 }

func finite(v float64) bool { return axis.Finite(v) }
