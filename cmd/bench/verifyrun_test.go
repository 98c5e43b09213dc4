package main

import (
	"context"
	"errors"
	"path/filepath"
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

// TestVerificationThatIsCutShort: what the first round saw is judged, and is no proof of anything that it did not see.
func TestVerificationThatIsCutShort(t *testing.T) {
	for _, test := range []struct {
		plant *memory.Fault
		code  int
		lost  int64
	}{{nil, results.ExitInvalid, 0}, {new(memory.FaultLost), results.ExitLoss, 1}} {
		log := memory.New(memory.Options{})
		outcome, err := loadgen.Run(t.Context(), loadgen.Options{Target: log, LedgerDir: filepath.Join(t.TempDir(), "ledger"), Producers: 2,
			BatchMessages: 5, RatePerS: 1000, Duration: 200e6, Seed: 3, OvershootSamples: -1})
		if err != nil {
			t.Fatal(err)
		}
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
