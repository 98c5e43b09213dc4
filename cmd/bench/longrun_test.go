package main

import (
	"strings"
	"testing"
	"time"

	"rejoin/profiles"
	"rejoin/results"
	"rejoin/server/wire"
)

// Trap 23: a short run hides what comes with time. A load may last for days, and the record shows how the disk fills meanwhile.
func TestLongRuns(t *testing.T) {
	if code, out := bench(t, "run", "steady", "--duration", "168h", "--rate", "1200", "--print"); code != 0 || !strings.Contains(out, "duration: 168h0m0s") {
		t.Errorf("a week: exit code %d\n%s", code, out)
	}
	if code, out := bench(t, "run", "steady", "--duration", "169h", "--rate", "1200", "--print"); code != results.ExitUsage || !strings.Contains(out, "7 days") {
		t.Errorf("more than a week: exit code %d\n%s", code, out)
	}
	folder, err := results.Create(t.TempDir(), "memory", "test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	watch := watchMachine(folder, wire.MonoNow())
	lines := awaitMachine(t, folder, 2)
	watch.stop()
	for i, line := range lines {
		if line.DiskFreeBytes == nil || *line.DiskFreeBytes <= 0 || i > 0 && line.TNs <= lines[i-1].TNs {
			t.Errorf("second %d: %+v", i, line)
		}
	}
}

// awaitMachine waits until machine.ndjson has so many lines.
func awaitMachine(t *testing.T, folder results.Folder, n int) (lines []results.Machine) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); time.Sleep(pollInterval) {
		file, err := results.OpenRegular(folder.Machine())
		if err != nil {
			continue
		}
		reader := results.NewLineReader[results.Machine](file)
		lines = nil
		for line, err := reader.Next(); err == nil; line, err = reader.Next() {
			lines = append(lines, line)
		}
		file.Close()
		if len(lines) >= n {
			return lines
		}
	}
	t.Fatalf("machine.ndjson has %d lines", len(lines))
	return nil
}

// TestWhyAPhaseHasNoProfile: what is not there says why, with the length that decided.
func TestWhyAPhaseHasNoProfile(t *testing.T) {
	x := profileIndex{captured: []profiles.Captured{{Node: "n0"}}, phases: []results.Phase{results.Outage, results.Catchup}, phaseAt: func(int64) results.Phase { return results.Steady },
		spans: []results.Span{{Phase: results.Steady, ToNs: new(int64(10e9))}, {Phase: results.Outage, FromNs: 10e9, ToNs: new(int64(10_064e6))}, {Phase: results.Catchup, FromNs: 11e9, ToNs: new(int64(12_500e6))},
			{Phase: results.Outage, FromNs: 20e9, ToNs: new(int64(20_085e6))}}}
	x.addPhases(profiles.CPU, profiles.MergeReport{})
	for i, want := range []string{"no data: outage lasted 85ms at a stretch at most, and a window needs 100ms to begin and end",
		"no data: no window lies in catchup by nine tenths (longest stretch 1.5s)"} {
		if got := x.entries[i].Note; !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
