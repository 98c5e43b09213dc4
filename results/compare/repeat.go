package compare

import (
	"errors"
	"fmt"
	"time"
)

// Repeat sums up runs of one scenario by one build, in the order in which they were made. exitCode is the worst of them.
func Repeat(runs []Run, exitCode int, now time.Time) (Repetition, error) {
	if len(runs) == 0 {
		return Repetition{}, errors.New("no run came to an end, so there is nothing to sum up")
	}
	r := Repetition{SchemaVersion: SchemaVersion, CreatedAt: now, Scenario: runs[0].Run.Asked.ScenarioName, Target: runs[0].Run.Asked.Target,
		ExitCode: exitCode, Warnings: []string{}}
	var counted []Run
	for _, run := range runs {
		r.Runs = append(r.Runs, run.ref())
		if why := run.NoEvidence(); why != "" {
			r.Warnings = append(r.Warnings, fmt.Sprintf("run %s %s; it is not counted", run.Name, why))
			continue
		}
		counted = append(counted, run)
	}
	for _, s := range sources() {
		if values := collect(s, counted); len(values) > 0 {
			r.Metrics = append(r.Metrics, RepeatedMetric{Definition: s.Definition, Estimate: estimate(values)})
		}
	}
	r.Metrics = orEmpty(r.Metrics)
	for i := range counted {
		for k, kill := range counted[i].Summary.Kills {
			if kill.DownMs != nil && kill.CaughtUpMs == nil {
				r.Warnings = append(r.Warnings, fmt.Sprintf("run %s: kill %d (%s) never caught up; it is in no median", counted[i].Name, k+1, kill.Node))
			}
		}
	}
	return r, nil
}
