package loadgen_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rejoin/loadgen"
	"rejoin/loadgen/target/memory"
)

// ranTarget is a memory target that took a short load, and the ledgers of that.
func ranTarget(t *testing.T, prepare func(*memory.Target, *loadgen.Options)) (*memory.Target, []string) {
	t.Helper()
	target := newTarget(t, memory.Options{Delay: time.Millisecond})
	o := fakeClockOptions(t, target)
	o.Duration = time.Second
	if prepare != nil {
		prepare(target, &o)
	}
	outcome, err := loadgen.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return target, outcome.Ledgers
}

func mustVerify(t *testing.T, source loadgen.Source, o loadgen.VerifyOptions) *loadgen.Report {
	t.Helper()
	report, err := loadgen.Verify(t.Context(), source, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// Trap 28: the mutation table. Every planted fault is called by its name; without one the same log
// passes, which the first row holds.
func TestVerifyNamesEveryPlantedFault(t *testing.T) {
	const none = memory.Fault(255)
	for _, c := range []struct {
		fault    memory.Fault
		replica  string // "" is all
		verdict  loadgen.VerifyVerdict
		kinds    []loadgen.Kind // all that may be found
		diverged []string
		reason   string
	}{
		{fault: none, verdict: loadgen.VerifyPass},
		{fault: memory.FaultLost, verdict: loadgen.VerifyFail, kinds: []loadgen.Kind{loadgen.KindLost, loadgen.KindMoved}},
		{fault: memory.FaultLost, replica: "m1", verdict: loadgen.VerifyFail, diverged: []string{"m1"},
			kinds: []loadgen.Kind{loadgen.KindLost, loadgen.KindMoved, loadgen.KindDiverged}},
		{fault: memory.FaultDuplicated, verdict: loadgen.VerifyFail, kinds: []loadgen.Kind{loadgen.KindDuplicated}},
		{fault: memory.FaultDuplicated, replica: "m2", verdict: loadgen.VerifyFail, kinds: []loadgen.Kind{loadgen.KindDuplicated}},
		{fault: memory.FaultReordered, verdict: loadgen.VerifyFail, kinds: []loadgen.Kind{loadgen.KindReordered, loadgen.KindMoved}},
		{fault: memory.FaultGap, verdict: loadgen.VerifyFail, kinds: []loadgen.Kind{loadgen.KindGap, loadgen.KindLost}},
		{fault: memory.FaultCorrupted, verdict: loadgen.VerifyFail, kinds: []loadgen.Kind{loadgen.KindCorrupted}},
		{fault: memory.FaultCorrupted, replica: "m0", verdict: loadgen.VerifyFail, diverged: []string{"m0"},
			kinds: []loadgen.Kind{loadgen.KindCorrupted, loadgen.KindDiverged}},
		{fault: memory.FaultForeign, verdict: loadgen.VerifyFail, kinds: []loadgen.Kind{loadgen.KindForeign}},
		{fault: memory.FaultTorn, verdict: loadgen.VerifyFail, kinds: []loadgen.Kind{loadgen.KindTorn, loadgen.KindGap, loadgen.KindLost}},
		{fault: memory.FaultTruncated, verdict: loadgen.VerifyFail, kinds: []loadgen.Kind{loadgen.KindLost}},
		{fault: memory.FaultTruncated, replica: "m1", verdict: loadgen.VerifyInconclusive, reason: "acknowledged batches are not readable there"},
		{fault: memory.FaultEndedEarly, replica: "m1", verdict: loadgen.VerifyInconclusive, reason: "the replica says that it holds up to"},
		{fault: memory.FaultEndedEarly, verdict: loadgen.VerifyInconclusive, reason: "the replica says that it holds up to"},
		{fault: memory.FaultUnreadable, replica: "m2", verdict: loadgen.VerifyInconclusive, reason: "reading stopped at offset"},
		{fault: memory.FaultDiverged, replica: "m2", verdict: loadgen.VerifyFail, kinds: []loadgen.Kind{loadgen.KindDiverged}, diverged: []string{"m2"}},
	} {
		name := "none"
		if c.fault != none {
			name = fmt.Sprintf("%v on %q", c.fault, c.replica)
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				target, ledgers := ranTarget(t, nil)
				if c.fault != none {
					target.Plant(c.fault, c.replica)
				}
				report := mustVerify(t, target, loadgen.VerifyOptions{Ledgers: ledgers})
				if report.Verdict != c.verdict {
					t.Errorf("verdict %s, want %s; reasons: %s", report.Verdict, c.verdict, strings.Join(report.Reasons, "\n"))
				}
				for _, kind := range loadgen.Kinds() {
					if found, want := report.Count(kind) > 0, slices.Contains(c.kinds, kind); found != want {
						t.Errorf("%s found=%v, want %v: %v", kind, found, want, report.Examples())
					}
				}
				if len(c.diverged) > 0 && !slices.Equal(report.DivergedReplicas, c.diverged) {
					t.Errorf("diverged %v, want %v", report.DivergedReplicas, c.diverged)
				}
				if c.reason != "" && !strings.Contains(strings.Join(report.Reasons, "\n"), c.reason) {
					t.Errorf("no reason says %q: %q", c.reason, report.Reasons)
				}
				if c.verdict == loadgen.VerifyPass {
					for _, r := range report.Replicas {
						if r.VerifiedBatches != 300 || r.Messages != 3_000 {
							t.Errorf("%s: %d batches verified in %d messages, want 300 in 3,000", r.Replica, r.VerifiedBatches, r.Messages)
						}
					}
				}
			})
		})
	}
}

func TestVerifyFindsAnAcknowledgedBatchThatWasNeverStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target, ledgers := ranTarget(t, func(target *memory.Target, o *loadgen.Options) {
			o.OnStart = func(int64) { time.AfterFunc(500*time.Millisecond, func() { target.LoseNext(1) }) }
		})
		report := mustVerify(t, target, loadgen.VerifyOptions{Ledgers: ledgers})
		if report.Verdict != loadgen.VerifyFail || report.LostBatches != 1 {
			t.Fatalf("verdict %s, %d lost, want fail and 1: %v", report.Verdict, report.LostBatches, report.Reasons)
		}
	})
}

// Trap 10: a batch of unknown outcome may be in the log and may not.
func TestVerifyAcceptsUnknownBothWays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target, ledgers := ranTarget(t, func(target *memory.Target, o *loadgen.Options) {
			o.Budget = 8 * time.Millisecond // no second try fits
			o.OnStart = func(int64) {
				time.AfterFunc(300*time.Millisecond, func() { target.CutAfterCommit(5) })
				time.AfterFunc(600*time.Millisecond, func() { target.CutBeforeCommit(7) })
			}
		})
		report := mustVerify(t, target, loadgen.VerifyOptions{Ledgers: ledgers})
		if report.Verdict != loadgen.VerifyPass || report.UnknownBatches != 12 || report.UnknownPresentBatches != 5 {
			t.Fatalf("verdict %s, %d unknown of which %d are there, want pass, 12 and 5: %v",
				report.Verdict, report.UnknownBatches, report.UnknownPresentBatches, report.Reasons)
		}
	})
}

// Trap 26: nothing acknowledged proves nothing.
func TestVerifyOfNothingIsNoPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target, ledgers := ranTarget(t, func(target *memory.Target, o *loadgen.Options) {
			o.DrainBudget = time.Second
			o.OnStart = func(int64) {
				for address := range 3 {
					target.SetAddress(address, memory.AddressRefuses)
				}
			}
		})
		report := mustVerify(t, target, loadgen.VerifyOptions{Ledgers: ledgers})
		if report.Verdict != loadgen.VerifyInconclusive || report.FailedBatches != 300 {
			t.Fatalf("verdict %s with %d failed, want inconclusive with 300", report.Verdict, report.FailedBatches)
		}
	})
}

// history is a hand-made run of one producer with batches of one message.
type history struct {
	outcomes []loadgen.Outcome // by sequence; ok ones are acknowledged at offset = place in order
	offsets  []uint64
	logs     map[string][]loadgen.ReadBatch
	ends     map[string]loadgen.ReadEnd
	errs     map[string]error
	names    []string
}

var errRead = errors.New("read error")

func (h *history) Replicas() []string { return h.names }

func (h *history) ReadReplica(_ context.Context, replica string, yield func(loadgen.ReadBatch) error) (loadgen.ReadEnd, error) {
	for _, b := range h.logs[replica] {
		if err := yield(b); err != nil {
			return loadgen.ReadEnd{}, err
		}
	}
	return h.ends[replica], h.errs[replica]
}

const (
	ok      = loadgen.OutcomeOK
	unknown = loadgen.OutcomeUnknown
	failed  = loadgen.OutcomeFailed
	late    = loadgen.Outcome(100) // acknowledged, after the budget
)

// handmade writes the ledger of a history and its logs: logs[i] lists the sequences that replica i
// holds from offset 0 on; -1 leaves an offset empty, -2 puts something foreign there.
func handmade(t *testing.T, outcomes []loadgen.Outcome, offsets []uint64, logs ...[]int) (*history, []string) {
	t.Helper()
	head := loadgen.LedgerHead{RunID: 1, Producers: 1, BatchMessages: 1, MessageBytes: 64}
	path := loadgen.LedgerPath(t.TempDir(), 0)
	ledger, err := loadgen.CreateLedger(path, head)
	if err != nil {
		t.Fatal(err)
	}
	for i, outcome := range outcomes {
		r := loadgen.Record{Sequence: uint64(i), Outcome: outcome, Tries: 1}
		if outcome == late {
			r.Outcome, r.Late = unknown, true
		}
		if outcome == ok || outcome == late {
			r.Offset = offsets[i]
		}
		if err := ledger.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := ledger.Close(); err != nil {
		t.Fatal(err)
	}
	pool, err := loadgen.NewPayloadPool(loadgen.PayloadOptions{RunID: 1, BatchMessages: 1, MessageBytes: 64, CompressedShare: 1})
	if err != nil {
		t.Fatal(err)
	}
	h := &history{logs: map[string][]loadgen.ReadBatch{}, ends: map[string]loadgen.ReadEnd{}, errs: map[string]error{}}
	for i, log := range logs {
		name := fmt.Sprintf("r%d", i)
		h.names = append(h.names, name)
		for offset, sequence := range log {
			message := []byte("an old friend from another system that left a note in this log, see?")
			if sequence >= 0 {
				message = slices.Clone(pool.NewPayload(0).Fill(uint64(sequence)).Messages[0])
			}
			if sequence != -1 {
				h.logs[name] = append(h.logs[name], loadgen.ReadBatch{BaseOffset: uint64(offset), Identity: uint64(sequence + 10), Messages: [][]byte{message}})
			}
		}
		h.ends[name] = loadgen.ReadEnd{EndOffset: uint64(len(log))}
	}
	return h, []string{path}
}

// G4: hand-made histories with fixed verdicts.
func TestVerifyHandMadeHistories(t *testing.T) {
	const pass, fail, inconclusive = loadgen.VerifyPass, loadgen.VerifyFail, loadgen.VerifyInconclusive
	for _, c := range []struct {
		name     string
		outcomes []loadgen.Outcome
		offsets  []uint64
		logs     [][]int
		change   func(*history)
		verdict  loadgen.VerifyVerdict
		kinds    map[loadgen.Kind]int64
		lost     int64
		late     int64 // unknown ones behind later ones; above 0 they are allowed
	}{
		{name: "all there", outcomes: []loadgen.Outcome{ok, ok}, offsets: []uint64{0, 1}, logs: [][]int{{0, 1}, {0, 1}}, verdict: pass},
		{name: "unknown absent", outcomes: []loadgen.Outcome{ok, unknown}, offsets: []uint64{0, 0}, logs: [][]int{{0}}, verdict: pass},
		{name: "unknown late once", outcomes: []loadgen.Outcome{ok, unknown, ok}, offsets: []uint64{0, 0, 1}, logs: [][]int{{0, 2, 1}}, verdict: fail,
			kinds: map[loadgen.Kind]int64{loadgen.KindReordered: 1}},
		{name: "unknown late once, without sessions", outcomes: []loadgen.Outcome{ok, unknown, ok, ok}, offsets: []uint64{0, 0, 1, 2}, logs: [][]int{{0, 2, 3, 1}}, verdict: pass, late: 1},
		{name: "unknown late twice, without sessions", outcomes: []loadgen.Outcome{ok, unknown, ok}, offsets: []uint64{0, 0, 1}, logs: [][]int{{0, 2, 1, 1}}, verdict: fail, late: 1,
			kinds: map[loadgen.Kind]int64{loadgen.KindDuplicated: 1}},
		{name: "refused late", outcomes: []loadgen.Outcome{ok, failed, ok}, offsets: []uint64{0, 0, 1}, logs: [][]int{{0, 2, 1}}, verdict: fail,
			kinds: map[loadgen.Kind]int64{loadgen.KindReordered: 1, loadgen.KindRefused: 1}},
		{name: "acknowledged behind a later unknown, without sessions", outcomes: []loadgen.Outcome{ok, ok, unknown, unknown}, offsets: []uint64{0, 2, 0, 0}, logs: [][]int{{0, 3, 1, 2}}, verdict: fail, late: 1,
			kinds: map[loadgen.Kind]int64{loadgen.KindReordered: 1}},
		{name: "unknown at the end once", outcomes: []loadgen.Outcome{ok, unknown}, offsets: []uint64{0, 0}, logs: [][]int{{0, 1}}, verdict: pass},
		{name: "unknown twice", outcomes: []loadgen.Outcome{ok, unknown}, offsets: []uint64{0, 0}, logs: [][]int{{0, 1, 1}}, verdict: fail,
			kinds: map[loadgen.Kind]int64{loadgen.KindDuplicated: 1}},
		{name: "acknowledged missing", outcomes: []loadgen.Outcome{ok, ok}, offsets: []uint64{0, 1}, logs: [][]int{{0}, {0}}, verdict: fail, lost: 1,
			kinds: map[loadgen.Kind]int64{loadgen.KindLost: 1}},
		{name: "acknowledged late", outcomes: []loadgen.Outcome{ok, late}, offsets: []uint64{0, 1}, logs: [][]int{{0, 1}}, verdict: pass},
		{name: "acknowledged late and missing", outcomes: []loadgen.Outcome{ok, late}, offsets: []uint64{0, 1}, logs: [][]int{{0}, {0}}, verdict: fail, lost: 1,
			kinds: map[loadgen.Kind]int64{loadgen.KindLost: 1}},
		{name: "acknowledged late and elsewhere", outcomes: []loadgen.Outcome{ok, late, ok}, offsets: []uint64{0, 1, 2}, logs: [][]int{{0, -1, 2, 1}}, verdict: fail,
			kinds: map[loadgen.Kind]int64{loadgen.KindMoved: 1, loadgen.KindGap: 1, loadgen.KindReordered: 1}},
		{name: "acknowledged missing at the end of one replica", outcomes: []loadgen.Outcome{ok, ok}, offsets: []uint64{0, 1}, logs: [][]int{{0, 1}, {0}}, verdict: inconclusive},
		{name: "acknowledged missing in the middle", outcomes: []loadgen.Outcome{ok, ok, ok}, offsets: []uint64{0, 1, 2}, logs: [][]int{{0, -1, 2}}, verdict: fail, lost: 1,
			kinds: map[loadgen.Kind]int64{loadgen.KindLost: 1, loadgen.KindGap: 1}},
		{name: "acknowledged twice there", outcomes: []loadgen.Outcome{ok, ok}, offsets: []uint64{0, 1}, logs: [][]int{{0, 1, 0}}, verdict: fail,
			kinds: map[loadgen.Kind]int64{loadgen.KindDuplicated: 1}},
		{name: "swapped", outcomes: []loadgen.Outcome{ok, ok}, offsets: []uint64{0, 1}, logs: [][]int{{1, 0}}, verdict: fail,
			kinds: map[loadgen.Kind]int64{loadgen.KindReordered: 1, loadgen.KindMoved: 2}},
		{name: "two replicas differ at one offset", outcomes: []loadgen.Outcome{ok, unknown, unknown}, offsets: []uint64{0, 0, 0}, logs: [][]int{{0, 1}, {0, 2}}, verdict: fail,
			kinds: map[loadgen.Kind]int64{loadgen.KindDiverged: 1}},
		{name: "gap", outcomes: []loadgen.Outcome{ok, ok}, offsets: []uint64{0, 2}, logs: [][]int{{0, -1, 1}}, verdict: fail,
			kinds: map[loadgen.Kind]int64{loadgen.KindGap: 1}},
		{name: "gap at the beginning", outcomes: []loadgen.Outcome{ok, ok}, offsets: []uint64{0, 1}, logs: [][]int{{-1, 1}}, verdict: fail, lost: 1,
			kinds: map[loadgen.Kind]int64{loadgen.KindGap: 1, loadgen.KindLost: 1}},
		{name: "foreign", outcomes: []loadgen.Outcome{ok, ok}, offsets: []uint64{0, 2}, logs: [][]int{{0, -2, 1}}, verdict: fail,
			kinds: map[loadgen.Kind]int64{loadgen.KindForeign: 1}},
		{name: "beyond the ledger", outcomes: []loadgen.Outcome{ok}, offsets: []uint64{0}, logs: [][]int{{0, 7}}, verdict: fail,
			kinds: map[loadgen.Kind]int64{loadgen.KindForeign: 1}},
		{name: "refused and there", outcomes: []loadgen.Outcome{ok, failed}, offsets: []uint64{0, 0}, logs: [][]int{{0, 1}}, verdict: fail,
			kinds: map[loadgen.Kind]int64{loadgen.KindRefused: 1}},
		{name: "refused and absent", outcomes: []loadgen.Outcome{ok, failed}, offsets: []uint64{0, 0}, logs: [][]int{{0}}, verdict: pass},
		{name: "read ended before the head", outcomes: []loadgen.Outcome{ok, ok}, offsets: []uint64{0, 1}, logs: [][]int{{0}}, verdict: inconclusive,
			change: func(h *history) { h.ends["r0"] = loadgen.ReadEnd{EndOffset: 2} }},
		{name: "read broke", outcomes: []loadgen.Outcome{ok, ok}, offsets: []uint64{0, 1}, logs: [][]int{{0, 1}, {0}}, verdict: inconclusive,
			change: func(h *history) { h.errs["r1"] = errRead }},
		{name: "empty replica that says it is", outcomes: []loadgen.Outcome{ok}, offsets: []uint64{0}, logs: [][]int{{0}, {}}, verdict: inconclusive},
		{name: "all replicas empty", outcomes: []loadgen.Outcome{ok}, offsets: []uint64{0}, logs: [][]int{{}, {}}, verdict: fail, lost: 1,
			kinds: map[loadgen.Kind]int64{loadgen.KindLost: 1}},
		{name: "trimmed", outcomes: []loadgen.Outcome{ok, ok}, offsets: []uint64{0, 1}, logs: [][]int{{-1, 1}}, verdict: inconclusive,
			change: func(h *history) { h.ends["r0"] = loadgen.ReadEnd{EarliestOffset: 1, EndOffset: 2} }},
		{name: "a jump to an absurd offset", outcomes: []loadgen.Outcome{ok, unknown}, offsets: []uint64{0, 0}, logs: [][]int{{0, 1}}, verdict: fail,
			kinds: map[loadgen.Kind]int64{loadgen.KindGap: 1}, change: func(h *history) {
				h.logs["r0"][1].BaseOffset = 1 << 62
				h.ends["r0"] = loadgen.ReadEnd{EndOffset: 1<<62 + 1}
			}},
		{name: "nothing acknowledged", outcomes: []loadgen.Outcome{unknown}, offsets: []uint64{0}, logs: [][]int{{0}}, verdict: inconclusive},
		{name: "no replica", outcomes: []loadgen.Outcome{ok}, offsets: []uint64{0}, verdict: inconclusive},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, ledgers := handmade(t, c.outcomes, c.offsets, c.logs...)
			if c.change != nil {
				c.change(h)
			}
			report := mustVerify(t, h, loadgen.VerifyOptions{Ledgers: ledgers, AllowLateUnknown: c.late > 0})
			for _, replica := range report.Replicas {
				if replica.LateUnknownBatches != c.late {
					t.Errorf("%s: %d unknown ones behind later ones, want %d", replica.Replica, replica.LateUnknownBatches, c.late)
				}
			}
			if report.Verdict != c.verdict || report.LostBatches != c.lost {
				t.Errorf("verdict %s with %d lost, want %s with %d; reasons %q", report.Verdict, report.LostBatches, c.verdict, c.lost, report.Reasons)
			}
			for _, kind := range loadgen.Kinds() {
				if got := report.Count(kind); got != c.kinds[kind] {
					t.Errorf("%s: %d, want %d: %v", kind, got, c.kinds[kind], report.Examples())
				}
			}
			if (c.verdict == pass) != (len(report.Reasons) == 0) {
				t.Errorf("verdict %s with reasons %q", report.Verdict, report.Reasons)
			}
		})
	}
}

// TestVerifyCountsLateOnesThatAreThere: a batch that was acknowledged too late is among the unknown ones, so it is also among those of them that
// are there; it is owed all the same.
func TestVerifyCountsLateOnesThatAreThere(t *testing.T) {
	for name, c := range map[string]struct {
		log              []int
		present          int64
		verified         int64
		verdict          loadgen.VerifyVerdict
		acked, unknown   int64
		presentOfReplica int64
	}{
		"there":            {[]int{0, 1, 2, 3}, 3, 3, loadgen.VerifyPass, 1, 3, 3},
		"one of them lost": {[]int{0, 1, -1, 3}, 2, 2, loadgen.VerifyFail, 1, 3, 2},
		"the unknown not":  {[]int{0, 1, 2}, 2, 3, loadgen.VerifyPass, 1, 3, 2},
	} {
		h, ledgers := handmade(t, []loadgen.Outcome{ok, late, late, unknown}, []uint64{0, 1, 2, 0}, c.log, c.log)
		report := mustVerify(t, h, loadgen.VerifyOptions{Ledgers: ledgers})
		first := report.Replicas[0]
		if report.Verdict != c.verdict || report.AckedBatches != c.acked || report.UnknownBatches != c.unknown || report.UnknownPresentBatches != c.present ||
			first.UnknownPresentBatches != c.presentOfReplica || first.VerifiedBatches != c.verified {
			t.Errorf("%s: verdict %s, %d acknowledged, %d unknown of which %d are there, on a replica %d beside %d verified: %q", name, report.Verdict, report.AckedBatches,
				report.UnknownBatches, report.UnknownPresentBatches, first.UnknownPresentBatches, first.VerifiedBatches, report.Reasons)
		}
	}
}

// TestVerifyAfterTheHarnessDied: its ledgers then end with a whole block, most times, and the log goes on. What it holds beyond them is nobody's
// fault, and what they do tell counts as ever.
func TestVerifyAfterTheHarnessDied(t *testing.T) {
	outcomes, offsets := []loadgen.Outcome{ok, ok}, []uint64{0, 1}
	for name, c := range map[string]struct {
		logs    [][]int
		died    bool
		verdict loadgen.VerifyVerdict
		kind    loadgen.Kind
	}{
		"goes on":                  {logs: [][]int{{0, 1, 2, 3}, {0, 1, 2, 3}}, died: true, verdict: loadgen.VerifyPass},
		"goes on and nobody died":  {logs: [][]int{{0, 1, 2, 3}}, verdict: loadgen.VerifyFail, kind: loadgen.KindForeign},
		"lost":                     {logs: [][]int{{0, -1, 2}, {0, -1, 2}}, died: true, verdict: loadgen.VerifyFail, kind: loadgen.KindLost},
		"of another run or nobody": {logs: [][]int{{0, 1, -2}}, died: true, verdict: loadgen.VerifyFail, kind: loadgen.KindForeign},
	} {
		h, ledgers := handmade(t, outcomes, offsets, c.logs...)
		report := mustVerify(t, h, loadgen.VerifyOptions{Ledgers: ledgers, AllowTornLedgers: c.died})
		if report.Verdict != c.verdict || c.kind != "" && report.Count(c.kind) == 0 {
			t.Errorf("%s: verdict %s, reasons %q", name, report.Verdict, report.Reasons)
		}
	}
}

func TestVerifyLocalisesDivergence(t *testing.T) {
	n := 1000
	outcomes, offsets, log := make([]loadgen.Outcome, n), make([]uint64, n), make([]int, n)
	for i := range n {
		outcomes[i], offsets[i], log[i] = ok, uint64(i), i
	}
	h, ledgers := handmade(t, outcomes, offsets, log, log, log)
	h.logs["r1"][700].Identity++
	report := mustVerify(t, h, loadgen.VerifyOptions{Ledgers: ledgers})
	want := "diverged on r1: r1 holds other bytes than r0 and r2 at offsets 640 to 703"
	if got := report.Examples(); len(got) != 1 || got[0].String() != want {
		t.Fatalf("found %v, want %q", got, want)
	}
}

// The last records of a replica that ends later than the others are not held against it, and the
// first ones of one that begins later neither.
func TestVerifyComparesOnlyWhatAllHold(t *testing.T) {
	outcomes, offsets, log := make([]loadgen.Outcome, 300), make([]uint64, 300), make([]int, 300)
	for i := range log {
		outcomes[i], offsets[i], log[i] = ok, uint64(i), i
	}
	h, ledgers := handmade(t, outcomes, offsets, log, log)
	h.logs["r1"] = h.logs["r1"][100:]
	h.ends["r1"] = loadgen.ReadEnd{EarliestOffset: 100, EndOffset: 300}
	h.logs["r0"] = h.logs["r0"][:250]
	h.ends["r0"] = loadgen.ReadEnd{EndOffset: 250}
	report := mustVerify(t, h, loadgen.VerifyOptions{Ledgers: ledgers, AllowTrimmed: true})
	if len(report.DivergedReplicas) != 0 || report.LostBatches != 0 {
		t.Fatalf("diverged %v, lost %d: %q", report.DivergedReplicas, report.LostBatches, report.Reasons)
	}
	if !slices.Equal(report.BehindReplicas, []string{"r0"}) {
		t.Fatalf("behind %v, want r0", report.BehindReplicas)
	}
}
