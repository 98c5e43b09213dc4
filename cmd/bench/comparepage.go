package main

import (
	"errors"
	"fmt"
	"io"

	"rejoin/plots/report"
	"rejoin/profiles"
	"rejoin/results/compare"
)

// tellProfiles compares the profiles of both sides, where there are any, and gives what the page shows of them. What they cannot tell is a
// sentence, not a failure: the comparison stands without them.
func tellProfiles(w io.Writer, o compare.Options, dir string) (differences []report.ProfileDifference, notes []string) {
	folders := func(runs []compare.Run) (dirs []string) {
		for _, r := range runs {
			dirs = append(dirs, r.Dir)
		}
		return dirs
	}
	fmt.Fprintln(w)
	c, err := compareProfiles(w, folders(o.A), folders(o.B), dir)
	if err != nil {
		fmt.Fprintf(w, "no comparison of profiles: %v\n", err)
		if errors.Is(err, errNotProfiled) {
			return nil, nil
		}
		return nil, []string{err.Error()}
	}
	for _, s := range c.Skipped {
		notes = append(notes, "not compared: "+s)
	}
	for _, p := range c.Parts {
		if p.Diff.Held {
			notes = append(notes, fmt.Sprintf("%v: a level, which is not subtracted; %s has it", p.Part, profilesText))
			continue
		}
		differences = append(differences, differenceOf(p))
	}
	return differences, append(notes, c.Warnings...)
}

func differenceOf(p comparedPart) report.ProfileDifference {
	d := report.ProfileDifference{Title: p.Part.String(), Unit: p.Diff.Unit, Judged: p.Diff.Judged, Notes: p.Diff.Notes, Commands: p.Commands,
		Total: functionDifference("", p.Diff.Total, p.Diff.Total, false)}
	for _, f := range p.Diff.Functions {
		d.Functions = append(d.Functions, functionDifference(f.Function, f.Flat, f.Cum, f.Chance))
	}
	for _, flame := range []report.FlameFile{{Title: "difference per message", Path: p.DiffPerMessage}, {Title: "difference per second", Path: p.DiffPerSecond},
		{Title: "A", Path: p.FlameA}, {Title: "B", Path: p.FlameB}} {
		if flame.Path != "" {
			d.Flames = append(d.Flames, flame)
		}
	}
	return d
}

func functionDifference(name string, flat, cum profiles.Costs, chance bool) report.FunctionDifference {
	return report.FunctionDifference{Function: name, MessageA: flat.PerMessage.Base, MessageB: flat.PerMessage.New,
		SecondA: flat.PerSecond.Base, SecondB: flat.PerSecond.New, CumMessageA: cum.PerMessage.Base, CumMessageB: cum.PerMessage.New, Chance: chance}
}
