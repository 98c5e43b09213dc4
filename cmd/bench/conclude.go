package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"rejoin/results"
)

// conclude writes everything that is known into the folder, draws, judges and says the verdict. failed is what ended the run early, or nil.
func (r *session) conclude(ctx context.Context, failed error) (int, error) {
	stopErr := r.stop()
	if r.profile != nil { // before the canaries, which no profiler may slow down only the second time
		if _, err := r.profile.Stop(); err != nil {
			r.warn("%v", err)
		}
	}
	if r.loaded && failed == nil && !r.outcome.Interrupted {
		if err := r.canariesAfter(ctx); err != nil {
			r.judge.Invalid("the machine could not be measured again: %v", err)
		}
	}
	if r.loaded && failed == nil && !r.outcome.Interrupted {
		r.limitsAfter(ctx)
	}
	if stopErr != nil {
		r.warn("%v", stopErr)
	}
	r.mergeNodeEvents()
	r.recordProfiles()
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
	r.settle(&summary, failed)
	if summary.Verdict == results.Pass && !r.command.Keep {
		if err := r.folder.RemoveData(); err != nil {
			return results.ExitInvalid, err
		}
	}
	return summary.ExitCode, nil
}

// refused says whether what ended a run early is a refusal of what the user asked for, which has no verdict.
func refused(err error) bool {
	var exit *exitError
	return errors.As(err, &exit) && exit.code == results.ExitUsage
}

// refuse ends a run that was refused before its load. Nothing was measured, so nothing is judged or drawn; run.json says why.
func (r *session) refuse(why error) (int, error) {
	stopErr := r.stop()
	if r.profile != nil {
		_, err := r.profile.Stop()
		stopErr = errors.Join(stopErr, err)
	}
	if err := errors.Join(stopErr, r.record.close(), r.status.Close()); err != nil {
		r.warn("%v", err)
	}
	r.endRecord(why)
	return results.ExitUsage, why
}

// settle writes the verdict and says it. A record that could not be written whole is one reason more: it hides neither what was found nor
// a verdict that is worse. Where the disk is full the reserve makes room for it.
func (r *session) settle(summary *results.Summary, failed error) {
	r.judge.Conclude(summary)
	summary.Warnings = r.warnings
	err := r.write(*summary, failed)
	if released := r.folder.ReleaseReserve(); released != nil {
		r.warn("%v", released)
	}
	if err != nil {
		advice := ""
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			advice = "; the disk is full: free space (bench clean removes old runs) and repeat the run"
		}
		why := fmt.Errorf("the record of the run could not be written: %s%s", strings.ReplaceAll(err.Error(), "\n", "; "), advice)
		r.judge.Invalid("%v", why)
		r.judge.Conclude(summary)
		if r.write(*summary, why) != nil {
			_ = r.folder.EndInPlace() // fails where run.json has been written already
		}
	}
	if err := drawFigures(r.folder); err != nil {
		r.say.line("warning: %v", err)
	}
	r.tell(*summary)
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

// write is run.json, summary.json, proof.json and bench.txt; the most telling first, if there is no room for all.
func (r *session) write(summary results.Summary, failed error) error {
	r.run.Status = results.StatusFinished
	switch {
	case summary.Verdict == results.Interrupted:
		r.run.Status = results.StatusInterrupted
	case failed != nil:
		r.run.Status, r.run.Error = results.StatusFailed, failed.Error()
	}
	r.run.EndedAt = new(time.Now())
	r.run.Limits = r.limitsOf()
	r.proof.Limits = r.run.Limits
	return errors.Join(r.folder.WriteRun(r.run), r.folder.WriteSummary(summary), r.folder.WriteProof(r.proof), r.folder.WriteBench(r.run, summary))
}
