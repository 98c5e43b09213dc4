package compare

import "strconv"

// countRow is a row of sums over the counted runs.
type countRow struct {
	label string
	of    func(*Totals) *int64 // nil: not known
	bad   bool                 // it should be 0
}

func known(n int64) *int64 { return &n }

// countRows are those of the table. "lost" and the three below it are the verifier's.
var countRows = []struct {
	title string
	rows  []countRow
}{
	{"Runs, replicas and kills, counted", []countRow{
		{"runs that lost or broke", func(t *Totals) *int64 { return known(t.BrokenRuns) }, true},
		{"runs that got stuck", func(t *Totals) *int64 { return known(t.StuckRuns) }, true},
		{"runs missing a demand", func(t *Totals) *int64 { return known(t.MissedRuns) }, false},
		{"diverged replicas", func(t *Totals) *int64 { return t.DivergedReplicas }, true},
		{"kills", func(t *Totals) *int64 { return known(t.Kills) }, false},
		{"of them, role unknown", func(t *Totals) *int64 { return known(t.UnknownRoleKills) }, false},
		{"full rate not reached", func(t *Totals) *int64 { return t.NeverFullRate }, true},
		{"never current again", func(t *Totals) *int64 { return known(t.NeverCurrent) }, true},
	}},
	{"Batches, summed over the runs", []countRow{
		{"offered", func(t *Totals) *int64 { return known(t.OfferedBatches) }, false},
		{"acknowledged", func(t *Totals) *int64 { return known(t.AckedBatches) }, false},
		{"unknown", func(t *Totals) *int64 { return known(t.UnknownBatches) }, false},
		{"failed", func(t *Totals) *int64 { return known(t.FailedBatches) }, false},
		{"lost", func(t *Totals) *int64 { return t.LostBatches }, true},
		{"duplicated", func(t *Totals) *int64 { return t.DuplicatedBatches }, true},
		{"reordered", func(t *Totals) *int64 { return t.ReorderedBatches }, true},
	}},
}

func (v *Versus) countSections() []VersusSection {
	var all []VersusSection
	for _, section := range countRows {
		s := VersusSection{Title: section.title}
		for _, row := range section.rows {
			s.Rows = append(s.Rows, v.countedRow(row))
		}
		all = append(all, s)
	}
	return all
}

func (v *Versus) countedRow(row countRow) VersusRow {
	r := VersusRow{Label: row.label}
	for _, c := range v.Contenders {
		cell := VersusCell{Text: noData}
		if c.Totals != nil {
			if n := row.of(c.Totals); n != nil {
				cell = VersusCell{Text: grouped(*n), Bad: row.bad && *n > 0}
			}
		}
		r.Cells = append(r.Cells, cell)
	}
	return r
}

// grouped writes a count with commas between thousands.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
