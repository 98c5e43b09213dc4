package results

import (
	"fmt"
	"slices"
)

// Summary is summary.json. Pointers are numbers that may not have been measured: null then, never 0.
type Summary struct {
	SchemaVersion int      `json:"schema_version"`
	Verdict       Verdict  `json:"verdict"`
	ExitCode      int      `json:"exit_code"`
	Reasons       []string `json:"reasons"`
	// Warnings do not change the verdict.
	Warnings []string `json:"warnings"`

	Target   string `json:"target"`
	Scenario string `json:"scenario"`

	// Every offered batch ends in exactly one of acked, unknown, failed.
	OfferedBatches    int64 `json:"offered_batches"`
	AckedBatches      int64 `json:"acked_batches"`
	UnknownBatches    int64 `json:"unknown_batches"`
	FailedBatches     int64 `json:"failed_batches"`
	LateAckedBatches  int64 `json:"late_acked_batches"` // acknowledged after their budget; counted as unknown
	Attempts          int64 `json:"attempts"`           // tries on the wire, retries included
	LostBatches       int64 `json:"lost_batches"`
	DuplicatedBatches int64 `json:"duplicated_batches"`
	ReorderedBatches  int64 `json:"reordered_batches"`
	CorruptedBatches  int64 `json:"corrupted_batches"`
	ForeignBatches    int64 `json:"foreign_batches"`
	GapBatches        int64 `json:"gap_batches"`
	// UnknownPresentBatches of the unknown ones were found in the log; both outcomes are right.
	UnknownPresentBatches int64    `json:"unknown_present_batches"`
	DivergedReplicas      []string `json:"diverged_replicas"`

	Replicas []ReplicaSummary `json:"replicas"`
	Kills    []KillSummary    `json:"kills"`
	// Stops are the SIGSTOPs.
	Stops []StopSummary `json:"stops"`
	// Consumers that read beside the load; none by default.
	Consumers []ConsumerSummary `json:"consumers"`

	Repairs     int64 `json:"repairs"`
	Transfers   int64 `json:"transfers"`
	ViewChanges int64 `json:"view_changes"` // to the end of the quiet phase
	// Untold names the counts, here and of kills, that are 0 for want of data: the target's nodes do not tell them.
	Untold []string `json:"untold,omitempty"`

	// LatencyNs is from due to acknowledged, by phase and "overall"; ServiceNs from sent, LateNs from due to sent.
	LatencyNs map[string]Quantiles `json:"latency_ns"`
	ServiceNs map[string]Quantiles `json:"service_ns"`
	LateNs    map[string]Quantiles `json:"late_ns"`
	// ReadNs is from due to read by a consumer, by phase and "overall"; empty without consumers.
	ReadNs    map[string]Quantiles `json:"read_ns"`
	Histogram HistogramHealth      `json:"histogram"`
	// PhaseBatches counts the acknowledged batches of each phase.
	PhaseBatches map[string]int64 `json:"phase_batches"`

	Generator Generator `json:"generator"`
	// BatchesPerS is acknowledged batches a second of the measured phase, without warm-up.
	BatchesPerS float64 `json:"batches_per_s"`
	FrameBytes  int64   `json:"frame_bytes"`
	// MeasuredNs is the length of the measured phase.
	MeasuredNs int64 `json:"measured_ns"`
	// LoadStopMs is when the load ended, since run start; null without a load, and in files of older builds.
	LoadStopMs *float64 `json:"load_stop_ms"`

	Cost Cost `json:"cost"`

	Verification []VerifyRound `json:"verification"`
	// VerificationWhole says that every reading was made which the run was to make. Without them what was found counts, and what was not found
	// proves nothing. Null in files of older builds; ask Verified.
	VerificationWhole *bool `json:"verification_whole"`
}

// Verified says whether counts of 0 of what the verifier looks for, such as LostBatches, mean that there was none.
func (s Summary) Verified() bool {
	if s.VerificationWhole == nil {
		return len(s.Verification) > 0
	}
	return *s.VerificationWhole
}

// Overall is the key beside the phases in LatencyNs.
const Overall = "overall"

// ConsumerSummary is one consumer that tailed a replica while the load ran.
type ConsumerSummary struct {
	Replica     string `json:"replica"`
	ReadBatches int64  `json:"read_batches"`
	// Errors counts the times that the replica could not be asked.
	Errors   int64  `json:"errors"`
	FirstErr string `json:"first_error,omitempty"`
	// StrangeBatches were read twice, or belong to no timetable of the run.
	StrangeBatches int64 `json:"strange_batches"`
}

// Names of counts in Summary.Untold.
const (
	UntoldRepairs   = "repairs"
	UntoldTransfers = "transfers"
)

// Tells says whether a count is known.
func (s Summary) Tells(count string) bool { return !slices.Contains(s.Untold, count) }

// ReplicaSummary is one node at the end of the run.
type ReplicaSummary struct {
	Node            string `json:"node"`
	VerifiedBatches int64  `json:"verified_batches"`
	LostBatches     int64  `json:"lost_batches"`
	// CaughtUpMs is from the start of its last process to caught up; null if never, or if it was never restarted.
	CaughtUpMs *float64 `json:"caught_up_ms"`
	// ReadableMs is from load stop to all acknowledged readable; null if never.
	ReadableMs      *float64 `json:"readable_ms"`
	RssAnonMaxBytes *int64   `json:"rss_anon_max_bytes"`
	// DataBytes is what the node's data directory took on the disk at the end of the quiet phase; null if it has none on this host.
	DataBytes        *int64 `json:"data_bytes"`
	HeadOp           *int64 `json:"head_op"`
	CommitOp         *int64 `json:"commit_op"`
	Restarts         int64  `json:"restarts"`
	UnreadableReason string `json:"unreadable_reason,omitempty"`
	// EndedFromOutside says how somebody who does not belong to the run ended its process; what it could not do since is not held against it.
	EndedFromOutside string `json:"ended_from_outside,omitempty"`
}

// StopSummary is one SIGSTOP: a process that keeps its ports, accepts and never answers.
type StopSummary struct {
	Node string  `json:"node"`
	Role string  `json:"role"` // as in KillSummary
	AtMs float64 `json:"at_ms"`
	// StoppedMs is to the SIGCONT; null if none came.
	StoppedMs *float64 `json:"stopped_ms"`
	// FirstAckMs, GapWithoutAckMs and GapAtMs are as in KillSummary, with the SIGCONT in the place of the restart.
	FirstAckMs      *float64 `json:"first_ack_ms"`
	GapWithoutAckMs float64  `json:"gap_without_ack_ms"`
	GapAtMs         *float64 `json:"gap_at_ms"`
}

// Gap and GapIsOwn are as those of KillSummary.
func (s StopSummary) Gap() *float64  { return s.asKill().Gap() }
func (s StopSummary) GapIsOwn() bool { return s.asKill().GapIsOwn() }

func (s StopSummary) asKill() KillSummary {
	return KillSummary{AtMs: s.AtMs, FirstAckMs: s.FirstAckMs, GapWithoutAckMs: s.GapWithoutAckMs, GapAtMs: s.GapAtMs}
}

// KillSummary is one process that the run ended, and the return after it.
type KillSummary struct {
	Node string `json:"node"`
	Role string `json:"role"` // primary, backup, unknown, at the moment of the kill
	// How is killed (SIGKILL), restarted (SIGTERM) or wiped (SIGKILL, and its directory was removed).
	How  HowEnded `json:"how"`
	AtMs float64  `json:"at_ms"`
	// DownMs is from the kill to the start of the new process; null if it was not restarted.
	DownMs *float64 `json:"down_ms"`
	// GapWithoutAckMs is the longest time between two consecutive acknowledgements that touches [kill, restart + 5 s]. Always a number;
	// see Gap for what it means.
	GapWithoutAckMs float64 `json:"gap_without_ack_ms"`
	// GapAtMs is when that gap began, since run start: it may lie long after the kill and have another cause, see GapIsOwn. Null if no gap
	// was measured.
	GapAtMs *float64 `json:"gap_at_ms"`
	// FirstAckMs is from the kill to the first acknowledgement after it: of a backup to any, otherwise to one that the ended process cannot
	// have given. At a SIGTERM it may have given others until it was gone, so the longest gap may be shorter.
	FirstAckMs    *float64 `json:"first_ack_ms"`
	CaughtUpMs    *float64 `json:"caught_up_ms"`
	Repairs       int64    `json:"repairs"`
	RepairOps     int64    `json:"repair_ops"`
	RepairBytes   int64    `json:"repair_bytes"`
	RepairMs      *float64 `json:"repair_ms"`
	Transfers     int64    `json:"transfers"`
	TransferOps   int64    `json:"transfer_ops"`
	TransferBytes int64    `json:"transfer_bytes"`
	TransferMs    *float64 `json:"transfer_ms"`

	// Recovery is the same kill as a timeline; its times count from the kill, those above partly from the restart. Null in files of older
	// builds.
	Recovery *Recovery `json:"recovery"`
}

// Gap is the longest gap; nil where none was measured, as of a kill after the load. Older builds did not say when a gap began, and measured it.
func (k KillSummary) Gap() *float64 {
	if k.GapAtMs == nil && k.GapWithoutAckMs == 0 {
		return nil
	}
	return &k.GapWithoutAckMs
}

// GapIsOwn says whether the longest gap is the silence that this kill began with, not a later one that happens to lie before restart + 5 s:
// it then began before the first acknowledgement after the kill.
func (k KillSummary) GapIsOwn() bool {
	return k.GapAtMs != nil && (k.FirstAckMs == nil || *k.GapAtMs < k.AtMs+*k.FirstAckMs)
}

// AckedBy says whose the first acknowledgement is where others may have come before it: a node that is asked to end answers until it is gone.
// Empty: it is simply the first.
func (k KillSummary) AckedBy() string {
	if k.How == Restarted && k.Role != RoleBackup {
		return " of its successor"
	}
	return ""
}

// Generator says whether the load generator itself can be believed.
type Generator struct {
	PacerMode      string `json:"pacer_mode"`
	OvershootP50Ns *int64 `json:"overshoot_p50_ns"`
	OvershootP99Ns *int64 `json:"overshoot_p99_ns"`
	LateP50Ns      *int64 `json:"late_p50_ns"`
	LateP99Ns      *int64 `json:"late_p99_ns"`
	LateMaxNs      *int64 `json:"late_max_ns"`
	// CPUShare is of all cores, 0 to 1.
	CPUShare     *float64 `json:"cpu_share"`
	GCPauseMaxNs *int64   `json:"gc_pause_max_ns"`
	Nice         int      `json:"nice"` // priority it ran at; 0 is ordinary, below is preferred
}

// VerifyRound is one reading of all replicas: live, alone with the others stopped, offline from the files, or live after a restart of all.
type VerifyRound struct {
	Name            string  `json:"name"`
	Replica         string  `json:"replica,omitempty"`
	Ok              bool    `json:"ok"`
	VerifiedBatches int64   `json:"verified_batches"`
	LostBatches     int64   `json:"lost_batches"`
	DurationMs      float64 `json:"duration_ms"`
	Detail          string  `json:"detail,omitempty"`
}

// unacknowledgedShareMin is where batches without an acknowledgement begin to move the quantiles that people compare: p99.9.
const unacknowledgedShareMin = 0.001

// Unacknowledged is the share of the offered batches that were not acknowledged in time, and says whether it is so large that the latencies,
// which are of the others, are better than the truth.
func (s *Summary) Unacknowledged() (share float64, flatters bool) {
	if s.OfferedBatches <= 0 {
		return 0, false
	}
	share = float64(s.UnknownBatches+s.FailedBatches) / float64(s.OfferedBatches)
	return share, share > unacknowledgedShareMin
}

// WriteSummary writes summary.json atomically, stamping the schema version; lists and maps that are nil become empty.
func (f Folder) WriteSummary(s Summary) error {
	s.SchemaVersion = SchemaVersion
	orEmpty(&s.Reasons)
	orEmpty(&s.Warnings)
	orEmpty(&s.DivergedReplicas)
	orEmpty(&s.Replicas)
	orEmpty(&s.Kills)
	orEmpty(&s.Stops)
	orEmpty(&s.Consumers)
	orEmpty(&s.Verification)
	orEmpty(&s.Cost.Roles)
	for _, m := range []*map[string]Quantiles{&s.LatencyNs, &s.ServiceNs, &s.LateNs, &s.ReadNs} {
		if *m == nil {
			*m = map[string]Quantiles{}
		}
	}
	if s.PhaseBatches == nil {
		s.PhaseBatches = map[string]int64{}
	}
	return WriteJSON(f.SummaryFile(), s)
}

func orEmpty[T any](list *[]T) {
	if *list == nil {
		*list = []T{}
	}
}

// ReadSummary reads summary.json; the error is fs.ErrNotExist while a run goes on or after it crashed.
func (f Folder) ReadSummary() (Summary, error) {
	var s Summary
	if err := readJSON(f.SummaryFile(), &s); err != nil {
		return Summary{}, err
	}
	if s.SchemaVersion != SchemaVersion {
		return Summary{}, fmt.Errorf("read %s: %w %d, this bench reads %d", f.SummaryFile(), ErrSchema, s.SchemaVersion, SchemaVersion)
	}
	return s, nil
}
