package report

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"rejoin/plots/axis"
)

// functionsShown is how many functions of a part stand on the page; its files hold all.
const functionsShown = 15

// profilePart is one kind of profile in one phase and role.
type profilePart struct {
	Title    string
	Table    table
	Notes    []string
	Flames   []*flame
	Links    []command // flame graphs that are not in the page: path and title
	Commands []string
}

// addProfiles takes the differences; the flame graphs that fit come back.
func (p *comparePage) addProfiles(dir string, of []ProfileDifference) []*flame {
	room := flamesBytesMax
	var all []*flame
	for i, d := range of {
		part := profilePart{Title: d.Title, Table: profileTable(fmt.Sprintf("profile-%d", i), d), Notes: d.Notes, Commands: d.Commands}
		for n, file := range d.Flames {
			f, err := packFlame(file.Path, fmt.Sprintf("flame-%d-%d", i, n), file.Title+": "+d.Title, room)
			switch {
			case err != nil:
				p.Problems = append(p.Problems, fmt.Sprintf("flame graph %s: %v", file.Path, err))
			case f == nil:
				part.Links = append(part.Links, command{relative(dir, file.Path), file.Title})
			default:
				f.Short = file.Title
				room -= len(f.Packed)
				part.Flames = append(part.Flames, f)
				all = append(all, f)
			}
		}
		p.Profiles = append(p.Profiles, part)
	}
	return all
}

// relative is a path as the page links to it.
func relative(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}

func profileTable(id string, d ProfileDifference) table {
	t := table{ID: id, Caption: "Cost by itself, functions that differ most first. Change is of the same row of A; “~” is chance: so few samples differ as much by themselves" + judgedText(d.Judged),
		Columns: append(words("function"), numbers("A per message", "B per message", "change", "A per second", "B per second", "change", "with callees, A per message", "B per message")...)}
	add := func(class string, f FunctionDifference) {
		name := f.Function
		if f.Chance {
			name = "~ " + name
		}
		t.addIn(class, name, costText(f.MessageA, d.Unit), costText(f.MessageB, d.Unit), changeText(f.MessageA, f.MessageB),
			costText(f.SecondA, d.Unit), costText(f.SecondB, d.Unit), changeText(f.SecondA, f.SecondB), costText(f.CumMessageA, d.Unit), costText(f.CumMessageB, d.Unit))
	}
	total := d.Total
	total.Function = "all functions"
	add("total", total)
	for _, f := range d.Functions[:min(len(d.Functions), functionsShown)] {
		add("", f)
	}
	return t
}

// judgedText says what a row without a “~” is.
func judgedText(judged bool) string {
	if judged {
		return ", or these runs of one side do."
	}
	return ". With so few runs a side the others may be chance too: runs of one build differ by more than their samples."
}

// costText spells a cost in pprof's unit.
func costText(v float64, unit string) string {
	switch {
	case !finite(v):
		return "–"
	case unit == "nanoseconds" && v != 0 && math.Abs(v) < 1:
		return axis.NumberText(v) + " ns"
	case unit == "nanoseconds":
		return axis.DurationText(v)
	case unit == "bytes":
		return axis.BytesText(int64(math.Round(v)))
	}
	return strings.TrimSpace(axis.NumberText(v) + " " + unit)
}

func changeText(a, b float64) string {
	switch {
	case a == b:
		return "0 %"
	case a == 0:
		return "new"
	}
	return signedPercent(b/a - 1)
}
