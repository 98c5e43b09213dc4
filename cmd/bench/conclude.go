package main

import (
	"context"
	"errors"
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

// settle writes the verdict and says it. A record that could not be written whole is one reason more: it hides neither what was found nor
// a verdict that is worse.
func (r *session) settle(summary *results.Summary, failed error) {
	r.judge.Conclude(summary)
	summary.Warnings = r.warnings
	if err := r.write(*summary, failed); err != nil {
		advice := ""
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			advice = "; the disk is full: free space (bench clean removes old runs) and repeat the run"
		}
		r.judge.Invalid("the record of the run could not be written: %s%s", strings.ReplaceAll(err.Error(), "\n", "; "), advice)
		r.judge.Conclude(summary)
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
	r.run.Limits = r.limitsOf()
	r.proof.Limits = r.run.Limits
	err := errors.Join(r.folder.WriteSummary(summary), r.folder.WriteProof(r.proof), r.folder.WriteRun(r.run), r.folder.WriteBench(r.run, summary))
	if err != nil {
		return err
	}
	if err := drawFigures(r.folder); err != nil {
		r.say.line("warning: %v", err)
	}
	return nil
}
