package plots

import (
	"cmp"
	"slices"
	"time"

	"rejoin/results"
)

// silenceMinNs is the shortest silence after a fault of a backup that is shaded: shorter ones are the usual time between two acknowledgements.
const silenceMinNs = int64(100 * time.Millisecond)

// spansOf shades the stretches without acknowledgements that a kill or a stop began, and repairs and transfers of any node.
func spansOf(t *results.Timeline, activities []results.Activity, endNs int64) []SpanMark {
	var spans []SpanMark
	var faults []fault
	for _, k := range t.Kills {
		faults = append(faults, fault{k.Role, k.AtNs, k.SilentFromNs, k.FirstAckNs})
	}
	for _, s := range t.Stops {
		if s.FirstAckNs == nil && (s.Role != results.RolePrimary || s.ResumeNs != nil) {
			continue // records of older builds do not tell when acknowledgements went on
		}
		faults = append(faults, fault{s.Role, s.AtNs, s.SilentFromNs, s.FirstAckNs})
	}
	for _, f := range faults {
		if s, ok := f.silence(t, endNs); ok {
			spans = append(spans, s)
		}
	}
	for _, kind := range []struct {
		of results.ActivityKind
		as SpanKind
	}{{results.Repair, SpanRepair}, {results.Transfer, SpanTransfer}} {
		for _, u := range union(activities, kind.of, endNs, endNs/1000) {
			spans = append(spans, SpanMark{kind.as, u[0], u[1]})
		}
	}
	return spans
}

// fault is what a kill and a stop have in common.
type fault struct {
	role                     string
	atNs                     int64
	silentFromNs, firstAckNs *int64
}

// silence is from a fault, or from the last answer that its node still gave, to the first acknowledgement after it; without one it lasts as long
// as the load. A fault of a backup makes one only if the cluster fell silent: usually acknowledgements go on.
func (f fault) silence(t *results.Timeline, endNs int64) (SpanMark, bool) {
	from, to := max(f.atNs, t.LoadStartNs), endNs
	if f.silentFromNs != nil {
		from = max(from, *f.silentFromNs)
	}
	if t.LoadStopNs != nil {
		to = min(to, *t.LoadStopNs)
	}
	if f.firstAckNs != nil {
		to = *f.firstAckNs
	}
	shortest := silenceMinNs
	if f.role == results.RolePrimary && f.atNs >= t.LoadStartNs {
		shortest = 1
	}
	return SpanMark{SpanOutage, from, to}, to-from >= shortest
}

// downsOf are the stretches in which a node was down or stopped, in order of begin.
func downsOf(t *results.Timeline, endNs int64) []DownMark {
	var downs []DownMark
	add := func(node string, fromNs int64, toNs *int64, stopped bool) {
		d := DownMark{Node: node, FromNs: fromNs, ToNs: endNs, Open: toNs == nil, Stopped: stopped, BeforeLoad: fromNs < t.LoadStartNs}
		if toNs != nil {
			d.ToNs = *toNs
		}
		if d.FromNs < endNs && d.ToNs > 0 {
			downs = append(downs, d)
		}
	}
	for _, k := range t.Kills {
		add(k.Node, k.AtNs, k.RestartNs, false)
	}
	for _, s := range t.Stops {
		to := s.ResumeNs
		for _, k := range t.Kills { // a stopped process that is killed is down from then on
			if k.Node == s.Node && k.AtNs > s.AtNs && (to == nil || k.AtNs < *to) {
				to = &k.AtNs
			}
		}
		add(s.Node, s.AtNs, to, true)
	}
	slices.SortStableFunc(downs, func(a, b DownMark) int { return cmp.Compare(a.FromNs, b.FromNs) })
	return downs
}

// union joins the activities of a kind that overlap, or lie closer than slackNs, into [from, to] pairs; an open one ends at endNs.
func union(activities []results.Activity, kind results.ActivityKind, endNs, slackNs int64) [][2]int64 {
	var out [][2]int64
	for _, a := range activities { // in order of begin
		if a.Kind != kind {
			continue
		}
		to := endNs
		if a.ToNs != nil {
			to = *a.ToNs
		}
		if n := len(out); n > 0 && a.FromNs <= out[n-1][1]+slackNs {
			out[n-1][1] = max(out[n-1][1], to)
		} else {
			out = append(out, [2]int64{a.FromNs, max(to, a.FromNs)})
		}
	}
	return out
}
