package results

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// Names that readers outside this package lean on; what was not measured is null, and lists are lists.
func TestProofFields(t *testing.T) {
	f := newRun(t, t.TempDir(), "quick", testNow)
	p := Proof{Checks: []Check{{Name: "late_p99", Relation: AtMost, Budget: 2e7, Judgement: NotJudged}},
		Baseline: &BaselineProof{}, Steal: &StealProof{}, Canaries: []CanaryProof{{Name: CanarySync, Before: &CanaryTimes{}, Change: &CanaryChange{}}}}
	if err := f.WriteProof(p); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(f.ProofFile())
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(`schema_version checks.0.name checks.0.value checks.0.budget checks.0.judgement baseline.achieved_per_s
		baseline.late_p99_ns pacer.mode pacer.overshoot_p99_ns lateness.p99_ns lateness.unstolen_p99_ns generator.cpu_share
		generator.gc_pause_max_ns generator.sched_latency_p99_ns steal.share steal.worst_second_share canaries.0.name canaries.0.before.p50_ns
		canaries.0.before.p99_ns canaries.0.after canaries.0.change.p50 samples books.offered_batches books.histogram.overflow_count pauses
		disagreements limits`) {
		if _, ok := dig(m, path); !ok {
			t.Errorf("proof.json lacks %s", path)
		}
	}
	for path, want := range map[string]any{"checks.0.value": nil, "canaries.0.after": nil, "lateness.p99_ns": nil} {
		if got, _ := dig(m, path); got != want {
			t.Errorf("%s = %v, want %v", path, got, want)
		}
	}
	if list, ok := m["disagreements"].([]any); !ok || len(list) != 0 {
		t.Errorf("disagreements = %v, want an empty list", m["disagreements"])
	}
	back, err := f.ReadProof()
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := back.Check("late_p99"); !ok || c.Budget != 2e7 {
		t.Errorf("the check came back as %+v, %t", c, ok)
	}
	if _, ok := back.Check("horoscope"); ok {
		t.Error("a check that nobody made was found")
	}
}

// The rows of the table are the fields of the JSON, none left out.
func TestRecoveryPointsAreAllTimes(t *testing.T) {
	text, err := json.Marshal(RecoveryTimes{})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for name := range fields {
		if point, isTime := strings.CutSuffix(name, "_ms"); isTime {
			want = append(want, point)
		}
	}
	r := Recovery{Outside: RecoveryTimes{CaughtUp: new(1.5)}, Server: RecoveryTimes{CaughtUp: new(1.25)}}
	for _, p := range r.Points() {
		got = append(got, p.Name)
		if p.Name == "caught_up" && (*p.Outside != 1.5 || *p.Server != 1.25) {
			t.Errorf("caught up %v / %v, want 1.5 / 1.25", *p.Outside, *p.Server)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("points %v, want %v", got, want)
	}
}
