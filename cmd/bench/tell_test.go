package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rejoin/results"
)

func TestKillText(t *testing.T) {
	ms := func(v float64) *float64 { return &v }
	for _, test := range []struct {
		kill results.KillSummary
		want string
	}{
		{results.KillSummary{Node: "n0", Role: results.RolePrimary, AtMs: 18_000, DownMs: ms(12_000), FirstAckMs: ms(620), GapWithoutAckMs: 640, GapAtMs: ms(17_990),
			CaughtUpMs: ms(900), Repairs: 1, RepairOps: 1, Transfers: 2, TransferOps: 3600, TransferBytes: 99},
			"kill n0 (primary) at 18.0 s: down 12000 ms, first acknowledgement after 620 ms, longest gap 640 ms (at 18.0 s), caught up 900 ms after its restart, 1 repair (1 op), 2 transfers (3600 ops, 99 bytes)"},
		{results.KillSummary{Node: "n1", Role: results.RoleBackup, AtMs: 2000, FirstAckMs: ms(3), GapWithoutAckMs: 40, GapAtMs: ms(9000)},
			"kill n1 (backup) at 2.0 s: stayed down, first acknowledgement after 3 ms, longest gap 40 ms (at 9.0 s)"},
		{results.KillSummary{Node: "n2", Role: results.RoleBackup, AtMs: -20, DownMs: ms(24_000), FirstAckMs: ms(80), GapWithoutAckMs: 60, GapAtMs: ms(10)},
			"kill n2 (backup) before the load: down 24000 ms, longest gap 60 ms (at 0.0 s), never caught up, 0 repairs (0 ops), 0 transfers (0 ops, 0 bytes)"},
		{results.KillSummary{Node: "n2", Role: results.RoleBackup, AtMs: 60_000}, "kill n2 (backup) at 60.0 s: stayed down, no acknowledgement after it"},
	} {
		if got := killText(results.Summary{}, test.kill); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

// TestTellKeptData: a run that did not pass says what it leaves on the disk.
func TestTellKeptData(t *testing.T) {
	folder := results.Folder{Dir: t.TempDir()}
	if err := os.MkdirAll(folder.DataDir(0), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder.DataDir(0), "x.seg"), make([]byte, 3<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		verdict results.Verdict
		keep    bool
		kept    bool
	}{{results.Invalid, false, true}, {results.Pass, true, true}, {results.Pass, false, false}} {
		var out bytes.Buffer
		r := &session{folder: folder, command: &runCommand{Keep: test.keep}, say: newProgress(&out, true)}
		r.tell(results.Summary{Verdict: test.verdict})
		want := "the nodes' data is kept (3.0 MiB); bench clean --data " + folder.Dir
		if strings.Contains(out.String(), want) != test.kept {
			t.Errorf("%s, --keep %v:\n%s", test.verdict, test.keep, out.String())
		}
	}
}

func TestLateTexts(t *testing.T) {
	s := results.Summary{Generator: results.Generator{LateP99Ns: new(int64(300_000))},
		LateNs: map[string]results.Quantiles{string(results.Overall): {P99: new(int64(900_000_000))}}}
	texts := strings.Join(lateTexts(s, Scenario{Demands: Demands{LateP99Max: duration(20 * time.Millisecond)}}), "\n")
	for _, want := range []string{"own fault p99 300µs (judged, at most 20ms)", "from due to sent p99 900ms (not judged"} {
		if !strings.Contains(texts, want) {
			t.Errorf("%q is missing in\n%s", want, texts)
		}
	}
}

func TestLoadText(t *testing.T) {
	for elapsed, want := range map[time.Duration]string{7 * time.Second: "load: 7/30s", 30 * time.Second: "load: 30/30s", 40 * time.Second: "load: 30/30s, waiting for answers since 10s"} {
		if got := loadText(elapsed, 30*time.Second); got != want {
			t.Errorf("%v: %q, want %q", elapsed, got, want)
		}
	}
}

// Traps 14 and 16: the text says that the samples are batches, and shows no quantile that they do not carry.
func TestLatencyTexts(t *testing.T) {
	h := results.NewHistogram()
	for i := range int64(1000) {
		h.Record((i + 1) * 10_000)
	}
	s := results.Summary{LatencyNs: map[string]results.Quantiles{"steady": h.Quantiles(), "outage": results.NewHistogram().Quantiles()}}
	want := "latency steady   p50 5ms      p90 9ms      p99 9.9ms    p99.9 –        max 10ms     of 1000 batches"
	if got := strings.Join(latencyTexts(s), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
