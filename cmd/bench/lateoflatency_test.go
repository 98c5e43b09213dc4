package main

import (
	"strings"
	"testing"

	"rejoin/results"
)

// TestLateOfLatency: what counts is by how much the generator's lateness moves the figure that is compared, not how late its latest hundredth was.
func TestLateOfLatency(t *testing.T) {
	const us = int64(1000)
	for _, test := range []struct {
		name                  string
		lateP99, p99, without *int64
		want                  results.Judgement
	}{
		{"late seldom, and not where the log was slow", new(900 * us), new(3000 * us), new(2950 * us), results.JudgedOK},
		{"late in what makes up the p99", new(900 * us), new(3000 * us), new(2100 * us), results.JudgedDoubtful},
		{"edges of buckets", new(2 * us), new(3000 * us), new(3001 * us), results.JudgedOK},
		{"too few for a p99", new(900 * us), nil, nil, results.NotJudged},
	} {
		r, s := goodSession(t, "{late_p99_max: 20ms}")
		s.Generator.LateP99Ns = test.lateP99
		s.LatencyNs = map[string]results.Quantiles{string(results.Steady): {P99: test.p99, Count: 5000}}
		r.proof.Lateness.SteadyP99WithoutNs = test.without
		r.judgeRun(s)
		c, ok := r.proof.Check("late_of_latency")
		if !ok || c.Judgement != test.want || c.Value != nil && *c.Value < 0 {
			t.Errorf("%s: %+v, want %s", test.name, c, test.want)
		}
		if test.want == results.JudgedDoubtful && !strings.Contains(c.Reason, "the steady p99 is 3ms, and 2.1ms without the generator's own lateness") {
			t.Errorf("%s: %q", test.name, c.Reason)
		}
	}
}
