package results

import "math"

// ActivitiesOf are the activities of a kill, the kill-th of t.Kills: those that its node began between its restart and the moment it had
// caught up, both inside. If it never caught up they end with the load or with the node's next fault (SIGKILL or SIGSTOP), whichever is
// first. Everything that tells repairs and transfers of a kill (summary.json, the terminal, the figures) asks here.
func (t *Timeline) ActivitiesOf(kill int, activities []Activity) []Activity {
	k := t.Kills[kill]
	if k.RestartNs == nil {
		return nil
	}
	until := t.returnEndNs(kill)
	var own []Activity
	for _, a := range activities {
		if a.Node == k.Node && a.FromNs >= *k.RestartNs && a.FromNs <= until {
			own = append(own, a)
		}
	}
	return own
}

// returnEndNs is where the way back after a kill ends; the largest time if nothing ended it.
func (t *Timeline) returnEndNs(kill int) int64 {
	k := t.Kills[kill]
	if k.CaughtUpNs != nil {
		return *k.CaughtUpNs
	}
	end := int64(math.MaxInt64)
	if t.LoadStopNs != nil && *t.LoadStopNs > *k.RestartNs { // a node restarted after the load has only later faults to end its return
		end = *t.LoadStopNs
	}
	for _, later := range t.Kills {
		if later.Node == k.Node && later.AtNs > *k.RestartNs {
			end = min(end, later.AtNs)
		}
	}
	for _, later := range t.Stops {
		if later.Node == k.Node && later.AtNs > *k.RestartNs {
			end = min(end, later.AtNs)
		}
	}
	return end
}

// ActivityTotal sums the activities of one kind.
type ActivityTotal struct {
	Count, Ops, Bytes int64
	// DurationNs is the time in which at least one activity went on, so that partitions repaired side by side do not count twice; activities
	// without an end add none. nil: none ended.
	DurationNs *int64
	// Unfinished says that one never ended, or was cut.
	Unfinished bool
}

// TotalOf sums the activities of a kind; they come in order of begin, as Activities returns them.
func TotalOf(kind ActivityKind, activities []Activity) ActivityTotal {
	var total ActivityTotal
	counted := int64(math.MinInt64) // time up to here is in DurationNs
	for _, a := range activities {
		if a.Kind != kind {
			continue
		}
		total.Count++
		if ops := a.Ops(); ops != nil {
			total.Ops += *ops
		}
		if a.Bytes != nil {
			total.Bytes += *a.Bytes
		}
		total.Unfinished = total.Unfinished || a.ToNs == nil || a.Cut
		if a.ToNs == nil {
			continue
		}
		if total.DurationNs == nil {
			total.DurationNs = new(int64)
		}
		*total.DurationNs += max(*a.ToNs-max(a.FromNs, counted), 0)
		counted = max(counted, *a.ToNs)
	}
	return total
}
