package main

import (
	"fmt"
	"time"

	"rejoin/results"
)

// lateP99Default is the budget of the generator's own lateness where the scenario names none: half the time between two batches of a
// producer in the usual load.
const lateP99Default = duration(20 * time.Millisecond)

// judgeRun gives the judge every reason that the numbers hold against a pass.
func (r *session) judgeRun(s *results.Summary) {
	j := &r.judge
	gone := r.takenAway()
	judgeVerification(j, r.verified, gone)
	r.judgeOffline()
	if !r.loaded {
		j.Invalid("no load was driven")
		return
	}
	s.Check(j)
	r.warnOfSurvivors(s)
	judgeSurprises(j, r.system.surprises())
	for _, k := range s.Kills {
		if k.DownMs != nil && k.CaughtUpMs == nil && r.tellsProgress(k.Node) && !gone[k.Node] {
			j.Stuck("%s, %s %s, never caught up after its restart", k.Node, k.How.Word(), atText(k.AtMs))
		}
	}
	r.judgeOffer(s)
	r.judgeExercise(s)
	if !r.scenario.Overload {
		r.judgeDemands(s)
	}
}

// warnOfSurvivors says which quantiles flatter: what was not acknowledged in time has no latency, and would have had the longest ones.
func (r *session) warnOfSurvivors(s *results.Summary) {
	if share, flatters := s.Unacknowledged(); flatters {
		r.warn("%d of %d batches (%.1f %%) were not acknowledged in time and have no latency: the quantiles are of the others, and beyond p%.4g better than what producers met",
			s.UnknownBatches+s.FailedBatches, s.OfferedBatches, 100*share, 100*(1-share))
	}
}

// judgeOffer asks whether generator, machine and sample are strong enough: what was not offered in time proves nothing about the target.
func (r *session) judgeOffer(s *results.Summary) {
	r.proof.Checks = r.checks(s)
	for _, c := range r.proof.Checks {
		switch {
		case saidElsewhere(r.proof.Checks, c.Name):
		case c.Judgement == results.JudgedInvalid:
			r.judge.Invalid("%s", c.Reason)
		case c.Judgement == results.JudgedDoubtful:
			r.warn("%s", c.Reason)
		}
	}
	if len(s.Kills) > 0 && s.AckedBatches > 0 && r.ackedBeforeFaults == 0 && !r.scenario.faultsBeforeLoad() {
		r.judge.Invalid("nothing was acknowledged before the first fault")
	}
}

func (s Scenario) faultsBeforeLoad() bool {
	for _, f := range s.Faults {
		if f.At.Before {
			return true
		}
	}
	return false
}

// judgeExercise asks whether what the scenario is about took place: a pass of a run in which it did not would be hollow.
func (r *session) judgeExercise(s *results.Summary) {
	if r.outcome.Interrupted {
		return
	}
	d := r.scenario.Demands
	var primaries, backups int
	var repairOps, transferOps int64
	for _, k := range s.Kills {
		switch k.Role {
		case results.RolePrimary:
			primaries++
		case results.RoleBackup:
			backups++
		}
		repairOps, transferOps = max(repairOps, k.RepairOps), max(transferOps, k.TransferOps)
	}
	for _, floor := range []struct {
		got, want int64
		what      string
	}{
		{int64(primaries), int64(d.KilledPrimariesMin), "primaries were killed"},
		{int64(backups), int64(d.KilledBackupsMin), "backups were killed"},
		{repairOps, d.RepairOpsMin, "ops were repaired after any one kill"},
		{transferOps, d.TransferOpsMin, "ops were transferred after any one kill"},
	} {
		if floor.got < floor.want {
			got := "no"
			if floor.got > 0 {
				got = fmt.Sprint(floor.got)
			}
			r.judge.Invalid("%s %s, at least %d must be for the run to mean anything", got, floor.what, floor.want)
		}
	}
}

// judgeDemands holds the run against what the scenario demands.
func (r *session) judgeDemands(s *results.Summary) {
	j, d := &r.judge, r.scenario.Demands
	if r.excused > 0 {
		r.warn("%d batches were not acknowledged while more nodes were down than a majority allows; they are not held against the target", r.excused)
	}
	if share := float64(s.AckedBatches) / float64(max(s.OfferedBatches-r.excused, 1)); share < d.AckedShareMin {
		j.Missed("%.4f of the offered batches were acknowledged in time, the scenario demands %.4f", share, d.AckedShareMin)
	}
	for _, k := range s.Kills {
		r.judgeKill(k, d)
	}
	for _, rep := range s.Replicas {
		if limit := d.ReadableMax; limit > 0 && !r.outcome.Interrupted && r.polled() && r.tellsProgress(rep.Node) {
			if rep.ReadableMs == nil || *rep.ReadableMs > ms(limit) {
				j.Missed("%s held everything %s after %s, the scenario demands %v", rep.Node, msText(rep.ReadableMs), r.readableSince(s, rep.Node), limit)
			}
		}
		if rep.RssAnonMaxBytes != nil && d.RssAnonMaxBytes > 0 && *rep.RssAnonMaxBytes > d.RssAnonMaxBytes {
			j.Missed("%s used %d MiB of anonymous memory, the scenario allows %d", rep.Node, *rep.RssAnonMaxBytes>>20, d.RssAnonMaxBytes>>20)
		}
	}
	if d.ExtraViewChangesMax != nil {
		if extra := int(s.ViewChanges) - r.primaryFaults; extra > *d.ExtraViewChangesMax {
			j.Missed("%d view changes, %d faults met a primary; the scenario allows %d more", s.ViewChanges, r.primaryFaults, *d.ExtraViewChangesMax)
		}
	}
}

// readableSince names the moment from which a node's readable time counts; see readableFrom.
func (r *session) readableSince(s *results.Summary, node string) string {
	for _, k := range s.Kills {
		if k.Node == node && k.DownMs != nil && k.AtMs+*k.DownMs > float64(r.outcome.StopNs)/1e6 {
			return "its restart, which came after the load had stopped"
		}
	}
	return "the load had stopped"
}

func (r *session) judgeKill(k results.KillSummary, d Demands) {
	j := &r.judge
	if k.Role == results.RolePrimary && k.AtMs >= 0 {
		if d.PrimaryGapMax > 0 && r.withQuorumMs(k.GapAtMs, &k.GapWithoutAckMs) > ms(d.PrimaryGapMax) {
			j.Missed("%.0f ms without an acknowledgement around the %s of the primary %s at %.1f s, the scenario allows %v",
				k.GapWithoutAckMs, k.How.Verb(), k.Node, k.AtMs/1e3, d.PrimaryGapMax)
		}
		if d.FirstAckMax > 0 && (k.FirstAckMs == nil || r.withQuorumMs(&k.AtMs, k.FirstAckMs) > ms(d.FirstAckMax)) {
			j.Missed("the first acknowledgement after the %s of the primary %s at %.1f s came after %s, the scenario demands %v",
				k.How.Verb(), k.Node, k.AtMs/1e3, msText(k.FirstAckMs), d.FirstAckMax)
		}
	}
	if d.CatchupMax > 0 && k.CaughtUpMs != nil && *k.CaughtUpMs > ms(d.CatchupMax) {
		j.Missed("%s caught up %.0f ms after its restart, the scenario demands %v", k.Node, *k.CaughtUpMs, d.CatchupMax)
	}
}

// withQuorumMs is how much of a stretch, given by its begin since run start and its length, lay where enough nodes were up to acknowledge
// anything: only that is held against a target.
func (r *session) withQuorumMs(beginMs, lengthMs *float64) float64 {
	if beginMs == nil {
		return *lengthMs
	}
	from := int64(*beginMs * 1e6)
	return *lengthMs - float64(results.Overlap(r.withoutQuorum, from, from+int64(*lengthMs*1e6)))/1e6
}

// polled says whether nodes were asked for their status: the memory target has none to ask.
func (r *session) polled() bool { return r.scenario.kind().ports > 0 }

// tellsProgress says whether a node shows how far it is. Of one that answers and does not show it nothing can be judged: no data.
func (r *session) tellsProgress(node string) bool {
	for _, s := range r.finalStatus {
		if s.Node == node {
			return !s.Up || s.CommitOp != nil
		}
	}
	return true
}

func ms(d duration) float64 { return float64(d) / 1e6 }
