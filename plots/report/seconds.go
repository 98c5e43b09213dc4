package report

import (
	"fmt"

	"rejoin/plots/axis"
)

// secondsRowsMax bounds the table that stands for the picture.
const secondsRowsMax = 600

// secondsTable is the picture as a table: the values of each window of its first latency series. A long run has every n-th row of it as the
// highest of n.
func secondsTable(p *stage) table {
	t := table{ID: "values", Caption: "The picture as a table.", Columns: numbers("from")}
	var all []series
	for _, panel := range p.Panels {
		for _, s := range panel.Series {
			all = append(all, s)
			t.Columns = append(t.Columns, column{Text: columnText(panel.ID, s.Label), Class: "number"})
		}
	}
	if len(all) == 0 {
		t.Empty = noData
		return t
	}
	widthMs := 1000.0
	for p.To/widthMs > secondsRowsMax {
		widthMs *= 2
	}
	at := make([]int, len(all))
	for from := 0.0; from < p.To; from += widthMs {
		cells := []string{axis.NumberText(from/1e3) + " s"}
		for i := range all {
			cells = append(cells, highestText(&all[i], &at[i], from, from+widthMs))
		}
		t.Rows = append(t.Rows, row{Cells: cells, AtMs: new(from)})
	}
	t.Caption += fmt.Sprintf(" Each row holds the highest value of %s.", axis.DurationText(widthMs*1e6))
	return t
}

func columnText(panel, label string) string {
	if panel == "lag" {
		return "lag of " + label
	}
	return label
}

// highestText is the highest value of what overlaps [from, to); next is where the search for the row before ended.
func highestText(s *series, next *int, from, to float64) string {
	highest, any := 0.0, false
	for i := *next; i < len(s.Data) && s.Data[i][0] < to; i++ {
		if s.Data[i][1] <= from {
			*next = i + 1
			continue
		}
		highest, any = max(highest, s.Data[i][2]), true
	}
	if !any {
		return "–"
	}
	return valueText(s.Unit, highest)
}

func valueText(unit string, v float64) string {
	if unit == "ns" {
		return axis.DurationText(v)
	}
	return axis.NumberText(v)
}
