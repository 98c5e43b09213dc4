package loadgen

import (
	"testing"
	"time"
)

func defaultTimetable() Timetable {
	return Options{}.WithDefaults().timetable()
}

func TestTimetableIsTheReferenceLoad(t *testing.T) {
	table := defaultTimetable()
	table.Duration = 360 * time.Second
	if table.Period() != 40*time.Millisecond {
		t.Fatalf("period %v, want 40ms", table.Period())
	}
	if got := table.DueBy(table.Duration); got != 108_000 {
		t.Fatalf("%d batches in 360 s, want 108,000", got)
	}
	if got := table.DueBy(time.Second); got != 300 {
		t.Fatalf("%d batches in 1 s, want 300", got)
	}
}

func TestTimetableDueByAgreesWithSchedules(t *testing.T) {
	for _, table := range []Timetable{
		{Producers: 12, BatchMessages: 100, RatePerS: 30_000, Duration: 2 * time.Second},
		{Producers: 7, BatchMessages: 3, RatePerS: 1_001, Duration: 1234567 * time.Microsecond},
		{Producers: 1, BatchMessages: 1, RatePerS: 3, Duration: time.Second},
		{Producers: 5, BatchMessages: 1000, RatePerS: 7, Duration: time.Millisecond},
	} {
		var counted uint64
		for p := range table.Producers {
			for s := table.Schedule(p); ; counted++ {
				if _, ok := s.Next(); !ok {
					break
				}
			}
		}
		if got := table.DueBy(table.Duration); got != counted {
			t.Errorf("%+v: DueBy says %d, the schedules hold %d", table, got, counted)
		}
	}
}

// Trap 19: no two producers are due in the same millisecond at the default load.
func TestTimetableSpreadsProducers(t *testing.T) {
	table := defaultTimetable()
	table.Duration = time.Second
	slots := map[time.Duration]int{}
	for p := range table.Producers {
		for s := table.Schedule(p); ; {
			due, ok := s.Next()
			if !ok {
				break
			}
			slots[due.Truncate(time.Millisecond)]++
		}
	}
	for slot, n := range slots {
		if n > 1 {
			t.Errorf("%d batches are due in the millisecond at %v, want 1", n, slot)
		}
	}
}

func TestTimetableDoesNotOverflow(t *testing.T) {
	table := Timetable{Producers: 1, BatchMessages: batchMessagesMax, RatePerS: 1, Duration: 7 * 24 * time.Hour}
	if got, want := table.slot(9), 9*batchMessagesMax*time.Second; got != want {
		t.Errorf("slot 9 at %v, want %v", got, want)
	}
	fast := Timetable{Producers: 1, BatchMessages: 1, RatePerS: 1e9, Duration: 7 * 24 * time.Hour}
	if got, want := fast.DueBy(fast.Duration), uint64(7*24*time.Hour); got != want {
		t.Errorf("%d batches due, want %d", got, want)
	}
}

func TestTimetablePoissonKeepsTheRateAndTheSeed(t *testing.T) {
	table := Timetable{Producers: 4, BatchMessages: 1, RatePerS: 4_000, Duration: 10 * time.Second, Arrival: ArrivalPoisson, Seed: 9}
	var counts [4]int
	for p := range counts {
		last := time.Duration(-1)
		again := table.Schedule(p)
		for s := table.Schedule(p); ; counts[p]++ {
			due, ok := s.Next()
			if same, _ := again.Next(); same != due {
				t.Fatal("the same seed gave two timetables")
			}
			if !ok {
				break
			}
			if due < last {
				t.Fatalf("due %v after %v", due, last)
			}
			last = due
		}
		if counts[p] < 9_700 || counts[p] > 10_300 { // 10,000 +- 3 sigma
			t.Errorf("producer %d is due %d times, want about 10,000", p, counts[p])
		}
	}
	if counts[0] == counts[1] && counts[1] == counts[2] {
		t.Error("producers share one sequence of gaps")
	}
}

func TestTimetableValidate(t *testing.T) {
	if err := defaultTimetable().validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Timetable){
		"no producer":   func(t *Timetable) { t.Producers = 0 },
		"empty batch":   func(t *Timetable) { t.BatchMessages = 0 },
		"no rate":       func(t *Timetable) { t.RatePerS = 0 },
		"no duration":   func(t *Timetable) { t.Duration = 0 },
		"odd arrival":   func(t *Timetable) { t.Arrival = "sometimes" },
		"negative rate": func(t *Timetable) { t.RatePerS = -1 },
	} {
		table := defaultTimetable()
		change(&table)
		if table.validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
