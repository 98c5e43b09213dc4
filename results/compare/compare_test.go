package compare

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"rejoin/results"
)

// TestSetWithItself (trap 33).
func TestSetWithItself(t *testing.T) {
	o := newSynthetic(1).pairs(8, 1)
	o.B = o.A
	c := mustCompare(t, o)
	if c.Verdict != NoDifference || len(c.Findings()) != 0 {
		t.Errorf("verdict %s, findings %v", c.Verdict, c.Findings())
	}
	for _, m := range c.Metrics {
		if m.Difference != nil && (m.Difference.Absolute != 0 || m.Difference.Words != "equal") {
			t.Errorf("%s: %+v", m.Name, m.Difference)
		}
	}
	if !slices.ContainsFunc(c.Warnings, func(w string) bool { return strings.Contains(w, "share runs") }) {
		t.Errorf("warnings %q do not say that the runs are the same", c.Warnings)
	}
}

// TestTrueDifferenceIsCalled: 10 % at the noise of a shared machine, 8 pairs, most of the tries; without a difference, hardly any.
func TestTrueDifferenceIsCalled(t *testing.T) {
	const tries = 100
	called, falsely := 0, 0
	for seed := range uint64(tries) {
		if c := mustCompare(t, newSynthetic(seed).pairs(8, 1.1)); metricOf(t, c, "steady.p50").Finding == Worse {
			called++
		}
		if len(mustCompareFindings(t, newSynthetic(seed+1000).pairs(8, 1))) > 0 {
			falsely++
		}
	}
	t.Logf("10 %%: called %d of %d; nothing: called %d", called, tries, falsely)
	if called < 80 {
		t.Errorf("a true difference of 10 %% was called in %d of %d tries", called, tries)
	}
	if falsely > 12 { // 5 %, and three deviations
		t.Errorf("no difference was called one in %d of %d tries", falsely, tries)
	}
}

func mustCompareFindings(t *testing.T, o Options) []Metric {
	t.Helper()
	c := mustCompare(t, o)
	return c.Findings()
}

func TestDirections(t *testing.T) {
	for factor, want := range map[float64]string{1.3: Worse, 0.7: Improved} {
		c := mustCompare(t, newSynthetic(3).pairs(8, factor))
		for _, name := range []string{"steady.p50", "steady.p99", "cpu.nodes"} {
			if m := metricOf(t, c, name); m.Finding != want {
				t.Errorf("factor %v: %s is %q (%s), want %q", factor, name, m.Finding, m.Note, want)
			}
		}
		if word := map[string]string{Worse: "slower", Improved: "faster"}[want]; !strings.Contains(c.Sentences[0], word) {
			t.Errorf("the first sentence %q does not say %s", c.Sentences[0], word)
		}
	}
}

// TestDrift (trap 34): each run is 4 % slower than the one before it, whichever build it is of.
func TestDrift(t *testing.T) {
	drifting := func(step float64) Comparison {
		g := newSynthetic(5)
		o := Options{Paired: true}
		machine := 1.0
		for i := range 8 {
			for _, side := range []string{"AB", "BA"}[i%2] {
				machine *= step
				r := g.run(string(side), machine, 0.02)
				if side == 'A' {
					o.A = append(o.A, r)
				} else {
					o.B = append(o.B, r)
				}
			}
		}
		return mustCompare(t, o)
	}
	c := drifting(1.04)
	if c.Order != "ABBAABBAABBAABBA" {
		t.Errorf("order %s", c.Order)
	}
	warned := func(c Comparison) bool {
		return slices.ContainsFunc(c.Warnings, func(w string) bool { return strings.HasPrefix(w, "drift: steady.p50 moved by +") })
	}
	if !warned(c) {
		t.Errorf("no warning of drift in %q; trends %+v", c.Warnings, c.Trends)
	}
	if still := drifting(1); warned(still) {
		t.Errorf("a machine that stands still drifts: %q", still.Warnings)
	}
}

func TestTooFewRuns(t *testing.T) {
	c := mustCompare(t, newSynthetic(6).pairs(3, 2))
	if c.Verdict != CannotJudge || c.RunsNeeded != 7 || !strings.Contains(c.Sentences[0], "7 pairs are needed") {
		t.Errorf("verdict %s, needed %d, %q", c.Verdict, c.RunsNeeded, c.Sentences)
	}
	if m := metricOf(t, c, "steady.p50"); m.Difference == nil || *m.Difference.Fraction < 0.5 || m.Finding != "" {
		t.Errorf("the difference is not shown, or is called: %+v", m)
	}
}

func TestUnpaired(t *testing.T) {
	o := newSynthetic(7).pairs(8, 1.3)
	o.Paired = false
	o.B = o.B[:7]
	c := mustCompare(t, o)
	m := metricOf(t, c, "steady.p50")
	if m.Finding != Worse || m.SignedRank != nil || c.DecidingTest != "Mann-Whitney" {
		t.Errorf("%+v", m)
	}
	if d := m.Difference; d.FracLo == nil || *d.FracLo > *d.Fraction || *d.FracHi < *d.Fraction {
		t.Errorf("interval of %+v", d)
	}
}

// TestNoiseFloor: a build whose own runs differ by 30 % cannot prove a difference of 10 %.
func TestNoiseFloor(t *testing.T) {
	o := newSynthetic(8).pairs(8, 1.1)
	if m := metricOf(t, mustCompare(t, o), "steady.p50"); m.Finding != Worse {
		t.Fatalf("without A/A runs: %s", m.Note)
	}
	g := newSynthetic(9)
	for range 4 {
		o.Same = append(o.Same, g.run("A", 1, 0), g.run("A", 1.3, 0))
	}
	c := mustCompare(t, o)
	m := metricOf(t, c, "steady.p50")
	if m.Finding != "" || !strings.Contains(m.Note, "noise floor") || c.FloorSource != "4 A/A pairs" {
		t.Errorf("finding %q, note %q, floor from %q", m.Finding, m.Note, c.FloorSource)
	}
}

// TestFingerprint (traps 5 and 36): each difference refuses, in words that name it, and can be overridden.
func TestFingerprint(t *testing.T) {
	for want, change := range map[string]func(*Run){
		"cores: 4":                        func(r *Run) { r.Run.Found.Cores = 8 },
		"CPU: cpu":                        func(r *Run) { r.Run.Found.CPU = "other" },
		"memory: 8192 MiB":                func(r *Run) { r.Run.Found.MemoryBytes = new(int64(16 << 30)) },
		"kernel: 6.1":                     func(r *Run) { r.Run.Found.Kernel = "6.2" },
		"file system: ext4":               func(r *Run) { r.Run.Found.FileSystem = "xfs" },
		"Go: go1.26":                      func(r *Run) { r.Run.Found.GoVersion = "go1.27" },
		"race detector: off":              func(r *Run) { r.Run.Found.Race = true },
		"nodes: 3":                        func(r *Run) { r.Run.Asked.Nodes = 5 },
		"rate: 30000 messages/s":          func(r *Run) { r.Run.Asked.MessagesPerS = 60_000 },
		"scenario duration: 20s":          func(r *Run) { r.Run.Asked.Scenario = []byte(`{"name":"steady","duration":"30s"}`) },
		"scenario faults: [1]":            func(r *Run) { r.Run.Asked.Scenario = []byte(`{"name":"steady","duration":"20s","faults":[1]}`) },
		"is invalid: the disk was asleep": func(r *Run) { r.Summary.Verdict, r.Summary.Reasons = results.Invalid, []string{"the disk was asleep"} },
	} {
		o := newSynthetic(10).pairs(8, 1)
		for i := range o.A {
			o.A[i].Run.Found.MemoryBytes, o.B[i].Run.Found.MemoryBytes = new(int64(8<<30)), new(int64(8<<30+1<<20))
		}
		if _, err := Compare(o); err != nil {
			t.Fatalf("equal machines: %v", err)
		}
		change(&o.B[3])
		var refused *RefusedError
		if _, err := Compare(o); !errors.As(err, &refused) || !refused.Forceable || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		o.Force = true
		c := mustCompare(t, o)
		if !c.Forced || !slices.ContainsFunc(c.Warnings, func(w string) bool { return strings.Contains(w, "by force") && strings.Contains(w, want) }) {
			t.Errorf("%s: forced, but the warnings are %q", want, c.Warnings)
		}
	}
}

func TestSameCommandForgivesUnknownFields(t *testing.T) {
	o := newSynthetic(11).pairs(8, 1)
	for i := range o.B {
		o.B[i].Run.Asked.Scenario = []byte(`{"name":"steady","duration":"20s","new_field":1}`)
	}
	if _, err := Compare(o); err == nil {
		t.Error("another scenario was compared")
	}
	o.SameCommand = true
	mustCompare(t, o)
}

// TestBuildWarnings (trap 40).
func TestBuildWarnings(t *testing.T) {
	o := newSynthetic(12).pairs(8, 1)
	for i := range o.B {
		o.A[i].Run.Found.Race, o.B[i].Run.Found.Race = true, true
		o.B[i].Run.Found.Dirty = true
	}
	o.B[0].Run.Found.Commit = "another"
	text := strings.Join(mustCompare(t, o).Warnings, "\n")
	for _, want := range []string{"A: race build", "B: race build", "B: built from a dirty checkout", "B mixes runs of 2 commits"} {
		if !strings.Contains(text, want) {
			t.Errorf("no warning %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "A: built from a dirty") {
		t.Errorf("A is not dirty:\n%s", text)
	}
}

// TestSurvivorsAreWarnedOf: who leaves the slow batches unanswered looks fast.
func TestSurvivorsAreWarnedOf(t *testing.T) {
	o := newSynthetic(14).pairs(8, 1)
	o.B[1].Summary.AckedBatches, o.B[1].Summary.FailedBatches = 4000, 500
	text := strings.Join(mustCompare(t, o).Warnings, "\n")
	if want := "run " + o.B[1].Name + ": 11.1 % of the batches were not acknowledged in time"; strings.Count(text, "were not acknowledged") != 1 || !strings.Contains(text, want) {
		t.Errorf("no warning %q in\n%s", want, text)
	}
}

// TestKillsAreSamples: 4 runs with 2 kills are 8 pairs of kills, and 4 of runs.
func TestKillsAreSamples(t *testing.T) {
	g := newSynthetic(13)
	o := Options{Paired: true}
	for range 4 {
		a, b := g.run("A", 1, 0.02), g.run("B", 1, 0.02)
		for range 2 {
			g.kill(&a, 400, 900)
			g.kill(&b, 800, 900)
		}
		o.A, o.B = append(o.A, a), append(o.B, b)
	}
	c := mustCompare(t, o)
	m := metricOf(t, c, "kill.primary.gap")
	if m.A.N != 8 || m.Difference.N != 8 || m.Finding != Worse {
		t.Errorf("%d kills of A, %d pairs, finding %q (%s)", m.A.N, m.Difference.N, m.Finding, m.Note)
	}
	if m := metricOf(t, c, "steady.p50"); m.Judgeable || m.Finding != "" {
		t.Errorf("4 pairs of runs are judged: %s", m.Note)
	}
	if m := metricOf(t, c, "kill2.gap"); m.A.N != 4 || m.Primary {
		t.Errorf("kill 2: %+v", m)
	}
	if !slices.Equal(c.Primary, []string{"steady.p50", "steady.p99", "kill.primary.gap", "kill.caught_up", "cpu.nodes"}) {
		t.Errorf("primary metrics %v", c.Primary)
	}
}

// TestQuantilesWithoutSamples: what summary.json leaves out has no value here, and never 0.
func TestQuantilesWithoutSamples(t *testing.T) {
	c := mustCompare(t, newSynthetic(14).pairs(8, 1))
	if slices.ContainsFunc(c.Metrics, func(m Metric) bool { return m.Name == "steady.p999" || m.Phase == "outage" }) {
		t.Error("a quantile that no run has is shown")
	}
	var text strings.Builder
	if err := c.WriteText(&text); err != nil || strings.Contains(text.String(), "p99.9") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

func TestRepeat(t *testing.T) {
	g := newSynthetic(15)
	var runs []Run
	for range 3 {
		r := g.run("R", 1, 0.02)
		g.kill(&r, 400, 900)
		g.kill(&r, 500, 900)
		runs = append(runs, r)
	}
	runs[1].Summary.Kills[1].CaughtUpMs = nil
	bad := g.run("R", 9, 0)
	bad.Summary.Verdict = results.Invalid
	r, err := Repeat(append(runs, bad), 5, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	ns := map[string]int{}
	for _, m := range r.Metrics {
		ns[m.Name] = m.Estimate.N
	}
	if ns["kill.primary.gap"] != 6 || ns["kill.caught_up"] != 5 || ns["steady.p50"] != 3 || ns["kill1.gap"] != 3 {
		t.Errorf("samples %v", ns)
	}
	if text := strings.Join(r.Warnings, "\n"); !strings.Contains(text, "never caught up") || !strings.Contains(text, "not counted") {
		t.Errorf("warnings\n%s", text)
	}
	if _, err := Repeat(nil, 0, time.Time{}); err == nil {
		t.Error("no run is summed up")
	}
}

// What is called free of differences was judged: a primary metric without data is named apart, and where none has data nothing is said of runs
// that are missing.
func TestSentencesNameWhatWasJudged(t *testing.T) {
	o := newSynthetic(4).pairs(8, 1)
	for i := range o.A {
		o.A[i].Summary.LatencyNs = map[string]results.Quantiles{"steady": {P50: new(int64(1000 + i)), Count: 800}}
		o.B[i].Summary.LatencyNs = map[string]results.Quantiles{"steady": {P50: new(int64(1007 - i)), Count: 800}}
	}
	got := strings.Join(mustCompare(t, o).Sentences, "\n")
	if !strings.Contains(got, "2 primary metrics (steady.p50, cpu.nodes)") || !strings.Contains(got, "not judged: steady.p99") {
		t.Errorf("without a p99: %s", got)
	}
	for _, runs := range [][]Run{o.A, o.B} {
		for i := range runs {
			runs[i].Summary.LatencyNs, runs[i].Summary.Cost = nil, results.Cost{}
		}
	}
	if c := mustCompare(t, o); c.Verdict != CannotJudge || !strings.Contains(c.Sentences[0], "no primary metric (steady.p50, steady.p99, cpu.nodes) was measured") {
		t.Errorf("without data: %s, %v", c.Verdict, c.Sentences)
	}
}

// Two A/A pairs make no floor, and the comparison does not claim one.
func TestTooFewPairsForAFloor(t *testing.T) {
	o := newSynthetic(5).pairs(8, 1)
	o.Same = newSynthetic(6).pairs(4, 1).A
	c := mustCompare(t, o)
	if warnings := strings.Join(c.Warnings, "\n"); c.FloorSource != "" || !strings.Contains(warnings, "no noise floor") {
		t.Errorf("floor from %q; %s", c.FloorSource, warnings)
	}
}

// TestRunNamedTwice: one run is one sample, however often and by whatever path it is named; a side that names it again is refused, by force as well.
func TestRunNamedTwice(t *testing.T) {
	copied := func(r Run) Run {
		r.Name, r.Dir = "copy", "/elsewhere/copy"
		return r
	}
	for side, repeat := range map[string]func(*Options){
		"in A,":            func(o *Options) { o.A[5] = o.A[2] },
		"in B,":            func(o *Options) { o.B[7] = copied(o.B[0]) },
		"in the A/A runs,": func(o *Options) { o.Same = []Run{o.A[0], o.A[1], copied(o.A[0]), o.A[2]} },
	} {
		o := newSynthetic(11).pairs(8, 1.3)
		repeat(&o)
		o.Force = true
		var refused *RefusedError
		if _, err := Compare(o); !errors.As(err, &refused) || refused.Forceable || len(refused.Reasons) != 1 || !strings.Contains(refused.Reasons[0], "stands twice "+side) {
			t.Errorf("%s: %v", side, err)
		}
	}
	o := newSynthetic(12).pairs(8, 1)
	o.B[3] = copied(o.A[3])
	o.Same = []Run{copied(o.A[0]), o.A[1]}
	if c := mustCompare(t, o); !slices.ContainsFunc(c.Warnings, func(w string) bool { return strings.Contains(w, "A and B share runs") }) || len(o.all()) != 15 {
		t.Errorf("%d runs, warnings %q", len(o.all()), c.Warnings)
	}
}

// Equal medians are no direction, however sure a test is that something differs.
func TestEqualMediansAreNoFinding(t *testing.T) {
	c := Comparison{Metrics: []Metric{{Primary: true, MannWhitney: &Test{P: 0.0001, N: 9, M: 9, SmallestP: 0.0001}, Difference: &Difference{Fraction: new(0.0)}}}}
	if c.judge(); c.Metrics[0].Finding != "" || c.Verdict != NoDifference {
		t.Errorf("%+v", c.Metrics[0])
	}
}
