package report

import (
	"fmt"
	"math"
	"time"

	"rejoin/plots"
	"rejoin/plots/axis"
	"rejoin/results"
	"rejoin/results/compare"
)

// readRunsMax bounds how many runs of a side are drawn over time: more lines hide each other.
const readRunsMax = 8

// side is what is drawn beside others: a side of a comparison, or one of several systems.
type side struct {
	id    string // in the ids of what is drawn
	name  string // in the legend of curves
	title string // over its panel of latency by second
	note  string // beside that title
	runs  []compare.Ref
}

// sidesRead is what drawings need from the runs of all sides. Distributions of a side are merged histograms, never means.
type sidesRead struct {
	sides    []side
	merged   []*results.LatencySet
	windows  [][][]results.Window
	problems []string
}

func readSides(sides ...side) *sidesRead {
	out := &sidesRead{sides: sides, windows: make([][][]results.Window, len(sides))}
	for i, of := range sides {
		merged := results.NewLatencySet()
		for n, r := range of.runs {
			f := results.Folder{Dir: r.Dir}
			set, err := f.ReadLatencySet()
			if err != nil {
				out.problems = append(out.problems, fmt.Sprintf("latencies of %s: %v", r.Name, err))
				continue
			}
			merged.Merge(set)
			if n >= readRunsMax {
				continue
			}
			windows, err := f.ReadWindows(results.DueToAck, time.Second, 0.5)
			if err != nil {
				out.problems = append(out.problems, fmt.Sprintf("latencies of %s: %v", r.Name, err))
			}
			out.windows[i] = append(out.windows[i], windows)
		}
		out.merged = append(out.merged, merged)
	}
	return out
}

// curves are the distributions of all sides, phase by phase, all on one scale. A side keeps its look in every phase, also where another has no
// samples.
func (r *sidesRead) curves() []stage {
	byPhase := map[string][]plots.Distribution{}
	for _, phase := range results.Phases() {
		byPhase[string(phase)] = make([]plots.Distribution, len(r.sides))
	}
	lo, hi, end := math.Inf(1), 0.0, 1.0
	for i, set := range r.merged {
		for _, d := range plots.Distributions(set) {
			if byPhase[d.Label] == nil {
				continue // a phase that this build does not know
			}
			byPhase[d.Label][i] = d
			for _, pt := range d.Points {
				lo, hi, end = min(lo, pt.LatencyNs), max(hi, pt.LatencyNs), max(end, axis.QuantileX(pt.Q))
			}
		}
	}
	var out []stage
	for _, phase := range results.Phases() {
		of, points := byPhase[string(phase)], 0
		for i := range of {
			of[i].Label = r.sides[i].name
			points += len(of[i].Points)
		}
		if points > 0 {
			out = append(out, percentileStageWithin("curve-"+string(phase), "Latency in phase "+string(phase), of, [2]float64{lo, hi}, end))
		}
	}
	return out
}

// overTime is p50 by second of each run, one side above the other on the same scale.
func (r *sidesRead) overTime(label string) stage {
	s := stage{ID: "over-time", Kind: timeStage, To: 1, XLabel: "run time (s)", Label: label}
	var values []float64
	for _, runs := range r.windows {
		for _, windows := range runs {
			for _, w := range windows {
				s.To = max(s.To, msOf(w.ToNs))
				if q := w.QuantileNs[0]; q != nil {
					values = append(values, float64(*q))
				}
			}
		}
	}
	s.XTicks = timeTicks(0, s.To)
	lo, hi, ok := axis.LogRange(values)
	for i, of := range r.sides {
		p := panel{ID: "over-time-" + of.id, Title: of.title, Note: of.note, Tall: true}
		if !ok || len(r.windows[i]) == 0 {
			p.Empty = "no data: no run's latencies could be read"
			s.Panels = append(s.Panels, p)
			continue
		}
		place := logScale(lo, hi)
		p.YTicks = place.yTicks(axis.LogTicks(lo, hi, axis.DurationText))
		for n, windows := range r.windows[i] {
			p.Series = append(p.Series, secondsLine(fmt.Sprintf("over-time-%s-%d", of.id, n), n, windows, place))
		}
		s.Panels = append(s.Panels, p)
	}
	return s
}

// secondsLine is one run's p50 by second.
func secondsLine(id string, n int, windows []results.Window, place scale) series {
	line := series{ID: id, Label: fmt.Sprintf("run %d", n+1), Look: percentileLooks[n%len(percentileLooks)], Unit: "ns"}
	for _, w := range windows {
		if q := w.QuantileNs[0]; q != nil {
			line.Data = append(line.Data, [3]float64{msOf(w.FromNs), msOf(w.ToNs), float64(*q)})
		}
	}
	line.Path = stepPath(line.Data, place, true)
	return line
}
