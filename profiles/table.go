package profiles

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Table spells the comparison for people: the total, then the functions that differ most, at most so many (0: all). It states the sign of
// differences and what percentages are of.
func (d *Diff) Table(functionsMax int) string {
	var b strings.Builder
	if d.Held {
		d.heldTable(&b, d.top(functionsMax))
	} else {
		fmt.Fprintf(&b, "%s of %s profiles; change is B - A: + means that B costs more; %% is of A's own value in the same row", d.Value, d.Kind)
		if d.Kind == CPU {
			b.WriteString(chanceWords(d.Judged))
		}
		b.WriteByte('\n')
		d.rateTable(&b, "per acknowledged message", d.Unit+"/msg", func(c Costs) Change { return c.PerMessage }, functionsMax)
		unit, scale := d.Unit+"/s", 1.0
		if d.Unit == "nanoseconds" {
			unit, scale = "ms/s", 1e-6 // of CPU time: 10 ms/s is 1 % of a core
		}
		d.rateTable(&b, "per second", unit, func(c Costs) Change { return Change{c.PerSecond.Base * scale, c.PerSecond.New * scale} }, functionsMax)
	}
	for _, note := range d.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	return b.String()
}

// chanceWords say what is marked by ~, and what the rest is.
func chanceWords(judged bool) string {
	if judged {
		return "; ~ is chance: so few samples, or these runs of one side, differ as much by themselves"
	}
	return "; ~ is chance: so few samples differ as much by themselves; what has no ~ may be chance too, because runs differ by more"
}

func (d *Diff) top(n int) []FunctionCosts {
	if n <= 0 || n > len(d.Functions) {
		return d.Functions
	}
	return d.Functions[:n]
}

func (d *Diff) rateTable(b *strings.Builder, title, unit string, rate func(Costs) Change, functionsMax int) {
	fmt.Fprintf(b, "\n%s (%s)\n", title, unit)
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "flat A\tflat B\tchange\t%\tcum A\tcum B\tchange\t%\tsamples A\tB\t  function\n")
	row := func(name, mark string, flat, cum Costs, samples Change) {
		f, c := rate(flat), rate(cum)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.0f\t%.0f\t %s%s\n", number(f.Base), number(f.New), signed(f.Difference()), f.percent(),
			number(c.Base), number(c.New), signed(c.Difference()), c.percent(), samples.Base, samples.New, mark, name)
	}
	row("all", " ", d.Total, d.Total, d.Samples)
	for _, f := range d.top(functionsMax) {
		mark := " "
		if f.Chance {
			mark = "~"
		}
		row(oneLine(f.Function), mark, f.Flat, f.Cum, f.Samples)
	}
	_ = w.Flush() // into a strings.Builder, which never fails
}

func (d *Diff) heldTable(b *strings.Builder, functions []FunctionCosts) {
	fmt.Fprintf(b, "%s of %s profiles (%s) at the end of each; a level is not subtracted: memory that is not in use is no saving per message\n\n", d.Value, d.Kind, d.Unit)
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "flat A\tflat B\tcum A\tcum B\t  function\n")
	row := func(name string, flat, cum Costs) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t  %s\n", number(flat.Now.Base), number(flat.Now.New), number(cum.Now.Base), number(cum.Now.New), name)
	}
	row("all", d.Total, d.Total)
	for _, f := range functions {
		row(oneLine(f.Function), f.Flat, f.Cum)
	}
	_ = w.Flush() // into a strings.Builder, which never fails
}

func (c Change) percent() string {
	p, ok := c.Percent()
	if !ok {
		return "new"
	}
	if p == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%+.1f %%", p)
}

// number keeps four digits of what is not zero, without an exponent where people would not write one.
func number(v float64) string {
	switch a := math.Abs(v); {
	case a == 0:
		return "0"
	case a >= 1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	default:
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
}

func signed(v float64) string {
	if v > 0 {
		return "+" + number(v)
	}
	return number(v)
}

// oneLine keeps a name from a foreign file within its row and its terminal.
func oneLine(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, name)
}
