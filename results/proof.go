package results

import "fmt"

// Proof is proof.json: what speaks for the numbers of a run, and what against them. A pointer is null where nothing was measured.
//
// Shares are from 0 to 1, of all cores where they are of CPU time. Times are ns. The names in Checks are fixed; a reader shows checks whose
// name it does not know like any other.
type Proof struct {
	SchemaVersion int `json:"schema_version"`
	// Checks are the facts that were held against a budget, most telling first. One that is invalid makes the verdict invalid.
	Checks []Check `json:"checks"`

	Baseline  *BaselineProof `json:"baseline"`
	Pacer     PacerProof     `json:"pacer"`
	Lateness  LatenessProof  `json:"lateness"`
	Generator GeneratorProof `json:"generator"`
	Steal     *StealProof    `json:"steal"`
	Canaries  []CanaryProof  `json:"canaries"`
	Samples   []PhaseSamples `json:"samples"`
	// DriftP50 and DriftP99 say whether the steady phase was steady.
	DriftP50 *Drift        `json:"drift_p50"`
	DriftP99 *Drift        `json:"drift_p99"`
	Books    BooksProof    `json:"books"`
	Pauses   []PausesProof `json:"pauses"`

	// Disagreements are facts of recoveries that a node told otherwise than they look from outside, beyond the tolerance.
	Disagreements []Disagreement `json:"disagreements"`
	// Limits say in words what even a pass does not prove.
	Limits []string `json:"limits"`
}

// Judgement is what a check came to.
type Judgement string

// Judgements of a check.
const (
	JudgedOK       Judgement = "ok"
	JudgedDoubtful Judgement = "doubtful" // worth a warning, not a verdict
	JudgedInvalid  Judgement = "invalid"
	NotJudged      Judgement = "not_judged" // no data, or the scenario asks for more than the machine can
)

// Relation is how a value must stand to its budget.
type Relation string

// Relations of a check.
const (
	AtMost  Relation = "at_most"
	AtLeast Relation = "at_least"
)

// Check is one fact held against its budget.
type Check struct {
	Name string `json:"name"` // snake_case, fixed
	What string `json:"what"` // for people: "generator alone at twice the rate: batches sent in time"
	Unit string `json:"unit"` // ns, share, factor, batches, samples, count
	// Value is null if there was no data.
	Value     *float64  `json:"value"`
	Relation  Relation  `json:"relation"`
	Budget    float64   `json:"budget"`
	Judgement Judgement `json:"judgement"`
	// Reason says what is wrong and what to do; empty for ok.
	Reason string `json:"reason,omitempty"`
}

// BaselineProof is the generator alone, against a target that does nothing, at twice the rate of the load.
type BaselineProof struct {
	RatePerS      float64  `json:"rate_per_s"`     // batches a second asked for
	AchievedPerS  float64  `json:"achieved_per_s"` // batches a second answered within the time of the baseline
	AchievedShare float64  `json:"achieved_share"` // of the batches due
	LateP50Ns     *int64   `json:"late_p50_ns"`
	LateP99Ns     *int64   `json:"late_p99_ns"`
	LateMaxNs     *int64   `json:"late_max_ns"`
	Batches       int64    `json:"batches"` // due
	CPUShare      float64  `json:"cpu_share"`
	StealShare    *float64 `json:"steal_share"`
	// Tries is how often it was measured; the last counts. One in bounds is not repeated.
	Tries int `json:"tries"`
}

// PacerProof is how the generator waits for due times, and how late its waits end on an idle machine, before the load.
type PacerProof struct {
	Mode           string `json:"mode"` // timerfd, sleep, spin
	OvershootP50Ns *int64 `json:"overshoot_p50_ns"`
	OvershootP99Ns *int64 `json:"overshoot_p99_ns"`
	OvershootMaxNs *int64 `json:"overshoot_max_ns"`
	Waits          int64  `json:"waits"`
}

// LatenessProof is from due to first try as far as it is the generator's own fault: the wait for the answer to a producer's batch before is
// not in it. The warm-up is left out.
type LatenessProof struct {
	P50Ns   *int64 `json:"p50_ns"`
	P90Ns   *int64 `json:"p90_ns"`
	P99Ns   *int64 `json:"p99_ns"`
	P999Ns  *int64 `json:"p999_ns"`
	MaxNs   *int64 `json:"max_ns"`
	Batches int64  `json:"batches"`
	// UnstolenP99Ns is p99 of the batches due in seconds in which the hypervisor took no more than StealBurst; null without steal data.
	UnstolenP99Ns *int64 `json:"unstolen_p99_ns"`
	// SteadyP99WithoutNs is p99 of the steady latencies with each batch's own lateness taken off: what a generator that is always in time would
	// have measured.
	SteadyP99WithoutNs *int64 `json:"steady_p99_without_ns"`
	// UnstolenSteadyP99Ns and UnstolenSteadyP99WithoutNs are the steady p99 and the same without lateness of the batches that UnstolenP99Ns
	// is of; null without steal data.
	UnstolenSteadyP99Ns        *int64 `json:"unstolen_steady_p99_ns"`
	UnstolenSteadyP99WithoutNs *int64 `json:"unstolen_steady_p99_without_ns"`
}

// GeneratorProof is what the generator's process used and suffered during the load.
type GeneratorProof struct {
	Nice     int     `json:"nice"`
	CPUShare float64 `json:"cpu_share"`
	CPUNs    int64   `json:"cpu_ns"`
	WallNs   int64   `json:"wall_ns"`
	// GCPauseMaxNs is the harness's in Pauses. GCPauses (stops of the world, two or more a collection) and the scheduling latency are from
	// runtime/metrics, the latter upper edges of its buckets.
	GCPauseMaxNs      *int64 `json:"gc_pause_max_ns"`
	GCPauses          int64  `json:"gc_pauses"`
	SchedLatencyP50Ns *int64 `json:"sched_latency_p50_ns"`
	SchedLatencyP99Ns *int64 `json:"sched_latency_p99_ns"`
}

// StealBurst is the share of a second's CPU time from which on the second counts as stolen.
const StealBurst = 0.05

// StealProof is the CPU time that the hypervisor gave to other machines while this one had work (/proc/stat), during the load. What is late
// then is late by nobody's fault here, and the figures are not the target's either.
type StealProof struct {
	Share float64 `json:"share"` // of all CPU time of the load
	// WorstSecondShare is of the worst second; StolenSeconds had more than StealBurst, of Seconds.
	WorstSecondShare float64 `json:"worst_second_share"`
	StolenSeconds    int64   `json:"stolen_seconds"`
	Seconds          int64   `json:"seconds"`
	// BusyShare is the CPU time that was neither idle nor stolen, of all processes of the machine; OwnShare that of the generator and the
	// nodes, in which the kernel may have counted what was stolen from them: it may exceed BusyShare. What other programs used is at least
	// BusyShare less OwnShare, and at most Share more.
	BusyShare float64  `json:"busy_share"`
	OwnShare  *float64 `json:"own_share"`
}

// Canary names what a canary measures.
const (
	CanaryCPU      = "cpu"      // a fixed piece of arithmetic
	CanarySync     = "sync"     // one frame appended and fdatasynced in the run folder's file system
	CanaryLoopback = "loopback" // one frame over loopback TCP and a short answer
)

// CanaryProof is the same small measurement before the nodes were started and after they had ended: if the machine is another one, the run
// between says little.
type CanaryProof struct {
	Name   string        `json:"name"`
	Before *CanaryTimes  `json:"before"`
	After  *CanaryTimes  `json:"after"`
	Change *CanaryChange `json:"change"`
}

// CanaryTimes is one measurement.
type CanaryTimes struct {
	P50Ns   *int64 `json:"p50_ns"`
	P99Ns   *int64 `json:"p99_ns"`
	MaxNs   *int64 `json:"max_ns"`
	Samples int64  `json:"samples"`
	// Tries is how often it was measured, the last counts.
	Tries int `json:"tries"`
}

// CanaryChange is after divided by before: 1 is unchanged, 2 is twice as slow.
type CanaryChange struct {
	P50 *float64 `json:"p50"`
	P99 *float64 `json:"p99"`
}

// PhaseSamples says how many batches a phase rests on and which quantiles they carry.
type PhaseSamples struct {
	Phase   Phase `json:"phase"`
	Samples int64 `json:"samples"` // acknowledged batches
	// Highest is the highest of 0.5, 0.9, 0.99, 0.999, 0.9999 that is shown; 0 if none.
	Highest float64 `json:"highest_quantile"`
}

// BooksProof is where the batches went: Offered = Acked + Unknown + Failed. Sent had a first try, by its time.
type BooksProof struct {
	Asked    int64 `json:"asked_batches"` // by the timetable
	Offered  int64 `json:"offered_batches"`
	Sent     int64 `json:"sent_batches"`
	Acked    int64 `json:"acked_batches"`
	Unknown  int64 `json:"unknown_batches"`
	Failed   int64 `json:"failed_batches"`
	Attempts int64 `json:"attempts"`
	// SteadyInTime of the SteadyDue batches due in the steady phase were offered within the lateness budget.
	SteadyDue    int64           `json:"steady_due_batches"`
	SteadyInTime int64           `json:"steady_in_time_batches"`
	Histogram    HistogramHealth `json:"histogram"`
}

// PausesProof is the garbage collection of one process during the load, as it told it in events.ndjson (kind gc).
type PausesProof struct {
	Source    string `json:"source"` // harness, n0, n1, …
	Cycles    int64  `json:"cycles"`
	LongestNs *int64 `json:"longest_ns"`
}

// Disagreement is one fact that a node tells otherwise than it looks from outside.
type Disagreement struct {
	Kill      *int     `json:"kill"` // index in summary.json's kills; null if it is about the whole run
	Node      string   `json:"node"` // empty if it is about the whole run
	What      string   `json:"what"` // a name of Recovery.Points, or one of the two below
	Unit      string   `json:"unit"` // ms, ops, count
	Server    *float64 `json:"server"`
	Outside   *float64 `json:"outside"`
	Tolerance float64  `json:"tolerance"`
}

// What disagreements are about, beside the points of a recovery.
const (
	WhatReturnedOps = "returned_ops" // ops that a node fetched, and that it lacked, on its return
	WhatViewChanges = "view_changes" // of the whole run
)

// Title says in words what it is about.
func (d Disagreement) Title() string {
	switch d.What {
	case WhatReturnedOps:
		return "ops fetched on its return"
	case WhatViewChanges:
		return "view changes"
	}
	for _, p := range (Recovery{}).Points() {
		if p.Name == d.What {
			return p.Title
		}
	}
	return d.What
}

// WriteProof writes proof.json atomically, stamping the schema version; lists that are nil become empty.
func (f Folder) WriteProof(p Proof) error {
	p.SchemaVersion = SchemaVersion
	orEmpty(&p.Checks)
	orEmpty(&p.Canaries)
	orEmpty(&p.Samples)
	orEmpty(&p.Pauses)
	orEmpty(&p.Disagreements)
	orEmpty(&p.Limits)
	return WriteJSON(f.ProofFile(), p)
}

// ReadProof reads proof.json; the error is fs.ErrNotExist for a run that wrote none: it goes on, crashed, or is older than the file.
func (f Folder) ReadProof() (Proof, error) {
	var p Proof
	if err := readJSON(f.ProofFile(), &p); err != nil {
		return Proof{}, err
	}
	if p.SchemaVersion != SchemaVersion {
		return Proof{}, fmt.Errorf("read %s: %w %d, this bench reads %d", f.ProofFile(), ErrSchema, p.SchemaVersion, SchemaVersion)
	}
	return p, nil
}

// Check is the check of a name; false if the run has none.
func (p Proof) Check(name string) (Check, bool) {
	for _, c := range p.Checks {
		if c.Name == name {
			return c, true
		}
	}
	return Check{}, false
}
