package plots

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"time"

	"rejoin/plots/axis"
	"rejoin/results"
)

// FromRun fills Figures from a run folder: run.json, summary.json, events, status samples, rates, latency.hlog. What is missing or damaged leaves its figure
// empty and comes back in the error, beside all that could be read.
func FromRun(f results.Folder) (Figures, error) {
	run, runErr := f.ReadRun()
	events, eventErr := f.ReadEvents()
	timeline := results.TimelineOf(events)
	activities := results.Activities(events)
	lag, lastPollNs, lagErr := readLag(f)
	rates, rateErr := f.ReadRates()
	set, setErr := f.ReadLatencySet()

	out := Figures{Caption: caption(run), EndNs: endOf(timeline, lastPollNs, rates), WarmupEndNs: timeline.WarmupEndNs, Lag: lag}
	if timeline.LoadStopNs != nil {
		out.LoadStopNs = *timeline.LoadStopNs
	}
	for _, k := range timeline.Kills {
		out.Kills = append(out.Kills, KillMark{AtNs: k.AtNs, Node: k.Node, Role: k.Role, How: k.How})
	}
	out.Spans = spansOf(&timeline, activities, out.EndNs)
	out.Downs = downsOf(&timeline, out.EndNs)
	out.Throughput = ratePoints(rates, &timeline)
	out.LagFloorOps = lagFloor(rates)
	if setErr == nil {
		out.Percentiles = Distributions(set)
	}
	var latencyErr error
	out.Latency, latencyErr = readLatency(f, out.EndNs)
	out.Recovery = Recoveries(timeline, activities)
	summary, summaryErr := f.ReadSummary()
	if errors.Is(summaryErr, fs.ErrNotExist) { // as in a run that crashed: there are no gaps to show
		summaryErr = nil
	}
	addGaps(out.Recovery, summary.Kills)
	return out, errors.Join(runErr, eventErr, lagErr, rateErr, setErr, latencyErr, summaryErr)
}

// lagFloor is by the second in which most was offered; 0 where nothing was.
func lagFloor(rates []results.Rate) int64 {
	most := int64(0)
	for _, r := range rates {
		most = max(most, r.OfferedBatches)
	}
	if most == 0 {
		return 0
	}
	return results.LagFloorOps(float64(most))
}

func caption(r results.Run) string {
	a := r.Asked
	if a.Target == "" {
		return r.Name
	}
	rate := axis.NumberText(a.BatchesPerS) + " batches/s"
	if a.ClosedLoop() {
		rate = "as many batches as it takes"
	}
	return fmt.Sprintf("%s · %s · %s of %d messages of %d bytes, %d producers · %s",
		a.Target, a.ScenarioName, rate, a.BatchMessages, a.PayloadBytes, a.Producers, r.StartedAt.UTC().Format(time.DateTime+" UTC"))
}

// endOf shows the load, all seconds in which something was acknowledged, and as much of the quiet phase as does not squeeze them.
func endOf(t results.Timeline, lastPollNs int64, rates []results.Rate) int64 {
	end := lastPollNs
	if n := len(rates); n > 0 {
		end = max(end, rates[n-1].TNs+int64(time.Second))
	}
	if t.LoadStopNs == nil {
		return end
	}
	end = min(max(end, *t.LoadStopNs), *t.LoadStopNs+*t.LoadStopNs/10)
	if last := lastAcked(rates); last >= 0 { // under overload acknowledgements go on long after the load
		end = max(end, rates[last].TNs+int64(time.Second))
	}
	return end
}

// readLag streams the status samples; lag is measured against the highest commit any node had shown until then.
func readLag(f results.Folder) (series []LagSeries, lastNs int64, err error) {
	r, err := f.OpenStatus()
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	var lags lagCollector
	var damage error
	for {
		s, err := r.Next()
		var le *results.LineError
		switch {
		case err == io.EOF:
			return lags.series, lags.lastNs, damage
		case errors.As(err, &le):
			damage = fmt.Errorf("read %s: %w", f.StatusSamples(), err) // one is enough to say so
		case err != nil:
			return lags.series, lags.lastNs, err
		default:
			lags.add(s)
		}
	}
}

// lagCollector holds its series in the order of the nodes' names: the order of the lines in a file changes from run to run.
type lagCollector struct {
	series []LagSeries
	// highest is the highest commit any node has shown.
	highest int64
	lastNs  int64
}

func (c *lagCollector) add(s results.Status) {
	i, ok := slices.BinarySearchFunc(c.series, s.Node, func(l LagSeries, node string) int { return CompareNodes(l.Node, node) })
	if !ok {
		c.series = slices.Insert(c.series, i, LagSeries{Node: s.Node})
	}
	c.lastNs = max(c.lastNs, s.TNs)
	lag := math.NaN()
	if s.Up && s.CommitOp != nil {
		c.highest = max(c.highest, *s.CommitOp)
		lag = float64(c.highest - *s.CommitOp)
	}
	c.series[i].Points = append(c.series[i].Points, LagPoint{s.TNs, lag})
}

// Distributions samples the due-to-acknowledged histogram of each phase at rising quantiles, as far as its samples carry.
func Distributions(set *results.LatencySet) []Distribution {
	var out []Distribution
	for _, phase := range results.Phases() {
		h := set.Get(results.DueToAck, phase)
		if phase == results.Warmup || h == nil || h.Count() == 0 {
			continue
		}
		d := Distribution{Label: string(phase), Count: h.Count()}
		for _, q := range quantileLadder() {
			if v := h.QuantileNs(q); v != nil {
				d.Points = append(d.Points, QuantilePoint{q, float64(*v)})
			}
		}
		out = append(out, d)
	}
	return out
}

// quantileLadder has 25 quantiles for each nine, evenly spaced on the axis, the exact nines among them.
func quantileLadder() []float64 {
	ladder := []float64{0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999}
	for i := 1; i < 5*25; i++ {
		if i%25 != 0 {
			ladder = append(ladder, 1-math.Pow(10, -float64(i)/25))
		}
	}
	slices.Sort(ladder)
	return ladder
}

// windowsMin is how many windows a quantile must have to be worth a line over time.
const windowsMin = 5

// readLatency takes p50 and max by second, p99 and p99.9 over windows just wide enough to carry them.
func readLatency(f results.Folder, endNs int64) ([]LatencySeries, error) {
	bySecond, err := f.ReadWindows(results.DueToAck, time.Second, 0.5)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil // said once, by the reader of the percentiles
		}
		return nil, err
	}
	perSecond := medianCount(bySecond)
	series := []LatencySeries{
		{Label: "max by second", Style: StyleMax, Steps: steps(bySecond, func(w results.Window) *int64 { return w.MaxNs })},
		{Label: "p50 by second", Style: StyleP50, Steps: steps(bySecond, firstQuantile)},
	}
	for _, q := range []struct {
		q     float64
		text  string
		style SeriesStyle
	}{{0.99, "p99", StyleP99}, {0.999, "p99.9", StyleP999}} {
		width := windowFor(q.q, perSecond)
		if width == 0 || int64(width)*windowsMin > endNs {
			continue
		}
		windows, err := f.ReadWindows(results.DueToAck, width, q.q)
		if err != nil {
			return series, err
		}
		text := q.text + " by second"
		if width > time.Second {
			text = fmt.Sprintf("%s of each %s", q.text, axis.DurationText(float64(width)))
		}
		series = append(series, LatencySeries{Label: text, Style: q.style, Steps: steps(windows, firstQuantile)})
	}
	return series, nil
}

func firstQuantile(w results.Window) *int64 { return w.QuantileNs[0] }

func steps(windows []results.Window, value func(results.Window) *int64) []LatencyStep {
	var out []LatencyStep
	for _, w := range windows {
		if v := value(w); v != nil {
			out = append(out, LatencyStep{w.FromNs, w.ToNs, float64(*v)})
		}
	}
	return out
}

func medianCount(windows []results.Window) int64 {
	if len(windows) == 0 {
		return 0
	}
	var counts []int64
	for _, w := range windows {
		counts = append(counts, w.Count)
	}
	slices.Sort(counts)
	return counts[len(counts)/2]
}

// windowFor is the narrowest round window whose samples carry q; 0 if an hour does not.
func windowFor(q float64, perSecond int64) time.Duration {
	for _, s := range []int64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600} {
		if results.Enough(perSecond*s, q) {
			return time.Duration(s) * time.Second
		}
	}
	return 0
}
