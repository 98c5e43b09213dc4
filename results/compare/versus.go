package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"rejoin/results"
)

// Versus is versus.json: one scenario run against several systems in turn, on one machine. It ranks nothing: what the systems promise by an
// acknowledgement differs, so each number stands beside the promise under which it was measured.
type Versus struct {
	SchemaVersion int       `json:"schema_version"`
	CreatedAt     time.Time `json:"created_at"`
	Scenario      string    `json:"scenario"`
	// Overload says that the scenario asks for more than a system carries. There are no latencies then.
	Overload bool `json:"overload"`
	// Repeats is how many runs of each system were asked for.
	Repeats int `json:"repeats"`
	// Order is the order in which the runs were made, by target.
	Order      []string    `json:"order"`
	Contenders []Contender `json:"contenders"`
	Warnings   []string    `json:"warnings"`
}

// Contender is one system in one setting.
type Contender struct {
	Target string `json:"target"`
	// Guarantee says in words what an acknowledgement promised; empty if no run came so far as to know.
	Guarantee string `json:"guarantee"`
	// Settings are the target's own, as run.json has them.
	Settings json.RawMessage `json:"settings,omitempty"`
	// Runs are all that came to an end. Counted is how many of them are evidence; the others are named in the warnings.
	Runs    []Ref `json:"runs"`
	Counted int   `json:"counted"`
	// NotRun says why there is no run; empty if there is one.
	NotRun string `json:"not_run,omitempty"`
	// Totals are sums over the counted runs; null if there is none.
	Totals  *Totals          `json:"totals"`
	Metrics []RepeatedMetric `json:"metrics"`
}

// Entry is what CompareSystems is given of one system.
type Entry struct {
	Target string
	Runs   []Run
	NotRun string // why there is none
}

// CompareSystems sums up runs of one scenario by several systems. Runs that are no evidence are named and not counted.
func CompareSystems(scenario string, repeats int, entries []Entry, now time.Time) (Versus, error) {
	v := Versus{SchemaVersion: SchemaVersion, CreatedAt: now, Scenario: scenario, Repeats: repeats, Warnings: []string{}}
	if len(entries) == 0 {
		return v, errors.New("no system was named, so there is nothing to compare")
	}
	var all []Run
	for _, e := range entries {
		all = append(all, e.Runs...)
	}
	v.Overload = slices.ContainsFunc(all, Run.Overload)
	for _, e := range entries {
		c, warnings := v.contenderOf(e)
		v.Contenders = append(v.Contenders, c)
		v.Warnings = append(v.Warnings, warnings...)
	}
	v.Warnings = append(v.Warnings, mixtures(all)...)
	slices.SortStableFunc(all, func(a, b Run) int { return a.Run.StartedAt.Compare(b.Run.StartedAt) })
	for _, r := range all {
		v.Order = append(v.Order, r.Run.Asked.Target)
	}
	v.Order = orEmpty(v.Order)
	return v, nil
}

func (v *Versus) contenderOf(e Entry) (Contender, []string) {
	c := Contender{Target: e.Target, NotRun: e.NotRun, Runs: []Ref{}}
	var warnings []string
	var counted []Run
	for _, r := range e.Runs {
		c.Runs = append(c.Runs, r.ref())
		if g := r.Run.Asked.Guarantee; g != "" {
			c.Guarantee, c.Settings = g, r.Run.Asked.Settings
		}
		if why := r.NoEvidence(); why != "" {
			warnings = append(warnings, fmt.Sprintf("run %s of %s %s; it is not counted", r.Name, e.Target, why))
			continue
		}
		counted = append(counted, r)
		if why := r.notPassed(); why != "" {
			warnings = append(warnings, fmt.Sprintf("run %s of %s %s", r.Name, e.Target, why))
		}
		if !r.Summary.Verified() {
			warnings = append(warnings, fmt.Sprintf("run %s of %s was not verified to the end: what it may have lost or broken beyond what was found is in no count", r.Name, e.Target))
		}
		warnings = append(warnings, r.unknownRoles()...)
		if why := r.survivors(); why != "" && !v.Overload {
			warnings = append(warnings, why)
		}
	}
	if len(c.Runs) > 0 {
		c.NotRun = ""
	}
	c.Counted = len(counted)
	if c.NotRun != "" {
		warnings = append(warnings, fmt.Sprintf("%s was not run: %s", e.Target, c.NotRun))
	}
	for _, s := range sources() {
		if s.Group == Latency && v.Overload {
			continue
		}
		if values := collect(s, counted); len(values) > 0 {
			c.Metrics = append(c.Metrics, RepeatedMetric{Definition: s.Definition, Estimate: estimate(values)})
		}
	}
	c.Metrics = orEmpty(c.Metrics)
	if len(counted) > 0 {
		c.Totals = totalsOf(counted)
	}
	return c, warnings
}

// unknownRoles tells the gap of each kill that is in no row of gaps.
func (r Run) unknownRoles() (warnings []string) {
	for _, k := range r.Summary.Kills {
		if roleKnown(k) {
			continue
		}
		gap := "no gap was measured"
		if ms := k.Gap(); ms != nil {
			gap = fmt.Sprintf("its gap of %s is in no row", Nanoseconds.text(*ms*1e6))
		}
		warnings = append(warnings, fmt.Sprintf("run %s of %s: it was not known what %s was when it was %s at %.1f s; %s", r.Name, r.Summary.Target, k.Node, k.How.Word(), k.AtMs/1e3, gap))
	}
	return warnings
}

// mixtures warns of runs that should not stand in one table: by another build, on another machine or of another load.
func mixtures(runs []Run) []string {
	var warnings []string
	if len(runs) > 1 && slices.ContainsFunc(runs, func(r Run) bool { return r.Run.Found.Dirty }) {
		warnings = append(warnings, "runs were made by a build of a dirty checkout: two such builds of one commit cannot be told apart, so whether all runs are of one is not known")
	}
	for _, fact := range []struct {
		name string
		of   func(results.Run) string
	}{
		{"builds", func(r results.Run) string { return fmt.Sprintf("%s, dirty %v", r.Found.Commit, r.Found.Dirty) }},
		{"machines or boots", func(r results.Run) string {
			return fmt.Sprintf("%s, %d cores, boot %s", r.Found.CPU, r.Found.Cores, r.Found.BootID)
		}},
		{"loads", func(r results.Run) string {
			return fmt.Sprintf("%g messages/s in batches of %d of %d B, for %v", r.Asked.MessagesPerS, r.Asked.BatchMessages, r.Asked.PayloadBytes, time.Duration(r.Asked.LoadNs))
		}},
	} {
		var seen []string
		for _, r := range runs {
			if v := fact.of(r.Run); !slices.Contains(seen, v) {
				seen = append(seen, v)
			}
		}
		if len(seen) > 1 {
			warnings = append(warnings, fmt.Sprintf("the runs are of different %s: %q", fact.name, seen))
		}
	}
	return warnings
}

// Metric finds one of the contender's by its name; nil if it was not measured.
func (c Contender) Metric(name string) *RepeatedMetric {
	i := slices.IndexFunc(c.Metrics, func(m RepeatedMetric) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Metrics[i]
}

// Promise is the guarantee, or that it is not known.
func (c Contender) Promise() string {
	if c.Guarantee == "" {
		return "guarantee unknown: no run came so far"
	}
	return c.Guarantee
}
