package goals

import "rejoin/results"

// Row is one goal.
type Row struct {
	Figure string
	Series string
	Unit   string // "" for a count or a quotient
	// Ratio says that it is one to what ran next to it, whose goal may be as near to 1 as the machine drifts.
	Ratio bool
	// Floor and Goal: a figure worse than Floor is a defect. LowerIsBetter says which side is worse.
	Floor, Goal   float64
	LowerIsBetter bool
	// Values are the figures of a sample; most have one.
	Values func(Sample) []float64 `json:"-"`
	// Worst takes the worst value of all instead of the median.
	Worst bool
	// Says is what the samples themselves say about the figure, or about why there is none.
	Says func([]Sample) string `json:"-"`
	Note string
}

const needsRoom = "three times as much of the disk must be free as the log is to take, 3 GiB at least"

// Rows are all goals, in the order of the table.
func Rows() []Row {
	rate := func(s Sample) []float64 { return ratio(s.Summary.BatchesPerS, shapeOf(s, rateOf)) }
	const ready = "only runs whose nodes made no zeros meanwhile count"
	rows := []Row{
		{Figure: "saturated batches/s to the shape, burst of 3 s", Series: SeriesBurst, Ratio: true, Floor: 0.60, Goal: 0.90, Values: whenReady(rate), Note: ready},
		{Figure: "saturated batches/s to the shape, sustained 30 s", Series: SeriesSustained, Ratio: true, Floor: 0.55, Goal: 0.80, Values: rate},
		{Figure: "saturated batches/s to hashicorp/raft with raft-wal", Series: SeriesRaft, Ratio: true, Floor: 2, Goal: 3, Values: toRaft, Says: raftText},
	}
	rows = append(rows, costRows()...)
	rows = append(rows, steadyRows()...)
	rows = append(rows, bandwidthRows()...)
	rows = append(rows,
		Row{Figure: "total throughput, 16 partitions to 1, 192 producers each", Series: SeriesMany, Ratio: true, Floor: 0.8, Goal: 0.95, Values: against},
		Row{Figure: "the same with 12 producers in all", Series: SeriesFew, Ratio: true, Floor: 0.5, Goal: 0.7, Values: against},
		Row{Figure: "p50 at 30,000 msg/s with a 20 GiB log to an empty one, one node", Series: SeriesLog, Ratio: true, Floor: 1.2, Goal: 1.05, LowerIsBetter: true, Values: largeToEmpty,
			Says: lengthText, Note: needsRoom},
	)
	rows = append(rows, recoveryRows()...)
	return append(rows, generatorRows()...)
}

func costRows() []Row {
	cost := func(role string, of func(results.ShapeLimit) float64) func(Sample) []float64 {
		return whenReady(func(s Sample) []float64 { return ratio(cpuOf(s, role), shapeOf(s, of)) })
	}
	return []Row{
		{Figure: "CPU per batch at saturation, primary, to the shape", Series: SeriesBurst, Ratio: true, Floor: 1.6, Goal: 1.15, LowerIsBetter: true,
			Values: cost(results.RolePrimary, primaryCPU)},
		{Figure: "CPU per batch at saturation, backup, to the shape", Series: SeriesBurst, Ratio: true, Floor: 1.6, Goal: 1.15, LowerIsBetter: true,
			Values: cost(results.RoleBackup, backupCPU)},
		{Figure: "CPU per batch at saturation, generator, to the shape", Series: SeriesBurst, Ratio: true, Floor: 1.5, Goal: 1.25, LowerIsBetter: true,
			Values: cost(results.SourceGenerator, func(l results.ShapeLimit) float64 { return l.ProducersCPUNsPerBatch })},
		{Figure: "allocations per batch, primary", Series: SeriesBurst, Floor: 8, Goal: 4, LowerIsBetter: true, Values: allocations(results.RolePrimary),
			Note: "all of the process, telling its metrics included"},
		{Figure: "allocations per batch, backup", Series: SeriesBurst, Floor: 8, Goal: 4, LowerIsBetter: true, Values: allocations(results.RoleBackup)},
	}
}

func steadyRows() []Row {
	quantile := func(of func(results.Quantiles) *int64) func(Sample) []float64 {
		return func(s Sample) []float64 {
			ours := of(s.Summary.LatencyNs[string(results.Steady)])
			if ours == nil || s.Shape == nil || of(s.Shape.LatencyNs) == nil {
				return nil
			}
			return ratio(float64(*ours), float64(*of(s.Shape.LatencyNs)))
		}
	}
	return []Row{
		{Figure: "p50 at 30,000 msg/s open loop, to the shape", Series: SeriesSteady, Ratio: true, Floor: 1.5, Goal: 1.15, LowerIsBetter: true,
			Values: quantile(func(q results.Quantiles) *int64 { return q.P50 })},
		{Figure: "p99 at 30,000 msg/s open loop, to the shape", Series: SeriesSteady, Ratio: true, Floor: 2.5, Goal: 1.3, LowerIsBetter: true,
			Values: quantile(func(q results.Quantiles) *int64 { return q.P99 })},
		{Figure: "CPU per batch at 30,000 msg/s, all three nodes, to the shape", Series: SeriesSteady, Ratio: true, Floor: 1.6, Goal: 1.2, LowerIsBetter: true,
			Values: nodesCPU},
		{Figure: "device bytes to 3 x payload bytes, without zero-filling", Series: SeriesSteady, Floor: 2.2, Goal: 1.7, LowerIsBetter: true, Values: deviceBytes, Says: deviceUnknown,
			Note: "whatever the machine wrote to the device meanwhile is in it"},
	}
}

func bandwidthRows() []Row {
	return []Row{
		{Figure: "catch-up bandwidth under load, to the least of disk read, disk write and loopback", Series: SeriesReturn, Ratio: true, Floor: 0.3, Goal: 0.6, Values: catchUp},
		{Figure: "boot of one node with a 20 GiB log, clean and after SIGKILL, the longer", Series: SeriesLog, Unit: "s", Floor: 5, Goal: 2, LowerIsBetter: true, Worst: true,
			Values: boots, Says: lengthText, Note: needsRoom},
		{Figure: "verification and reading back, per replica, to loopback sendfile", Series: SeriesBurst, Ratio: true, Floor: 0.35, Goal: 0.7, Values: readBack,
			Note: "the other nodes stopped, and this one at rest: after a burst they fill segments anew"},
	}
}

func recoveryRows() []Row {
	kills := func(of func(results.KillSummary) *float64) func(Sample) []float64 {
		return func(s Sample) (all []float64) {
			for _, k := range s.Summary.Kills {
				if v := of(k); v != nil {
					all = append(all, *v)
				}
			}
			return all
		}
	}
	firstAck := kills(func(k results.KillSummary) *float64 { return k.FirstAckMs })
	return []Row{
		{Figure: "false elections at saturation", Series: SeriesElections, Unit: "elections", Floor: 0, Goal: 0, LowerIsBetter: true, Worst: true,
			Values: func(s Sample) []float64 { return []float64{float64(s.Summary.ViewChanges)} }, Says: lengthOfLoad},
		{Figure: "kill of the primary to the first acknowledgement, median of 50", Series: SeriesPrimary, Unit: "ms", Floor: 2000, Goal: 400, LowerIsBetter: true, Values: firstAck},
		{Figure: "kill of the primary to the first acknowledgement, longest of 50", Series: SeriesPrimary, Unit: "ms", Floor: 2000, Goal: 1000, LowerIsBetter: true, Worst: true,
			Values: firstAck},
		{Figure: "kill of a backup: longest time without an acknowledgement", Series: SeriesBackup, Unit: "ms", Floor: 300, Goal: 100, LowerIsBetter: true, Worst: true,
			Values: kills(func(k results.KillSummary) *float64 { return new(k.GapWithoutAckMs) }), Note: "from the kill to 5 s after the restart, whatever caused it"},
		{Figure: "current again after 10 s down at 30,000 msg/s, longest of 5", Series: SeriesReturn, Unit: "ms", Floor: 5000, Goal: 1000, LowerIsBetter: true, Worst: true,
			Values: kills(func(k results.KillSummary) *float64 { return k.CaughtUpMs })},
	}
}

func generatorRows() []Row {
	late := func(of func(results.LatenessProof) *int64) func(Sample) []float64 {
		return func(s Sample) []float64 {
			if v := of(s.Lateness); v != nil {
				return []float64{float64(*v) / 1e6}
			}
			return nil
		}
	}
	cpu := func(s Sample) []float64 {
		if v := cpuOf(s, results.SourceGenerator); v > 0 {
			return []float64{v / 1e3}
		}
		return nil
	}
	sent := func(s Sample) []float64 {
		if s.Summary.OfferedBatches == 0 {
			return nil
		}
		return []float64{100 * float64(s.Summary.AckedBatches) / float64(s.Summary.OfferedBatches)}
	}
	return []Row{
		{Figure: "generator at 300 batches/s, late p50", Series: SeriesSteady, Unit: "ms", Floor: 0.2, Goal: 0.1, LowerIsBetter: true, Values: late(func(l results.LatenessProof) *int64 { return l.P50Ns })},
		{Figure: "generator at 300 batches/s, late p99", Series: SeriesSteady, Unit: "ms", Floor: 0.5, Goal: 0.25, LowerIsBetter: true, Values: late(func(l results.LatenessProof) *int64 { return l.P99Ns })},
		{Figure: "generator at 300 batches/s, late p99.9", Series: SeriesSteady, Unit: "ms", Floor: 3, Goal: 2, LowerIsBetter: true, Values: late(func(l results.LatenessProof) *int64 { return l.P999Ns })},
		{Figure: "generator at 300 batches/s, CPU a batch", Series: SeriesSteady, Unit: "µs", Floor: 200, Goal: 200, LowerIsBetter: true, Values: cpu},
		{Figure: "generator at 30,000 single requests/s, share acknowledged", Series: SeriesSingles, Unit: "%", Floor: 100, Goal: 100, Values: sent},
		{Figure: "generator at 30,000 single requests/s, CPU a request", Series: SeriesSingles, Unit: "µs", Floor: 40, Goal: 25, LowerIsBetter: true, Values: cpu},
	}
}
