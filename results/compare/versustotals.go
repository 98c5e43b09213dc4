package compare

import "rejoin/results"

// Totals are counts, summed over runs. What the verifier did not find out is null.
type Totals struct {
	// BrokenRuns are those in which the verifier found anything that must not be, StuckRuns those with a replica that did not come back or
	// could not be read to its end, MissedRuns those that missed a demand of the scenario and nothing worse.
	BrokenRuns int64 `json:"broken_runs"`
	StuckRuns  int64 `json:"stuck_runs"`
	MissedRuns int64 `json:"missed_runs"`

	OfferedBatches int64 `json:"offered_batches"`
	AckedBatches   int64 `json:"acked_batches"`
	UnknownBatches int64 `json:"unknown_batches"`
	FailedBatches  int64 `json:"failed_batches"`

	LostBatches       *int64 `json:"lost_batches"`
	DuplicatedBatches *int64 `json:"duplicated_batches"`
	ReorderedBatches  *int64 `json:"reordered_batches"`
	DivergedReplicas  *int64 `json:"diverged_replicas"`

	Kills int64 `json:"kills"`
	// UnknownRoleKills are those of a node that was neither known as primary nor as backup: their gaps are in neither median.
	UnknownRoleKills int64 `json:"unknown_role_kills"`
	// NeverCurrent are restarted nodes that did not catch up; they are in no median.
	NeverCurrent int64 `json:"never_current"`
	// NeverFullRate are kills of a primary after which the full rate was not reached before the load ended, though more than the
	// second that shows it was left of the load. They are in no median; null if no run tells.
	NeverFullRate *int64 `json:"never_full_rate"`
}

func totalsOf(runs []Run) *Totals {
	t := &Totals{}
	for _, r := range runs {
		s := r.Summary
		t.countEnd(s.ExitCode)
		t.OfferedBatches += s.OfferedBatches
		t.AckedBatches += s.AckedBatches
		t.UnknownBatches += s.UnknownBatches
		t.FailedBatches += s.FailedBatches
		t.Kills += int64(len(s.Kills))
		for _, k := range s.Kills {
			if k.DownMs != nil && k.CaughtUpMs == nil {
				t.NeverCurrent++
			}
			if !roleKnown(k) {
				t.UnknownRoleKills++
			}
		}
		if n, told := neverFullRate(s); told {
			addTo(&t.NeverFullRate, n)
		}
		for _, found := range []struct {
			sum **int64
			n   int64
		}{{&t.LostBatches, s.LostBatches}, {&t.DuplicatedBatches, s.DuplicatedBatches}, {&t.ReorderedBatches, s.ReorderedBatches},
			{&t.DivergedReplicas, int64(len(s.DivergedReplicas))}} {
			if s.Verified() || found.n > 0 { // what was found counts, what was not found only if it was looked for to the end
				addTo(found.sum, found.n)
			}
		}
	}
	return t
}

// countEnd counts a run by the code that it ended with, which is that of its worst finding.
func (t *Totals) countEnd(code int) {
	switch code {
	case results.ExitLoss:
		t.BrokenRuns++
	case results.ExitStuck:
		t.StuckRuns++
	case results.ExitMissed:
		t.MissedRuns++
	}
}

// neverFullRate counts kills of a primary after which the full rate did not come back, though enough of the load was left to show it; false if the
// run is of a build that does not tell.
func neverFullRate(s results.Summary) (n int64, told bool) {
	for _, k := range s.Kills {
		tooLate := s.LoadStopMs != nil && k.AtMs+fullRateWindowMs > *s.LoadStopMs
		switch {
		case k.Recovery == nil:
			return 0, false
		case killedPrimary(k) && k.Recovery.Outside.FullRate == nil && !tooLate:
			n++
		}
	}
	return n, true
}

const fullRateWindowMs = float64(results.FullRateWindow) / 1e6

func addTo(sum **int64, n int64) {
	if *sum == nil {
		*sum = new(int64)
	}
	**sum += n
}
