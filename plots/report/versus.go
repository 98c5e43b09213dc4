package report

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

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
	OverTime *stage // nil: the load was more than a system carries, and there are no latencies
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
	return results.WriteFileAtomic(filepath.Join(dir, VersusFile), func(w io.Writer) error { return pages().ExecuteTemplate(w, "versus.tmpl", page) })
}

func versusPageOf(of VersusPage) *versusPage {
	v := &of.Versus
	var names []string
	for _, c := range v.Contenders {
		names = append(names, c.Target)
	}
	p := &versusPage{Title: strings.Join(names, ", "), Caption: fmt.Sprintf("scenario %s · %s of each asked for · in the order %s", v.Scenario, counted(int64(v.Repeats), "run"), orNoData(strings.Join(v.Order, ", "))),
		Warnings: v.Warnings, HowTo: v.HowToRead(), Table: v.Table(), Spreads: spreadsOf(v)}
	if !v.Overload {
		read := readSides(systemSides(v)...)
		p.Curves, p.Problems = read.curves(), read.problems
		p.OverTime = new(read.overTime("Median latency by second of each run, one system above the other on one scale"))
	}
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
	var stages []*stage
	if p.OverTime != nil {
		stages = append(stages, p.OverTime)
	}
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
var spreadMetrics = []struct {
	name, title, note string
	latency           bool
}{
	{"steady.p99", "Latency in steady state, p99 of each run", "log scale; from due to acknowledged, batch weight", true},
	{"kill.primary.gap", "Longest time without an acknowledgement, primary killed", "log scale; a dot is a kill", false},
	{"kill.backup.gap", "Longest time without an acknowledgement, backup killed", "log scale; a dot is a kill", false},
	{"kill.caught_up", "From the restart of a killed node until it is current", "log scale; a dot is a kill", false},
	{"cpu.nodes", "CPU time of all nodes by acknowledged message", "log scale; a dot is a run", false},
	{"disk.kept", "Bytes on disk, all nodes together, by acknowledged message", "log scale; a dot is a run", false},
	{"memory.max", "Memory of the largest node", "log scale; a dot is a run; anonymous memory, highest sample", false},
}

func spreadsOf(v *compare.Versus) []spread {
	table := v.Table()
	var out []spread
	for _, m := range spreadMetrics {
		if m.latency && v.Overload {
			continue
		}
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
	zeros := 0
	for _, v := range m.Estimate.Values {
		if v.Value == 0 {
			zeros++
		}
		if finite(v.Value) && v.Value > 0 {
			r.Marks = append(r.Marks, momentMark{Left: place(v.Value), Class: "dot", Title: metricText(v.Value, m.Unit)})
		}
	}
	if m.Estimate.Median != nil {
		r.Median = metricText(*m.Estimate.Median, m.Unit)
		r.Spread = fmt.Sprintf("n = %d", m.Estimate.N)
		if zeros > 0 {
			r.Spread += fmt.Sprintf(", %d of 0 not drawn", zeros)
		}
		r.Marks = append(r.Marks, momentMark{Left: place(*m.Estimate.Median), Class: "median", Title: "median " + r.Median})
	}
}

// systemSides are the systems with those of their runs that are evidence.
func systemSides(v *compare.Versus) []side {
	var all []side
	for i, c := range v.Contenders {
		s := side{id: fmt.Sprint(i), name: c.Target + ", " + c.Promise(), title: c.Target, note: c.Promise() + "; p50 by second, log scale, a line is a run"}
		for _, r := range c.Runs {
			if verdict := results.Verdict(r.Verdict); verdict != results.Invalid && verdict != results.Interrupted {
				s.runs = append(s.runs, r)
			}
		}
		all = append(all, s)
	}
	return all
}
