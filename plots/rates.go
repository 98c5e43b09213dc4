package plots

import (
	"math"
	"time"

	"rejoin/results"
)

const secondNs = int64(time.Second)

// partMin is the least part of a second whose counts are scaled up to a rate; a smaller one holds too little to say anything.
const partMin = 0.5

// ratePoints makes rates from the counts of each second since the run's start. The first and the last second of the load are mostly partial:
// their counts are scaled to the whole second, or left out, so that no rate seems to fall where only the counting began or ended.
func ratePoints(rates []results.Rate, t *results.Timeline) []RatePoint {
	if len(rates) == 0 {
		return nil
	}
	stop := rates[len(rates)-1].TNs // of a run that told no end the last second is of unknown length
	if t.LoadStopNs != nil {
		stop = *t.LoadStopNs
	}
	last := lastAcked(rates)
	var out []RatePoint
	for i, r := range rates {
		end := r.TNs + secondNs
		part := float64(min(end, stop)-max(r.TNs, t.LoadStartNs)) / float64(secondNs)
		pt := RatePoint{TNs: r.TNs, OfferedPerS: scaled(r.OfferedBatches, part), AckedPerS: float64(r.AckedBatches)}
		switch {
		case r.TNs >= stop && i >= last: // what was acknowledged last ended within this second
			pt.AckedPerS = math.NaN()
		case r.TNs < t.LoadStartNs, r.TNs < stop && end > stop && i == last:
			pt.AckedPerS = scaled(r.AckedBatches, part)
		}
		out = append(out, pt)
	}
	return out
}

func scaled(count int64, part float64) float64 {
	if part < partMin {
		return math.NaN()
	}
	return float64(count) / part
}

// lastAcked is the last second in which anything was acknowledged, -1 if there is none.
func lastAcked(rates []results.Rate) int {
	last := -1
	for i, r := range rates {
		if r.AckedBatches > 0 {
			last = i
		}
	}
	return last
}
