package main

import (
	"os"
	"path/filepath"
	"testing"

	"rejoin/results"
)

// runWithKills runs a scenario against a real system of somebody else's, asks that it passes with nothing lost and every replica read whole, and
// returns its summary and how many readings there were of each name.
func runWithKills(t *testing.T, scenario string, flags ...string) (results.Summary, map[string]int) {
	t.Helper()
	root := t.TempDir()
	file := filepath.Join(root, "short.yaml")
	if err := os.WriteFile(file, []byte(scenario), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out := bench(t, append([]string{"--results", root, "run", file}, flags...)...)
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	folder, err := results.Open(root, "latest")
	if err != nil {
		t.Fatal(err)
	}
	s, err := folder.ReadSummary()
	if err != nil {
		t.Fatal(err)
	}
	if s.AckedBatches == 0 || s.LostBatches+s.DuplicatedBatches+s.ReorderedBatches != 0 {
		t.Errorf("%d acknowledged, %d lost, %d duplicated, %d reordered", s.AckedBatches, s.LostBatches, s.DuplicatedBatches, s.ReorderedBatches)
	}
	for _, r := range s.Replicas {
		if r.VerifiedBatches != s.AckedBatches || r.RssAnonMaxBytes == nil || r.DataBytes == nil {
			t.Errorf("%s: %d of %d batches, memory %v, bytes on disk %v", r.Node, r.VerifiedBatches, s.AckedBatches, r.RssAnonMaxBytes, r.DataBytes)
		}
	}
	readings := map[string]int{}
	for _, v := range s.Verification {
		readings[v.Name]++
	}
	return s, readings
}
