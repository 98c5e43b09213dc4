package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// deciding is the test that judges a metric, nil if it has none.
func (c *Comparison) deciding(m *Metric) *Test {
	if c.Paired {
		return m.SignedRank
	}
	return m.MannWhitney
}

// judge corrects the primary metrics for being many, and gives each metric its finding and its note.
func (c *Comparison) judge() {
	var ps []float64
	for i := range c.Metrics {
		if m := &c.Metrics[i]; c.inFamily(m) {
			ps = append(ps, c.deciding(m).P)
		}
	}
	c.RunsNeeded = runsNeeded(len(ps), c.Paired)
	adjusted := holm(ps)
	next := 0
	for i := range c.Metrics {
		m := &c.Metrics[i]
		if !c.inFamily(m) {
			m.Note = noteWithout(m)
			continue
		}
		m.HolmP = &adjusted[next]
		next++
		c.judgeMetric(m, len(ps))
	}
	c.Verdict = c.verdict()
}

// inFamily: a primary metric without data on one side cannot be tested, and takes nothing from the others.
func (c *Comparison) inFamily(m *Metric) bool {
	return m.Primary && m.Difference != nil && c.deciding(m) != nil
}

// noteWithout is the note of a metric that is not judged.
func noteWithout(m *Metric) string {
	switch {
	case m.A.N == 0 && m.B.N == 0:
		return "no data"
	case m.Difference == nil && (m.A.N == 0 || m.B.N == 0):
		return "only one side has data"
	case m.Difference == nil:
		return "no pairs"
	}
	return ""
}

func (c *Comparison) judgeMetric(m *Metric, family int) {
	m.Judgeable = c.deciding(m).SmallestP*float64(family) <= Alpha
	switch {
	case !m.Judgeable:
		m.Note = fmt.Sprintf("too few to judge: %s", m.sampleText(c.Paired))
	case *m.HolmP > Alpha, m.Difference.none(): // ranks that differ around one median say that something does, and not which way
		m.Note = "not told apart"
	case m.belowFloor():
		m.Note = fmt.Sprintf("below the noise floor of %.1f %%", 100**m.FloorFraction)
	default:
		m.Finding = Worse
		if (m.Difference.larger()) == (m.Better == Higher) {
			m.Finding = Improved
		}
		m.Note = m.Difference.Words
	}
}

func (d Difference) larger() bool {
	if d.Fraction != nil {
		return *d.Fraction > 0
	}
	return d.Absolute > 0
}

func (d Difference) none() bool {
	if d.Fraction != nil {
		return *d.Fraction == 0
	}
	return d.Absolute == 0
}

func (m *Metric) belowFloor() bool {
	return m.FloorFraction != nil && m.Difference.Fraction != nil && math.Abs(*m.Difference.Fraction) < *m.FloorFraction
}

func (m *Metric) sampleText(paired bool) string {
	what := "runs"
	if m.Group == Recovery {
		what = "kills"
	}
	if paired {
		return plural(m.Difference.N, "pair") + " of " + what
	}
	return fmt.Sprintf("%d and %d %s", m.A.N, m.B.N, what)
}

func (c *Comparison) verdict() Verdict {
	judgeable := false
	for _, m := range c.Metrics {
		if m.Finding != "" {
			return Different
		}
		judgeable = judgeable || m.Judgeable
	}
	if judgeable {
		return NoDifference
	}
	return CannotJudge
}

// runsNeeded is how many pairs, or runs of each side, could reach Alpha in a family of that size.
func runsNeeded(family int, paired bool) int {
	for n := 1; ; n++ {
		p := smallestMannWhitneyP(n, n)
		if paired {
			p = smallestSignedRankP(n)
		}
		if p*float64(max(family, 1)) <= Alpha {
			return n
		}
	}
}

// Findings are the metrics that were found to differ.
func (c *Comparison) Findings() []Metric {
	return slices.DeleteFunc(slices.Clone(c.Metrics), func(m Metric) bool { return m.Finding == "" })
}

// sentences say what came out, the most important first.
func (c *Comparison) sentences() []string {
	family, judged, left := c.names(c.inFamily), c.names(judgeable), c.names(func(m *Metric) bool { return m.Primary && !m.Judgeable })
	switch {
	case len(family) == 0:
		return []string{fmt.Sprintf("cannot judge: no primary metric (%s) was measured on both sides", strings.Join(c.Primary, ", "))}
	case c.Verdict == CannotJudge:
		return []string{fmt.Sprintf("cannot judge: %s cannot tell a difference of %s (%s) from chance, however large it is; %s are needed",
			c.sampleCount(), plural(len(family), "primary metric"), strings.Join(family, ", "), c.neededText())}
	case c.Verdict == NoDifference:
		all := []string{fmt.Sprintf("no difference found in %s (%s); that does not prove there is none", plural(len(judged), "primary metric"),
			strings.Join(judged, ", "))}
		if len(left) > 0 {
			all = append(all, "not judged: "+strings.Join(left, ", "))
		}
		return all
	}
	var all []string
	for _, m := range c.Findings() {
		all = append(all, fmt.Sprintf("B is %s: %s, %s against %s in A (p = %s after Holm)", m.Finding, m.Label+" "+m.Difference.Words,
			m.B.text(m.Unit), m.A.text(m.Unit), pText(*m.HolmP)))
	}
	return all
}

func judgeable(m *Metric) bool { return m.Judgeable }

// names are those of the metrics that suit.
func (c *Comparison) names(suits func(*Metric) bool) (names []string) {
	for i := range c.Metrics {
		if m := &c.Metrics[i]; suits(m) {
			names = append(names, m.Name)
		}
	}
	return names
}

func (c *Comparison) sampleCount() string {
	if c.Paired {
		return plural(len(c.A.Runs), "pair")
	}
	return fmt.Sprintf("%d and %d runs", len(c.A.Runs), len(c.B.Runs))
}

func (c *Comparison) neededText() string {
	if c.Paired {
		return plural(c.RunsNeeded, "pair")
	}
	return plural(c.RunsNeeded, "run") + " of each side"
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
