package compare

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// columnsMax is how wide the text is, names of runs apart.
const columnsMax = 100

// groups are the tables in their order, with their titles.
var groups = []struct {
	group Group
	title string
}{
	{Latency, "Latency of a batch, from due to acknowledged"},
	{Throughput, "Throughput (batches)"},
	{Recovery, "Recovery (a sample is a kill)"},
	{Cost, "Cost (per acknowledged message, all nodes together)"},
}

// WriteText writes the comparison as tables for a terminal, 100 columns wide.
func (c *Comparison) WriteText(out io.Writer) error {
	w := bufio.NewWriter(out)
	c.writeHead(w)
	for _, g := range groups {
		c.writeGroup(w, g.group, g.title)
	}
	c.writeFamily(w)
	for _, b := range c.Bounds {
		fmt.Fprintln(w, wrap(fmt.Sprintf("--fail-on %s: %s: %s", b.Bound, b.Outcome, b.Reason), "  ", columnsMax))
	}
	for _, text := range c.Warnings {
		fmt.Fprintln(w, wrap("warning: "+text, "  ", columnsMax))
	}
	fmt.Fprintln(w)
	for _, text := range c.Sentences {
		fmt.Fprintln(w, wrap(text, "  ", columnsMax))
	}
	return w.Flush()
}

func (c *Comparison) writeHead(w io.Writer) {
	fmt.Fprintf(w, "Scenario %s, target %s: %s\n", c.Scenario, c.Target, c.runsText())
	fmt.Fprintln(w, wrap("A: "+c.A.text(), "   ", columnsMax))
	fmt.Fprintln(w, wrap("B: "+c.B.text(), "   ", columnsMax))
	order := "order of the runs " + c.Order
	if c.FloorSource != "" {
		order += "; noise floor from " + c.FloorSource
	}
	fmt.Fprintln(w, wrap(order, "  ", columnsMax))
	if c.Forced && len(c.Mismatches) > 0 {
		fmt.Fprintln(w, wrap(fmt.Sprintf("COMPARED BY FORCE: %s", plural(len(c.Mismatches), "difference")+" in machine, build or load, see the warnings"), "  ", columnsMax))
	}
}

func (c *Comparison) runsText() string {
	if c.Paired {
		return plural(len(c.A.Runs), "pair") + " of runs"
	}
	return fmt.Sprintf("%s of A, %d of B, not paired", plural(len(c.A.Runs), "run"), len(c.B.Runs))
}

func (s Side) text() string {
	text := s.Label
	if s.Commit != "" && !strings.HasPrefix(s.Commit, s.Label) {
		text += ", commit " + s.Commit[:min(12, len(s.Commit))]
	}
	if s.Dirty {
		text += ", dirty"
	}
	return text
}

// writeGroup is one table: what was measured on both sides, and the difference.
func (c *Comparison) writeGroup(w io.Writer, group Group, title string) {
	t := table{}
	t.add("", "n", "A", fmt.Sprintf("[%.0f %%]", 100*Confidence), "B", fmt.Sprintf("[%.0f %%]", 100*Confidence), "B is", "in %")
	rows := 0
	for _, m := range c.Metrics {
		if m.Group != group || m.A.N == 0 && m.B.N == 0 {
			continue
		}
		rows++
		mark := "  "
		if m.Primary {
			mark = "* "
		}
		words, interval := "–", "–"
		if m.Difference != nil {
			words, interval = m.Difference.Words, m.Difference.intervalText()
		}
		s := m.Unit.scaleOf(m.A, m.B)
		t.add(mark+m.Label, nText(m), s.text(m.A), s.interval(m.A), s.text(m.B), s.interval(m.B), words, interval)
	}
	if rows > 0 {
		fmt.Fprintf(w, "\n%s\n", title)
		t.write(w)
	}
}

// nText is how many values both sides have, or how many each where that differs.
func nText(m Metric) string {
	if m.A.N == m.B.N {
		return fmt.Sprint(m.A.N)
	}
	return fmt.Sprintf("%d, %d", m.A.N, m.B.N)
}

// intervalText is the interval of the difference in per cent: plus is more than A.
func (d Difference) intervalText() string {
	if d.FracLo == nil || d.FracHi == nil {
		return "–"
	}
	return fmt.Sprintf("[%+.1f, %+.1f]", 100**d.FracLo, 100**d.FracHi)
}

// writeFamily is the table of the primary metrics: the only ones that are judged.
func (c *Comparison) writeFamily(w io.Writer) {
	fmt.Fprintf(w, "\n* Primary metrics, named before the runs; judged by %s, p at most %g after Holm\n", c.DecidingTest, c.Alpha)
	t := table{}
	header := []string{"", "signed rank p", "Mann-Whitney p", "p after Holm", "noise floor", "judgement"}
	if !c.Paired {
		header[1] = ""
	}
	t.add(header...)
	for _, m := range c.Metrics {
		if !m.Primary {
			continue
		}
		floor := "–"
		if m.FloorFraction != nil {
			floor = fmt.Sprintf("%.1f %%", 100**m.FloorFraction)
		}
		judgement := m.Note
		if m.Finding != "" {
			judgement = fmt.Sprintf("%s: %s", strings.ToUpper(m.Finding), m.Note)
		}
		t.add("  "+m.Name, m.SignedRank.text(), m.MannWhitney.text(), maybeP(m.HolmP), floor, judgement)
	}
	t.write(w)
}

func (t *Test) text() string {
	if t == nil {
		return ""
	}
	return pText(t.P)
}

func maybeP(p *float64) string {
	if p == nil {
		return "–"
	}
	return pText(*p)
}

// WriteText writes the repetition as tables for a terminal.
func (r *Repetition) WriteText(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "Scenario %s, target %s: %s\n", r.Scenario, r.Target, plural(len(r.Runs), "run"))
	for _, g := range groups {
		t := table{}
		t.add("", "n", "median", fmt.Sprintf("[%.0f %%]", 100*Confidence), "least", "most")
		for _, m := range r.Metrics {
			if m.Group == g.group {
				least, most := m.Estimate.ends()
				s := m.Unit.scaleOf(m.Estimate)
				t.add("  "+m.Label, fmt.Sprint(m.Estimate.N), s.text(m.Estimate), s.interval(m.Estimate), m.Unit.text(least), m.Unit.text(most))
			}
		}
		if len(t.rows) > 1 {
			fmt.Fprintf(w, "\n%s\n", g.title)
			t.write(w)
		}
	}
	for _, text := range r.Warnings {
		fmt.Fprintln(w, wrap("warning: "+text, "  ", columnsMax))
	}
	return w.Flush()
}

func (e Estimate) ends() (least, most float64) {
	for i, v := range e.Values {
		if i == 0 {
			least, most = v.Value, v.Value
		}
		least, most = min(least, v.Value), max(most, v.Value)
	}
	return least, most
}
