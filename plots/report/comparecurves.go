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

// runsRead is what the drawings of a comparison need from its runs. Distributions of a side are merged histograms, never means.
type runsRead struct {
	merged   [2]*results.LatencySet
	windows  [2][][]results.Window
	problems []string
}

func readRuns(c *compare.Comparison) *runsRead {
	out := &runsRead{}
	for i, side := range []compare.Side{c.A, c.B} {
		out.merged[i] = results.NewLatencySet()
		for n, r := range side.Runs {
			f := results.Folder{Dir: r.Dir}
			set, err := f.ReadLatencySet()
			if err != nil {
				out.problems = append(out.problems, fmt.Sprintf("latencies of %s: %v", r.Name, err))
				continue
			}
			out.merged[i].Merge(set)
			if n >= readRunsMax {
				continue
			}
			windows, err := f.ReadWindows(results.DueToAck, time.Second, 0.5)
			if err != nil {
				out.problems = append(out.problems, fmt.Sprintf("latencies of %s: %v", r.Name, err))
			}
			out.windows[i] = append(out.windows[i], windows)
		}
	}
	return out
}

// curves are the distributions of both sides, phase by phase, all on one scale.
func (r *runsRead) curves() []stage {
	byPhase := [2]map[string]plots.Distribution{}
	lo, hi, end := math.Inf(1), 0.0, 1.0
	for i, set := range r.merged {
		byPhase[i] = map[string]plots.Distribution{}
		for _, d := range plots.Distributions(set) {
			byPhase[i][d.Label] = d
			for _, pt := range d.Points {
				lo, hi, end = min(lo, pt.LatencyNs), max(hi, pt.LatencyNs), max(end, axis.QuantileX(pt.Q))
			}
		}
	}
	var out []stage
	for _, phase := range results.Phases() {
		a, inA := byPhase[0][string(phase)]
		b, inB := byPhase[1][string(phase)]
		if !inA && !inB || len(a.Points)+len(b.Points) == 0 {
			continue
		}
		a.Label, b.Label = "A", "B"
		s := percentileStageWithin("curve-"+string(phase), fmt.Sprintf("Latency in phase %s", phase), []plots.Distribution{a, b}, [2]float64{lo, hi}, end)
		out = append(out, s)
	}
	return out
}

// overTime is p50 by second of each run, A above B on the same scale.
func (r *runsRead) overTime() stage {
	s := stage{ID: "over-time", Kind: timeStage, To: 1, XLabel: "run time (s)", Label: "Median latency by second of each run, A above B on one scale"}
	var values []float64
	for _, side := range r.windows {
		for _, windows := range side {
			for _, w := range windows {
				s.To = max(s.To, msOf(w.ToNs))
				if v := w.QuantileNs[0]; v != nil {
					values = append(values, float64(*v))
				}
			}
		}
	}
	s.XTicks = timeTicks(0, s.To)
	lo, hi, ok := axis.LogRange(values)
	for i, name := range []string{"A", "B"} {
		p := panel{ID: "over-time-" + name, Title: "p50 by second, runs of " + name, Tall: true, Note: fmt.Sprintf("log scale; a line is a run, at most the first %d", readRunsMax)}
		if !ok {
			p.Empty = "no data: no run's latencies could be read"
			s.Panels = append(s.Panels, p)
			continue
		}
		place := logScale(lo, hi)
		p.YTicks = place.yTicks(axis.LogTicks(lo, hi, axis.DurationText))
		for n, windows := range r.windows[i] {
			line := series{ID: fmt.Sprintf("over-time-%s-%d", name, n), Label: fmt.Sprintf("run %d", n+1), Look: percentileLooks[n%len(percentileLooks)], Unit: "ns"}
			for _, w := range windows {
				if v := w.QuantileNs[0]; v != nil {
					line.Data = append(line.Data, [3]float64{msOf(w.FromNs), msOf(w.ToNs), float64(*v)})
				}
			}
			line.Path = stepPath(line.Data, place, true)
			p.Series = append(p.Series, line)
		}
		s.Panels = append(s.Panels, p)
	}
	return s
}
