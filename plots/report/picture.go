package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"rejoin/plots"
	"rejoin/plots/axis"
	"rejoin/results"
)

// A lag line has two paths: one that the eye can follow over the whole run, and one for a narrow zoom. These are about how many stretches they
// have before equal neighbours are joined.
const (
	lagBinsWide = 240
	lagBins     = 3000
)

// pictureOf is the one picture: nodes, latency, throughput and lag on one time axis.
func pictureOf(s *source) stage {
	f := &s.figures
	end := msOf(f.EndNs)
	out := stage{ID: "run", Kind: timeStage, To: max(end, 1), XLabel: "run time (s)", XTicks: timeTicks(0, end),
		Label: "Nodes, latency, throughput and lag over the run, on one time axis"}
	out.Lanes = lanesOf(s)
	out.Lines = linesOf(f)
	for _, span := range f.Spans {
		if span.Kind == plots.SpanOutage {
			out.Shades = append(out.Shades, shade{msOf(span.FromNs), msOf(span.ToNs), "silence",
				"no acknowledgements for " + axis.DurationText(float64(span.ToNs-span.FromNs))})
		}
	}
	out.Panels = []panel{latencyPanel(f), throughputPanel(f), lagPanel(f)}
	out.Jumps = jumpsOf(&s.timeline, end)
	return out
}

func linesOf(f *plots.Figures) []line {
	var out []line
	for _, k := range f.Kills {
		out = append(out, line{msOf(k.AtNs), killClass(k.How), fmt.Sprintf("%s (%s) %s by %s, %s", k.Node, k.Role, k.How.Word(), k.How.Signal(), atText(k.AtNs))})
	}
	if f.WarmupEndNs > 0 {
		out = append(out, line{msOf(f.WarmupEndNs), "border", "end of the warm-up"})
	}
	if f.LoadStopNs > 0 {
		out = append(out, line{msOf(f.LoadStopNs), "border", "end of the load"})
	}
	return out
}

// killClass is the look of the line: a SIGTERM is no SIGKILL.
func killClass(how results.HowEnded) string {
	if how == results.Restarted {
		return "term"
	}
	return "kill"
}

// jumpsMax bounds the row of buttons.
const jumpsMax = 24

// jumpsOf zooms to each kill, from a second before it until its node had caught up, and to each stop.
func jumpsOf(t *results.Timeline, endMs float64) []jump {
	var out []jump
	add := func(node, what string, atNs int64, until ...*int64) {
		to := atNs + int64(5*time.Second)
		for _, at := range until {
			if at != nil {
				to = max(to, *at+int64(time.Second))
			}
		}
		from := max(msOf(atNs-int64(time.Second)), 0)
		if atNs >= 0 && from < endMs {
			out = append(out, jump{from, min(msOf(to), endMs), fmt.Sprintf("%s %s at %.1f s", node, what, float64(atNs)/1e9)})
		}
	}
	for _, k := range t.Kills {
		add(k.Node, string(k.How.Word()), k.AtNs, k.FirstAckNs, k.RestartNs, k.CaughtUpNs)
	}
	for _, s := range t.Stops {
		add(s.Node, "stopped", s.AtNs, s.FirstAckNs, s.ResumeNs)
	}
	slices.SortStableFunc(out, func(a, b jump) int { return cmp.Compare(a.From, b.From) })
	return out[:min(len(out), jumpsMax)]
}

// latencyLooks are classes of the style sheet by plots.SeriesStyle.
var latencyLooks = map[plots.SeriesStyle]string{
	plots.StyleP50: "look-blue", plots.StyleP99: "look-vermillion dash", plots.StyleP999: "look-purple dashdot", plots.StyleMax: "look-ink dots",
}

func latencyPanel(f *plots.Figures) panel {
	p := panel{ID: "latency", Title: "Latency, from due to acknowledged", Note: "log scale; a sample is one batch, placed at its due time", Tall: true}
	var values []float64
	for _, series := range f.Latency {
		for _, step := range series.Steps {
			values = append(values, step.LatencyNs)
		}
	}
	lo, hi, ok := axis.LogRange(values)
	if !ok {
		p.Empty = "no data: no batch was acknowledged, or latency.hlog could not be read"
		return p
	}
	place := logScale(lo, hi)
	p.YTicks = place.yTicks(axis.LogTicks(lo, hi, axis.DurationText))
	for i, of := range f.Latency {
		if len(of.Steps) == 0 {
			continue
		}
		p.Series = append(p.Series, latencySeries(fmt.Sprintf("latency-%d", i), of, place))
	}
	return p
}

func latencySeries(id string, of plots.LatencySeries, place scale) series {
	s := series{ID: id, Label: of.Label, Look: latencyLooks[of.Style], Unit: "ns"}
	wide := false
	for _, step := range of.Steps {
		wide = wide || step.ToNs-step.FromNs > int64(time.Second)
		if finite(step.LatencyNs) {
			s.Data = append(s.Data, [3]float64{msOf(step.FromNs), msOf(step.ToNs), step.LatencyNs})
		}
	}
	if of.Style == plots.StyleMax {
		s.Path = dotPath(s.Data, place)
	} else {
		s.Path = stepPath(s.Data, place, !wide)
	}
	return s
}

func throughputPanel(f *plots.Figures) panel {
	p := panel{ID: "throughput", Title: "Batches a second", Note: "offered are those that fell due in the second"}
	offered := series{ID: "offered", Label: "offered", Look: "look-gray thick", Unit: "per_s"}
	acked := series{ID: "acknowledged", Label: "acknowledged", Look: "look-blue", Unit: "per_s"}
	top := 0.0
	for _, r := range f.Throughput {
		from, to := msOf(r.TNs), msOf(r.TNs+int64(time.Second))
		if finite(r.OfferedPerS) {
			offered.Data = append(offered.Data, [3]float64{from, to, r.OfferedPerS})
			top = max(top, r.OfferedPerS)
		}
		if finite(r.AckedPerS) {
			acked.Data = append(acked.Data, [3]float64{from, to, r.AckedPerS})
			top = max(top, r.AckedPerS)
		}
	}
	if len(offered.Data)+len(acked.Data) == 0 {
		p.Empty = "no data: rates.ndjson is missing or empty"
		return p
	}
	top = max(top*1.08, 1)
	place := linearScale(top)
	p.YTicks = place.yTicks(axis.CountTicks(0, top))
	for _, s := range []series{offered, acked} {
		s.Data = merged(s.Data)
		s.Path = stepPath(s.Data, place, true)
		p.Series = append(p.Series, s)
	}
	return p
}

func lagPanel(f *plots.Figures) panel {
	fineNs, wideNs := lagBin(f.EndNs, lagBins), lagBin(f.EndNs, lagBinsWide)
	p := panel{ID: "lag", Title: "Lag behind the highest commit (ops)", Note: fmt.Sprintf("highest in each %s, and in each %s when zoomed in; log scale above 1; a gap means no answer%s",
		axis.DurationText(float64(wideNs)), axis.DurationText(float64(fineNs)), lagFloorText(f))}
	top, any := 0.0, false
	for _, node := range f.Lag {
		for _, pt := range node.Points {
			if finite(pt.LagOps) {
				top, any = max(top, pt.LagOps), true
			}
		}
	}
	if !any {
		p.Empty = "no data: no node answered a poll"
		return p
	}
	top = axis.Ceil125(max(top, 10))
	place := zeroLogScale(top)
	p.YTicks = place.yTicks(axis.ZeroLogTicks(0, top))
	for _, node := range f.Lag {
		s := series{ID: "lag-" + node.Node, Label: node.Node, Look: nodeLook(node.Node), Unit: "ops", Data: lagData(node.Points, fineNs, f.LagFloorOps)}
		s.Path, s.Fine = stepPath(lagData(node.Points, wideNs, f.LagFloorOps), place, true), stepPath(s.Data, place, true)
		p.Series = append(p.Series, s)
	}
	return p
}

// lagFloorText says how much of a lag is none.
func lagFloorText(f *plots.Figures) string {
	if f.LagFloorOps == 0 {
		return ""
	}
	return fmt.Sprintf("; nodes are not polled at one moment but each %s by itself: what is committed in that time, and one op, %d together, is no lag, and drawn as 0",
		axis.DurationText(float64(pollInterval)), f.LagFloorOps)
}

// pollInterval is that of the harness.
const pollInterval = results.PollInterval

// lagBin is a round stretch of time, no shorter than a poll.
func lagBin(endNs int64, bins int64) int64 {
	return int64(axis.Floor125(float64(max(endNs/bins, int64(pollInterval)))))
}

// lagData keeps the highest lag of each bin; a bin in which a node never answered is a gap.
func lagData(points []plots.LagPoint, binNs, floorOps int64) [][3]float64 {
	var out [][3]float64
	last := int64(math.MinInt64)
	for _, pt := range points {
		if !finite(pt.LagOps) {
			continue
		}
		lag := max(pt.LagOps, 0)
		if lag <= float64(floorOps) {
			lag = 0
		}
		bin := pt.TNs / binNs
		if n := len(out); bin == last {
			out[n-1][2] = max(out[n-1][2], lag)
			continue
		}
		last = bin
		out = append(out, [3]float64{msOf(bin * binNs), msOf((bin + 1) * binNs), lag})
	}
	return merged(out)
}

// nodeLook is a node's colour and dash, the same as in the figures.
func nodeLook(node string) string {
	looks := []string{"look-blue", "look-vermillion dash", "look-green dashdot", "look-purple dotted", "look-ink longdash"}
	return looks[plots.LookNumber(node)%len(looks)]
}
