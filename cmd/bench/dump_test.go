package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rejoin/loadgen"
	"rejoin/results"
	"rejoin/server/journal"
	"rejoin/server/peer"
	"rejoin/server/vsr"
	"rejoin/server/wire"
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

// TestDumpStateFiles prints what a node has written: a partition by package journal, so that a change of a layout is met here.
func TestDumpStateFiles(t *testing.T) {
	dir := t.TempDir()
	fsys := journal.OS(dir)
	log, _, err := journal.Open(journal.Options{FS: fsys, Dir: "p", Cluster: 0xabc, Group: 3, SegmentBytes: 1 << 16, Pipeline: 8})
	if err != nil {
		t.Fatal(err)
	}
	var frames []journal.Frame
	parent := wire.RootSum(0xabc, 3)
	for op := uint64(1); op <= 4; op++ { // of 30 KiB: two fill a segment
		frame := wire.AppendMessage(make([]byte, wire.HeaderBytes), wire.Message{Payload: make([]byte, 30<<10)})
		body := frame[wire.HeaderBytes:]
		h := vsr.Header{Kind: vsr.KindBatch, Client: vsr.Client{Lo: 7}, Session: 1, Request: op, MessageCount: 1, BodyBytes: uint32(len(body)), BodySum: wire.Sum(body),
			Cluster: 0xabc, Group: 3, View: 1, Op: op, BaseOffset: op - 1, Parent: parent}
		wire.Seal(&h)
		wire.PutHeader(frame, &h)
		parent = h.Sum
		frames = append(frames, journal.Frame{Header: h, Bytes: frame})
	}
	last := frames[3].Header
	if err := log.Append(frames); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Sync(); err != nil {
		t.Fatal(err)
	}
	log.NoteCommit(frames[2].Header.ID())
	state := journal.State{View: 9, LogView: 8, Commit: frames[1].Header.ID(), Wiped: true, WipedAbove: 5, Lives: vsr.Lives{11, 12, 13}}
	table := journal.Table{ID: last.ID(), NextOffset: 4, Bytes: []byte("sessions")}
	if err := errors.Join(log.SyncMark(), log.SaveState(state), log.SaveTable(table), log.Close()); err != nil {
		t.Fatal(err)
	}
	node := slices.Concat(le64(0xabc), le64(0xdef), []byte{2, 0, 0, 0, byte(peer.FormatWiped), 0, 0, 0}, le64(17), []byte("0123456789-0123456789-0123456789-012"))
	if _, err := journal.CreateStateFile(fsys, "node.state", len(node), node); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]string{
		"node.state": {"format       wiped", "boot         17,", "node         2", "machine      0123456789-", "this one counts: of the intact copies it has the highest sequence", "the same once more"},
		"p/state": {"view         9", "log_view     8", "yes: what it acknowledged above op 5 is forgotten", "lives        11 12 13 0 0,", "group        3,",
			fmt.Sprintf("commit       2, sum %016x", frames[1].Header.Sum)},
		"p/mark":                           {fmt.Sprintf("mark         op 4, sum %016x", last.Sum), fmt.Sprintf("commit       3, sum %016x", frames[2].Header.Sum), "next_offset  4", "synced       op 4;"},
		"p/start":                          {"before       op 0, none; the log begins behind it"},
		"p/00000000000000000001.idx":       {"2 ops from op 1", "intact", fmt.Sprintf("op 2  byte %d  offset 1  sum %016x", len(frames[0].Bytes), frames[1].Header.Sum)},
		"p/table-00000000000000000004.tab": {fmt.Sprintf("client table as of op 4, sum %016x, next offset 4", last.Sum), "8 bytes of sessions", "intact"},
	} {
		code, out := bench(t, "dump", filepath.Join(dir, file))
		for _, want := range want {
			if code != 0 || !strings.Contains(out, want) {
				t.Errorf("%s: exit code %d, want %q in\n%s", file, code, want, out)
			}
		}
	}
}

func le64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

// TestDumpDamagedStateFiles: damage is shown where it stands, and the other copy counts.
func TestDumpDamagedStateFiles(t *testing.T) {
	for _, name := range []string{"node.state", "state", "mark", "start"} {
		dir := t.TempDir()
		file, err := journal.CreateStateFile(journal.OS(dir), name, 8, []byte("payload!"))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(file.Put([]byte("newer...")), file.Close()); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		code, out := bench(t, "dump", path)
		if code != 0 || !strings.Contains(out, "sequence 2, this one counts") || !strings.Contains(out, "sequence 1, older") || !strings.Contains(out, fmt.Sprintf("%x", "newer...")) {
			t.Errorf("%s: exit code %d\n%s", name, code, out)
		}
		for _, at := range []int{30, 4096 + 30} {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, flip(text, at), 0o644); err != nil {
				t.Fatal(err)
			}
			code, out = bench(t, "dump", path)
			if !strings.Contains(out, "DAMAGED, its checksum does not match") || (code == 0) != strings.Contains(out, "this one counts") || (code == 0) != (at == 30) {
				t.Errorf("%s: exit code %d\n%s", name, code, out)
			}
		}
	}
}

// TestDumpSaysWhatItPrints: who names another file of a run learns what dump takes, and what that file is for.
func TestDumpSaysWhatItPrints(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{"bench.txt": "; this one is text as it stands. It prints\n", "lag.svg": "; this one is for a browser. It prints\n", "odd": "can print. It prints\n"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if code, out := bench(t, "dump", path); code != results.ExitUsage || !strings.Contains(out, want) || !strings.Contains(out, "*.hlog") || !strings.Contains(out, "node.state") {
			t.Errorf("%s: exit code %d\n%s", name, code, out)
		}
	}
}
