package compare

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	versusLabelColumns  = 27 // of a terminal, for the names of rows
	versusColumnsLeast  = 14
	versusColumnsMost   = 26
	versusBetweenColumn = 2
)

// WriteText writes the comparison for a terminal. The promise of each system stands in the head of its column.
func (v *Versus) WriteText(out io.Writer) error {
	w := bufio.NewWriter(out)
	t := v.Table()
	width := (columnsMax-versusLabelColumns)/max(len(t.Systems), 1) - versusBetweenColumn
	width = min(max(width, versusColumnsLeast), versusColumnsMost)
	fmt.Fprintf(w, "%s\n\n", wrap(fmt.Sprintf("Scenario %s, runs in the order %s", v.Scenario, v.orderText()), "  ", columnsMax))
	v.writeHeads(w, t.Systems, width)
	for _, s := range t.Sections {
		fmt.Fprintf(w, "\n%s\n", s.Title)
		for _, r := range s.Rows {
			r.writeLines(w, width)
		}
	}
	fmt.Fprintln(w)
	for _, text := range v.HowToRead() {
		fmt.Fprintln(w, wrap(text, "  ", columnsMax))
	}
	for _, text := range v.Warnings {
		fmt.Fprintln(w, wrap("warning: "+text, "  ", columnsMax))
	}
	return w.Flush()
}

// writeLines writes a row: its figures, and below them what lies behind each.
func (r VersusRow) writeLines(w io.Writer, width int) {
	columns := make([][]string, len(r.Cells))
	for i, c := range r.Cells {
		columns[i] = []string{c.Text}
		if c.Spread != "" {
			columns[i] = append(columns[i], strings.Split(wrap(c.Spread, "", width), "\n")...)
		}
	}
	writeColumns(w, "  "+r.Label, columns, width)
}

// writeHeads writes name, promise and number of runs of each system, wrapped into its column.
func (v *Versus) writeHeads(w io.Writer, systems []VersusColumn, width int) {
	var heads [][]string
	for _, s := range systems {
		var lines []string
		for _, text := range []string{s.Target, s.Promise, "(" + s.Runs + ")"} {
			lines = append(lines, strings.Split(wrap(breakWords(text, width), "", width), "\n")...)
		}
		heads = append(heads, lines)
	}
	writeColumns(w, "", heads, width)
}

// writeColumns writes the lines of columns beside one another, and label before the first.
func writeColumns(w io.Writer, label string, columns [][]string, width int) {
	tallest := 0
	for _, lines := range columns {
		tallest = max(tallest, len(lines))
	}
	for n := range tallest {
		line := padRight(label, versusLabelColumns)
		for _, lines := range columns {
			text := ""
			if n < len(lines) {
				text = lines[n]
			}
			line += strings.Repeat(" ", versusBetweenColumn) + padLeft(text, width)
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
		label = ""
	}
}

// breakWords cuts words that are longer than a column.
func breakWords(text string, width int) string {
	var words []string
	for _, word := range strings.Fields(text) {
		for letters := []rune(word); len(letters) > 0; {
			n := min(len(letters), width)
			words = append(words, string(letters[:n]))
			letters = letters[n:]
		}
	}
	return strings.Join(words, " ")
}

func padLeft(s string, width int) string {
	return strings.Repeat(" ", max(width-utf8.RuneCountInString(s), 0)) + s
}

func padRight(s string, width int) string {
	return s + strings.Repeat(" ", max(width-utf8.RuneCountInString(s), 0))
}

// WriteMarkdown writes the comparison as one Markdown table with what is to know beside it.
func (v *Versus) WriteMarkdown(out io.Writer) error {
	w := bufio.NewWriter(out)
	t := v.Table()
	fmt.Fprintf(w, "# Scenario %s: %s\n\n", markdownText(v.Scenario), markdownText(strings.Join(v.targets(), ", ")))
	row := func(cells ...string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }
	head, rule, promise, runs := []string{""}, []string{"---"}, []string{"**promise**"}, []string{"runs"}
	for _, s := range t.Systems {
		head, rule = append(head, markdownText(s.Target)), append(rule, "---:")
		promise, runs = append(promise, markdownText(s.Promise)), append(runs, s.Runs)
	}
	row(head...)
	row(rule...)
	row(promise...)
	row(runs...)
	for _, s := range t.Sections {
		row(append([]string{"**" + s.Title + "**"}, make([]string, len(t.Systems))...)...)
		for _, r := range s.Rows {
			cells := []string{r.Label}
			for _, c := range r.Cells {
				cells = append(cells, c.markdown())
			}
			row(cells...)
		}
	}
	fmt.Fprintln(w)
	for _, text := range v.HowToRead() {
		fmt.Fprintf(w, "- %s\n", text)
	}
	fmt.Fprintf(w, "- Runs in the order: %s.\n", markdownText(v.orderText()))
	for _, text := range v.Warnings {
		fmt.Fprintf(w, "- Warning: %s\n", markdownText(text))
	}
	return w.Flush()
}

func (c VersusCell) markdown() string {
	text := c.Text
	if c.Bad {
		text = "**" + text + "**"
	}
	if c.Ratio != "" {
		text += " (" + c.Ratio + ")"
	}
	if c.Spread != "" {
		text += "<br>" + c.Spread
	}
	return text
}

func (v *Versus) targets() []string {
	var names []string
	for _, c := range v.Contenders {
		names = append(names, c.Target)
	}
	return names
}

// markdownText keeps a text from outside from becoming a table's structure or a page's.
func markdownText(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ", "<", "&lt;", "*", `\*`, "_", `\_`, "`", "'", "[", `\[`).Replace(s)
}
