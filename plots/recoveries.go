package plots

import (
	"math"

	"rejoin/results"
)

// Recoveries gathers what followed each kill.
func Recoveries(t results.Timeline, activities []results.Activity) []Recovery {
	var out []Recovery
	for i, k := range t.Kills {
		r := Recovery{Node: k.Node, Role: k.Role, How: k.How, AtNs: k.AtNs, BeforeLoad: k.AtNs < t.LoadStartNs, DownNs: math.NaN()}
		if k.FirstAckNs != nil && !r.BeforeLoad { // before the load there was nothing to acknowledge
			r.Bars = append(r.Bars, RecoveryBar{Kind: BarOutage, DurationNs: float64(*k.FirstAckNs - k.AtNs)})
		}
		if k.RestartNs != nil {
			r.DownNs = float64(*k.RestartNs - k.AtNs)
			r.Bars = append(r.Bars, returnBars(k, t.ActivitiesOf(i, activities))...)
		}
		out = append(out, r)
	}
	return out
}

func returnBars(k results.Kill, own []results.Activity) []RecoveryBar {
	var bars []RecoveryBar
	for _, kind := range []struct {
		of results.ActivityKind
		as BarKind
	}{{results.Repair, BarRepair}, {results.Transfer, BarTransfer}} {
		total := results.TotalOf(kind.of, own)
		if total.Count == 0 {
			continue
		}
		b := RecoveryBar{Kind: kind.as, Unfinished: total.Unfinished, Count: total.Count, Ops: total.Ops, Bytes: total.Bytes}
		if total.DurationNs != nil {
			b.DurationNs = float64(*total.DurationNs)
		}
		bars = append(bars, b)
	}
	catchup := RecoveryBar{Kind: BarCatchup, Unfinished: k.CaughtUpNs == nil}
	if k.CaughtUpNs != nil {
		catchup.DurationNs = float64(*k.CaughtUpNs - *k.RestartNs)
	}
	return append(bars, catchup)
}

// addGaps takes the longest gap without acknowledgements of each kill from the summary. One that is not the kill's own is told with its moment:
// it may be the node's return, or have another cause.
func addGaps(recoveries []Recovery, kills []results.KillSummary) {
	for i := range recoveries {
		r := &recoveries[i]
		for _, k := range kills {
			if k.Node != r.Node || math.Abs(k.AtMs*1e6-float64(r.AtNs)) >= 1e6 || k.GapAtMs == nil {
				continue
			}
			if b := r.bar(BarOutage); b != nil {
				b.GapNs = k.GapWithoutAckMs * 1e6
				if !k.GapIsOwn() {
					b.GapLaterAtNs = *k.GapAtMs * 1e6
				}
			}
		}
	}
}
