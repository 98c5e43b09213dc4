package loadgen

import (
	"testing"

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

func TestMeasureRefusesAbsurdTimes(t *testing.T) {
	for _, r := range []Record{{DoneNs: -1}, {DueNs: 1 << 62, SentNs: 1 << 62, DoneNs: 1 << 62}} {
		if _, err := Measure([]string{writeLedger(t, []Record{r})}); err == nil {
			t.Errorf("%+v was measured", r)
		}
	}
}
