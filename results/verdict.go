package results

import (
	"cmp"
	"fmt"
	"slices"
)

// Verdict is the word in summary.json.
type Verdict string

const (
	Pass        Verdict = "pass"
	Fail        Verdict = "fail"
	Stuck       Verdict = "stuck"
	Invalid     Verdict = "invalid"
	Interrupted Verdict = "interrupted"
)

// Exit codes of bench.
const (
	ExitPass        = 0
	ExitMissed      = 1 // an availability or speed demand was missed
	ExitUsage       = 2
	ExitLoss        = 3 // loss, duplication, reordering, divergence
	ExitStuck       = 4
	ExitInvalid     = 5
	ExitRegression  = 6
	ExitVacuous     = 7
	ExitInterrupted = 130
)

// finding is a kind of reason; the constants stand in the order in which they decide: a run that lost data is a failure by loss, however
// badly it was measured.
type finding int

const (
	foundInterrupt finding = iota
	foundLoss
	foundStuck
	foundInvalid
	foundMissed
)

func (k finding) verdict() (Verdict, int) {
	switch k {
	case foundInterrupt:
		return Interrupted, ExitInterrupted
	case foundLoss:
		return Fail, ExitLoss
	case foundStuck:
		return Stuck, ExitStuck
	case foundInvalid:
		return Invalid, ExitInvalid
	case foundMissed:
		return Fail, ExitMissed
	}
	panic(fmt.Sprintf("results: finding %d has no verdict", k))
}

type reason struct {
	kind finding
	text string
}

// Judge collects reasons and yields the verdict. A run passes only if Verified was called and no reason was given: silence is not a pass.
// Not safe for concurrent use.
type Judge struct {
	reasons  []reason
	verified bool
}

func (j *Judge) add(k finding, format string, args []any) {
	j.reasons = append(j.reasons, reason{k, fmt.Sprintf(format, args...)})
}

// Loss: an acknowledged batch is lost, duplicated, reordered, or replicas differ (exit 3).
func (j *Judge) Loss(format string, args ...any) { j.add(foundLoss, format, args) }

// Stuck: a replica did not catch up, or could not be read to its end (exit 4).
func (j *Judge) Stuck(format string, args ...any) { j.add(foundStuck, format, args) }

// Invalid: the generator, the machine or the sample is too weak to tell (exit 5).
func (j *Judge) Invalid(format string, args ...any) { j.add(foundInvalid, format, args) }

// Missed: a demand of the scenario on availability or speed was not met (exit 1).
func (j *Judge) Missed(format string, args ...any) { j.add(foundMissed, format, args) }

// Interrupt: a person stopped the run (exit 130). It decides over all others; their reasons are kept.
func (j *Judge) Interrupt(format string, args ...any) { j.add(foundInterrupt, format, args) }

// Verified says that every replica was read to its end and compared with the ledger.
func (j *Judge) Verified() { j.verified = true }

// effective adds the reason that silence stands for, and orders by what decides; within a kind the order of arrival stays.
func (j *Judge) effective() []reason {
	rs := slices.Clone(j.reasons)
	if !j.verified {
		rs = append(rs, reason{foundInvalid, "verification did not run to its end"})
	}
	slices.SortStableFunc(rs, func(a, b reason) int { return cmp.Compare(a.kind, b.kind) })
	return rs
}

// Verdict is the word and the exit code.
func (j *Judge) Verdict() (Verdict, int) {
	rs := j.effective()
	if len(rs) == 0 {
		return Pass, ExitPass
	}
	return rs[0].kind.verdict()
}

// Reasons are the sentences behind the verdict, the deciding kind first; empty and not nil for a pass.
func (j *Judge) Reasons() []string {
	texts := []string{}
	for _, r := range j.effective() {
		texts = append(texts, r.text)
	}
	return texts
}

// Conclude writes verdict, reasons and exit code into s.
func (j *Judge) Conclude(s *Summary) {
	s.Verdict, s.ExitCode = j.Verdict()
	s.Reasons = j.Reasons()
}
