package main

import (
	"strings"
	"testing"
	"time"

	"rejoin/results"
)

// TestVerifyWithoutData: only of a run that passed is it known that it removed its data itself.
func TestVerifyWithoutData(t *testing.T) {
	for verdict, want := range map[results.Verdict]string{
		results.Pass:        "removed after a pass",
		results.Interrupted: "verdict is interrupted, so it did not remove them itself",
		"":                  "left no verdict",
	} {
		root := t.TempDir()
		folder, err := results.Create(root, targetBuiltin, "quick", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if err := folder.WriteRun(results.Run{Status: results.StatusFinished, Asked: results.Asked{Target: targetBuiltin}}); err != nil {
			t.Fatal(err)
		}
		if verdict != "" {
			if err := folder.WriteSummary(results.Summary{Verdict: verdict}); err != nil {
				t.Fatal(err)
			}
		}
		if code, out := bench(t, "--results", root, "verify"); code != results.ExitUsage || !strings.Contains(out, want) {
			t.Errorf("%q: exit code %d, want %q in\n%s", verdict, code, want, out)
		}
	}
}
