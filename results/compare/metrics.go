package compare

import (
	"fmt"
	"slices"

	"rejoin/results"
)

// source reads one metric of a run: one value, or one for each kill, nothing where it was not measured.
type source struct {
	Definition
	read func(Run) []Value
}

// quantiles are those of summary.json, with the names that bounds use.
var quantiles = []struct {
	name, label string
	of          func(results.Quantiles) *int64
}{
	{"p50", "p50", func(q results.Quantiles) *int64 { return q.P50 }},
	{"p90", "p90", func(q results.Quantiles) *int64 { return q.P90 }},
	{"p99", "p99", func(q results.Quantiles) *int64 { return q.P99 }},
	{"p999", "p99.9", func(q results.Quantiles) *int64 { return q.P999 }},
	{"p9999", "p99.99", func(q results.Quantiles) *int64 { return q.P9999 }},
	{"max", "max", func(q results.Quantiles) *int64 { return q.Max }},
}

// sources are all metrics, in the order of the tables.
func sources() []source {
	var all []source
	for _, phase := range []string{string(results.Steady), string(results.Outage), string(results.Catchup), results.Overall} {
		for _, q := range quantiles {
			all = append(all, source{Definition{Name: phase + "." + q.name, Label: phase + " " + q.label, Group: Latency, Phase: phase,
				Unit: Nanoseconds, Better: Lower, More: "slower", Less: "faster"},
				func(r Run) []Value { return once(q.of(r.Summary.LatencyNs[phase])) }})
		}
	}
	all = append(all, throughputSources()...)
	all = append(all, recoverySources()...)
	return append(all, costSources()...)
}

func throughputSources() []source {
	return []source{
		{Definition{Name: "throughput", Label: "acknowledged", Group: Throughput, Unit: BatchesPerSecond, Better: Higher, More: "more", Less: "less"},
			func(r Run) []Value { return exactly(r.Summary.BatchesPerS, r.Summary.BatchesPerS > 0) }},
		{Definition{Name: "acked_share", Label: "of offered", Group: Throughput, Unit: Share, Better: Higher, More: "more", Less: "less"},
			func(r Run) []Value {
				s := r.Summary
				return exactly(float64(s.AckedBatches)/float64(max(s.OfferedBatches, 1)), s.OfferedBatches > 0)
			}},
	}
}

// killSource is a metric that each kill which `of` accepts has once, given in ms.
func killSource(name, label string, accept func(results.KillSummary) bool, ms func(results.KillSummary) *float64) source {
	return source{Definition{Name: name, Label: label, Group: Recovery, Unit: Nanoseconds, Better: Lower, More: "longer", Less: "shorter"},
		func(r Run) []Value {
			var values []Value
			for i, k := range r.Summary.Kills {
				if v := ms(k); v != nil && accept(k) {
					values = append(values, Value{Kill: i, Value: *v * 1e6})
				}
			}
			return values
		}}
}

func killedPrimary(k results.KillSummary) bool { return k.Role == results.RolePrimary }
func killedBackup(k results.KillSummary) bool  { return k.Role == results.RoleBackup }

// roleKnown says whether a kill was of either. Of a node whose role is not known no gap is a primary's or a backup's.
func roleKnown(k results.KillSummary) bool { return killedPrimary(k) || killedBackup(k) }

func recoverySources() []source {
	primary, backup := killedPrimary, killedBackup
	every := func(results.KillSummary) bool { return true }
	gap := results.KillSummary.Gap
	firstAck := func(k results.KillSummary) *float64 { return k.FirstAckMs }
	caughtUp := func(k results.KillSummary) *float64 { return k.CaughtUpMs }
	transfer := func(k results.KillSummary) *float64 { return k.TransferMs }
	seen := func(k results.KillSummary) results.RecoveryTimes {
		if k.Recovery == nil { // of an older build
			return results.RecoveryTimes{}
		}
		return k.Recovery.Outside
	}
	fullRate := func(k results.KillSummary) *float64 { return seen(k).FullRate }
	drained := func(k results.KillSummary) *float64 { return seen(k).BacklogDrained }
	all := []source{
		killSource("kill.primary.gap", "gap, primary", primary, gap),
		killSource("kill.primary.first_ack", "first ack", primary, firstAck),
		killSource("kill.primary.full_rate", "full rate", primary, fullRate),
		killSource("kill.primary.drained", "drained", primary, drained),
		killSource("kill.backup.gap", "gap, backup", backup, gap),
		killSource("kill.caught_up", "caught up", every, caughtUp),
		killSource("kill.transfer", "transfer", every, transfer),
	}
	for i := range killsShownMax {
		this := func(r Run) bool { return i < len(r.Summary.Kills) && len(r.Summary.Kills) > 1 }
		for _, s := range []source{
			killSource(fmt.Sprintf("kill%d.gap", i+1), fmt.Sprintf("kill %d: gap", i+1), every, gap),
			killSource(fmt.Sprintf("kill%d.caught_up", i+1), fmt.Sprintf("kill %d: caught up", i+1), every, caughtUp),
		} {
			of := s.read
			s.read = func(r Run) []Value {
				if !this(r) {
					return nil
				}
				return slices.DeleteFunc(of(r), func(v Value) bool { return v.Kill != i })
			}
			all = append(all, s)
		}
	}
	return all
}

// killsShownMax is how many kills of a scenario have lines of their own; those beyond are in the lines for all kills.
const killsShownMax = 6

func costSources() []source {
	perMessage := func(r Run, total *int64, messages int64) []Value {
		if total == nil || messages <= 0 {
			return nil
		}
		return exactly(float64(*total)/float64(messages), true)
	}
	cost := func(name, label string, unit Unit, read func(Run) []Value) source {
		return source{Definition{Name: name, Label: label, Group: Cost, Unit: unit, Better: Lower, More: "more", Less: "less"}, read}
	}
	return []source{
		cost("cpu.nodes", "node CPU", NsPerMessage, func(r Run) []Value {
			c := r.Summary.Cost
			return perMessage(r, c.NodesCPUNs, c.AckedMessages)
		}),
		cost("cpu.generator", "generator CPU", NsPerMessage, func(r Run) []Value {
			return perMessage(r, r.Summary.Cost.GeneratorCPUNs, r.Summary.AckedBatches*int64(r.Run.Asked.BatchMessages))
		}),
		cost("disk.written", "disk writes", BytesPerMessage, func(r Run) []Value {
			c := r.Summary.Cost
			return perMessage(r, c.DeviceWrittenBytes, c.AckedMessages)
		}),
		cost("disk.kept", "disk kept", BytesPerMessage, func(r Run) []Value {
			return perMessage(r, keptBytes(r.Summary), r.Summary.AckedBatches*int64(r.Run.Asked.BatchMessages))
		}),
		cost("memory.max", "memory, largest node", Bytes, func(r Run) []Value {
			var most *int64
			for _, n := range r.Summary.Replicas {
				if n.RssAnonMaxBytes != nil && (most == nil || *n.RssAnonMaxBytes > *most) {
					most = n.RssAnonMaxBytes
				}
			}
			return once(most)
		}),
	}
}

// keptBytes is what all nodes together keep of all that was acknowledged. Nil where one of them is not known, and where one was not found to hold all:
// by retention or by a fault it keeps a part, and a part is small.
func keptBytes(s results.Summary) (kept *int64) {
	for _, n := range s.Replicas {
		if n.DataBytes == nil || n.VerifiedBatches < s.AckedBatches {
			return nil
		}
		addTo(&kept, *n.DataBytes)
	}
	return kept
}

// once is the value of a metric that a run has at most once.
func once(v *int64) []Value {
	if v == nil {
		return nil
	}
	return exactly(float64(*v), true)
}

func exactly(v float64, measured bool) []Value {
	if !measured {
		return nil
	}
	return []Value{{Kill: -1, Value: v}}
}

// Definitions are all metrics that a comparison may show.
func Definitions() []Definition {
	var all []Definition
	for _, s := range sources() {
		all = append(all, s.Definition)
	}
	return all
}

// PrimaryMetrics are the metrics that are judged in a scenario. They follow from what is asked of the run, never from what came out:
//
//	a load that the target can carry   steady.p50, steady.p99, cpu.nodes
//	more load than it can carry        throughput, cpu.nodes (latency there measures the queue)
//	with kills beside                  kill.primary.gap, kill.caught_up
func PrimaryMetrics(overload, kills bool) []string {
	names := []string{"steady.p50", "steady.p99", "cpu.nodes"}
	if overload {
		names = []string{"throughput", "cpu.nodes"}
	}
	if kills {
		names = append(names, "kill.primary.gap", "kill.caught_up")
	}
	return names
}

// Measured is a metric of one run.
type Measured struct {
	Definition
	Values []Value
}

// Measure reads all metrics that a run has.
func Measure(r Run) []Measured {
	var all []Measured
	for _, s := range sources() {
		if values := s.read(r); len(values) > 0 {
			all = append(all, Measured{s.Definition, values})
		}
	}
	return all
}
