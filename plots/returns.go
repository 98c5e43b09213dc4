package plots

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"rejoin/plots/axis"
)

const (
	// returnBehind is how much of the way back is shown after a node has caught up, as a share of it.
	returnBehind = 0.3
	// returnUnfinishedNs is how much is shown of one that did not catch up.
	returnUnfinishedNs = 20e9
)

// returnInsets show each poll of a node on its way back: on the time axis of a run that is one stroke.
func (f *Figures) returnInsets(s *sheet) (row []inset) {
	for _, k := range f.Recovery {
		caught := k.bar(BarCatchup)
		if caught == nil || !axis.Finite(k.DownNs) || k.DownNs < 0 {
			continue
		}
		length := returnUnfinishedNs
		if finished := axis.Finite(caught.DurationNs) && caught.DurationNs > 0 && !caught.Unfinished; finished {
			length = caught.DurationNs * (1 + returnBehind)
		}
		polls, most := f.pollsSince(k.Node, float64(k.AtNs)+k.DownNs, length)
		if len(polls) == 0 {
			continue
		}
		p := s.axes("s since its restart")
		p.X.Min, p.X.Max, p.X.Tick.Marker = 0, length/1e9, ticker(axis.CountTicks)
		p.Y.Min, p.Y.Max, p.Y.Tick.Marker = 0, max(most*1.05, 10), ticker(axis.CountTicks)
		look := lookOf(k.Node)
		p.Add(grid{vertical: true, horizontal: true}, lines{[][]point{polls}, stroke(look.color, 1.2, solid)},
			dots{polls, draw.GlyphStyle{Color: look.color, Radius: vg.Points(1.6), Shape: draw.CircleGlyph{}}})
		note := "not caught up"
		if length != returnUnfinishedNs {
			note = "caught up after " + axis.DurationText(caught.DurationNs)
		}
		row = append(row, inset{title: fmt.Sprintf("%s back: ops behind, by poll", k.Node), note: fmt.Sprintf("first seen %s behind, %s", axis.CountText(int64(polls[0].y)), note), panel: p})
	}
	if n := len(row); n > insetsMax {
		row[insetsMax-1].title += fmt.Sprintf(" (%d of %d)", insetsMax, n)
	}
	return row
}

// pollsSince are the lags of a node in a stretch that begins with its restart, by seconds since then, and the highest of them.
func (f *Figures) pollsSince(node string, fromNs, lengthNs float64) (polls []point, most float64) {
	for _, series := range f.Lag {
		if series.Node != node {
			continue
		}
		for _, pt := range series.Points {
			if since := float64(pt.TNs) - fromNs; since >= 0 && since <= lengthNs && axis.Finite(pt.LagOps) {
				lag := f.lagOps(math.Max(pt.LagOps, 0))
				polls, most = append(polls, point{since / 1e9, lag}), max(most, lag)
			}
		}
	}
	return polls, most
}
