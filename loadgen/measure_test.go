package loadgen

import (
	"testing"
	"unsafe"

	"rejoin/results"
)

func TestAcks(t *testing.T) {
	acks := AcksAt([]int64{40, 10, 20, 90, 100})
	for after, want := range map[int64]int64{-5: 10, 10: 20, 11: 20, 40: 90, 99: 100} {
		if got, ok := acks.FirstAfter(after); !ok || got != want {
			t.Errorf("first after %d: %d, want %d", after, got, want)
		}
	}
	if _, ok := acks.FirstAfter(100); ok {
		t.Error("an acknowledgement after the last one")
	}
	if n := acks.Before(40); n != 2 {
		t.Errorf("%d before 40, want 2", n)
	}
}

// Traps 8 and 15: every due batch has one outcome and a time to it, the sums by phase are the total, and the phase is that of the due time.
func TestByPhaseAddsUp(t *testing.T) {
	path := writeLedger(t, testRecords()[:2000])
	m, err := Measure([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	first, stop := int64(20e9), int64(70e9)
	timeline := &results.Timeline{WarmupEndNs: 5e9, LoadStopNs: &stop, Kills: []results.Kill{{Node: "n0", Role: results.RolePrimary, AtNs: 18e9, FirstAckNs: &first}}}
	var sum PhaseOutcomes
	phases := m.ByPhase(timeline)
	for phase, o := range phases {
		if o.Due != o.OK+o.Failed+o.Unknown {
			t.Errorf("%s: %+v does not add up", phase, o)
		}
		sum.Due, sum.OK, sum.Failed, sum.Unknown = sum.Due+o.Due, sum.OK+o.OK, sum.Failed+o.Failed, sum.Unknown+o.Unknown
	}
	if c := m.Counts; sum.Due != c.Due || sum.OK != c.OK || sum.Failed != c.Failed || sum.Unknown != c.Unknown || c.Due != 2000 {
		t.Errorf("phases %+v, total %+v", sum, c)
	}
	if o := phases[results.Outage]; o.Due != 50 { // 2 s of one batch each 40 ms
		t.Errorf("%d batches were due in the outage, want 50", o.Due)
	}
	if m.Counts.LateAcked != 40 || m.Counts.Unsent != 40 {
		t.Errorf("%+v, want 40 late and 40 unsent", m.Counts)
	}
	// Trap 12: a negative lateness is an error of a clock, seen and not recorded.
	if health := m.OwnLate(timeline).Health(); health.NegativeCount == 0 {
		t.Error("negative latenesses went by unseen")
	}
}

// TestWithoutOwnLate: what the generator was late is taken off each batch by itself, not off the quantiles.
func TestWithoutOwnLate(t *testing.T) {
	const ms = int64(1e6)
	var records []Record
	for i := range int64(2000) { // every 20th is 4 ms late and answered in 1 ms, the others are in time and take 3 ms
		r := Record{Sequence: uint64(i), DueNs: i * 40 * ms, SentNs: i * 40 * ms, DoneNs: (i*40 + 3) * ms, Tries: 1, Outcome: OutcomeOK}
		if i%20 == 0 {
			r.SentNs, r.DoneNs, r.OwnLateNs = r.SentNs+4*ms, r.DueNs+5*ms, 4*ms
		}
		records = append(records, r)
	}
	records = append(records, Record{Sequence: 2000, DueNs: 80_000 * ms, SentNs: 80_000 * ms, DoneNs: 89_000 * ms, Tries: 1, Outcome: OutcomeUnknown})
	m, err := Measure([]string{writeLedger(t, records)})
	if err != nil {
		t.Fatal(err)
	}
	timeline := &results.Timeline{WarmupEndNs: 4000 * ms, LoadStopNs: new(90_000 * ms)}
	with, h := m.WithoutOwnLate(timeline, results.Steady, func(int64) bool { return true })
	if p99 := *with.QuantileNs(0.99); p99/ms != 5 || with.Count() != 1900 {
		t.Errorf("as they were: p99 %d ns of %d batches, want 5 ms of 1900", p99, with.Count())
	}
	if some, _ := m.WithoutOwnLate(timeline, results.Steady, func(dueNs int64) bool { return dueNs < 8000*ms }); some.Count() != 100 {
		t.Errorf("%d batches due from 4 s to 8 s, want 100", some.Count())
	}
	if p50, p99 := *h.QuantileNs(0.5), *h.QuantileNs(0.99); p50/ms != 3 || p99/ms != 3 || *h.MaxNs() != 3*ms || h.Count() != 1900 {
		t.Errorf("p50 %d, p99 %d, max %d ns of %d batches, want 3 ms of 1900", p50, p99, *h.MaxNs(), h.Count())
	}
}

func TestMeasureRefusesAbsurdTimes(t *testing.T) {
	for _, r := range []Record{{DoneNs: -1}, {DueNs: 1 << 62, SentNs: 1 << 62, DoneNs: 1 << 62}} {
		if _, err := Measure([]string{writeLedger(t, []Record{r})}); err == nil {
			t.Errorf("%+v was measured", r)
		}
	}
}

func TestMeasureBytes(t *testing.T) {
	if held := unsafe.Sizeof(note{}) + unsafe.Sizeof(results.Sample{}) + unsafe.Sizeof(int64(0)); held != MeasureBytes {
		t.Errorf("%d bytes are held of a batch, %d are told", held, MeasureBytes)
	}
}
