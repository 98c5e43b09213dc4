package report

// table is a table of a page. The first cell of each row is its header.
type table struct {
	ID      string
	Caption string
	Columns []column
	Rows    []row
	// Empty stands in place of a table without rows.
	Empty string
}

type column struct {
	Text string
	// Class of its cells: "number" sets them to the right, "judged" gives them the colour of their row.
	Class string
}

type row struct {
	Class string
	Cells []string
	// AtMs is set on rows that belong to a moment of the run; the script hides those outside the zoom.
	AtMs *float64
}

func words(names ...string) []column {
	var out []column
	for _, n := range names {
		out = append(out, column{Text: n})
	}
	return out
}

func numbers(names ...string) []column {
	var out []column
	for _, n := range names {
		out = append(out, column{Text: n, Class: "number"})
	}
	return out
}

func (t *table) add(cells ...string) { t.Rows = append(t.Rows, row{Cells: cells}) }

func (t *table) addIn(class string, cells ...string) {
	t.Rows = append(t.Rows, row{Class: class, Cells: cells})
}
