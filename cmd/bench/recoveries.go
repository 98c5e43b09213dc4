package main

import (
	"rejoin/loadgen"
	"rejoin/results"
)

// countRecoveries fills what the events tell: kills, repairs, transfers, view changes.
func (r *session) countRecoveries(s *results.Summary, events []results.Event, timeline results.Timeline, m *loadgen.Measurement, seen polledFacts) {
	acks := m.Acks
	activities := results.Activities(events)
	for _, a := range activities {
		switch a.Kind {
		case results.Repair:
			s.Repairs++
		case results.Transfer:
			s.Transfers++
		}
	}
	ackNs := ackTimes(acks, timeline.LoadStartNs)
	sources := recoverySources{timeline: &timeline, events: events, activities: activities, loads: m, stopNs: r.outcome.StopNs, polled: seen.returns}
	for i := range timeline.Kills {
		kill := killSummary(&timeline, i, activities, ackNs, r.outcome.StopNs)
		kill.Recovery = sources.recoveryOf(i)
		if r.tellsItself() { // others do not tell their side
			k, back := timeline.Kills[i], seen.returns[i]
			r.proof.Disagreements = append(r.proof.Disagreements, disagreements(i, kill.Node, kill.Recovery, back.addedOps, gapsOf(k.AtNs, k.RestartNs, back))...)
		}
		s.Kills = append(s.Kills, kill)
	}
	for _, stop := range timeline.Stops {
		s.Stops = append(s.Stops, stopSummary(stop, &timeline, ackNs, r.outcome.StopNs))
	}
	s.ViewChanges = r.viewChanges(events, seen.views)
	if !r.tellsItself() && r.polled() {
		s.Untold = []string{results.UntoldRepairs, results.UntoldTransfers}
	}
}

// tellsItself says whether the nodes' own record of what they did is in the events.
func (r *session) tellsItself() bool { return r.scenario.kind().own && !r.external() }

// ackTimes are the acknowledgements in order of time. The start of the load stands before them: silence begins there at the earliest.
func ackTimes(acks loadgen.Acks, loadStartNs int64) []int64 {
	times := append(make([]int64, 0, acks.Len()+1), loadStartNs)
	for at, ok := acks.FirstAfter(loadStartNs); ok; at, ok = acks.FirstAfter(at) {
		times = append(times, at)
	}
	return times
}

// killSummary tells the kill-th kill of the timeline.
func killSummary(t *results.Timeline, kill int, activities []results.Activity, ackNs []int64, loadStopNs int64) results.KillSummary {
	k := t.Kills[kill]
	out := results.KillSummary{Node: k.Node, Role: k.Role, How: k.How.Word(), AtMs: float64(k.AtNs) / 1e6, DownMs: between(&k.AtNs, k.RestartNs),
		FirstAckMs: between(&k.AtNs, k.FirstAckNs), CaughtUpMs: between(k.RestartNs, k.CaughtUpNs)}
	out.GapWithoutAckMs, out.GapAtMs = gapAround(k, t, ackNs, loadStopNs)
	own := t.ActivitiesOf(kill, activities)
	repairs, transfers := results.TotalOf(results.Repair, own), results.TotalOf(results.Transfer, own)
	out.Repairs, out.RepairOps, out.RepairBytes, out.RepairMs = repairs.Count, repairs.Ops, repairs.Bytes, msOf(repairs.DurationNs)
	out.Transfers, out.TransferOps, out.TransferBytes, out.TransferMs = transfers.Count, transfers.Ops, transfers.Bytes, msOf(transfers.DurationNs)
	return out
}

// stopSummary tells a stop of the timeline.
func stopSummary(s results.Stop, t *results.Timeline, ackNs []int64, loadStopNs int64) results.StopSummary {
	out := results.StopSummary{Node: s.Node, Role: s.Role, AtMs: float64(s.AtNs) / 1e6, StoppedMs: between(&s.AtNs, s.ResumeNs), FirstAckMs: between(&s.AtNs, s.FirstAckNs)}
	out.GapWithoutAckMs, out.GapAtMs = gapAround(results.Kill{AtNs: s.AtNs, RestartNs: s.ResumeNs}, t, ackNs, loadStopNs)
	return out
}

// gapAround is the longest time without an acknowledgement around a fault, and when it began; nil where the load was over.
func gapAround(k results.Kill, t *results.Timeline, ackNs []int64, loadStopNs int64) (gapMs float64, atMs *float64) {
	k.AtNs = max(k.AtNs, t.LoadStartNs+1) // before it nobody asks for an acknowledgement
	if k.AtNs >= loadStopNs {
		return 0, nil
	}
	gap := k.LongestGap(ackNs, loadStopNs)
	return float64(gap.ToNs-gap.FromNs) / 1e6, new(float64(gap.FromNs) / 1e6)
}

func msOf(ns *int64) *float64 {
	if ns == nil {
		return nil
	}
	return new(float64(*ns) / 1e6)
}

// viewChanges counts the views that started between the start of the load and the end of the quiet phase: by what nodes said when they
// ended a view change, or by what the pollers saw, whichever is more, so that a silent node hides nothing.
func (r *session) viewChanges(events []results.Event, seen map[int64]bool) int64 {
	told := map[int64]bool{}
	end := max(r.quietEndNs, r.outcome.StopNs)
	for _, e := range events {
		if e.Kind == results.KindViewChangeEnd && e.View != nil && e.TNs >= 0 && e.TNs <= end {
			told[*e.View] = true
		}
	}
	delete(told, r.firstView)
	if len(seen) != len(told) && r.tellsItself() {
		r.proof.Disagreements = append(r.proof.Disagreements, results.Disagreement{What: results.WhatViewChanges, Unit: "count",
			Server: new(float64(len(told))), Outside: new(float64(len(seen)))})
	}
	return int64(max(len(told), len(seen)))
}

// expectedViewChanges is one for each kill and each stop of a primary; a stop may be too short to cause one.
func expectedViewChanges(events []results.Event) int {
	n := 0
	for _, e := range events {
		if (e.Kind == results.KindKill || e.Kind == results.KindPause) && e.Role == results.RolePrimary {
			n++
		}
	}
	return n
}
