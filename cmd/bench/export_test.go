package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rejoin/results"
)

// exported reads a table back with Go's csv reader.
func exported(t *testing.T, args ...string) (header []string, rows []map[string]string) {
	t.Helper()
	code, out := bench(t, args...)
	if code != results.ExitPass {
		t.Fatalf("%v: exit code %d\n%s", args, code, out)
	}
	lines, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(lines) == 0 {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range line {
			row[lines[0][i]] = cell
		}
		rows = append(rows, row)
	}
	return lines[0], rows
}

// TestExportsOfARun reads every table of a run that was really made and holds it against the run's own files, as CSV and as JSON.
func TestExportsOfARun(t *testing.T) {
	playedOnce(t, "a whole run")
	root := t.TempDir()
	if code, out := bench(t, "--results", root, "run", memoryScenario(t, "demands: {late_p99_max: 1s, canary_change_max: 100}"), "--quiet"); code != results.ExitPass {
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
	for table := range exportTables {
		header, rows := exported(t, "--results", root, "export", "latest", table)
		code, out := bench(t, "--results", root, "export", "latest", table, "--format", "json")
		var objects []map[string]any
		if err := json.Unmarshal([]byte(out), &objects); code != results.ExitPass || err != nil || len(objects) != len(rows) {
			t.Errorf("%s as JSON: exit code %d, %v, %d objects for %d lines", table, code, err, len(objects), len(rows))
		}
		if len(rows) == 0 && table != "status" { // the memory target has no processes to poll
			t.Errorf("%s is empty", table)
		}
		for i, object := range objects {
			for _, name := range header {
				value, ok := object[name]
				if (value == nil) != (rows[i][name] == "") && value != "" || !ok {
					t.Errorf("%s, line %d, %s: %q in CSV, %v in JSON", table, i, name, rows[i][name], value)
				}
			}
		}
	}
	_, latency := exported(t, "--results", root, "export", "latest", "latency")
	i := slices.IndexFunc(latency, func(r map[string]string) bool { return r["kind"] == "due_to_ack" && r["phase"] == "steady" })
	if q := s.LatencyNs["steady"]; i < 0 || latency[i]["p50_ns"] != fmt.Sprint(*q.P50) || latency[i]["batches"] != fmt.Sprint(q.Count) || latency[i]["p9999_ns"] != "" {
		t.Errorf("latency of steady is %v, the summary has %+v", latency, q)
	}
	_, kills := exported(t, "--results", root, "export", "latest", "kills")
	if len(kills) != len(s.Kills) || kills[0]["node"] != s.Kills[0].Node || kills[0]["down_ms"] == "" {
		t.Errorf("kills are %v", kills)
	}
	_, events := exported(t, "--results", root, "export", "latest", "events")
	if i := slices.IndexFunc(events, func(r map[string]string) bool { return r["kind"] == string(results.KindRunStart) }); i < 0 || events[i]["pid"] != "" {
		t.Errorf("events are %v", events)
	}
	_, metrics := exported(t, "--results", root, "export", "latest")
	if i := slices.IndexFunc(metrics, func(r map[string]string) bool { return r["metric"] == "kill.primary.gap" }); i < 0 || metrics[i]["kill"] != "1" || metrics[i]["unit"] != "ns" {
		t.Errorf("metrics are %v", metrics)
	}
}

func TestExportComparison(t *testing.T) {
	root, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	if code, text := bench(t, append([]string{"--results", root, "compare", "--out", out}, writtenPairs(t, root, 8, 1.3, nil)...)...); code != results.ExitPass {
		t.Fatal(text)
	}
	path := filepath.Join(t.TempDir(), "comparison.csv")
	if code, text := bench(t, "export", out, "comparison", "-o", path); code != results.ExitPass {
		t.Fatal(text)
	}
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(bytes.NewReader(written)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(lines, func(l []string) bool { return l[0] == "steady.p99" })
	if i < 0 || lines[i][slices.Index(lines[0], "finding")] != "worse" || lines[i][slices.Index(lines[0], "a_n")] != "8" {
		t.Errorf("%v", lines)
	}
}

func TestExportRefuses(t *testing.T) {
	root := t.TempDir()
	name := writtenRun(t, root, testTime(0), 1, nil).Name()
	for want, args := range map[string][]string{
		"no table \"nothing\"": {name, "nothing"},
		"pass csv or json":     {name, "metrics", "--format", "xml"},
		"no run folder":        {"nothing"},
		"holds no comparison":  {name, "comparison"},
		"no such file":         {name, "rates"},
	} {
		if code, out := bench(t, append([]string{"--results", root, "export"}, args...)...); code != results.ExitUsage || !strings.Contains(out, want) {
			t.Errorf("%v: exit code %d, want %q\n%s", args, code, want, out)
		}
	}
}

func TestCSVTextIsNoFormula(t *testing.T) {
	for want, cell := range map[string]any{"'=HYPERLINK(1)": "=HYPERLINK(1)", "-5": int64(-5), "": nil, "true": true, "a,b": "a,b", "0.25": 0.25} {
		if got, err := csvText(cell); err != nil || got != want {
			t.Errorf("%v: %q, %v, want %q", cell, got, err, want)
		}
	}
}
