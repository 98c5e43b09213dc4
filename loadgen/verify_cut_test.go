package loadgen_test

import (
	"context"
	"slices"
	"testing"

	"rejoin/loadgen"
)

// cutHistory is of one producer, whose batches have three messages and lie in a log that gives one message a record. log names messages by their
// batch times ten and their place in it.
func cutHistory(t *testing.T, outcomes []loadgen.Outcome, log []int) (*history, []string) {
	t.Helper()
	path := loadgen.LedgerPath(t.TempDir(), 0)
	ledger, err := loadgen.CreateLedger(path, loadgen.LedgerHead{RunID: 1, Producers: 1, BatchMessages: 3, MessageBytes: 64})
	if err != nil {
		t.Fatal(err)
	}
	for i, outcome := range outcomes {
		r := loadgen.Record{Sequence: uint64(i), Outcome: outcome, Tries: 1}
		if outcome == ok {
			r.Offset = uint64(3 * i)
		}
		if err := ledger.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := ledger.Close(); err != nil {
		t.Fatal(err)
	}
	pool, err := loadgen.NewPayloadPool(loadgen.PayloadOptions{RunID: 1, BatchMessages: 3, MessageBytes: 64, CompressedShare: 1})
	if err != nil {
		t.Fatal(err)
	}
	h := &history{logs: map[string][]loadgen.ReadBatch{}, ends: map[string]loadgen.ReadEnd{}, errs: map[string]error{}, names: []string{"r0"}}
	for offset, n := range log {
		message := slices.Clone(pool.NewPayload(0).Fill(uint64(n / 10)).Messages[n%10])
		h.logs["r0"] = append(h.logs["r0"], loadgen.ReadBatch{BaseOffset: uint64(offset), Identity: uint64(n), Messages: [][]byte{message}})
	}
	return h, []string{path}
}

// TestVerifyCutWithinABatch: where a reading stops, the rest of a batch may stand behind. Where the log itself ends there, the batch is torn. What
// its first message proves is proven in both.
func TestVerifyCutWithinABatch(t *testing.T) {
	type kinds = map[loadgen.Kind]int64
	const broke, early, end = "it broke off", "the replica holds more", "the log ends there"
	whole := []int{0, 1, 2, 10, 11, 12}
	for _, c := range []struct {
		name     string
		outcomes []loadgen.Outcome
		log      []int
		how      []string
		verdict  loadgen.VerifyVerdict
		kinds    kinds
		unread   int64
	}{
		{"acknowledged", []loadgen.Outcome{ok, ok}, whole[:4], []string{broke, early}, loadgen.VerifyInconclusive, nil, 1},
		{"and others behind", []loadgen.Outcome{ok, ok, ok}, whole[:5], []string{broke, early}, loadgen.VerifyInconclusive, nil, 2},
		{"between batches", []loadgen.Outcome{ok, ok}, whole[:3], []string{broke, early}, loadgen.VerifyInconclusive, nil, 1},
		{"unknown", []loadgen.Outcome{ok, unknown}, whole[:4], []string{broke, early}, loadgen.VerifyInconclusive, nil, 0},
		{"torn", []loadgen.Outcome{ok, ok}, whole[:4], []string{end}, loadgen.VerifyFail, kinds{loadgen.KindTorn: 1, loadgen.KindLost: 1}, 0},
		{"torn before", []loadgen.Outcome{ok, ok, ok}, []int{0, 1, 2, 10, 20, 21}, []string{broke, early}, loadgen.VerifyFail,
			kinds{loadgen.KindTorn: 1, loadgen.KindLost: 1, loadgen.KindMoved: 1}, 1},
		{"refused", []loadgen.Outcome{ok, failed}, whole[:4], []string{broke, early}, loadgen.VerifyFail, kinds{loadgen.KindRefused: 1}, 0},
		{"once more", []loadgen.Outcome{ok, ok}, append(whole[:6:6], 0, 1), []string{broke, early}, loadgen.VerifyFail, kinds{loadgen.KindDuplicated: 1}, 0},
		{"before its place", []loadgen.Outcome{ok, unknown, ok}, []int{0, 1, 2, 20}, []string{broke, early}, loadgen.VerifyFail, kinds{loadgen.KindMoved: 1}, 1},
		{"after later ones", []loadgen.Outcome{ok, unknown, unknown}, []int{0, 1, 2, 20, 21, 22, 10}, []string{broke, early}, loadgen.VerifyFail, kinds{loadgen.KindReordered: 1}, 0},
	} {
		for _, how := range c.how {
			t.Run(c.name+", "+how, func(t *testing.T) {
				h, ledgers := cutHistory(t, c.outcomes, c.log)
				switch how {
				case broke:
					h.errs["r0"] = errRead
				case early:
					h.ends["r0"] = loadgen.ReadEnd{EndOffset: 100}
				case end:
					h.ends["r0"] = loadgen.ReadEnd{EndOffset: uint64(len(c.log))}
				}
				report := mustVerify(t, h, loadgen.VerifyOptions{Ledgers: ledgers})
				first := report.Replicas[0]
				if report.Verdict != c.verdict || first.UnreadBatches != c.unread || first.ReadTo != uint64(len(c.log)) {
					t.Errorf("verdict %s, %d unread, read to %d; want %s, %d, %d; reasons %q", report.Verdict, first.UnreadBatches, first.ReadTo, c.verdict, c.unread,
						len(c.log), report.Reasons)
				}
				for _, kind := range loadgen.Kinds() {
					if got := report.Count(kind); got != c.kinds[kind] {
						t.Errorf("%s: %d, want %d: %v", kind, got, c.kinds[kind], report.Examples())
					}
				}
			})
		}
	}
}

// TestVerifyTellsInterruptionFromFailure: a reading that its caller ended says nothing of the replica.
func TestVerifyTellsInterruptionFromFailure(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		h, ledgers := cutHistory(t, []loadgen.Outcome{ok, ok}, []int{0, 1, 2, 10})
		h.errs["r0"] = errRead
		v, err := loadgen.NewVerifier(loadgen.VerifyOptions{Ledgers: ledgers})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if interrupted {
			cancel()
		}
		v.Read(ctx, h, "r0")
		cancel()
		report := v.FinishEarly("somebody ended it")
		if r := report.Replicas[0]; r.Interrupted != interrupted || r.Unreadable == "" || (len(report.UnreadableReplicas) == 0) != interrupted {
			t.Errorf("interrupted %v: %+v, unreadable %q", interrupted, r, report.UnreadableReplicas)
		}
	}
}
