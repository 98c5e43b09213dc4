package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"rejoin/results"
	"rejoin/results/compare"
)

// abPlan is ab.json: what `bench ab` was asked for and what it has done so far. It is written anew after each run, so that what is done when
// somebody stops it can still be compared.
type abPlan struct {
	SchemaVersion int       `json:"schema_version"`
	CreatedAt     time.Time `json:"created_at"`
	Scenario      string    `json:"scenario"`
	Arguments     []string  `json:"arguments"` // of every run, beside its seed
	// Pairs is how many were asked for. Pairs that had to be left out are made up for at the end, so Order may hold more.
	Pairs int `json:"pairs"`
	// Order is the order of the runs, such as "ABBA"; which side begins a pair is fixed before the first.
	Order string `json:"order"`
	// Seed of the first pair; both runs of a pair have the same, the next pair one more.
	Seed uint64  `json:"seed"`
	A    abBuild `json:"a"`
	B    abBuild `json:"b"`
	Runs []abRun `json:"runs"`
}

// abBuild is one of the two builds.
type abBuild struct {
	Label  string   `json:"label"`
	Commit string   `json:"commit"`
	Dirty  bool     `json:"dirty"`
	Flags  []string `json:"flags"` // of go build
}

// abRun is a run that has ended.
type abRun struct {
	Pair int    `json:"pair"` // from 0
	Side string `json:"side"` // A, B
	plannedRun
}

const planFile = "ab.json"

func (p abPlan) write(dir string) error {
	p.SchemaVersion = compare.SchemaVersion
	if p.Runs == nil {
		p.Runs = []abRun{}
	}
	return results.WriteJSON(filepath.Join(dir, planFile), p)
}

func readPlan(dir string) (abPlan, error) {
	var p abPlan
	err := readPlanFile(filepath.Join(dir, planFile), &p, &p.SchemaVersion)
	if errors.Is(err, fs.ErrNotExist) {
		return p, fmt.Errorf("%s is one run, or none: name two runs, or a folder that bench ab wrote (with %s in it)", dir, planFile)
	}
	return p, err
}

// options are the whole pairs of a plan; a pair with a run that is no evidence is left out and named.
func (p abPlan) options(dir string) (compare.Options, error) {
	o := compare.Options{Paired: true, SameCommand: true, LabelA: p.A.Label, LabelB: p.B.Label}
	type sides struct{ a, b *compare.Run }
	pairs := make([]sides, len(p.Order)/2)
	for _, r := range p.Runs {
		if r.Pair < 0 || r.Pair >= len(pairs) {
			continue
		}
		run, err := r.load(dir)
		if err != nil {
			o.Warnings = append(o.Warnings, fmt.Sprintf("pair %d is left out: %v", r.Pair+1, err))
			continue
		}
		if why := run.NoEvidence(); why != "" {
			o.Warnings = append(o.Warnings, fmt.Sprintf("pair %d is left out: run %s of %s %s", r.Pair+1, run.Name, r.Side, why))
			continue
		}
		if r.Side == "A" {
			pairs[r.Pair].a = &run
		} else {
			pairs[r.Pair].b = &run
		}
	}
	for _, s := range pairs {
		if s.a != nil && s.b != nil {
			o.A, o.B = append(o.A, *s.a), append(o.B, *s.b)
		}
	}
	if len(o.A) == 0 {
		return o, fmt.Errorf("no pair of %s came to its end, so there is nothing to compare", dir)
	}
	return o, nil
}

// abOrder is A and B in turn, the first of a pair alternating: what drifts steadily meets both alike.
func abOrder(pairs int) string {
	order := ""
	for i := range pairs {
		order += []string{"AB", "BA"}[i%2]
	}
	return order
}
