package report

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"time"

	"rejoin/plots"
	"rejoin/plots/axis"
	"rejoin/results"
	"rejoin/results/compare"
)

// VersusPage is what a page of several systems shows.
type VersusPage struct {
	Versus compare.Versus
	// Arguments are a command line that makes such runs again, without the program's name.
	Arguments []string
}

// VersusFile is the page's name in the folder of a comparison of systems.
const VersusFile = "versus.html"

// versusPage is versus.html.
type versusPage struct {
	Frame    frame
	Title    string
	Caption  string
	Systems  []compare.VersusColumn
	Warnings []string
	HowTo    []string
	Spreads  []spread
	Table    compare.VersusTable
	Curves   []stage
	OverTime stage
	Runs     []table
	Settings []systemSettings
	Commands []command
	Problems []string
}

// systemSettings are one system's settings as it was given them.
type systemSettings struct{ Target, Text string }

// WriteVersus writes versus.html into a folder that exists. Runs whose files cannot be read are named on the page and missing from its
// drawings; the error says that the page could not be written.
func WriteVersus(dir string, of VersusPage) error {
	page := versusPageOf(of)
	return results.WriteFileAtomic(filepath.Join(dir, VersusFile), func(w io.Writer) error { return pages.ExecuteTemplate(w, "versus.tmpl", page) })
}

func versusPageOf(of VersusPage) *versusPage {
	v := &of.Versus
	var names []string
	for _, c := range v.Contenders {
		names = append(names, c.Target)
	}
	read := readSystems(v)
	p := &versusPage{Title: strings.Join(names, ", "), Caption: fmt.Sprintf("scenario %s · %s of each asked for · in the order %s", v.Scenario, counted(int64(v.Repeats), "run"), orNoData(strings.Join(v.Order, ", "))),
		Warnings: v.Warnings, HowTo: v.HowToRead(), Table: v.Table(), Spreads: spreadsOf(v), Curves: read.curves(v), OverTime: read.overTime(v), Problems: read.problems}
	p.Systems = p.Table.Systems
	for _, c := range v.Contenders {
		p.Runs = append(p.Runs, systemRuns(c))
		if len(c.Settings) > 0 {
			p.Settings = append(p.Settings, systemSettings{c.Target, indented(c.Settings)})
		}
	}
	if len(of.Arguments) > 0 {
		p.Commands = append(p.Commands, command{shellLine(append([]string{"bench"}, of.Arguments...)...), "such runs again"})
	}
	stages := []*stage{&p.OverTime}
	for i := range p.Curves {
		stages = append(stages, &p.Curves[i])
	}
	p.Frame = frameOf("systems: "+p.Title, dataOf(stages...), nil)
	return p
}

func systemRuns(c compare.Contender) table {
	t := table{ID: "runs-" + c.Target, Caption: "Runs of " + c.Target, Columns: append(words("run", "verdict", "began"), numbers("seed")...), Empty: "none: " + orNoData(c.NotRun)}
	for _, r := range c.Runs {
		t.add(r.Name, r.Verdict, timeText(r.StartedAt), fmt.Sprint(r.Seed))
	}
	return t
}

// spread draws one figure of all systems: a dot for each run, or kill, and a line at the median, all on one axis.
type spread struct {
	Title, Note string
	Ends        [2]string
	Rows        []spreadRow
}

type spreadRow struct {
	Target, Promise, Median, Spread string
	Marks                           []momentMark // Class is dot or median
}

// spreadMetrics are the figures that are drawn.
var spreadMetrics = []struct{ name, title, note string }{
	{"steady.p99", "Latency in steady state, p99 of each run", "log scale; from due to acknowledged, batch weight"},
	{"kill.primary.gap", "Longest time without an acknowledgement, primary killed", "log scale; a dot is a kill"},
	{"kill.backup.gap", "Longest time without an acknowledgement, backup killed", "log scale; a dot is a kill"},
	{"kill.caught_up", "From the restart of a killed node until it is current", "log scale; a dot is a kill"},
	{"cpu.nodes", "CPU time of all nodes by acknowledged message", "log scale; a dot is a run"},
	{"disk.kept", "Bytes on disk, all nodes together, by acknowledged message", "log scale; a dot is a run"},
	{"memory.max", "Memory of the largest node", "log scale; a dot is a run; anonymous memory, highest sample"},
}

func spreadsOf(v *compare.Versus) []spread {
	table := v.Table()
	var out []spread
	for _, m := range spreadMetrics {
		s := spread{Title: m.title, Note: m.note}
		var values []float64
		for _, c := range v.Contenders {
			if metric := c.Metric(m.name); metric != nil {
				for _, value := range metric.Estimate.Values {
					values = append(values, value.Value)
				}
			}
		}
		lo, hi, ok := axis.LogRange(values)
		for i, c := range v.Contenders {
			row := spreadRow{Target: c.Target, Promise: table.Systems[i].Promise, Median: noData}
			if metric := c.Metric(m.name); metric != nil && ok {
				row.fill(metric, lo, hi)
				s.Ends = [2]string{metricText(lo, metric.Unit), metricText(hi, metric.Unit)}
			}
			s.Rows = append(s.Rows, row)
		}
		out = append(out, s)
	}
	return out
}

func (r *spreadRow) fill(m *compare.RepeatedMetric, lo, hi float64) {
	place := func(v float64) float64 { return 100 * min(max(axis.Log{}.Normalize(lo, hi, v), 0), 1) }
	for _, v := range m.Estimate.Values {
		if finite(v.Value) && v.Value > 0 {
			r.Marks = append(r.Marks, momentMark{Left: place(v.Value), Class: "dot", Title: metricText(v.Value, m.Unit)})
		}
	}
	if m.Estimate.Median != nil {
		r.Median = metricText(*m.Estimate.Median, m.Unit)
		r.Spread = fmt.Sprintf("n = %d", m.Estimate.N)
		r.Marks = append(r.Marks, momentMark{Left: place(*m.Estimate.Median), Class: "median", Title: "median " + r.Median})
	}
}

// systemsRead is what the drawings need from the runs. Distributions of a system are merged histograms, never means.
type systemsRead struct {
	merged   []*results.LatencySet
	windows  [][][]results.Window
	problems []string
}

func readSystems(v *compare.Versus) *systemsRead {
	out := &systemsRead{}
	for _, c := range v.Contenders {
		merged := results.NewLatencySet()
		var windows [][]results.Window
		for n, r := range c.Runs {
			if why := (results.Verdict)(r.Verdict); why == results.Invalid || why == results.Interrupted {
				continue
			}
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
			w, err := f.ReadWindows(results.DueToAck, time.Second, 0.5)
			if err != nil {
				out.problems = append(out.problems, fmt.Sprintf("latencies of %s: %v", r.Name, err))
			}
			windows = append(windows, w)
		}
		out.merged, out.windows = append(out.merged, merged), append(out.windows, windows)
	}
	return out
}

// curves are the distributions of all systems, phase by phase, on one scale.
func (r *systemsRead) curves(v *compare.Versus) []stage {
	byPhase := map[string][]plots.Distribution{}
	lo, hi, end := math.Inf(1), 0.0, 1.0
	for i, set := range r.merged {
		for _, d := range plots.Distributions(set) {
			phase := d.Label
			d.Label = v.Contenders[i].Target + ", " + v.Contenders[i].Promise()
			byPhase[phase] = append(byPhase[phase], d)
			for _, pt := range d.Points {
				lo, hi, end = min(lo, pt.LatencyNs), max(hi, pt.LatencyNs), max(end, axis.QuantileX(pt.Q))
			}
		}
	}
	var out []stage
	for _, phase := range results.Phases() {
		if of := byPhase[string(phase)]; len(of) > 0 {
			out = append(out, percentileStageWithin("curve-"+string(phase), "Latency in phase "+string(phase), of, [2]float64{lo, hi}, end))
		}
	}
	return out
}

// overTime is p50 by second of each run, one system above the other on the same scale.
func (r *systemsRead) overTime(v *compare.Versus) stage {
	s := stage{ID: "over-time", Kind: timeStage, To: 1, XLabel: "run time (s)", Label: "Median latency by second of each run, one system above the other on one scale"}
	var values []float64
	for _, system := range r.windows {
		for _, windows := range system {
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
	for i, c := range v.Contenders {
		p := panel{ID: fmt.Sprintf("over-time-%d", i), Title: c.Target, Note: c.Promise() + "; p50 by second, log scale, a line is a run"}
		if !ok || len(r.windows[i]) == 0 {
			p.Empty = "no data: no run's latencies could be read"
			s.Panels = append(s.Panels, p)
			continue
		}
		place := logScale(lo, hi)
		p.YTicks = place.yTicks(axis.LogTicks(lo, hi, axis.DurationText))
		for n, windows := range r.windows[i] {
			line := series{ID: fmt.Sprintf("over-time-%d-%d", i, n), Label: fmt.Sprintf("run %d", n+1), Look: percentileLooks[n%len(percentileLooks)], Unit: "ns"}
			for _, w := range windows {
				if q := w.QuantileNs[0]; q != nil {
					line.Data = append(line.Data, [3]float64{msOf(w.FromNs), msOf(w.ToNs), float64(*q)})
				}
			}
			line.Path = stepPath(line.Data, place, true)
			p.Series = append(p.Series, line)
		}
		s.Panels = append(s.Panels, p)
	}
	return s
}
