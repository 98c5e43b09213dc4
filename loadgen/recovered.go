package loadgen

import (
	"cmp"
	"slices"
	"time"

	"rejoin/results"
)

const (
	fullRateWindowNs = int64(results.FullRateWindow)
	fullRateStepNs   = int64(10 * time.Millisecond)
	fullRatePercent  = 95
)

// FullRateAfter is the first moment at or after fromNs from which on a whole second brought acknowledgements for at least 95 % of the batches
// that were due in it, whenever those acknowledged had been due; false if none did before stopNs, the end of the load. It steps by 10 ms.
func (m *Measurement) FullRateAfter(fromNs, stopNs int64) (int64, bool) {
	dues := m.dueTimes()
	for at := fromNs; at+fullRateWindowNs <= stopNs; at += fullRateStepNs {
		due := countIn(dues, at, at+fullRateWindowNs)
		if due > 0 && 100*countIn(m.Acks.atNs, at, at+fullRateWindowNs) >= fullRatePercent*due {
			return at, true
		}
	}
	return 0, false
}

// dueTimes are the due times of all batches, in order.
func (m *Measurement) dueTimes() []int64 {
	dues := make([]int64, 0, len(m.notes))
	for _, n := range m.notes {
		dues = append(dues, n.dueNs)
	}
	slices.Sort(dues)
	return dues
}

// countIn counts the sorted times in [from, to).
func countIn(times []int64, from, to int64) int {
	first, _ := slices.BinarySearch(times, from)
	end, _ := slices.BinarySearch(times, to)
	return end - first
}

// backlogAfter is how long a batch may wait and not count as backlog: more than twice a producer's period at the usual load.
const backlogAfter = int64(100 * time.Millisecond)

// DrainedAfter is the first moment at or after fromNs at which no batch was waiting that had been due more than 100 ms before. A batch waits
// until it has its outcome, whatever that is.
func (m *Measurement) DrainedAfter(fromNs int64) int64 {
	type wait struct{ fromNs, toNs int64 } // in which a batch is backlog
	var waits []wait
	for _, n := range m.notes {
		if w := (wait{n.dueNs + backlogAfter, n.dueNs + n.toOutcomeNs}); w.toNs > w.fromNs && w.toNs > fromNs {
			waits = append(waits, w)
		}
	}
	slices.SortFunc(waits, func(a, b wait) int { return cmp.Compare(a.fromNs, b.fromNs) })
	at := fromNs
	for _, w := range waits {
		if w.fromNs > at {
			break
		}
		at = max(at, w.toNs)
	}
	return at
}

// Excused counts the batches without an acknowledgement of which more than half of the wait lay in stretches in which nobody could have given
// one: a schedule that takes the quorum away cannot ask for availability meanwhile.
func (m *Measurement) Excused(without []results.Stretch) int64 {
	excused := int64(0)
	for _, n := range m.notes {
		if n.outcome != OutcomeOK && 2*results.Overlap(without, n.dueNs, n.dueNs+n.toOutcomeNs) > n.toOutcomeNs {
			excused++
		}
	}
	return excused
}
