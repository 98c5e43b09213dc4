package loadgen

import (
	"math"
	"slices"
	"testing"
	"time"
)

// dueTimes are those of all producers, sorted.
func dueTimes(table Timetable) []time.Duration {
	var all []time.Duration
	for p := range table.Producers {
		for s := table.Schedule(p); ; {
			due, ok := s.Next()
			if !ok {
				break
			}
			all = append(all, due)
		}
	}
	slices.Sort(all)
	return all
}

func between(all []time.Duration, from, to time.Duration) int {
	a, _ := slices.BinarySearch(all, from)
	b, _ := slices.BinarySearch(all, to)
	return b - a
}

func TestStepsAndRampsOfferWhatTheySay(t *testing.T) {
	table := Timetable{Producers: 7, BatchMessages: 10, Steps: []RateStep{
		{Length: 10 * time.Second, From: 1000, To: 1000}, // 1,000 batches
		{Length: 10 * time.Second, From: 1000, To: 3000}, // 2,000, of them 750 in the first half
		{Length: 5 * time.Second},                        // none
		{Length: 4 * time.Second, From: 2000, To: 0},     // 400, of them 300 in the first half
	}}
	if err := table.validate(); err != nil {
		t.Fatal(err)
	}
	all := dueTimes(table)
	for _, want := range []struct {
		from, to time.Duration
		batches  int
	}{
		{0, 10 * time.Second, 1000}, {10 * time.Second, 15 * time.Second, 750}, {15 * time.Second, 20 * time.Second, 1250},
		{20 * time.Second, 25 * time.Second, 0}, {25 * time.Second, 27 * time.Second, 300}, {25 * time.Second, 29 * time.Second, 400},
	} {
		if got := between(all, want.from, want.to); got < want.batches-1 || got > want.batches+1 {
			t.Errorf("%d batches are due from %v to %v, want %d", got, want.from, want.to, want.batches)
		}
	}
	for since := time.Duration(0); since < 30*time.Second; since += 777 * time.Millisecond {
		got, counted := int(table.DueBy(since)), between(all, 0, since)
		if got < counted-1 || got > counted+1 {
			t.Errorf("DueBy(%v) says %d, the schedules hold %d", since, got, counted)
		}
	}
	if got := int(table.DueBy(time.Hour)); got != len(all) {
		t.Errorf("DueBy says %d in all, the schedules hold %d", got, len(all))
	}
}

// A profile of one even step is the plain timetable.
func TestOneStepIsTheConstantRate(t *testing.T) {
	for _, arrival := range []Arrival{ArrivalSpread, ArrivalPoisson} {
		plain := Timetable{Producers: 12, BatchMessages: 100, RatePerS: 30_000, Duration: 20 * time.Second, Arrival: arrival, Seed: 4}
		stepped := plain
		stepped.RatePerS, stepped.Duration = 0, 0
		stepped.Steps = []RateStep{{20 * time.Second, 30_000, 30_000}}
		a, b := dueTimes(plain), dueTimes(stepped)
		if len(a) != len(b) {
			t.Fatalf("%s: %d and %d batches", arrival, len(a), len(b))
		}
		for i := range a {
			if d := (a[i] - b[i]).Abs(); d > time.Microsecond {
				t.Fatalf("%s: batch %d is due at %v and at %v", arrival, i, a[i], b[i])
			}
		}
	}
}

func TestPoissonFollowsARamp(t *testing.T) {
	table := Timetable{Producers: 4, BatchMessages: 1, Arrival: ArrivalPoisson, Seed: 3, Steps: []RateStep{{20 * time.Second, 0, 4000}}}
	all := dueTimes(table)
	for _, want := range []struct {
		from, to time.Duration
		mean     float64
	}{{0, 10 * time.Second, 10_000}, {10 * time.Second, 20 * time.Second, 30_000}} {
		got := float64(between(all, want.from, want.to))
		if math.Abs(got-want.mean) > 4*math.Sqrt(want.mean) {
			t.Errorf("%.0f batches from %v to %v, want about %.0f", got, want.from, want.to, want.mean)
		}
	}
}

// Even in steep and long profiles a schedule never goes back in time, and every slot is found.
func TestProfileIsMonotonic(t *testing.T) {
	p := newRateProfile([]RateStep{{time.Hour, 0, 1e9}, {time.Nanosecond, 1e9, 0}, {6 * 24 * time.Hour, 1e9, 1e9}, {time.Hour, 1e9, 0}})
	last := time.Duration(-1)
	for i := range 10_000 {
		due, ok := p.at(p.messages * float64(i) / 10_000)
		if !ok || due < last {
			t.Fatalf("slot %d is due at %v after %v (%v)", i, due, last, ok)
		}
		last = due
	}
	if _, ok := p.at(p.messages); ok {
		t.Error("a message behind the end is due")
	}
}

func TestStepsAreRefused(t *testing.T) {
	for name, steps := range map[string][]RateStep{
		"no length":  {{0, 1, 1}},
		"negative":   {{time.Second, -1, 1}},
		"too fast":   {{time.Second, 1, 1e9 + 1}},
		"all pauses": {{time.Second, 0, 0}},
		"too long":   {{5 * 24 * time.Hour, 1, 1}, {5 * 24 * time.Hour, 1, 1}},
		"too many":   make([]RateStep, rateStepsMax+1),
	} {
		table := Timetable{Producers: 1, BatchMessages: 1, Steps: steps}
		if table.validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
