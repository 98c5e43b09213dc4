package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rejoin/plots/report/sample"
	"rejoin/results"
)

// TestReportTellsWhatItCouldNot: a run that cannot be read is not drawn over, and what could not be written is not listed as written.
func TestReportTellsWhatItCouldNot(t *testing.T) {
	playedOnce(t, "draws reports")
	root := t.TempDir()
	folder := runOf(t, root, results.Run{Status: results.StatusFailed, Error: "no node came up", StartedAt: time.Now()})
	report := func() (int, string) {
		t.Helper()
		return bench(t, "--results", root, "report", folder.Name())
	}
	if code, out := report(); code != 0 || !strings.Contains(out, folder.Report()+"\n") || !strings.Contains(out, "latency.svg") {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if code, out := report(); code != 0 || !strings.Contains(out, folder.Report()+"\n") {
		t.Errorf("a second time: exit code %d\n%s", code, out)
	}
	if err := os.WriteFile(folder.Events(), []byte(strings.Repeat("garbage\n", 1000)), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, out := report(); code != results.ExitUsage || strings.Count(out, "invalid character") > reportLinesMax || !strings.Contains(out, "more lines like these") ||
		!strings.Contains(out, folder.Report()+"\n") || !strings.Contains(out, "lack what could not be read") {
		t.Errorf("events of garbage: exit code %d\n%s", code, out)
	}

	lag := filepath.Join(folder.Plots(), "lag.svg")
	for _, path := range []string{folder.Report(), lag} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	code, out := report()
	if code != results.ExitUsage || strings.Contains(out, folder.Report()+"\n") || !strings.Contains(out, "not written: "+folder.Report()+", "+lag) || !strings.Contains(out, "latency.svg\n") {
		t.Errorf("directories in the way: exit code %d\n%s", code, out)
	}

	before, err := os.Stat(filepath.Join(folder.Plots(), "latency.svg"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(folder.RunFile(), 0); err != nil {
		t.Fatal(err)
	}
	if code, out := report(); code != results.ExitUsage || strings.Contains(out, ".svg") || !strings.Contains(out, "run.json") {
		t.Errorf("no run.json: exit code %d\n%s", code, out)
	}
	if after, err := os.Stat(filepath.Join(folder.Plots(), "latency.svg")); err != nil || !os.SameFile(before, after) {
		t.Errorf("figures were drawn over: %v", err)
	}
}

// TestReportOverBetterFigures: figures that tell less than those before them are drawn over none without a word, or not at all.
func TestReportOverBetterFigures(t *testing.T) {
	playedOnce(t, "draws reports")
	root := t.TempDir()
	folder, err := sample.Run(root, sample.Options{Seconds: 60})
	if err != nil {
		t.Fatal(err)
	}
	report := func() (int, string) {
		t.Helper()
		return bench(t, "--results", root, "report", folder.Name())
	}
	page := func() string {
		t.Helper()
		text, err := os.ReadFile(folder.Report())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if code, out := report(); code != 0 || strings.Contains(out, "bench:") {
		t.Fatalf("a whole run: exit code %d\n%s", code, out)
	}
	before := page()
	if err := os.Truncate(folder.SummaryFile(), 100); err != nil {
		t.Fatal(err)
	}
	if code, out := report(); code != results.ExitUsage || strings.Contains(out, ".svg") || !strings.Contains(out, "summary.json") || page() != before {
		t.Errorf("half a summary.json: exit code %d, drawn over: %v\n%s", code, page() != before, out)
	}
	if err := os.Remove(folder.SummaryFile()); err != nil {
		t.Fatal(err)
	}
	if code, out := report(); code != 0 || !strings.Contains(page(), "summary.json is not there") {
		t.Errorf("no summary.json, as after a crash: exit code %d\n%s", code, out)
	}
	if err := os.Remove(folder.Events()); err != nil {
		t.Fatal(err)
	}
	if code, out := report(); code != results.ExitUsage || !strings.Contains(out, folder.Report()+"\n") || !strings.Contains(out, "events.ndjson") {
		t.Errorf("events of a finished run are gone: exit code %d\n%s", code, out)
	}
}
