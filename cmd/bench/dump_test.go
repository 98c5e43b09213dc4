package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rejoin/loadgen"
	"rejoin/server/journal"
)

func TestRecordText(t *testing.T) {
	const ms = int64(1e6)
	for _, test := range []struct {
		record loadgen.Record
		want   string
	}{
		{loadgen.Record{Sequence: 4, DueNs: 2000 * ms, SentNs: 2001 * ms, DoneNs: 2003 * ms, Tries: 1, Outcome: loadgen.OutcomeOK, Offset: 70},
			"batch 4  ok  due 2.000000 s  sent +1.000 ms  latency 3.000 ms  tries 1  offset 70"},
		{loadgen.Record{Sequence: 5, DueNs: 2000 * ms, SentNs: 2500 * ms, DoneNs: 2500 * ms, Outcome: loadgen.OutcomeFailed},
			"batch 5  failed  due 2.000000 s  given up +500.000 ms  tries 0"},
		{loadgen.Record{Sequence: 6, DueNs: 0, SentNs: ms, DoneNs: 40_000 * ms, Tries: 3, Outcome: loadgen.OutcomeUnknown, Late: true, Offset: 9},
			"batch 6  unknown  due 0.000000 s  sent +1.000 ms  acknowledged too late, +40000.000 ms  tries 3  offset 9"},
	} {
		if got := recordText(test.record); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

func TestDumpLines(t *testing.T) {
	for _, test := range []struct{ name, line, want string }{
		{"rates.ndjson", `{"t_ns":2000000000,"acked_batches":300,"offered_batches":300}`, "    2.000 s  acked_batches 300  offered_batches 300"},
		{"status.ndjson", `{"t_ns":2500000000,"node":"n1","up":false,"view":null}`, "    2.500 s  n1        up false  view –"},
		{"events.ndjson", `{"t_ns":1,"source":"harness","kind":"kill","node":"n1"}`, "    0.000 s  harness   kill                node n1"},
	} {
		path := filepath.Join(t.TempDir(), test.name)
		if err := os.WriteFile(path, []byte(test.line+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if code, out := bench(t, "dump", path); code != 0 || out != test.want+"\n" {
			t.Errorf("%s: exit code %d\n%q, want\n%q", test.name, code, out, test.want)
		}
	}
}

func TestDumpStateFiles(t *testing.T) {
	for _, name := range []string{"node.state", "state", "mark"} {
		dir := t.TempDir()
		if _, err := journal.CreateStateFile(journal.OS(dir), name, 8, []byte("payload!")); err != nil {
			t.Fatal(err)
		}
		if code, out := bench(t, "dump", filepath.Join(dir, name)); code != 0 || !strings.Contains(out, "intact") {
			t.Errorf("%s: exit code %d\n%s", name, code, out)
		}
	}
}
