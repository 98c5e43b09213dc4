package compare

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// VersusTable is the comparison as every reader gets it: a column for each system, its promise in the head of the column, a row for each
// figure. Terminal, Markdown and page are three looks of it.
type VersusTable struct {
	Systems  []VersusColumn
	Sections []VersusSection
}

// VersusColumn is the head of a column.
type VersusColumn struct{ Target, Promise, Runs string }

// VersusSection is a group of rows.
type VersusSection struct {
	Title string
	Rows  []VersusRow
}

// VersusRow is one figure of all systems.
type VersusRow struct {
	Label string
	Cells []VersusCell
}

// VersusCell is one figure of one system.
type VersusCell struct {
	Text string // with its unit, or "no data"
	// Ratio is against the first system, such as "×2.4"; empty where there is none, or none that means something.
	Ratio string
	// Spread is the least and the most of the values behind a median, in its unit, with their number: "1.98–2.41, n=3"; empty for a sum.
	Spread string
	// Bad marks a count that should be 0 and is not.
	Bad bool
}

const noData = "no data"

// versusSection is a group of rows of metrics.
type versusSection struct {
	group Group
	title string
	rows  [][2]string // name of the metric, label
}

// versusRows are the metrics of the table, in its order; all others stand in versus.json. They are what a user of a log feels, and what every
// system can have.
var versusRows = []versusSection{
	{Latency, "Latency of a batch, from due to acknowledged", [][2]string{{"steady.p50", "steady p50"}, {"steady.p99", "steady p99"}, {"steady.p999", "steady p99.9"},
		{"outage.p50", "outage p50"}, {"outage.p99", "outage p99"}, {"catchup.p50", "catch-up p50"}, {"catchup.p99", "catch-up p99"}, {"overall.p99", "all phases p99"}}},
	{Recovery, "Recovery (a sample is a kill)", [][2]string{{"kill.primary.gap", "gap, primary killed"}, {"kill.backup.gap", "gap, backup killed"},
		{"kill.primary.full_rate", "full rate, primary killed"}, {"kill.caught_up", "replicas current"}}},
	{Throughput, "Throughput", [][2]string{{"throughput", "acknowledged batches"}, {"acked_share", "of offered, in time"}}},
	{Cost, "Cost by acknowledged message, all nodes together", [][2]string{{"cpu.nodes", "CPU"}, {"disk.kept", "bytes on disk"}, {"disk.written", "bytes to the device"}}},
	{Cost, "Memory of the largest node", [][2]string{{"memory.max", "anonymous, at most"}}},
}

// Table makes the table.
func (v *Versus) Table() VersusTable {
	var t VersusTable
	for _, c := range v.Contenders {
		t.Systems = append(t.Systems, VersusColumn{Target: c.Target, Promise: c.Promise(), Runs: c.runsText()})
	}
	for _, section := range versusRows {
		if section.group == Latency && v.Overload {
			continue
		}
		s := VersusSection{Title: section.title}
		for _, row := range section.rows {
			s.Rows = append(s.Rows, v.metricRow(row[0], row[1]))
		}
		t.Sections = append(t.Sections, s)
	}
	return VersusTable{t.Systems, append(t.Sections, v.countSections()...)}
}

// runsText says what stands behind a column.
func (c Contender) runsText() string {
	if c.NotRun != "" {
		return "not run"
	}
	if c.Counted == len(c.Runs) {
		return plural(c.Counted, "run")
	}
	return fmt.Sprintf("%d of %s counted", c.Counted, plural(len(c.Runs), "run"))
}

func (v *Versus) metricRow(name, label string) VersusRow {
	r := VersusRow{Label: label}
	var first *float64
	for i, c := range v.Contenders {
		cell := VersusCell{Text: noData}
		if m := c.Metric(name); m != nil && m.Estimate.Median != nil {
			cell.Text, cell.Spread = m.Unit.text(*m.Estimate.Median), m.spreadText()
			if i == 0 {
				first = m.Estimate.Median
			} else if first != nil {
				cell.Ratio = ratioTo(*first, *m.Estimate.Median)
			}
		}
		r.Cells = append(r.Cells, cell)
	}
	return r
}

// spreadText is what lies behind the median, in its unit.
func (m *RepeatedMetric) spreadText() string {
	s := m.Unit.scaleFor(*m.Estimate.Median)
	least, most := m.Estimate.ends()
	return fmt.Sprintf("%s–%s, n=%d", s.bare(least), s.bare(most), m.Estimate.N)
}

// ratioLeast is the least ratio that is shown: one machine drifts by that much within an hour.
const ratioLeast = 1.15

// ratioTo is what a median is of the first system's, where that is above 0 and the difference means something.
func ratioTo(first, median float64) string {
	if first <= 0 || median < first*ratioLeast && median*ratioLeast > first {
		return ""
	}
	return "×" + ratioText(median/first)
}

// ratioText has three digits that count.
func ratioText(r float64) string {
	if r >= 1000 {
		return strconv.FormatFloat(math.Round(r), 'f', -1, 64)
	}
	return strconv.FormatFloat(r, 'g', 3, 64)
}

// orderText is the order of the runs in one line.
func (v *Versus) orderText() string {
	return cmp.Or(strings.Join(v.Order, ", "), "none")
}
