package loadgen

import (
	"fmt"
	"io"
	"slices"

	"rejoin/results"
)

// Measurement is what the ledgers of a run say about time. Phases are not in it: they are known only
// once the first acknowledgements after the kills are, which come from Acks. So a caller measures,
// makes its results.Timeline with Acks.FirstAfter, and then asks by phase.
type Measurement struct {
	Counts Counts

	// Samples are the acknowledged batches, for results.WriteLatencies.
	Samples []results.Sample

	Acks Acks

	// Torn names producers whose ledger ends in a torn block: their last records are missing.
	Torn []int

	notes []note
	rates []results.Rate
}

// Counts of batches; Due = OK + Failed + Unknown.
type Counts struct {
	Due, OK, Failed, Unknown int64

	Unsent    int64 // of Failed: given up before a first try
	LateAcked int64 // of Unknown: acknowledged after the budget
	Retried   int64 // batches with more than one try
	Tries     int64
}

func (c *Counts) add(r Record) {
	c.Due++
	c.Tries += int64(r.Tries)
	switch {
	case r.Outcome == OutcomeOK:
		c.OK++
	case r.Outcome == OutcomeFailed:
		c.Failed++
	default:
		c.Unknown++
	}
	if r.Tries == 0 {
		c.Unsent++
	}
	if r.Late {
		c.LateAcked++
	}
	if r.Tries > 1 {
		c.Retried++
	}
}

// note is what must be kept of every batch until the phases are known.
type note struct {
	dueNs, ownLateNs, toOutcomeNs int64
	outcome                       Outcome
	sent                          bool
}

// MeasureBytes is the memory that a Measurement holds for each batch: its note, its sample, and the time of its acknowledgement.
const MeasureBytes = 64

// Measure reads the ledgers of a run. Memory is MeasureBytes a batch, and half as much again while lists grow.
func Measure(ledgers []string) (*Measurement, error) {
	m := &Measurement{}
	for producer, path := range ledgers {
		torn, err := eachRecord(path, m.take)
		if err != nil {
			return nil, err
		}
		if torn {
			m.Torn = append(m.Torn, producer)
		}
	}
	slices.Sort(m.Acks.atNs)
	if c := m.Counts; c.Due != c.OK+c.Failed+c.Unknown {
		panic(fmt.Sprintf("loadgen: %d due batches are not %d ok + %d failed + %d unknown", c.Due, c.OK, c.Failed, c.Unknown))
	}
	return m, nil
}

// eachRecord streams one ledger and reports whether its end was torn.
func eachRecord(path string, take func(Record) error) (torn bool, err error) {
	reader, err := OpenLedger(path)
	if err != nil {
		return false, err
	}
	defer reader.Close()
	for {
		record, err := reader.Next()
		if err == io.EOF {
			return reader.Torn(), nil
		}
		if err != nil {
			return false, err
		}
		if err := take(record); err != nil {
			return false, err
		}
	}
}

func (m *Measurement) take(r Record) error {
	if err := checkTimes(r); err != nil {
		return err
	}
	m.Counts.add(r)
	m.notes = append(m.notes, note{dueNs: r.DueNs, ownLateNs: r.OwnLateNs, toOutcomeNs: r.DoneNs - r.DueNs,
		outcome: r.Outcome, sent: r.Tries > 0})
	m.rate(r.DueNs).OfferedBatches++
	if r.Tries > 0 {
		m.rate(r.SentNs).SentBatches++
	}
	if r.Outcome == OutcomeOK {
		m.rate(r.DoneNs).AckedBatches++
		m.Samples = append(m.Samples, results.Sample{DueNs: r.DueNs, SentNs: r.SentNs, AckNs: r.DoneNs})
		m.Acks.atNs = append(m.Acks.atNs, r.DoneNs)
	}
	return nil
}

const (
	secondNs = int64(1e9)
	timeMax  = 30 * 24 * 3600 * secondNs // longer than any run; keeps a forged ledger from becoming an allocation
)

func checkTimes(r Record) error {
	for _, ns := range []int64{r.DueNs, r.SentNs, r.DoneNs} {
		if ns < 0 || ns > timeMax {
			return fmt.Errorf("%w: batch %d at %d ns since the run's base", ErrLedger, r.Sequence, ns)
		}
	}
	return nil
}

// rate is the second that holds a time.
func (m *Measurement) rate(atNs int64) *results.Rate {
	for int64(len(m.rates)) <= atNs/secondNs {
		m.rates = append(m.rates, results.Rate{TNs: int64(len(m.rates)) * secondNs})
	}
	return &m.rates[atNs/secondNs]
}

// Rates are the seconds of the run, from 0 to the last in which anything happened.
func (m *Measurement) Rates() []results.Rate { return m.rates }

// OwnLate is how late first tries were by the generator's own fault, outside the warm-up: the number
// that decides whether the run may be believed.
func (m *Measurement) OwnLate(timeline *results.Timeline) *results.Histogram {
	return m.OwnLateWhere(timeline, func(int64) bool { return true })
}

// OwnLateWhere is OwnLate of the batches whose due time suits.
func (m *Measurement) OwnLateWhere(timeline *results.Timeline, suits func(dueNs int64) bool) *results.Histogram {
	h := results.NewHistogram()
	for _, n := range m.notes {
		if n.sent && timeline.PhaseAt(n.dueNs) != results.Warmup && suits(n.dueNs) {
			h.Record(n.ownLateNs)
		}
	}
	return h
}

// WithoutOwnLate are the latencies of the acknowledged batches of a phase, from due to acknowledged, less what the generator itself was late:
// what they would have been for a generator that is always in time. Beside them with are the same batches as they were. Both are of the batches
// whose due time suits.
func (m *Measurement) WithoutOwnLate(timeline *results.Timeline, phase results.Phase, suits func(dueNs int64) bool) (with, without *results.Histogram) {
	with, without = results.NewHistogram(), results.NewHistogram()
	for _, n := range m.notes {
		if n.outcome == OutcomeOK && timeline.PhaseAt(n.dueNs) == phase && suits(n.dueNs) {
			with.Record(n.toOutcomeNs)
			without.Record(n.toOutcomeNs - n.ownLateNs)
		}
	}
	return with, without
}

// InTime counts the batches due in a phase, and those of them that the generator had ready in time: late by its own fault by no more than a
// budget. A batch that had to wait for the target until it was given up was ready.
func (m *Measurement) InTime(timeline *results.Timeline, phase results.Phase, budgetNs int64) (due, inTime int64) {
	for _, n := range m.notes {
		if timeline.PhaseAt(n.dueNs) != phase {
			continue
		}
		due++
		if !n.sent || n.ownLateNs <= budgetNs {
			inTime++
		}
	}
	return due, inTime
}

// PhaseOutcomes is what became of the batches due in one phase.
type PhaseOutcomes struct {
	Due, OK, Failed, Unknown int64

	// GaveUp is the time from due to the end of every batch that was not acknowledged: its true
	// latency is longer. Nil if there was none.
	GaveUp *results.Histogram
}

// ByPhase sorts all batches by the phase of their due time; the sums are Counts.
func (m *Measurement) ByPhase(timeline *results.Timeline) map[results.Phase]PhaseOutcomes {
	out := make(map[results.Phase]PhaseOutcomes)
	for _, n := range m.notes {
		phase := timeline.PhaseAt(n.dueNs)
		o := out[phase]
		o.add(n)
		out[phase] = o
	}
	return out
}

func (o *PhaseOutcomes) add(n note) {
	o.Due++
	switch n.outcome {
	case OutcomeOK:
		o.OK++
		return
	case OutcomeFailed:
		o.Failed++
	default:
		o.Unknown++
	}
	if o.GaveUp == nil {
		o.GaveUp = results.NewHistogram()
	}
	o.GaveUp.Record(n.toOutcomeNs)
}

// Acks are the times of all acknowledgements within their budget, of all producers, in order.
type Acks struct{ atNs []int64 }

// AcksAt makes Acks of times in any order.
func AcksAt(atNs []int64) Acks {
	sorted := slices.Clone(atNs)
	slices.Sort(sorted)
	return Acks{atNs: sorted}
}

// Len is their number.
func (a Acks) Len() int { return len(a.atNs) }

// FirstAfter is the first acknowledgement after a time; false if there was none.
func (a Acks) FirstAfter(ns int64) (int64, bool) {
	i, _ := slices.BinarySearchFunc(a.atNs, ns, func(at, ns int64) int {
		if at <= ns {
			return -1
		}
		return 1
	})
	if i == len(a.atNs) {
		return 0, false
	}
	return a.atNs[i], true
}

// LastBefore is the last acknowledgement before a time; false if there was none.
func (a Acks) LastBefore(ns int64) (int64, bool) {
	i, _ := slices.BinarySearch(a.atNs, ns)
	if i == 0 {
		return 0, false
	}
	return a.atNs[i-1], true
}

// Before counts the acknowledgements before a time.
func (a Acks) Before(ns int64) int {
	i, _ := slices.BinarySearch(a.atNs, ns)
	return i
}
