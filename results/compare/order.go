package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"rejoin/results/trend"
)

// placed is a run with its side.
type placed struct {
	Run
	side string
}

// inOrder are the runs of both sides in the order in which they were made.
func (o Options) inOrder() []placed {
	var all []placed
	for _, r := range o.A {
		all = append(all, placed{r, "A"})
	}
	for _, r := range o.B {
		all = append(all, placed{r, "B"})
	}
	slices.SortStableFunc(all, func(x, y placed) int { return x.Run.Run.StartedAt.Compare(y.Run.Run.StartedAt) })
	return all
}

func orderOf(o Options) string {
	var b strings.Builder
	for _, p := range o.inOrder() {
		b.WriteString(p.side)
	}
	return b.String()
}

// trends tests each primary metric for a drift over the order of runs. The difference between the sides is taken out by dividing each value
// by the median of its side; of a recovery figure the median of a run's kills counts.
func (o Options) trends(primary []string) []Trend {
	all := []Trend{}
	var ps []float64
	for _, s := range sources() {
		if !slices.Contains(primary, s.Name) {
			continue
		}
		if t, ok := o.trend(s); ok {
			all = append(all, t)
			ps = append(ps, t.P)
		}
	}
	for i, p := range holm(ps) {
		all[i].HolmP = p
		all[i].Drifts = p <= Alpha
	}
	return all
}

// trendRunsMin is the least number of runs in which a drift can be told from chance.
const trendRunsMin = 5

func (o Options) trend(s source) (Trend, bool) {
	ofSide := map[string][]float64{}
	var order []struct {
		side  string
		value float64
	}
	for _, p := range o.inOrder() {
		values := raw(s.read(p.Run))
		if len(values) == 0 {
			continue
		}
		v := trend.Median(values)
		if v <= 0 {
			return Trend{}, false
		}
		ofSide[p.side] = append(ofSide[p.side], v)
		order = append(order, struct {
			side  string
			value float64
		}{p.side, v})
	}
	if len(order) < trendRunsMin {
		return Trend{}, false
	}
	logs := make([]float64, len(order))
	for i, v := range order {
		logs[i] = math.Log(v.value / trend.Median(ofSide[v.side]))
	}
	t := Trend{Metric: s.Name, N: len(logs), ChangeFraction: math.Expm1(trend.Slope(logs) * float64(len(logs)-1))}
	test := trend.Kendall(logs)
	t.Tau, t.P = test.Tau, test.P
	return t, true
}

// warnings are sentences about what makes the comparison weaker than it looks.
func (o Options) warnings(c *Comparison) []string {
	all := append([]string{}, o.Warnings...)
	if c.Forced {
		for _, m := range c.Mismatches {
			all = append(all, "compared by force although this differs: "+m.String())
		}
	}
	for _, r := range o.all() {
		switch why := r.NoEvidence(); {
		case why != "":
			all = append(all, fmt.Sprintf("compared by force: run %s %s", r.Name, why))
		case r.Summary.ExitCode != 0:
			all = append(all, fmt.Sprintf("run %s did not pass (%s, exit code %d)", r.Name, r.Summary.Verdict, r.Summary.ExitCode))
		}
	}
	for _, r := range o.all() {
		if why := r.survivors(); why != "" {
			all = append(all, why)
		}
	}
	all = append(all, o.buildWarnings()...)
	if sameRuns(o.A, o.B) {
		all = append(all, "A and B share runs: a run compared with itself shows no difference")
	} else if a, b := strings.LastIndex(c.Order, "A"), strings.Index(c.Order, "B"); len(c.Order) > 2 && (a < b || strings.LastIndex(c.Order, "B") < strings.Index(c.Order, "A")) {
		all = append(all, fmt.Sprintf("the runs were not interleaved (%s): a machine that changed meanwhile looks like a difference; make ab interleaves", c.Order))
	}
	for _, t := range c.Trends {
		if t.Drifts {
			all = append(all, fmt.Sprintf("drift: %s moved by %+.1f %% from the first run to the last, whatever the build (Kendall's tau %+.2f, p = %s): the machine changed while it measured",
				t.Metric, 100*t.ChangeFraction, t.Tau, pText(t.HolmP)))
		}
	}
	if c.FloorSource == "" {
		all = append(all, fmt.Sprintf("no noise floor: it takes %d pairs of runs of one build; pass A/A runs with --aa", floorPairsMin))
	}
	return all
}

// buildWarnings say which builds cannot be named or believed.
func (o Options) buildWarnings() []string {
	var all []string
	for i, side := range [][]Run{o.A, o.B} {
		name := string(rune('A' + i))
		commits := map[string]bool{}
		seen := map[string]bool{}
		for _, r := range side {
			commits[r.Run.Found.Commit] = true
			for _, w := range r.Run.Found.Warnings() {
				if !seen[w] {
					seen[w] = true
					all = append(all, fmt.Sprintf("%s: %s", name, w))
				}
			}
		}
		if len(commits) > 1 {
			all = append(all, fmt.Sprintf("%s mixes runs of %d commits", name, len(commits)))
		}
	}
	return all
}

func sameRuns(a, b []Run) bool {
	return slices.ContainsFunc(a, func(x Run) bool { return slices.ContainsFunc(b, x.is) })
}
