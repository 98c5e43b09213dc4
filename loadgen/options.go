package loadgen

import (
	"errors"
	"fmt"
	"time"
)

// Options of a run. The zero value of every field but Target and LedgerDir works.
type Options struct {
	Target    Target
	LedgerDir string // made if missing; must hold no ledgers

	Producers     int           // 12
	BatchMessages int           // 100
	MessageBytes  int           // 256
	RatePerS      int           // messages a second, all producers together; 30,000
	Duration      time.Duration // of the load; 60 s
	Steps         []RateStep    // if given, they stand for RatePerS and Duration
	Arrival       Arrival       // ArrivalSpread
	// ClosedLoop lets each producer send its next batch when the one before has its outcome, for Duration: no timetable, no lateness. Such a
	// load shows how much a target can take, and never what its latency is at any rate: it waits with the target. No consumers then.
	ClosedLoop bool
	Pacer      PacerMode // PacerTimerfd

	// CompressedShare is what zlib leaves of the payload; 1 (incompressible).
	CompressedShare float64
	// MessageBytesMax, Sizes, Keys, KeyDistribution and ZipfExponent are those of PayloadOptions.
	MessageBytesMax int
	Sizes           Distribution
	Keys            int64
	KeyDistribution Distribution
	ZipfExponent    float64

	// Consumers are the replicas, by index, that are read while the load runs, each by a consumer of its own. The target must be a Tailer.
	Consumers []int

	// Budget is how long after its due time a batch may be acknowledged, and DrainBudget how long
	// after the end of the load, whichever ends first; 30 s and 10 s.
	Budget      time.Duration
	DrainBudget time.Duration

	// Partitions of the topic that the producers write to, each to one of them; 1. With more, the target must be a PartitionedSource.
	Partitions int

	// FirstAddress is the index of the address that every producer asks first.
	FirstAddress int

	// Seed feeds payload, jitter and arrivals; RunID names the run in every message (0: the seed).
	Seed  uint64
	RunID uint64

	// Base is time 0 of the ledger and of Live; the zero value is the start of Run. It must come from
	// time.Now as it is: with its monotonic part cut off, durations would follow the wall clock.
	Base time.Time

	// OvershootSamples waits are timed before the load starts; 1,200. Negative: none.
	OvershootSamples int

	// Live, if given, is filled while the load runs. See NewLive.
	Live *Live

	// OnStart, if given, is called once, when all producers are registered and the first due time
	// is fixed: with that time since Base.
	OnStart func(startNs int64)
}

// WithDefaults fills what was left zero: what Run works with, for the record of a run.
func (o Options) WithDefaults() Options {
	setInt := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	setTime := func(field *time.Duration, value time.Duration) {
		if *field == 0 {
			*field = value
		}
	}
	setInt(&o.Producers, 12)
	setInt(&o.BatchMessages, 100)
	setInt(&o.Partitions, 1)
	setInt(&o.MessageBytes, 256)
	setInt(&o.RatePerS, 30_000)
	setInt(&o.OvershootSamples, 1_200)
	if len(o.Steps) > 0 {
		o.Duration = o.timetable().Duration
	}
	setTime(&o.Duration, 60*time.Second)
	setTime(&o.Budget, 30*time.Second)
	setTime(&o.DrainBudget, 10*time.Second)
	if o.Arrival == "" {
		o.Arrival = ArrivalSpread
	}
	if o.Pacer == "" {
		o.Pacer = PacerTimerfd
	}
	if o.CompressedShare == 0 {
		o.CompressedShare = 1
	}
	if o.RunID == 0 {
		o.RunID = o.Seed
	}
	if o.Base.IsZero() {
		o.Base = time.Now()
	}
	return o
}

func (o Options) timetable() Timetable {
	return Timetable{Producers: o.Producers, BatchMessages: o.BatchMessages, RatePerS: o.RatePerS,
		Duration: o.Duration, Steps: o.Steps, Arrival: o.Arrival, Seed: o.Seed}.withProfile()
}

func (o Options) payload() PayloadOptions {
	return PayloadOptions{RunID: o.RunID, Seed: o.Seed, BatchMessages: o.BatchMessages,
		MessageBytes: o.MessageBytes, CompressedShare: o.CompressedShare, MessageBytesMax: o.MessageBytesMax, Sizes: o.Sizes,
		Keys: o.Keys, KeyDistribution: o.KeyDistribution, ZipfExponent: o.ZipfExponent}.withDefaults()
}

func (o Options) validate() error {
	if o.Target == nil {
		return errors.New("loadgen: no target; pass Options.Target")
	}
	if o.LedgerDir == "" {
		return errors.New("loadgen: no ledger directory; without one nothing can be verified afterwards")
	}
	if o.Budget < 0 || o.DrainBudget < 0 {
		return fmt.Errorf("loadgen: budgets of %v and %v: pass positive ones", o.Budget, o.DrainBudget)
	}
	if !monotonic(o.Base) && monotonic(time.Now()) { // a fake clock has no monotonic part, and needs none
		return errors.New("loadgen: Options.Base has no monotonic part; pass time.Now() unchanged")
	}
	addresses := len(o.Target.Addresses())
	if addresses == 0 {
		return fmt.Errorf("loadgen: target %s has no address", o.Target.Name())
	}
	if o.ClosedLoop && (len(o.Steps) > 0 || len(o.Consumers) > 0) {
		return errors.New("loadgen: a closed loop has no timetable, so neither steps nor consumers, which tell time from due; leave them out")
	}
	if _, apart := o.Target.(PartitionedSource); o.Partitions < 1 || o.Partitions > 1 && (!apart || len(o.Consumers) > 0) {
		return fmt.Errorf("loadgen: %d partitions: pass 1, or more to a target that tells them apart, and no consumers then", o.Partitions)
	}
	if o.FirstAddress < 0 || o.FirstAddress >= addresses {
		return fmt.Errorf("loadgen: first address %d: the target has addresses 0 to %d", o.FirstAddress, addresses-1)
	}
	if o.Live != nil && len(o.Live.producers) != o.Producers {
		return fmt.Errorf("loadgen: Live was made for %d producers, the run has %d", len(o.Live.producers), o.Producers)
	}
	if err := o.timetable().validate(); err != nil {
		return err
	}
	return o.payload().validate()
}

// monotonic reports whether a time has its monotonic part, which Round cuts off.
func monotonic(t time.Time) bool { return t != t.Round(0) }
