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

// versusPlan is plan.json of a folder that `bench versus` makes: what was asked for and what has been done. It is written anew after each run,
// so that --resume goes on where somebody stopped it.
type versusPlan struct {
	SchemaVersion int       `json:"schema_version"`
	CreatedAt     time.Time `json:"created_at"`
	Scenario      string    `json:"scenario"` // its name
	Targets       []string  `json:"targets"`
	Repeats       int       `json:"repeats"`
	// Arguments are those of every run, beside target and seed.
	Arguments []string `json:"arguments"`
	// Seed of the first round; all systems of a round have the same, the next round one more.
	Seed uint64 `json:"seed"`
	// Commit and Dirty are of the build that began. Another does not go on.
	Commit string      `json:"commit"`
	Dirty  bool        `json:"dirty"`
	Runs   []versusRun `json:"runs"`
}

// versusRun is one run that has ended.
type versusRun struct {
	Round  int    `json:"round"` // from 0
	Target string `json:"target"`
	plannedRun
	// Refused is what the run said of itself if it did not begin.
	Refused string `json:"refused,omitempty"`
}

// versusStep is a run to be made.
type versusStep struct {
	round  int
	target string
}

const versusPlanFile = "plan.json"

func (p *versusPlan) write(dir string) error {
	p.SchemaVersion = compare.SchemaVersion
	if p.Runs == nil {
		p.Runs = []versusRun{}
	}
	return results.WriteJSON(filepath.Join(dir, versusPlanFile), p)
}

func readVersusPlan(dir string) (versusPlan, error) {
	var p versusPlan
	err := readPlanFile(filepath.Join(dir, versusPlanFile), &p, &p.SchemaVersion)
	if errors.Is(err, fs.ErrNotExist) {
		return p, fmt.Errorf("%s is no folder that bench versus made: there is no %s in it", dir, versusPlanFile)
	}
	return p, err
}

// steps are all runs of the plan in their order. Each round begins with another system, so that what drifts meets all alike.
func (p *versusPlan) steps() []versusStep {
	var all []versusStep
	for round := range p.Repeats {
		for i := range p.Targets {
			all = append(all, versusStep{round, p.Targets[(round+i)%len(p.Targets)]})
		}
	}
	return all
}

// settled says whether a step needs no further run: one has measured what there is to measure, or its system cannot be run here.
func (p *versusPlan) settled(dir string, s versusStep) bool {
	for _, r := range p.Runs {
		if r.Target != s.target {
			continue
		}
		if r.Refused != "" {
			return true
		}
		if run, err := r.load(dir); r.Round == s.round && err == nil && run.NoEvidence() == "" {
			return true
		}
	}
	return false
}

// forgetRefusals lets systems that could not be run have another try.
func (p *versusPlan) forgetRefusals() {
	var kept []versusRun
	for _, r := range p.Runs {
		if r.Refused == "" {
			kept = append(kept, r)
		}
	}
	p.Runs = kept
}

// entries are the runs by system, as the comparison wants them. A run that cannot be read is a sentence.
func (p *versusPlan) entries(dir string) (entries []compare.Entry, warnings []string) {
	for _, target := range p.Targets {
		e := compare.Entry{Target: target, NotRun: "no run of it has ended yet"}
		for _, r := range p.Runs {
			if r.Target != target {
				continue
			}
			if r.Refused != "" {
				e.NotRun = r.Refused
				continue
			}
			run, err := r.load(dir)
			if err != nil {
				warnings = append(warnings, fmt.Sprintf("a run of %s is left out: %v", r.Target, err))
				continue
			}
			e.Runs = append(e.Runs, run)
		}
		entries = append(entries, e)
	}
	return entries, warnings
}
