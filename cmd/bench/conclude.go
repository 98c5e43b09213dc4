package main

import (
	"errors"
	"fmt"
	"time"

	"rejoin/results"
)

// conclude writes everything that is known into the folder, draws, judges and says the verdict. failed is what ended the run early, or nil.
func (r *session) conclude(failed error) (int, error) {
	stopErr := r.stop()
	if r.profile != nil {
		if _, err := r.profile.Stop(); err != nil {
			r.warn("%v", err)
		}
	}
	if stopErr != nil {
		r.warn("%v", stopErr)
	}
	r.mergeNodeEvents()
	r.record.write(results.Event{Kind: results.KindRunEnd})
	if err := errors.Join(r.record.close(), r.status.Close()); err != nil {
		r.judge.Invalid("the record of the run has gaps: %v", err)
	}
	summary, err := r.summarize()
	if err != nil && failed == nil {
		failed = err
	}
	if failed != nil {
		r.judge.Invalid("%v", failed)
	}
	r.judgeRun(&summary)
	r.judge.Conclude(&summary)
	summary.Warnings = r.warnings
	if err := r.write(summary, failed); err != nil {
		return results.ExitInvalid, err
	}
	r.tell(summary)
	if summary.Verdict == results.Pass && !r.command.Keep {
		if err := r.folder.RemoveData(); err != nil {
			return results.ExitInvalid, err
		}
	}
	return summary.ExitCode, nil
}

// mergeNodeEvents appends what the nodes recorded themselves.
func (r *session) mergeNodeEvents() {
	if r.system == nil {
		return
	}
	events, problems := r.system.nodeEvents()
	for _, e := range events {
		r.record.write(e)
	}
	for _, p := range problems {
		r.warn("%s", p)
	}
}

// write is run.json, summary.json, bench.txt and the figures.
func (r *session) write(summary results.Summary, failed error) error {
	r.run.Status = results.StatusFinished
	switch {
	case summary.Verdict == results.Interrupted:
		r.run.Status = results.StatusInterrupted
	case failed != nil:
		r.run.Status, r.run.Error = results.StatusFailed, failed.Error()
	}
	r.run.EndedAt = new(time.Now())
	err := errors.Join(r.folder.WriteSummary(summary), r.folder.WriteRun(r.run), r.folder.WriteBench(r.run, summary))
	if err != nil {
		return err
	}
	if err := drawFigures(r.folder); err != nil {
		r.say.line("warning: %v", err)
	}
	return nil
}

// tell prints the outcome for a person.
func (r *session) tell(s results.Summary) {
	p := r.say
	p.line("")
	p.line("offered %d batches, acknowledged %d, unknown %d, failed %d; lost %d, duplicated %d, reordered %d; view changes %d, repairs %d, transfers %d",
		s.OfferedBatches, s.AckedBatches, s.UnknownBatches, s.FailedBatches, s.LostBatches, s.DuplicatedBatches, s.ReorderedBatches,
		s.ViewChanges, s.Repairs, s.Transfers)
	for _, phase := range append(results.Phases(), results.Overall) {
		if q, ok := s.LatencyNs[string(phase)]; ok && q.Count > 0 {
			p.line("latency %-8s p50 %-8s p90 %-8s p99 %-8s p99.9 %-8s max %-8s of %d batches", phase,
				nsText(q.P50), nsText(q.P90), nsText(q.P99), nsText(q.P999), nsText(q.Max), q.Count)
		}
	}
	for _, k := range s.Kills {
		p.line("kill %s (%s) at %.1f s: down %s, longest gap without acknowledgement %.0f ms, caught up %s, %d repairs (%d ops), %d transfers (%d ops, %d bytes)",
			k.Node, k.Role, k.AtMs/1e3, msText(k.DownMs), k.GapWithoutAckMs, msText(k.CaughtUpMs), k.Repairs, k.RepairOps, k.Transfers, k.TransferOps, k.TransferBytes)
	}
	p.always("%s (exit code %d): %s", s.Verdict, s.ExitCode, r.folder.Dir)
	for _, reason := range s.Reasons {
		p.always("  because %s", reason)
	}
}

func msText(ms *float64) string {
	if ms == nil {
		return "never"
	}
	return fmt.Sprintf("%.0f ms", *ms)
}
