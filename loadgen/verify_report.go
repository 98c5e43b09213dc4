package loadgen

import (
	"fmt"
	"slices"
	"strings"
)

// Kind names what is wrong with a log.
type Kind string

// Kinds of findings. Each is a broken promise of the target.
const (
	KindLost       Kind = "lost"            // acknowledged, and not there
	KindDuplicated Kind = "duplicated"      // there more than once
	KindReordered  Kind = "reordered"       // after a later batch of its producer; see VerifyOptions.AllowLateUnknown
	KindMoved      Kind = "moved"           // at another offset than acknowledged
	KindGap        Kind = "gap"             // offsets that hold nothing, or go back
	KindCorrupted  Kind = "corrupted"       // a message does not match its checksum
	KindForeign    Kind = "foreign"         // nobody of this run sent it
	KindTorn       Kind = "torn"            // a batch is there in part
	KindRefused    Kind = "refused_present" // there although every try was answered "not appended"
	KindDiverged   Kind = "diverged"        // two replicas hold different bytes at the same offsets
)

// Kinds lists all kinds in the order of reports.
func Kinds() []Kind {
	return []Kind{KindLost, KindDuplicated, KindReordered, KindMoved, KindGap, KindCorrupted, KindForeign, KindTorn,
		KindRefused, KindDiverged}
}

// ReplicaReport is what one replica holds.
type ReplicaReport struct {
	Replica  string         `json:"replica"`
	Findings map[Kind]int64 `json:"findings"`
	Examples []Finding      `json:"examples"` // the first few of each kind

	Messages       uint64 `json:"messages"`
	EarliestOffset uint64 `json:"earliest_offset"`
	EndOffset      uint64 `json:"end_offset"` // as the replica says
	ReadTo         uint64 `json:"read_to"`    // as far as it was read

	VerifiedBatches int64 `json:"verified_batches"` // acknowledged and there, once, whole, at their offset
	// UnknownPresentBatches are unknown and there, which is right. Those that were acknowledged too late are among them, and are owed as well.
	UnknownPresentBatches int64 `json:"unknown_present_batches"`

	// LateUnknownBatches of these stand behind later ones of their producer, where that was allowed.
	LateUnknownBatches int64 `json:"late_unknown_batches,omitempty"`

	// DisorderedBatches and PartialBatches are counted only where messages are stored one by one, which promises neither: batches that are there
	// whole, in another order than they were sent; batches without an acknowledgement of which some messages are there.
	DisorderedBatches int64 `json:"disordered_batches,omitempty"`
	PartialBatches    int64 `json:"partial_batches,omitempty"`

	// BehindBatches are acknowledged ones above the replica's end, TrimmedBatches below its earliest
	// offset, UnreadBatches above where an incomplete read stopped: not proven either way.
	BehindBatches  int64 `json:"behind_batches"`
	TrimmedBatches int64 `json:"trimmed_batches"`
	UnreadBatches  int64 `json:"unread_batches"`

	// Unreadable says why the replica could not be read to its end; empty if it was.
	Unreadable string `json:"unreadable,omitempty"`

	// Interrupted says that the caller ended that reading, which is nothing that the replica did.
	Interrupted bool `json:"interrupted,omitempty"`

	examplesMax int
}

// Finding is one thing that is wrong, in words.
type Finding struct {
	Kind    Kind   `json:"kind"`
	Replica string `json:"replica"`
	Text    string `json:"text"`
}

func (f Finding) String() string { return fmt.Sprintf("%s on %s: %s", f.Kind, f.Replica, f.Text) }

func newReplicaReport(replica string, examplesMax int) *ReplicaReport {
	return &ReplicaReport{Replica: replica, Findings: make(map[Kind]int64), Examples: []Finding{}, examplesMax: examplesMax}
}

// find counts one thing and keeps its words while there is room.
func (r *ReplicaReport) find(kind Kind, format string, args ...any) {
	r.Findings[kind]++
	if r.Findings[kind] <= int64(r.examplesMax) {
		r.Examples = append(r.Examples, Finding{Kind: kind, Replica: r.Replica, Text: fmt.Sprintf(format, args...)})
	}
}

func (r *ReplicaReport) unreadable(why string) { r.Unreadable = why }

// VerifyVerdict is the end of a verification.
type VerifyVerdict string

// Verdicts. Only pass is a proof.
const (
	VerifyPass         VerifyVerdict = "pass"
	VerifyFail         VerifyVerdict = "fail"         // a promise was broken
	VerifyInconclusive VerifyVerdict = "inconclusive" // nothing was found, but not everything was seen
)

// Report is the result of a verification over all replicas that were read.
type Report struct {
	Verdict VerifyVerdict `json:"verdict"`
	Reasons []string      `json:"reasons"` // in words, why it is not a pass

	// CutShort says why not every reading was made; empty if all were. UnreadReplicas were not read even once.
	CutShort       string   `json:"cut_short,omitempty"`
	UnreadReplicas []string `json:"unread_replicas"`

	// TrimmedAllowed says that retention was on: each replica was verified from its earliest offset.
	TrimmedAllowed bool `json:"trimmed_allowed"`

	AckedBatches   int64 `json:"acked_batches"`
	UnknownBatches int64 `json:"unknown_batches"`
	FailedBatches  int64 `json:"failed_batches"`

	// LostBatches were acknowledged and are missing on at least one replica that holds their
	// offsets, or on all; each is counted once.
	LostBatches int64 `json:"lost_batches"`

	// UnknownPresentBatches of the unknown ones are there on some replica.
	UnknownPresentBatches int64 `json:"unknown_present_batches"`

	// DivergedReplicas and the like name replicas, in the order in which they were read.
	DivergedReplicas   []string `json:"diverged_replicas"`
	BehindReplicas     []string `json:"behind_replicas"`     // lack acknowledged batches that others hold: stuck
	UnreadableReplicas []string `json:"unreadable_replicas"` // could not be read to their end

	Replicas []*ReplicaReport `json:"replicas"`
}

// Count is the highest count of one kind on any replica; of lost, that of all replicas together.
// Replicas that hold the same log show the same mistake each, so a sum would count it again.
func (r *Report) Count(kind Kind) int64 {
	if kind == KindLost {
		return r.LostBatches
	}
	most := int64(0)
	for _, replica := range r.Replicas {
		most = max(most, replica.Findings[kind])
	}
	return most
}

// Examples are the kept findings of all replicas, by kind.
func (r *Report) Examples() []Finding {
	var all []Finding
	for _, kind := range Kinds() {
		for _, replica := range r.Replicas {
			for _, f := range replica.Examples {
				if f.Kind == kind {
					all = append(all, f)
				}
			}
		}
	}
	return all
}

// judge sets the verdict and its reasons. What is broken is broken even if not everything was seen.
func (r *Report) judge(o VerifyOptions, torn []int) {
	for _, kind := range Kinds() {
		if n := r.Count(kind); n > 0 {
			r.Verdict = VerifyFail
			r.Reasons = append(r.Reasons, r.sentence(kind, n))
		}
	}
	doubts := r.doubts(o, torn)
	r.Reasons = append(r.Reasons, doubts...)
	switch {
	case r.Verdict == VerifyFail:
	case len(doubts) > 0:
		r.Verdict = VerifyInconclusive
	default:
		r.Verdict = VerifyPass
	}
}

func (r *Report) sentence(kind Kind, n int64) string {
	text := fmt.Sprintf("%s: %d", kind, n)
	for _, f := range r.Examples() {
		if f.Kind == kind {
			return text + "; first: " + f.Replica + ": " + f.Text
		}
	}
	return text
}

// doubts are the reasons why finding nothing would prove nothing.
func (r *Report) doubts(o VerifyOptions, torn []int) []string {
	var doubts []string
	doubt := func(format string, args ...any) { doubts = append(doubts, fmt.Sprintf(format, args...)) }
	if r.AckedBatches < o.AckedMin {
		doubt("only %d batches were acknowledged, at least %d are needed to prove anything", r.AckedBatches, o.AckedMin)
	}
	if len(torn) > 0 && !o.AllowTornLedgers {
		doubt("the ledgers of producers %s lost their end", strings.Trim(fmt.Sprint(torn), "[]"))
	}
	if len(r.Replicas) == 0 {
		doubt("no replica was read")
	}
	if r.CutShort != "" {
		doubt("not every reading was made: %s", r.CutShort)
	}
	for _, name := range r.UnreadReplicas {
		doubt("%s was not read", name)
	}
	for _, replica := range r.Replicas {
		if replica.Unreadable != "" {
			doubt("%s: %s", replica.Replica, replica.Unreadable)
		}
		if replica.BehindBatches > 0 {
			doubt("%s ends at offset %d: %d acknowledged batches are not readable there", replica.Replica, replica.EndOffset, replica.BehindBatches)
		}
		if replica.TrimmedBatches > 0 && !o.AllowTrimmed {
			doubt("%s begins at offset %d: %d acknowledged batches were trimmed", replica.Replica, replica.EarliestOffset, replica.TrimmedBatches)
		}
		if replica.TrimmedBatches > 0 && replica.VerifiedBatches == 0 {
			doubt("%s holds nothing that was acknowledged: all of it was trimmed", replica.Replica)
		}
	}
	return doubts
}

// addUnique appends a name unless it is there.
func addUnique(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}
