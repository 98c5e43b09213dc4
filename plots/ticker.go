package plots

import (
	"gonum.org/v1/plot"

	"rejoin/plots/axis"
)

// ticker hands an axis' ticks to the drawing library.
type ticker func(lo, hi float64) []axis.Tick

// Ticks is what the library asks for.
func (t ticker) Ticks(lo, hi float64) []plot.Tick {
	var out []plot.Tick
	for _, tick := range t(lo, hi) {
		out = append(out, plot.Tick{Value: tick.Value, Label: tick.Label})
	}
	return out
}

func durationTicks(lo, hi float64) []axis.Tick { return axis.LogTicks(lo, hi, axis.DurationText) }
