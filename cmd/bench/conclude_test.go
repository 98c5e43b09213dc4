package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rejoin/results"
)

// TestUnwrittenRecordHidesNoVerdict: on a full disk nothing can be written, but loss must still be said and decide the exit code.
func TestUnwrittenRecordHidesNoVerdict(t *testing.T) {
	for _, test := range []struct {
		name string
		find func(*results.Judge)
		code int
	}{
		{"loss", func(j *results.Judge) { j.Loss("3 batches lost") }, results.ExitLoss},
		{"nothing", func(j *results.Judge) {}, results.ExitInvalid},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, out := quietSession(t, "target: memory")
			if err := os.MkdirAll(filepath.Join(r.folder.SummaryFile(), "in the way"), 0o755); err != nil {
				t.Fatal(err)
			}
			r.judge.Verified()
			test.find(&r.judge)
			var summary results.Summary
			r.settle(&summary, nil)
			if summary.ExitCode != test.code || !strings.Contains(out.String(), "the record of the run could not be written") {
				t.Errorf("exit code %d, want %d:\n%s", summary.ExitCode, test.code, out)
			}
		})
	}
}

// TestFailedRunIsSaid: what ended a run early stands in run.json.
func TestFailedRunIsSaid(t *testing.T) {
	r, _ := quietSession(t, "target: memory")
	var summary results.Summary
	r.settle(&summary, errors.New("no node came up"))
	run, err := r.folder.ReadRun()
	if err != nil || run.Status != results.StatusFailed || run.Error != "no node came up" {
		t.Errorf("run.json says %q %q, %v", run.Status, run.Error, err)
	}
}
