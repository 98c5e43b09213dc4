package compare

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table prints rows in columns that are as wide as their widest cell; the first is aligned left, the others right.
type table struct {
	rows [][]string
	left int // columns aligned left; at least the first
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) write(w io.Writer) {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row {
			blanks := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i > 0 {
				line.WriteString("  ")
			}
			if i < max(t.left, 1) {
				line.WriteString(cell + blanks)
			} else {
				line.WriteString(blanks + cell)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// wrap breaks a sentence at blanks, so that no line is longer than width where its words allow it; following lines are indented.
func wrap(text, indent string, width int) string {
	var out strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n > width:
			out.WriteString("\n" + indent)
			column = utf8.RuneCountInString(indent)
		default:
			out.WriteString(" ")
			column++
		}
		out.WriteString(word)
		column += n
	}
	return out.String()
}
