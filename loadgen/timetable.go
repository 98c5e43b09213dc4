package loadgen

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// Arrival is how due times lie in time.
type Arrival string

// Arrivals.
const (
	// ArrivalSpread: evenly spaced; each producer has its own phase within the common period, so
	// that no two are in step.
	ArrivalSpread Arrival = "spread"
	// ArrivalPoisson: independent exponential gaps per producer at the same mean rate.
	ArrivalPoisson Arrival = "poisson"
)

// Timetable says when every batch of a run is due. It is a function of its fields alone: nothing
// that happens during the run moves it.
type Timetable struct {
	Producers     int
	BatchMessages int
	RatePerS      int // messages a second, all producers together
	Duration      time.Duration
	// Steps, if given, stand for RatePerS and Duration: the rate over time.
	Steps   []RateStep
	Arrival Arrival // "" is ArrivalSpread
	Seed    uint64  // of ArrivalPoisson

	profile *rateProfile // of Steps; nil without them
}

const (
	ratePerSMax = 1_000_000_000
	durationMax = 7 * 24 * time.Hour
)

// withProfile makes ready what Steps say.
func (t Timetable) withProfile() Timetable {
	if len(t.Steps) == 0 || t.profile != nil {
		return t
	}
	t.profile = newRateProfile(t.Steps)
	t.Duration = 0
	for _, s := range t.Steps {
		t.Duration += s.Length
	}
	return t
}

func (t Timetable) validate() error {
	switch {
	case t.Producers < 1 || t.Producers > producersMax:
		return fmt.Errorf("loadgen: %d producers: pass 1 to %d", t.Producers, producersMax)
	case t.BatchMessages < 1 || t.BatchMessages > batchMessagesMax:
		return fmt.Errorf("loadgen: %d messages a batch: pass 1 to %d", t.BatchMessages, batchMessagesMax)
	case len(t.Steps) == 0 && (t.RatePerS < 1 || t.RatePerS > ratePerSMax):
		return fmt.Errorf("loadgen: rate of %d messages a second: pass 1 to %d", t.RatePerS, ratePerSMax)
	case len(t.Steps) == 0 && (t.Duration <= 0 || t.Duration > durationMax):
		return fmt.Errorf("loadgen: duration %v: pass more than 0 and at most 7 days", t.Duration)
	case t.Arrival != "" && t.Arrival != ArrivalSpread && t.Arrival != ArrivalPoisson:
		return fmt.Errorf("loadgen: arrival %q: pass %s or %s", t.Arrival, ArrivalSpread, ArrivalPoisson)
	}
	if len(t.Steps) > 0 {
		return validateSteps(t.Steps)
	}
	return nil
}

// Period is the time between two batches of one producer; with Steps it has no one value.
func (t Timetable) Period() time.Duration { return t.slot(uint64(t.Producers)) }

// slot is when slot k of the whole run lies: k batches at the common rate. The product of a long
// run at a high rate exceeds 64 bits.
func (t Timetable) slot(k uint64) time.Duration {
	hi, lo := bits.Mul64(k, uint64(t.BatchMessages)*uint64(time.Second))
	quotient, _ := bits.Div64(hi, lo, uint64(t.RatePerS))
	return time.Duration(quotient)
}

// DueBy is how many batches of all producers are due before a time since start; with
// ArrivalPoisson the expected number.
func (t Timetable) DueBy(since time.Duration) uint64 {
	t = t.withProfile()
	since = min(since, t.Duration)
	if since <= 0 {
		return 0
	}
	if t.profile != nil {
		// Slot k is due when k batches' worth of messages are.
		return uint64(math.Ceil(t.profile.dueBy(since) / float64(t.BatchMessages)))
	}
	hi, lo := bits.Mul64(uint64(since), uint64(t.RatePerS))
	k, _ := bits.Div64(hi, lo, uint64(t.BatchMessages)*uint64(time.Second))
	// Slot k is at or before since, by rounding; the one after it may be too.
	for t.slot(k) < since {
		k++
	}
	return k
}

// Schedule returns the due times of one producer, in order.
func (t Timetable) Schedule(producer int) *Schedule {
	s := &Schedule{table: t.withProfile(), producer: producer}
	if t.Arrival == ArrivalPoisson {
		s.random.state = t.Seed ^ uint64(producer+1)*0xd1342543de82ef95
	}
	return s
}

// Schedule hands out the due times of one producer.
type Schedule struct {
	table    Timetable
	producer int
	batch    uint64
	elapsed  float64 // of ArrivalPoisson: ns, or with Steps slots of the whole run
	random   splitMix
}

// Next is when the producer's next batch is due since start, or false when the load has ended.
func (s *Schedule) Next() (time.Duration, bool) {
	if s.table.profile != nil {
		return s.nextOfProfile()
	}
	due := s.due()
	s.batch++
	return due, due < s.table.Duration
}

func (s *Schedule) due() time.Duration {
	if s.table.Arrival != ArrivalPoisson {
		// Batch i of producer p is due at (i + p/P) periods.
		return s.table.slot(s.batch*uint64(s.table.Producers) + uint64(s.producer))
	}
	s.elapsed += s.exponential() * float64(s.table.Period())
	return time.Duration(s.elapsed)
}

// nextOfProfile finds the batch's slot first and then when that slot is due: a Poisson process whose rate changes is one of constant rate
// on a stretched axis.
func (s *Schedule) nextOfProfile() (time.Duration, bool) {
	slot := float64(s.batch*uint64(s.table.Producers) + uint64(s.producer))
	if s.table.Arrival == ArrivalPoisson {
		s.elapsed += s.exponential() * float64(s.table.Producers)
		slot = s.elapsed
	}
	s.batch++
	due, ok := s.table.profile.at(slot * float64(s.table.BatchMessages))
	return due, ok && due < s.table.Duration
}

// exponential is a gap of mean 1.
func (s *Schedule) exponential() float64 {
	uniform := float64(s.random.next()>>11+1) / (1 << 53) // in (0, 1], so that the logarithm is finite
	return -math.Log(uniform)
}
