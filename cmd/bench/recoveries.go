package main

import (
	"rejoin/loadgen"
	"rejoin/results"
)

// countRecoveries fills what the events tell: kills, repairs, transfers, view changes.
func (r *session) countRecoveries(s *results.Summary, events []results.Event, timeline results.Timeline, acks loadgen.Acks, seen polledFacts) {
	activities := results.Activities(events)
	for _, a := range activities {
		switch a.Kind {
		case results.Repair:
			s.Repairs++
		case results.Transfer:
			s.Transfers++
		}
	}
	edges := loadgen.Edges{StartNs: r.loadStartNs(events), StopNs: r.outcome.StopNs}
	for i, k := range timeline.Kills {
		s.Kills = append(s.Kills, killSummary(k, r.returnEnds(timeline, i), activities, acks, edges))
	}
	s.ViewChanges = r.viewChanges(events, seen.views)
}

func (r *session) loadStartNs(events []results.Event) int64 {
	for _, e := range events {
		if e.Kind == results.KindLoadStart {
			return e.TNs
		}
	}
	return 0
}

// returnEnds is where the way back after a kill ends at the latest: caught up, the node's next kill, or the end of the quiet phase.
func (r *session) returnEnds(t results.Timeline, kill int) int64 {
	k := t.Kills[kill]
	if k.CaughtUpNs != nil {
		return *k.CaughtUpNs
	}
	for _, later := range t.Kills[kill+1:] {
		if later.Node == k.Node {
			return later.AtNs
		}
	}
	return max(r.quietEndNs, r.outcome.StopNs)
}

// killSummary tells one kill. Activities count when they began on the killed node between its restart and the end of its return.
func killSummary(k results.Kill, ends int64, activities []results.Activity, acks loadgen.Acks, edges loadgen.Edges) results.KillSummary {
	out := results.KillSummary{Node: k.Node, Role: k.Role, AtMs: float64(k.AtNs) / 1e6, DownMs: between(&k.AtNs, k.RestartNs),
		FirstAckMs: between(&k.AtNs, k.FirstAckNs), CaughtUpMs: between(k.RestartNs, k.CaughtUpNs)}
	until := edges.StopNs
	if k.RestartNs != nil {
		until = *k.RestartNs + int64(gapAfterRestart)
	}
	from := max(k.AtNs, edges.StartNs)
	if until = min(until, edges.StopNs); from < until {
		out.GapWithoutAckMs = float64(acks.LongestGap(from, until, edges)) / 1e6
	}
	if k.RestartNs == nil {
		return out
	}
	for _, a := range activities {
		if a.Node != k.Node || a.FromNs < *k.RestartNs || a.FromNs > ends {
			continue
		}
		switch a.Kind {
		case results.Repair:
			out.Repairs++
			addActivity(a, &out.RepairOps, &out.RepairBytes, &out.RepairMs)
		case results.Transfer:
			out.Transfers++
			addActivity(a, &out.TransferOps, &out.TransferBytes, &out.TransferMs)
		}
	}
	return out
}

func addActivity(a results.Activity, ops, bytes *int64, ms **float64) {
	if n := a.Ops(); n != nil {
		*ops += *n
	}
	if a.Bytes != nil {
		*bytes += *a.Bytes
	}
	if took := between(&a.FromNs, a.ToNs); took != nil {
		if *ms == nil {
			*ms = new(0.0)
		}
		**ms += *took
	}
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
	if len(seen) != len(told) && r.scenario.Target == targetBuiltin {
		r.warn("nodes told of %d view changes, the pollers saw %d", len(told), len(seen))
	}
	return int64(max(len(told), len(seen)))
}

// expectedViewChanges is one for each kill, and each stop for longer than the suspect time, of a primary.
func expectedViewChanges(events []results.Event) int {
	n := 0
	for _, e := range events {
		if (e.Kind == results.KindKill || e.Kind == results.KindPause) && e.Role == results.RolePrimary {
			n++
		}
	}
	return n
}
