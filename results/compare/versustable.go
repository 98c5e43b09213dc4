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

// versusRows are the metrics of the table, in its order; all others stand in versus.json. They are what a user of a log feels, and what every
// system can have.
var versusRows = []struct {
	title string
	rows  [][2]string // name of the metric, label
}{
	{"Latency of a batch, from due to acknowledged", [][2]string{{"steady.p50", "steady p50"}, {"steady.p99", "steady p99"}, {"steady.p999", "steady p99.9"},
		{"outage.p50", "outage p50"}, {"outage.p99", "outage p99"}, {"catchup.p50", "catch-up p50"}, {"catchup.p99", "catch-up p99"}, {"overall.p99", "all phases p99"}}},
	{"Recovery (a sample is a kill)", [][2]string{{"kill.primary.gap", "gap, primary killed"}, {"kill.backup.gap", "gap, backup killed"},
		{"kill.primary.full_rate", "full rate, primary killed"}, {"kill.caught_up", "replicas current"}}},
	{"Throughput", [][2]string{{"throughput", "acknowledged batches"}, {"acked_share", "of offered, in time"}}},
	{"Cost, all nodes together, by acknowledged message", [][2]string{{"cpu.nodes", "CPU"}, {"disk.kept", "bytes on disk"}, {"disk.written", "bytes to the device"}, {"memory.max", "memory, largest node"}}},
}

// Table makes the table.
func (v *Versus) Table() VersusTable {
	var t VersusTable
	for _, c := range v.Contenders {
		t.Systems = append(t.Systems, VersusColumn{Target: c.Target, Promise: c.Promise(), Runs: c.runsText()})
	}
	for _, section := range versusRows {
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

// HowToRead are the sentences that belong beside the table.
func (v *Versus) HowToRead() []string {
	return []string{
		"The systems do not promise the same. Each column carries its promise; a number is worth what was promised for it.",
		"A figure is the median over runs, of recovery over kills; with it stand the least and the most of them, in its unit, and their number n. × is against the first column. One machine, runs in turn: only such ratios mean something, and below 15 % none is shown.",
		"A batch counts in the phase in which it was due, with the time that it waited behind others: a system that is still working off an outage shows that in its steady phase, too. Latency without faults: bench versus steady.",
		"A gap is the longest time without any acknowledgement around a kill. Replicas current: from the restart of a killed node until it holds what was committed 200 ms before.",
		"Bytes to the device are those of the measured phase, zeros ahead of a log included; what a system leaves in the page cache is written later, and not among them.",
		"A SIGKILL leaves the page cache alone: a system that acknowledges before it syncs loses nothing here, and may in a power cut.",
		"Settings of each system, why, and how to change them: docs/fairness.md. Corrections are welcome.",
	}
}

// orderText is the order of the runs in one line.
func (v *Versus) orderText() string {
	return cmp.Or(strings.Join(v.Order, ", "), "none")
}
