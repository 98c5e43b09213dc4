package compare

import "time"

// SchemaVersion stands in comparison.json and repeat.json; it rises when a field changes its meaning or leaves.
const SchemaVersion = 1

// Levels of all tests and intervals.
const (
	Alpha      = 0.05 // chance of one false finding among all primary metrics
	Confidence = 0.95 // least; an interval of order statistics covers a little more
)

// Verdict is the word for a whole comparison.
type Verdict string

const (
	// CannotJudge: too few runs for any primary metric; the differences are shown and prove nothing.
	CannotJudge Verdict = "cannot_judge"
	// NoDifference: nothing was found. It does not prove that both are equal.
	NoDifference Verdict = "no_difference"
	// Different: at least one primary metric differs.
	Different Verdict = "different"
)

// Comparison is comparison.json. Fractions are of A: 0.1 is ten per cent more than A. Pointers are null where a number does not exist.
type Comparison struct {
	SchemaVersion int       `json:"schema_version"`
	CreatedAt     time.Time `json:"created_at"`
	// Verdict, and the sentences that say it to a person, the most important first.
	Verdict   Verdict  `json:"verdict"`
	Sentences []string `json:"sentences"`
	// Warnings do not change the verdict.
	Warnings []string `json:"warnings"`

	Scenario string `json:"scenario"`
	Target   string `json:"target"`
	A        Side   `json:"a"`
	B        Side   `json:"b"`
	// Paired: run i of A belongs to run i of B.
	Paired bool `json:"paired"`
	// Order is the order in which the runs were made, in letters, such as "ABBAABBA".
	Order string `json:"order"`

	Alpha float64 `json:"alpha"`
	// DecidingTest is "signed rank" or "Mann-Whitney".
	DecidingTest string `json:"deciding_test"`
	// Primary are the names of the metrics that are judged, in the order of Metrics.
	Primary []string `json:"primary"`
	// RunsNeeded is how many pairs (or runs of each side) the family needs before a difference can be found.
	RunsNeeded int `json:"runs_needed"`

	// FloorSource says where the noise floor comes from; empty if there is none.
	FloorSource string `json:"floor_source"`

	Metrics []Metric `json:"metrics"`
	// Trends are tests of the primary metrics for a drift over the order of runs.
	Trends []Trend `json:"trends"`
	// Facts are the machine, the build and the load of both sides; those that differ stand in Mismatches too.
	Facts      []Fact     `json:"facts"`
	Mismatches []Mismatch `json:"mismatches"`
	// Forced: the user asked to compare despite mismatches or runs that are no evidence.
	Forced bool `json:"forced"`
	// Bounds are those of --fail-on.
	Bounds []BoundResult `json:"bounds"`
}

// Side is one of the two sets of runs.
type Side struct {
	// Label is how people call it: a revision, or the name of the first run.
	Label  string `json:"label"`
	Commit string `json:"commit"`
	Dirty  bool   `json:"dirty"`
	Runs   []Ref  `json:"runs"`
}

// Ref names a run.
type Ref struct {
	Name      string    `json:"name"`
	Dir       string    `json:"dir"`
	Verdict   string    `json:"verdict"`
	Seed      uint64    `json:"seed"`
	StartedAt time.Time `json:"started_at"`
}

// Group is the table that a metric stands in.
type Group string

const (
	Latency    Group = "latency"
	Throughput Group = "throughput"
	Recovery   Group = "recovery"
	Cost       Group = "cost"
)

// Better is the direction of improvement.
type Better string

const (
	Lower  Better = "lower"
	Higher Better = "higher"
)

// Unit is what values of a metric are in.
type Unit string

const (
	Nanoseconds      Unit = "ns"
	NsPerMessage     Unit = "ns/msg"
	Bytes            Unit = "B"
	BytesPerMessage  Unit = "B/msg"
	BatchesPerSecond Unit = "batches/s"
	Share            Unit = "share" // 0 to 1
	Count            Unit = "count"
)

// Definition is a metric before any number is seen.
type Definition struct {
	// Name is what --fail-on calls it, such as "steady.p99".
	Name string `json:"name"`
	// Label is how a table calls it.
	Label string `json:"label"`
	Group Group  `json:"group"`
	// Phase of a latency, or "".
	Phase  string `json:"phase,omitempty"`
	Unit   Unit   `json:"unit"`
	Better Better `json:"better"`
	// More and Less are the words for a larger and a smaller value: "slower" and "faster".
	More string `json:"more"`
	Less string `json:"less"`
}

// Metric is one line of a comparison.
type Metric struct {
	Definition
	Primary bool     `json:"primary"`
	A       Estimate `json:"a"`
	B       Estimate `json:"b"`
	// Difference is null where one side has no number.
	Difference *Difference `json:"difference"`

	SignedRank  *Test `json:"signed_rank"` // null if the runs are not paired
	MannWhitney *Test `json:"mann_whitney"`
	// HolmP is the deciding test's p after Holm's correction; null for metrics that are not primary.
	HolmP *float64 `json:"holm_p"`
	// Judgeable: with so many samples the test could reach Alpha.
	Judgeable bool `json:"judgeable"`
	// FloorFraction: a build compared with itself by so many runs differs by less, 19 times in 20; null if unknown.
	FloorFraction *float64 `json:"floor_fraction"`

	// Finding is "worse", "better", or "" for none.
	Finding string `json:"finding"`
	// Note says in words what came of it: "12.3 % slower", "not told apart", "below the noise floor", "too few runs to judge".
	Note string `json:"note"`
}

// Estimate is a median over runs (or kills) with its interval; the bounds are null where there are too few values for one.
type Estimate struct {
	N      int      `json:"n"`
	Median *float64 `json:"median"`
	Lo     *float64 `json:"lo"`
	Hi     *float64 `json:"hi"`
	// Confidence is what the interval covers, at least Confidence; 0 without one.
	Confidence float64 `json:"confidence"`
	// Values in the order of the runs.
	Values []Value `json:"values"`
}

// Value is one sample of a metric.
type Value struct {
	// Run is the index in Side.Runs.
	Run int `json:"run"`
	// Kill is the index of the kill within its run, -1 for what a run has once.
	Kill  int     `json:"kill"`
	Value float64 `json:"value"`
}

// Difference is B against A.
type Difference struct {
	// N is the number of pairs it rests on; 0 if the runs are not paired.
	N int `json:"n"`
	// Fraction is the median over pairs of B/A - 1, or the ratio of the medians less 1; null where a value is 0.
	Fraction *float64 `json:"fraction"`
	FracLo   *float64 `json:"fraction_lo"`
	FracHi   *float64 `json:"fraction_hi"`
	// Absolute is the median over pairs of B - A, or the difference of the medians, in the metric's unit.
	Absolute float64 `json:"absolute"`
	// Words: "12.3 % slower".
	Words string `json:"words"`
}

// Test is one test of one metric.
type Test struct {
	P float64 `json:"p"`
	// N is the number of differing pairs, or of values of A; M of B (Mann-Whitney).
	N int `json:"n"`
	M int `json:"m,omitempty"`
	// SmallestP is what the test could reach at most with so many.
	SmallestP float64 `json:"smallest_p"`
}

// Trend is Kendall's test of a metric over the order of runs; the difference between A and B is taken out first.
type Trend struct {
	Metric string  `json:"metric"`
	N      int     `json:"n"`
	Tau    float64 `json:"tau"`
	P      float64 `json:"p"`
	HolmP  float64 `json:"holm_p"`
	// ChangeFraction is by how much the metric moved from the first run to the last (Theil-Sen).
	ChangeFraction float64 `json:"change_fraction"`
	Drifts         bool    `json:"drifts"`
}

// Fact is one thing that has to be equal before runs are compared.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"` // of the first run that knows it
}

// Mismatch is a fact that differs.
type Mismatch struct {
	Fact string `json:"fact"`
	// Values holds each value once, with the runs that have it.
	Values []FactValue `json:"values"`
}

// FactValue is one value of a fact.
type FactValue struct {
	Value string   `json:"value"`
	Runs  []string `json:"runs"`
}

// BoundResult is what became of one --fail-on.
type BoundResult struct {
	Bound  string `json:"bound"`
	Metric string `json:"metric"`
	// Outcome is "held", "broken" or "not judged".
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`
}

// Outcomes of a bound.
const (
	Held      = "held"
	Broken    = "broken"
	NotJudged = "not judged"
)

// Findings of a metric.
const (
	Worse    = "worse"
	Improved = "better"
)

// Repetition is repeat.json: the same scenario run several times by one build.
type Repetition struct {
	SchemaVersion int       `json:"schema_version"`
	CreatedAt     time.Time `json:"created_at"`
	Scenario      string    `json:"scenario"`
	Target        string    `json:"target"`
	Runs          []Ref     `json:"runs"`
	ExitCode      int       `json:"exit_code"`
	Warnings      []string  `json:"warnings"`
	// Metrics hold medians over runs, and over kills for recovery figures.
	Metrics []RepeatedMetric `json:"metrics"`
}

// RepeatedMetric is one line of a repetition.
type RepeatedMetric struct {
	Definition
	Estimate Estimate `json:"estimate"`
}
