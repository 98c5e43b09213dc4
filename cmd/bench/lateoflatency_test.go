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
		{"a tenth, as every run of a busy hour has", new(900 * us), new(16_600 * us), new(14_900 * us), results.JudgedOK},
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
		if test.want == results.JudgedDoubtful && !strings.Contains(c.Reason, "30 % of the steady p99 is the generator's own lateness: 3ms with it, 2.1ms without; lower the rate") {
			t.Errorf("%s: %q", test.name, c.Reason)
		}
	}
}

// TestLateOfLatencyNamesTheCause: where the hypervisor did it, a lower rate is no advice.
func TestLateOfLatencyNamesTheCause(t *testing.T) {
	const us = int64(1000)
	for _, test := range []struct {
		name           string
		steal          *results.StealProof
		p99, without   *int64 // outside stolen seconds
		says, saysNone string
	}{
		{"stolen", &results.StealProof{StolenSeconds: 20, Seconds: 64}, new(1000 * us), new(950 * us),
			"40 % of the steady p99 is the generator's own lateness: 12.4ms with it, 7.43ms without (outside stolen seconds, 44 of 64: 5 %); what was stolen explains it: repeat the run", "lower the rate"},
		{"not stolen", &results.StealProof{StolenSeconds: 20, Seconds: 64}, new(1000 * us), new(650 * us), "(outside stolen seconds, 44 of 64: 35 %); what was stolen does not explain it: lower the rate", "quieter"},
		{"all stolen", &results.StealProof{StolenSeconds: 64, Seconds: 64}, nil, nil, "too few batches lie outside them", "lower the rate"},
		{"nothing stolen", &results.StealProof{Seconds: 64}, new(1000 * us), new(650 * us), "without; lower the rate", "hypervisor"},
	} {
		r, s := goodSession(t, "{late_p99_max: 20ms}")
		s.LatencyNs = map[string]results.Quantiles{string(results.Steady): {P99: new(12_400 * us), Count: 5000}}
		r.proof.Steal = test.steal
		r.proof.Lateness.SteadyP99WithoutNs = new(7430 * us)
		r.proof.Lateness.UnstolenSteadyP99Ns, r.proof.Lateness.UnstolenSteadyP99WithoutNs = test.p99, test.without
		r.judgeRun(s)
		c, _ := r.proof.Check("late_of_latency")
		if c.Judgement != results.JudgedDoubtful || !strings.Contains(c.Reason, test.says) || strings.Contains(c.Reason, test.saysNone) {
			t.Errorf("%s: %s %q, want %q and not %q", test.name, c.Judgement, c.Reason, test.says, test.saysNone)
		}
	}
}

// TestStrangersBesideStolenTime: the CPU time of this run may hold what was stolen from it; then nobody is found, or found out, by that difference.
func TestStrangersBesideStolenTime(t *testing.T) {
	for _, test := range []struct {
		name              string
		busy, stolen, own float64
		want              results.Judgement
		text              string
	}{
		{"nobody else", 0.5, 0.01, 0.45, results.JudgedOK, ", 6 % with other programs"},
		{"somebody else", 0.9, 0, 0.3, results.JudgedDoubtful, ", 60 % with other programs"},
		{"more than was busy", 0.408, 0.145, 0.432, results.NotJudged, ", 0 to 12 % with other programs"},
		{"more than was busy, and little was stolen", 0.408, 0.03, 0.432, results.JudgedOK, ", 1 % with other programs"},
	} {
		r, s := goodSession(t, "{}")
		r.proof.Steal = &results.StealProof{Share: test.stolen, BusyShare: test.busy, OwnShare: &test.own, Seconds: 60}
		r.judgeRun(s)
		c, _ := r.proof.Check("strangers")
		if c.Judgement != test.want || test.want == results.NotJudged && !strings.Contains(c.Reason, "0 to 12 % of all cores") {
			t.Errorf("%s: %+v, want %s", test.name, c, test.want)
		}
		if got := othersText(r.proof.Steal); got != test.text {
			t.Errorf("%s: %q, want %q", test.name, got, test.text)
		}
	}
}

// TestBaselineBesideStolenTime: the baseline, too, does not ask for a lower rate where the CPU was stolen.
func TestBaselineBesideStolenTime(t *testing.T) {
	r, s := goodSession(t, "{}")
	r.proof.Baseline = &results.BaselineProof{Batches: 1000, AchievedShare: 0.5, Tries: 3, StealShare: new(0.3)}
	r.judgeRun(s)
	if c, _ := r.proof.Check("baseline_share"); !strings.Contains(c.Reason, "30.0 % of the CPU time stolen") || strings.Contains(c.Reason, "lower the rate") {
		t.Errorf("%+v", c)
	}
}
