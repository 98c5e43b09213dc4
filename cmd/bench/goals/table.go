package goals

import (
	"fmt"
	"strings"
)

// Table is goals.json.
type Table struct {
	SchemaVersion int    `json:"schema_version"`
	Machine       string `json:"machine"`
	// Commit is that of all samples; empty where Builds are several.
	Commit string      `json:"commit"`
	Builds []SamplesOf `json:"builds"`
	Rows   []Outcome   `json:"rows"`
}

// Counts says how many rows have each status.
func (t Table) Counts() map[Status]int {
	counts := map[Status]int{}
	for _, o := range t.Rows {
		counts[o.Status]++
	}
	return counts
}

// Markdown is the table for people.
func (t Table) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Goals\n\nOn %s, %s. Ratios are of runs next to one another on this machine; the value is the median unless the figure says otherwise, with its interval.\n\n", t.Machine, BuildsText(t.Builds))
	b.WriteString("| figure | floor | goal | value | n | status | |\n|---|---|---|---|---|---|---|\n")
	for _, o := range t.Rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d | %s | %s |\n", o.Figure, o.text(&o.Floor), o.text(&o.Goal), o.valueText(), o.N, o.Status, strings.ReplaceAll(o.Why, "|", "/"))
	}
	c := t.Counts()
	fmt.Fprintf(&b, "\n%d met, %d above their floor, %d below it, %d without data.\n", c[Met], c[FloorHeld], c[BelowFloor], c[NoData])
	return b.String()
}

// Line is one row for a terminal.
func (o Outcome) Line() string {
	return fmt.Sprintf("%-12s %-82s %-26s goal %-8s floor %-8s %s", o.Status, o.Figure, o.valueText(), o.text(&o.Goal), o.text(&o.Floor), o.Why)
}

func (o Outcome) valueText() string {
	text := o.text(o.Value)
	if o.Lo != nil && o.Hi != nil {
		text += fmt.Sprintf(" (%s to %s)", o.text(o.Lo), o.text(o.Hi))
	}
	return text
}

func (o Outcome) text(v *float64) string {
	switch {
	case v == nil:
		return "–"
	case o.Unit == "":
		return fmt.Sprintf("%.2f", *v)
	case o.Unit == "%": // nearly all is not all
		return fmt.Sprintf("%.6g %%", *v)
	}
	return fmt.Sprintf("%.4g %s", *v, o.Unit)
}
