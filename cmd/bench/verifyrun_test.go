package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rejoin/loadgen"
	"rejoin/loadgen/target/memory"
	"rejoin/results"
)

// brokenOffSystem reads its replicas once and cannot make the situation of the round after it.
type brokenOffSystem struct{ memorySystem }

func (s *brokenOffSystem) rounds(*loadgen.Verifier) ([]verifyRound, error) {
	return []verifyRound{{name: roundLive, source: s.log}, {name: roundOffline, source: s.log,
		prepare: func(context.Context) (func() error, error) { return nil, errors.New("n1 did not end") }}}, nil
}

// loadedMemory is a memory target that took a short load.
func loadedMemory(t *testing.T) (*memory.Target, loadgen.RunOutcome) {
	t.Helper()
	log := memory.New(memory.Options{})
	outcome, err := loadgen.Run(t.Context(), loadgen.Options{Target: log, LedgerDir: filepath.Join(t.TempDir(), "ledger"), Producers: 2,
		BatchMessages: 5, RatePerS: 1000, Duration: 200e6, Seed: 3, OvershootSamples: -1})
	if err != nil {
		t.Fatal(err)
	}
	return log, outcome
}

// TestVerificationThatIsCutShort: what the first round saw is judged, and is no proof of anything that it did not see.
func TestVerificationThatIsCutShort(t *testing.T) {
	for _, test := range []struct {
		plant *memory.Fault
		code  int
		lost  int64
	}{{nil, results.ExitInvalid, 0}, {new(memory.FaultLost), results.ExitLoss, 1}} {
		log, outcome := loadedMemory(t)
		if test.plant != nil {
			log.Plant(*test.plant, "m1")
		}
		r, _ := goodSession(t, "{}")
		r.judge, r.record, r.outcome = results.Judge{}, &recorder{}, outcome
		r.system = &brokenOffSystem{memorySystem{log: log}}
		failed := r.verify(t.Context())
		if failed == nil {
			t.Fatal("the second round was made")
		}
		var s results.Summary
		r.addVerification(&s)
		r.judge.Invalid("%v", failed)
		judgeVerification(&r.judge, r.verified, nil)
		r.judgeOffline()
		r.judge.Conclude(&s)
		if s.ExitCode != test.code || s.LostBatches != test.lost || s.Verified() || len(s.Verification) != 3 || !strings.Contains(strings.Join(s.Reasons, "\n"), "n1 did not end") {
			t.Errorf("exit code %d, %d lost, whole %v, %d readings: %q; want exit code %d, %d lost", s.ExitCode, s.LostBatches, s.Verified(), len(s.Verification), s.Reasons,
				test.code, test.lost)
		}
	}
}

// TestVerifiedText: a 0 that was not looked for is no finding.
func TestVerifiedText(t *testing.T) {
	read := []results.VerifyRound{{Name: roundLive}}
	for want, s := range map[string]results.Summary{
		"":                {Verification: read, VerificationWhole: new(true)},
		" (not verified)": {VerificationWhole: new(false)},
		" (in what was read; not every reading was made)": {Verification: read, VerificationWhole: new(false)},
	} {
		if got := verifiedText(s); got != want {
			t.Errorf("%+v: %q, want %q", s, got, want)
		}
	}
	if old := (results.Summary{Verification: read}); !old.Verified() || (results.Summary{}).Verified() {
		t.Error("files of older builds are whole if there are readings")
	}
}

// interruptedSystem is interrupted by its user while the second replica is read, within a batch of which it gives one message a record.
type interruptedSystem struct {
	memorySystem
	interrupt context.CancelFunc
}

func (s *interruptedSystem) rounds(*loadgen.Verifier) ([]verifyRound, error) {
	return []verifyRound{{name: roundLive, source: s}}, nil
}

func (s *interruptedSystem) Replicas() []string { return s.log.Replicas() }

func (s *interruptedSystem) ReadReplica(ctx context.Context, replica string, yield func(loadgen.ReadBatch) error) (loadgen.ReadEnd, error) {
	given := 0
	return s.log.ReadReplica(ctx, replica, func(b loadgen.ReadBatch) error {
		for i := range b.Messages {
			if given++; replica == "m1" && given == 8 {
				s.interrupt()
				return ctx.Err()
			}
			if err := yield(loadgen.ReadBatch{BaseOffset: b.BaseOffset + uint64(i), Identity: b.Identity, Messages: b.Messages[i : i+1]}); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestInterruptedWhileReading: that the user stopped the reading is no loss, and holds nothing against the replica.
func TestInterruptedWhileReading(t *testing.T) {
	log, outcome := loadedMemory(t)
	r, _ := goodSession(t, "{}")
	r.judge, r.record, r.outcome = results.Judge{}, &recorder{}, outcome
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.system = &interruptedSystem{memorySystem{log: log}, cancel}
	if err := r.verify(ctx); err != nil {
		t.Fatal(err)
	}
	s := results.Summary{OfferedBatches: 1, AckedBatches: 1, Replicas: []results.ReplicaSummary{{Node: "n0"}, {Node: "n1"}, {Node: "n2"}}}
	r.addVerification(&s)
	r.judge.Interrupt("interrupted by the user")
	judgeVerification(&r.judge, r.verified, nil)
	s.Check(&r.judge)
	r.judge.Conclude(&s)
	if !slices.Equal(s.Reasons, []string{"interrupted by the user", "verification did not run to its end"}) || s.ExitCode != results.ExitInterrupted || s.LostBatches != 0 || s.Replicas[1].UnreadableReason != "" {
		t.Errorf("exit code %d, %d lost, unreadable %q: %q", s.ExitCode, s.LostBatches, s.Replicas[1].UnreadableReason, s.Reasons)
	}
	if len(s.Verification) != 2 || !s.Verification[0].Ok || s.Verification[1].Ok || s.Verified() {
		t.Errorf("readings %+v", s.Verification)
	}
}
