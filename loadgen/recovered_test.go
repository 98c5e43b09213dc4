package loadgen

import (
	"testing"

	"rejoin/results"
)

// stalled are batches due every 10 ms for 10 s that are answered after 1 ms, but those due in [2 s, 3 s): they wait until 3 s and are then
// answered one a millisecond.
func stalled() *Measurement {
	const ms = int64(1e6)
	m := &Measurement{}
	for due := int64(0); due < 10_000; due += 10 {
		done := due + 1
		if due >= 2000 && due < 3000 {
			done = 3000 + (due-2000)/10
		}
		m.notes = append(m.notes, note{dueNs: due * ms, toOutcomeNs: (done - due) * ms, outcome: OutcomeOK, sent: true})
		m.Acks.atNs = append(m.Acks.atNs, done*ms)
	}
	m.Acks = AcksAt(m.Acks.atNs)
	return m
}

func TestFullRateAndDrained(t *testing.T) {
	const ms = int64(1e6)
	m := stalled()
	// From 2.00 s on a second brings no answer but one; a second that begins at 2.96 s holds the whole backlog and four batches less than
	// its own share, and its first 95 answers are enough.
	full, ok := m.FullRateAfter(2000*ms, 10_000*ms)
	if !ok || full < 2000*ms || full > 3000*ms {
		t.Errorf("full rate at %d ms, %t", full/ms, ok)
	}
	if n := countIn(m.Acks.atNs, full, full+fullRateWindowNs); n < 95 {
		t.Errorf("the second from %d ms on brought %d of 100", full/ms, n)
	}
	if n := countIn(m.Acks.atNs, full-fullRateStepNs, full-fullRateStepNs+fullRateWindowNs); n >= 95 {
		t.Errorf("the second that began 10 ms earlier brought %d of 100 already", n)
	}
	if at, ok := m.FullRateAfter(9500*ms, 10_000*ms); ok {
		t.Errorf("half a second before the end cannot show a whole one, yet full rate is said to be at %d ms", at/ms)
	}

	// At 3.000 s batches of 2.000 s and later wait. The batch due at k ms past 2 s is answered at 3000 + k/10: what is due by 2.9 s is
	// backlog until 3.090 s, the rest waited less than 100 ms past its own due time by then, but for those that grew old meanwhile.
	drained := m.DrainedAfter(3000 * ms)
	if drained < 3085*ms || drained > 3100*ms {
		t.Errorf("drained at %d ms, want about 3,090", drained/ms)
	}
	for _, n := range m.notes {
		if n.dueNs+backlogAfter <= drained && n.dueNs+n.toOutcomeNs > drained {
			t.Errorf("the batch due at %d ms still waits at %d ms", n.dueNs/ms, drained/ms)
		}
	}
	if at := m.DrainedAfter(5000 * ms); at != 5000*ms {
		t.Errorf("nothing waits at 5 s, yet drained is at %d ms", at/ms)
	}
	// One that was given up waits until then.
	m.notes = append(m.notes, note{dueNs: 4900 * ms, toOutcomeNs: 700 * ms, outcome: OutcomeUnknown})
	if at := m.DrainedAfter(5000 * ms); at != 5600*ms {
		t.Errorf("with a batch given up at 5.6 s drained at %d ms", at/ms)
	}
}

func TestExcused(t *testing.T) {
	m := &Measurement{notes: []note{
		{dueNs: 0, toOutcomeNs: 100, outcome: OutcomeUnknown},  // 60 of 100 without a quorum
		{dueNs: 50, toOutcomeNs: 100, outcome: OutcomeFailed},  // 50 of 100: the target had as much time
		{dueNs: 40, toOutcomeNs: 60, outcome: OutcomeOK},       // needs no excuse
		{dueNs: 200, toOutcomeNs: 100, outcome: OutcomeFailed}, // long after
		{dueNs: 40, toOutcomeNs: 0, outcome: OutcomeFailed},    // given up at once
	}}
	if got := m.Excused([]results.Stretch{{FromNs: 40, ToNs: 100}}); got != 1 {
		t.Errorf("%d excused, want 1", got)
	}
	if got := m.Excused(nil); got != 0 {
		t.Errorf("%d excused although there was a quorum", got)
	}
}
