package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rejoin/results"
)

// TestDumpOfJSON: every file of a run that is one object prints whole, in the file's order and in words of its units.
func TestDumpOfJSON(t *testing.T) {
	root := t.TempDir()
	folder := writtenRun(t, root, testTime(0), 1, func(run *results.Run, s *results.Summary) {
		run.Asked.WarmupNs, run.StartMonoNs = 5e9, 123_456_789_012
		s.Reasons = []string{"first\nline", "second"}
		s.Kills = []results.KillSummary{{Node: "n1", Role: results.RolePrimary, DownMs: new(1500.25), RepairBytes: 3 << 20}}
	})
	if err := folder.WriteProof(results.Proof{Checks: []results.Check{{Name: "steal", Unit: "share", Value: new(0.5), Judgement: results.JudgedDoubtful}}}); err != nil {
		t.Fatal(err)
	}
	for path, wants := range map[string][]string{
		folder.RunFile(): {"schema_version                1\n", "\nasked\n  target ", "  warmup_ns                   5s\n", "start_mono_ns                 123456789012 ns\n", "limits                        –\n"},
		folder.SummaryFile(): {"reasons\n  1                           first\\nline\n  2                           second\n", "\nkills\n  1\n    node                      n1\n",
			"    down_ms                   1500.2 ms\n", "    repair_bytes              3.0 MiB (3145728)\n", "    caught_up_ms              –\n"},
		folder.ProofFile(): {"baseline                      –\n", "\nchecks\n  1\n    name                      steal\n", "steady_p99_without_ns"},
	} {
		code, out := bench(t, "dump", path)
		if code != 0 {
			t.Errorf("%s: exit code %d\n%s", path, code, out)
		}
		for _, want := range wants {
			if !strings.Contains("\n"+out, want) {
				t.Errorf("%s lacks %q in\n%s", path, want, out)
			}
		}
	}
	if _, out := bench(t, "dump", folder.SummaryFile(), "--max", "3"); strings.Count(out, "\n") != 3 {
		t.Errorf("three lines were asked for\n%s", out)
	}
}

// TestDumpRefusesBrokenJSON: damage has a place, and no depth breaks the printer.
func TestDumpRefusesBrokenJSON(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "byte 0: the file ends inside",
		`{"name": "x", `:                   "the file ends inside",
		`{"name": "x"} {}`:                 "something follows the end",
		`{"name": nothing}`:                "byte 9: invalid character",
		strings.Repeat(`{"a":`, 200) + "1": "more than 64 levels deep",
		strings.Repeat("[", 200_000):       "more than 64 levels deep",
		"\"" + strings.Repeat("x", 17<<20): "larger than 16 MiB",
	} {
		path := filepath.Join(t.TempDir(), "run.json")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if code, out := bench(t, "dump", path); code != results.ExitUsage || !strings.Contains(out, want) {
			t.Errorf("%.20q: exit code %d, want %q in %.300s", text, code, want, out)
		}
	}
}

// TestDumpOfAProfile names what was profiled and its busiest function, which burntFolder knows.
func TestDumpOfAProfile(t *testing.T) {
	playedOnce(t, "draws flame graphs")
	folder := burntFolder(t)
	code, out := bench(t, "dump", filepath.Join(folder.Profiles(), "n0-cpu-steady.pb.gz"), "--max", "5")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 0 || len(lines) != 8 || !strings.HasPrefix(lines[0], "cpu profile of n0 as primary in phase steady by go") {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if !strings.Contains(lines[3], "crc32") || !strings.Contains(lines[3], "s ") || !strings.Contains(lines[1], " windows, in which ") {
		t.Errorf("%s\nthe busiest is %s", lines[1], lines[3])
	}
	broken := filepath.Join(t.TempDir(), "x.pb.gz")
	if err := os.WriteFile(broken, []byte("nothing"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, out := bench(t, "dump", broken); code != results.ExitUsage || !strings.Contains(out, "read profile") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
