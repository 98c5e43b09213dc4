package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"rejoin/loadgen"
	"rejoin/results"
)

// verifyTime is one reading of one replica, in the order of the report's replicas.
type verifyTime struct {
	name, replica string
	node          int // its place among the replicas, which is the node's number
	took          time.Duration
}

// ackedShareOfOfferMin is the least part of the offered batches that must be acknowledged for a verification to prove anything.
const ackedShareOfOfferMin = 0.01

// verify reads every replica in every round and holds it against the ledgers. What was read is judged also where the rounds end early.
func (r *session) verify(ctx context.Context) error {
	if !r.loaded {
		return nil
	}
	if r.profiler != nil { // a load driven otherwise than by drive has none
		r.profiler.wait() // readings stop and kill nodes
	}
	acked := int64(r.askedBatches() * ackedShareOfOfferMin)
	verifier, err := loadgen.NewVerifier(loadgen.VerifyOptions{Ledgers: r.outcome.Ledgers, AckedMin: max(acked, 1), AllowTrimmed: r.scenario.trims(),
		AllowLateUnknown: r.scenario.kind().forgetful, Partitions: r.scenario.Partitions})
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	rounds, err := r.system.rounds(verifier)
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	r.ackedEnds = verifier.AckedEnds()
	switch err = r.verifyRounds(ctx, verifier, rounds); {
	case err != nil:
		r.verified = verifier.FinishEarly(err.Error())
	case ctx.Err() != nil:
		r.verified = verifier.FinishEarly("the run was interrupted")
	default:
		r.verified = verifier.Finish()
	}
	r.filesReached = verifier.Reached(func(n int) bool { return r.verifyTimes[n].name == roundOffline })
	for _, sentence := range append(trimmedTexts(r.verified), givenUpTexts(r.verified)...) {
		r.note("%s", sentence)
	}
	return err
}

// verifyRounds makes the rounds one after another.
func (r *session) verifyRounds(ctx context.Context, verifier *loadgen.Verifier, rounds []verifyRound) error {
	for _, round := range rounds {
		if err := r.verifyRound(ctx, verifier, round); err != nil || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// trims says that retention may take what was acknowledged before it is verified. Other systems are given none: what their logs lack at the
// beginning is not excused by a setting of ours.
func (s Scenario) trims() bool { return s.kind().own && s.Cluster.RetentionBytes > 0 }

// trimmedTexts say for each replica where its verification began, if not at the first offset.
func trimmedTexts(report *loadgen.Report) (texts []string) {
	said := map[string]bool{}
	for _, replica := range report.Replicas {
		if replica.TrimmedBatches > 0 && report.TrimmedAllowed && !said[replica.Replica] {
			said[replica.Replica] = true
			texts = append(texts, fmt.Sprintf("retention: the verification of %s begins at offset %d, the earliest that it still had; %d acknowledged batches below it were trimmed",
				replica.Replica, replica.EarliestOffset, replica.TrimmedBatches))
		}
	}
	return texts
}

// givenUpTexts say what landed after it was given up.
func givenUpTexts(report *loadgen.Report) []string {
	most := int64(0)
	for _, replica := range report.Replicas {
		most = max(most, replica.LateUnknownBatches)
	}
	if most == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d batches that were given up landed behind later ones of their producer; the target knows no sessions, and promises order for what it acknowledged", most)}
}

// verifyRound makes the round's situation, reads its replicas, and undoes the situation.
func (r *session) verifyRound(ctx context.Context, verifier *loadgen.Verifier, round verifyRound) (err error) {
	if round.prepare != nil {
		undo, err := round.prepare(ctx)
		if undo != nil {
			defer func() {
				if undoErr := undo(); undoErr != nil {
					r.warn("after verify round %s: %v", round.name, undoErr)
				}
			}()
		}
		if err != nil {
			return fmt.Errorf("verify round %s: %w", round.name, err)
		}
	}
	for node, replica := range round.source.Replicas() {
		if round.replica != "" && replica != round.replica {
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		began := time.Now()
		r.record.write(results.Event{Kind: results.KindVerifyBegin, Node: replica, Reason: round.name})
		report := verifier.Read(ctx, round.source, replica)
		took := time.Since(began)
		r.record.write(results.Event{Kind: results.KindVerifyEnd, Node: replica, Reason: round.name, DurationNs: new(int64(took)), Detail: report.Unreadable})
		r.verifyTimes = append(r.verifyTimes, verifyTime{round.name, replica, node, took})
		r.say.line("verify: %s %s: %s in %v%s", round.name, replica, readText(report, round.name == roundOffline), took.Round(time.Millisecond), after(report.Unreadable))
	}
	return nil
}

// readText says how far a replica was read. A reading of files stops where the acknowledged ends: what a dead node's files hold beyond it
// is owed to nobody.
func readText(report *loadgen.ReplicaReport, files bool) string {
	text := fmt.Sprintf("%d messages to offset %d", report.Messages, report.ReadTo)
	if files {
		text += " (up to the last acknowledged offset)"
	}
	if report.DisorderedBatches+report.PartialBatches > 0 { // known only now: the rest of the report follows when all replicas were read
		text += fmt.Sprintf("; %d batches in another order than sent, %d unacknowledged ones in part", report.DisorderedBatches, report.PartialBatches)
	}
	return text
}

// after sets a remark that may be empty behind a line.
func after(remark string) string {
	if remark == "" {
		return ""
	}
	return ": " + remark
}

// verification is the summary's list of readings.
func (r *session) verification() []results.VerifyRound {
	var list []results.VerifyRound
	for i, t := range r.verifyTimes {
		v := results.VerifyRound{Name: t.name, Replica: t.replica, DurationMs: float64(t.took) / 1e6}
		if r.verified != nil {
			report := r.verified.Replicas[i]
			v.VerifiedBatches, v.LostBatches, v.Detail = report.VerifiedBatches, report.Findings[loadgen.KindLost], report.Unreadable
			v.Ok = len(report.Findings) == 0 && report.Unreadable == "" && report.BehindBatches == 0
		}
		list = append(list, v)
	}
	return list
}

// judgeOffline judges the readings of files among all readings. Files that were not read may hold what the others lack.
func (r *session) judgeOffline() {
	offline := func(t verifyTime) bool { return t.name == roundOffline }
	if r.verified != nil && r.verified.CutShort == "" && slices.ContainsFunc(r.verifyTimes, offline) {
		judgeFiles(&r.judge, r.filesReached, r.ackedEnds)
	}
}

// judgeVerification turns a report into reasons. One that was cut short makes no pass, which is a reason by itself. That a node which somebody
// took away cannot be read, or ends early, is none, and neither is a reading that the run's own interruption ended; what is wrong in what was read
// is one.
func judgeVerification(j *results.Judge, report *loadgen.Report, gone map[string]bool) {
	if report == nil {
		return
	}
	if report.CutShort == "" {
		j.Verified()
	}
	for _, kind := range loadgen.Kinds() {
		if n := report.Count(kind); n > 0 {
			j.Loss("%d %s%s", n, kind, firstExample(report, kind))
		}
	}
	explained := false
	for i, replica := range report.Replicas {
		explained = explained || replica.Unreadable != "" || replica.BehindBatches > 0
		switch {
		case gone[replica.Replica], replica.Interrupted:
		case replica.Unreadable != "":
			j.Stuck("%s could not be read to its end: %s", replica.Replica, replica.Unreadable)
		case replica.BehindBatches > 0:
			j.Stuck("%s ends at offset %d: %d acknowledged batches cannot be read there (reading %d)", replica.Replica, replica.EndOffset, replica.BehindBatches, i+1)
		case replica.TrimmedBatches > 0 && !report.TrimmedAllowed:
			j.Invalid("%s begins at offset %d: %d acknowledged batches were trimmed before they were verified", replica.Replica, replica.EarliestOffset, replica.TrimmedBatches)
		}
	}
	if report.Verdict == loadgen.VerifyInconclusive && !explained && report.CutShort == "" {
		for _, reason := range report.Reasons {
			j.Invalid("verification proves nothing: %s", reason)
		}
	}
}

func firstExample(report *loadgen.Report, kind loadgen.Kind) string {
	for _, f := range report.Examples() {
		if f.Kind == kind {
			return fmt.Sprintf("; first on %s: %s", f.Replica, f.Text)
		}
	}
	return ""
}
