package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// spoiledNode names, in the environment of a node's process, the node that takes the last byte of each batch for another one.
const spoiledNode = "TEST_SPOILED_NODE"

// TestMain is a node where the program starts itself as one.
func TestMain(m *testing.M) {
	if len(os.Args) != 3 || os.Args[1] != nodeCommand {
		os.Exit(m.Run())
	}
	digest := digestOf
	if id := os.Getenv(spoiledNode); id != "" && strings.Contains(os.Args[2], fmt.Sprintf("%q", id)) {
		digest = func(index uint64, body []byte) uint64 {
			changed := slices.Clone(body)
			changed[len(changed)-1] ^= 1
			return digestOf(index, changed)
		}
	}
	if err := serveNode(os.Args[2], os.Stdin, os.Stdout, digest); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFailed)
	}
}

// program runs the whole program with small batches.
func program(t *testing.T, dir string, more ...string) (code int, out, errs bytes.Buffer) {
	t.Helper()
	args := append([]string{"-dir", dir, "-frame", "512", "-producers", "4", "-warmup", "100ms", "-duration", "1s"}, more...)
	code = run(t.Context(), args, &out, &errs)
	return code, out, errs
}

// TestThreeNodes: the real thing, for a second. What it tells agrees with itself, and nothing is left.
func TestThreeNodes(t *testing.T) {
	dir := t.TempDir()
	code, out, errs := program(t, dir)
	if code != 0 || errs.Len() > 0 {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	var f figures
	if err := json.Unmarshal(out.Bytes(), &f); err != nil {
		t.Fatalf("%v: %s", err, &out)
	}
	if f.Batches < 1 || f.CheckedBatches < f.Batches || f.Seconds != 1 || f.BatchesPerS != float64(f.Batches) || f.FrameBytes != 512 || f.Producers != 4 || f.Nodes != 3 {
		t.Errorf("%+v", f)
	}
	if f.BatchesPerSync < 1 || f.BatchesPerSync > 4 || f.LatencyNs.P50 <= 0 || f.LatencyNs.P50 > f.LatencyNs.P99 || f.LatencyNs.P99 > f.LatencyNs.Max {
		t.Errorf("%v batches a sync, latency %+v", f.BatchesPerSync, f.LatencyNs)
	}
	if f.Leader == "" || f.Term == 0 || len(f.Settings) == 0 {
		t.Errorf("leader %q, term %d, settings %v", f.Leader, f.Term, f.Settings)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left, error %v", left, err)
	}
}

// TestANodeThatAppliesOtherBytes: it is found and named, and there are no figures.
func TestANodeThatAppliesOtherBytes(t *testing.T) {
	t.Setenv(spoiledNode, "n1")
	code, out, errs := program(t, t.TempDir(), "-duration", "200ms")
	if code != exitFailed || out.Len() > 0 || !strings.Contains(errs.String(), "node n1 applied") || strings.Contains(errs.String(), "n0") || strings.Contains(errs.String(), "files") {
		t.Errorf("exit code %d\n%s%s", code, &out, &errs)
	}
}

func TestCheck(t *testing.T) {
	all := sum{Batches: 10, Digest: 77, LastIndex: 12}
	same := func() (driven, []report) {
		return driven{Acknowledged: all, Batches: 5, TermBefore: 2, TermAfter: 2, Leads: true},
			[]report{{id: "n0", applied: applied{sum: all}, stored: all}, {id: "n1", applied: applied{sum: all}, stored: all}}
	}
	if d, reports := same(); check("n0", d, reports) != nil {
		t.Error(check("n0", d, reports))
	}
	for want, spoil := range map[string]func(*driven, []report){
		"n1 applied 9 batches":                      func(_ *driven, r []report) { r[1].applied.Batches = 9 },
		"content or order differs":                  func(_ *driven, r []report) { r[0].applied.Digest++ },
		"n1 applied 10 batches to index 11":         func(_ *driven, r []report) { r[1].applied.LastIndex = 11 },
		"the files of node n1 hold 10 batches":      func(_ *driven, r []report) { r[1].stored.Digest++ },
		"acknowledged were 11 batches":              func(d *driven, _ []report) { d.Acknowledged.Batches = 11 },
		"the term went from 2 to 3":                 func(d *driven, _ []report) { d.TermAfter = 3 },
		"n0 led at the beginning and not at the":    func(d *driven, _ []report) { d.Leads = false },
		"not one batch was acknowledged":            func(d *driven, _ []report) { d.Batches = 0 },
		"node n0 was to take 1 snapshots, and none": func(_ *driven, r []report) { r[0].applied.Snapshots = 1 },
	} {
		d, reports := same()
		spoil(&d, reports)
		if err := check("n0", d, reports); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestBodies: each is as long as asked and of its own content, and a digest depends on content, length and place.
func TestBodies(t *testing.T) {
	b, seen := newBodies(600), map[uint64]bool{}
	const bodies = 250_000 // more than twice through the block
	for number := range int64(bodies) {
		body := b.of(number)
		if len(body) != 600 || cap(body) != 600 {
			t.Fatalf("body %d has %d bytes, and room for %d", number, len(body), cap(body))
		}
		seen[digestOf(1, body)] = true
	}
	if len(seen) < bodies-bodies/1000 { // a digest rests on 32 bits of content
		t.Errorf("%d of %d differ", len(seen), bodies)
	}
	body := b.of(0)
	whole := digestOf(1, body)
	changed := slices.Clone(body)
	changed[599] ^= 1
	if digestOf(2, body) == whole || digestOf(1, body[:599]) == whole || digestOf(1, changed) == whole {
		t.Error("the digest does not see the index, the length or the last bit")
	}
}

// TestStateAwaits: a node that has not come as far tells how far it is.
func TestStateAwaits(t *testing.T) {
	s := newState(digestOf)
	if a := s.await(sum{Batches: 1}, time.Millisecond); a.Batches != 0 {
		t.Errorf("%+v", a)
	}
	if _, err := s.Snapshot(); err == nil || s.now().Snapshots != 1 {
		t.Errorf("%+v, error %v", s.now(), err)
	}
}

func TestRefuses(t *testing.T) {
	for _, args := range [][]string{{"-frame", "1"}, {"-frame", "1000000000"}, {"-producers", "0"}, {"-producers", "9999"}, {"-duration", "1ms"}, {"-warmup", "-1s"}, {"more"}, {"-luck"}} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, &out, &errs); code != exitUsage || errs.Len() == 0 {
			t.Errorf("%v: exit code %d, %s", args, code, &errs)
		}
	}
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"-dir", filepath.Join(t.TempDir(), "none")}, &out, &errs); code != exitFailed || !strings.Contains(errs.String(), "make a folder") {
		t.Errorf("exit code %d, %s", code, &errs)
	}
}
