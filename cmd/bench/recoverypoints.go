package main

import (
	"math"
	"slices"

	"rejoin/loadgen"
	"rejoin/results"
)

// recoverySources is what the points of recoveries are derived from.
type recoverySources struct {
	timeline   *results.Timeline
	events     []results.Event
	activities []results.Activity
	loads      *loadgen.Measurement
	stopNs     int64 // end of the load
	polled     []polledReturn
}

// recoveryOf is the kill-th kill as a timeline.
func (f recoverySources) recoveryOf(kill int) *results.Recovery {
	return &results.Recovery{Outside: f.outside(kill), Server: f.told(kill)}
}

func (f recoverySources) outside(kill int) results.RecoveryTimes {
	k := f.timeline.Kills[kill]
	from := &k.AtNs
	seen := func(kind results.Kind) *float64 { return between(from, f.first(kill, results.SourceHarness, kind)) }
	out := results.RecoveryTimes{ExitSeen: seen(results.KindExit), Started: between(from, k.RestartNs), PortOpen: seen(results.KindPortOpen),
		FirstAnswer: seen(results.KindFirstAnswer), RoleKnown: seen(results.KindRoleKnown), FirstAck: between(from, k.FirstAckNs),
		CaughtUp: between(from, k.CaughtUpNs)}
	if k.FirstAckNs != nil && *k.FirstAckNs < f.stopNs {
		if at, ok := f.loads.FullRateAfter(*k.FirstAckNs, f.stopNs); ok {
			out.FullRate = between(from, &at)
		}
		out.BacklogDrained = between(from, new(f.loads.DrainedAfter(*k.FirstAckNs)))
	}
	if kill < len(f.polled) {
		p := f.polled[kill]
		out.RepairBegin, out.RepairEnd = between(from, p.repair.fromNs), between(from, p.repair.toNs)
		out.TransferBegin, out.TransferEnd = between(from, p.transfer.fromNs), between(from, p.transfer.toNs)
		out.ReturnedOps = p.behindOps
	}
	return out
}

// told is what the node itself told of its return.
func (f recoverySources) told(kill int) results.RecoveryTimes {
	k := f.timeline.Kills[kill]
	from := &k.AtNs
	var out results.RecoveryTimes
	if k.RestartNs == nil {
		return out
	}
	out.Started = between(from, f.first(kill, k.Node, results.KindNodeStart))
	out.RoleKnown = between(from, f.roleTold(kill))
	own := f.timeline.ActivitiesOf(kill, f.activities)
	repairs, transfers := results.TotalOf(results.Repair, own), results.TotalOf(results.Transfer, own)
	if repairs.Count > 0 {
		out.RepairBegin, out.RepairEnd = spanOf(results.Repair, own, from)
		out.RepairBytes = new(repairs.Bytes)
	}
	if transfers.Count > 0 {
		out.TransferBegin, out.TransferEnd = spanOf(results.Transfer, own, from)
		out.TransferBytes = new(transfers.Bytes)
	}
	if f.first(kill, k.Node, results.KindNodeStart) != nil { // a node that tells nothing tells no zero either
		out.ReturnedOps = new(repairs.Ops + transfers.Ops)
	}
	out.CaughtUp = later(out.RepairEnd, out.TransferEnd)
	if repairs.Count+transfers.Count == 0 && k.CaughtUpNs != nil {
		out.CaughtUp = out.RoleKnown
	}
	return out
}

// spanOf is from the first begin to the last end of a kind; the end is nil while one has none.
func spanOf(kind results.ActivityKind, activities []results.Activity, from *int64) (begin, end *float64) {
	first, last, open := int64(math.MaxInt64), int64(math.MinInt64), false
	for _, a := range activities {
		if a.Kind != kind {
			continue
		}
		first = min(first, a.FromNs)
		if a.ToNs == nil || a.Cut {
			open = true
			continue
		}
		last = max(last, *a.ToNs)
	}
	begin = between(from, &first)
	if !open {
		end = between(from, &last)
	}
	return begin, end
}

func later(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// first is when the earliest event of a kind was; see firstEvent.
func (f recoverySources) first(kill int, source string, kind results.Kind) *int64 {
	if e := f.firstEvent(kill, source, kind); e != nil {
		return &e.TNs
	}
	return nil
}

// firstEvent is the earliest event of a kind about the killed node, from one source, between the kill and the next kill of the same node.
func (f recoverySources) firstEvent(kill int, source string, kind results.Kind) *results.Event {
	k := f.timeline.Kills[kill]
	until := nextKillNs(f.timeline.Kills, kill)
	var found *results.Event
	for i := range f.events {
		e := &f.events[i]
		if e.Source == source && e.Kind == kind && e.Of() == k.Node && e.TNs >= k.AtNs && e.TNs < until && (found == nil || e.TNs < found.TNs) {
			found = e
		}
	}
	return found
}

// roleTold is the node's first word on its role after its restart. It is nil where that word is about something later: another fault lay
// between, or the polls had seen a role in an earlier view already. A node that comes back into the view that it knew, as a backup, says
// nothing until the view changes.
func (f recoverySources) roleTold(kill int) *int64 {
	k := f.timeline.Kills[kill]
	told := f.firstEvent(kill, k.Node, results.KindRole)
	if told == nil {
		return nil
	}
	seen := f.firstEvent(kill, results.SourceHarness, results.KindRoleKnown)
	if seen != nil && seen.View != nil && told.View != nil && *told.View > *seen.View {
		return nil
	}
	between := func(atNs int64) bool { return atNs > *k.RestartNs && atNs <= told.TNs }
	if slices.ContainsFunc(f.timeline.Kills, func(k results.Kill) bool { return between(k.AtNs) }) ||
		slices.ContainsFunc(f.timeline.Stops, func(s results.Stop) bool { return between(s.AtNs) }) {
		return nil
	}
	return &told.TNs
}

// nextKillNs is when the node of a kill is killed again; the largest time if it is not.
func nextKillNs(kills []results.Kill, kill int) int64 {
	next := int64(math.MaxInt64)
	for _, k := range kills {
		if k.Node == kills[kill].Node && k.AtNs > kills[kill].AtNs {
			next = min(next, k.AtNs)
		}
	}
	return next
}

// Tolerances between what a node tells and what is seen from outside.
const (
	toleranceMs      = 250.0 // either way, while polls come each 20 ms; what polls see they may see later by the time between them
	toleranceOps     = 100   // what the load adds while the node comes back
	toleranceOpShare = 0.25
)
