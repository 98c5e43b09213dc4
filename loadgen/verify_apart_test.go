package loadgen_test

import (
	"fmt"
	"slices"
	"testing"

	"rejoin/loadgen"
)

// apartMessages is how many messages a batch of these histories has.
const apartMessages = 3

// apartHistory writes the ledgers of two producers with a batch each, acknowledged at the offset of its message 0 in the first log or, where that is
// not there, at 0; and logs of messages named by letter (a, b: producers 0 and 1; upper case: damaged) and number.
func apartHistory(t *testing.T, outcomes [2]loadgen.Outcome, logs ...[]string) (*history, []string) {
	t.Helper()
	pool, err := loadgen.NewPayloadPool(loadgen.PayloadOptions{RunID: 1, BatchMessages: apartMessages, MessageBytes: 64, CompressedShare: 1})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var ledgers []string
	for producer, outcome := range outcomes {
		path := loadgen.LedgerPath(dir, producer)
		ledger, err := loadgen.CreateLedger(path, loadgen.LedgerHead{RunID: 1, Producer: producer, Producers: 2, BatchMessages: apartMessages, MessageBytes: 64})
		if err != nil {
			t.Fatal(err)
		}
		record := loadgen.Record{Outcome: outcome, Tries: 1}
		if outcome == ok {
			record.Offset = uint64(max(slices.Index(logs[0], string(rune('a'+producer))+"0"), 0))
		}
		if err := ledger.Append(record); err != nil {
			t.Fatal(err)
		}
		if err := ledger.Close(); err != nil {
			t.Fatal(err)
		}
		ledgers = append(ledgers, path)
	}
	h := &history{logs: map[string][]loadgen.ReadBatch{}, ends: map[string]loadgen.ReadEnd{}, errs: map[string]error{}}
	for i, log := range logs {
		name := fmt.Sprintf("r%d", i)
		h.names = append(h.names, name)
		for offset, word := range log {
			letter, number := word[0]|0x20, int(word[1]-'0')
			message := slices.Clone(pool.NewPayload(int(letter - 'a')).Fill(0).Messages[number])
			if letter != word[0] {
				message[len(message)/2] ^= 1
			}
			h.logs[name] = append(h.logs[name], loadgen.ReadBatch{BaseOffset: uint64(offset), Identity: uint64(word[0])<<8 | uint64(word[1]),
				Messages: [][]byte{message}, Apart: true})
		}
		h.ends[name] = loadgen.ReadEnd{EndOffset: uint64(len(log))}
	}
	return h, ledgers
}

func TestVerifyMessagesThatStandApart(t *testing.T) {
	type kinds = map[loadgen.Kind]int64
	const pass, fail, inconclusive = loadgen.VerifyPass, loadgen.VerifyFail, loadgen.VerifyInconclusive
	whole := []string{"a0", "b0", "b1", "a1", "a2", "b2"}
	for _, c := range []struct {
		name       string
		outcomes   [2]loadgen.Outcome
		logs       [][]string
		verdict    loadgen.VerifyVerdict
		kinds      kinds
		verified   int64
		disordered int64
		partial    int64
	}{
		{name: "between each other", outcomes: [2]loadgen.Outcome{ok, ok}, logs: [][]string{whole, whole}, verdict: pass, verified: 2},
		{name: "one message lost", outcomes: [2]loadgen.Outcome{ok, ok}, logs: [][]string{{"a0", "b0", "b1", "a2", "b2"}}, verdict: fail, kinds: kinds{loadgen.KindLost: 1}, verified: 1},
		{name: "the first message lost", outcomes: [2]loadgen.Outcome{ok, ok}, logs: [][]string{{"b0", "b1", "a1", "a2", "b2"}}, verdict: fail, kinds: kinds{loadgen.KindLost: 1}, verified: 1},
		{name: "a replica that is behind", outcomes: [2]loadgen.Outcome{ok, ok}, logs: [][]string{whole, whole[:4]}, verdict: inconclusive, verified: 2},
		{name: "lost on a replica that reaches as far", outcomes: [2]loadgen.Outcome{ok, ok}, logs: [][]string{whole, {"a0", "b0", "b1", "a1", "a2", "a2"}}, verdict: fail,
			kinds: kinds{loadgen.KindLost: 1, loadgen.KindDuplicated: 1, loadgen.KindDiverged: 1}, verified: 2},
		{name: "twice while under way", outcomes: [2]loadgen.Outcome{ok, ok}, logs: [][]string{{"a0", "a1", "b0", "a0", "a1", "a2", "b1", "b2"}}, verdict: fail,
			kinds: kinds{loadgen.KindDuplicated: 1}, verified: 2},
		{name: "twice after the end", outcomes: [2]loadgen.Outcome{ok, ok}, logs: [][]string{{"a0", "a1", "a2", "b0", "a1", "a2", "b1", "b2"}}, verdict: fail,
			kinds: kinds{loadgen.KindDuplicated: 1}, verified: 2},
		{name: "in another order", outcomes: [2]loadgen.Outcome{ok, ok}, logs: [][]string{{"a1", "a2", "b0", "a0", "b1", "b2"}}, verdict: pass, verified: 2, disordered: 1},
		{name: "unknown in part", outcomes: [2]loadgen.Outcome{unknown, ok}, logs: [][]string{{"a0", "b0", "a2", "b1", "b2"}}, verdict: pass, verified: 1, partial: 1},
		{name: "unknown whole", outcomes: [2]loadgen.Outcome{unknown, ok}, logs: [][]string{whole}, verdict: pass, verified: 1},
		{name: "refused and there in part", outcomes: [2]loadgen.Outcome{failed, ok}, logs: [][]string{{"b0", "a1", "b1", "b2"}}, verdict: fail,
			kinds: kinds{loadgen.KindRefused: 1}, verified: 1},
		{name: "damaged", outcomes: [2]loadgen.Outcome{ok, ok}, logs: [][]string{{"a0", "b0", "A1", "b1", "a2", "b2"}}, verdict: fail,
			kinds: kinds{loadgen.KindCorrupted: 1}, verified: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, ledgers := apartHistory(t, c.outcomes, c.logs...)
			report := mustVerify(t, h, loadgen.VerifyOptions{Ledgers: ledgers})
			if report.Verdict != c.verdict {
				t.Errorf("verdict %s, want %s; reasons %q", report.Verdict, c.verdict, report.Reasons)
			}
			for _, kind := range loadgen.Kinds() {
				if got := report.Count(kind); got != c.kinds[kind] {
					t.Errorf("%s: %d, want %d: %v", kind, got, c.kinds[kind], report.Examples())
				}
			}
			first := report.Replicas[0]
			if first.VerifiedBatches != c.verified || first.DisorderedBatches != c.disordered || first.PartialBatches != c.partial {
				t.Errorf("%d verified, %d disordered, %d partial; want %d, %d, %d", first.VerifiedBatches, first.DisorderedBatches, first.PartialBatches,
					c.verified, c.disordered, c.partial)
			}
		})
	}
}
