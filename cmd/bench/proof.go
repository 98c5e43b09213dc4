package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"rejoin/loadgen"
	"rejoin/results"
	"rejoin/server/events"
)

// proveLoad fills the proof with what the load itself tells of its generator and its machine.
func (r *session) proveLoad(s *results.Summary, m *loadgen.Measurement, timeline *results.Timeline, all []results.Event) {
	p, late := &r.proof, m.OwnLate(timeline)
	_, without := m.WithoutOwnLate(timeline, results.Steady, func(int64) bool { return true })
	p.Lateness = results.LatenessProof{P50Ns: late.QuantileNs(0.5), P90Ns: late.QuantileNs(0.9), P99Ns: late.QuantileNs(0.99), P999Ns: late.QuantileNs(0.999), MaxNs: late.MaxNs(),
		Batches: late.Count(), SteadyP99WithoutNs: without.QuantileNs(0.99)}
	p.Pacer.Mode = string(r.outcome.PacerMode)
	if o := r.outcome.Overshoot; o != nil {
		p.Pacer = results.PacerProof{Mode: p.Pacer.Mode, OvershootP50Ns: o.QuantileNs(0.5), OvershootP99Ns: o.QuantileNs(0.99), OvershootMaxNs: o.MaxNs(),
			Waits: o.Count()}
	}
	h := r.outcome.Health
	p.Generator = results.GeneratorProof{Nice: r.nice, CPUShare: h.CPUShare, CPUNs: h.CPUNs, WallNs: h.WallNs, GCPauses: h.GCPauses, SchedLatencyP50Ns: h.SchedLatencyP50Ns, SchedLatencyP99Ns: h.SchedLatencyP99Ns}
	if p.Steal = r.machine.proof(r.ownShare(s)); p.Steal != nil {
		unstolen := func(dueNs int64) bool { return !r.machine.stolen(dueNs) }
		p.Lateness.UnstolenP99Ns = m.OwnLateWhere(timeline, unstolen).QuantileNs(0.99)
		with, without := m.WithoutOwnLate(timeline, results.Steady, unstolen)
		p.Lateness.UnstolenSteadyP99Ns, p.Lateness.UnstolenSteadyP99WithoutNs = with.QuantileNs(0.99), without.QuantileNs(0.99)
	}
	p.Samples = samplesOf(s)
	var steady []results.Sample
	for _, sample := range m.Samples {
		if timeline.PhaseAt(sample.DueNs) == results.Steady {
			steady = append(steady, sample)
		}
	}
	p.DriftP50, p.DriftP99 = new(results.DriftOf(steady, 0.5)), new(results.DriftOf(steady, 0.99))
	p.Books = r.books(s, m, timeline)
	p.Pauses = pausesOf(all, timeline)
	for _, own := range p.Pauses { // one source for the figure, wherever it stands
		if own.Source == results.SourceHarness {
			p.Generator.GCPauseMaxNs, s.Generator.GCPauseMaxNs = own.LongestNs, own.LongestNs
		}
	}
}

// ownShare is the part of all cores that the generator used during the load and the nodes in its measured phase; nil if the nodes' is not
// known. Nodes that live in this process are in the generator's.
func (r *session) ownShare(s *results.Summary) *float64 {
	share := r.outcome.Health.CPUShare
	if !r.polled() {
		return &share
	}
	if s.Cost.NodesCPUNs == nil || s.MeasuredNs <= 0 {
		return nil
	}
	return new(share + float64(*s.Cost.NodesCPUNs)/float64(s.MeasuredNs)/float64(r.run.Found.Cores))
}

func samplesOf(s *results.Summary) []results.PhaseSamples {
	var all []results.PhaseSamples
	for _, phase := range append(results.Phases(), results.Overall) {
		q, ok := s.LatencyNs[string(phase)]
		if !ok {
			continue
		}
		line := results.PhaseSamples{Phase: phase, Samples: q.Count}
		for _, quantile := range []float64{0.5, 0.9, 0.99, 0.999, 0.9999} {
			if results.Enough(q.Count, quantile) {
				line.Highest = quantile
			}
		}
		all = append(all, line)
	}
	return all
}

func (r *session) books(s *results.Summary, m *loadgen.Measurement, timeline *results.Timeline) results.BooksProof {
	b := results.BooksProof{Asked: int64(r.askedBatches() + 0.5), Offered: s.OfferedBatches, Acked: s.AckedBatches, Unknown: s.UnknownBatches,
		Failed: s.FailedBatches, Attempts: s.Attempts, Sent: s.OfferedBatches - m.Counts.Unsent, Histogram: s.Histogram}
	b.SteadyDue, b.SteadyInTime = m.InTime(timeline, results.Steady, int64(r.scenario.Demands.LateP99Max))
	return b
}

// askedBatches is how many batches the timetable of the scenario holds; of random arrivals the expected number.
func (r *session) askedBatches() float64 {
	if r.scenario.ClosedLoop {
		return 0 // there is no timetable
	}
	return r.scenario.batchesOffered(0, time.Duration(r.scenario.Duration))
}

// offeredShareMin is the least part of them that must be due. The number of random arrivals is itself drawn.
func (r *session) offeredShareMin() float64 {
	asked := r.askedBatches()
	if r.scenario.Arrival == loadgen.ArrivalPoisson && asked > 0 {
		return min(offeredShareMin, 1-5/math.Sqrt(asked))
	}
	return offeredShareMin
}

// pausesOf sums what each process told of its garbage collections while the load ran.
func pausesOf(all []results.Event, timeline *results.Timeline) []results.PausesProof {
	var out []results.PausesProof
	of := map[string]int{}
	for _, e := range all {
		if e.Kind != results.KindGC || e.TNs < timeline.LoadStartNs || timeline.LoadStopNs != nil && e.TNs > *timeline.LoadStopNs {
			continue
		}
		i, known := of[e.Source]
		if !known {
			i = len(out)
			of[e.Source] = i
			out = append(out, results.PausesProof{Source: e.Source})
		}
		p := &out[i]
		if e.Rounds != nil {
			p.Cycles += *e.Rounds
		}
		if e.DurationNs != nil && (p.LongestNs == nil || *e.DurationNs > *p.LongestNs) {
			p.LongestNs = e.DurationNs
		}
	}
	return out
}

// watchOwnPauses records the generator's garbage collections as the nodes record theirs, until ctx ends.
func (r *session) watchOwnPauses(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	pauses := events.NewPauses()
	for done := false; !done; {
		select {
		case <-ctx.Done():
			done = true
		case <-ticker.C:
		}
		if p, ok := pauses.Next(); ok {
			r.record.write(results.Event{TMonoNs: p.AtMonoNs, Kind: results.KindGC, Rounds: new(int64(p.Cycles)), DurationNs: new(int64(p.Longest))})
		}
	}
}

// limitsOf says in words what even a pass of this run does not prove.
func (r *session) limitsOf() []string {
	found := &r.run.Found
	limits := []string{
		"A SIGKILL ends a process, not the machine: what the process had written and not yet synced survives in the kernel's page cache. " +
			"The run shows that nothing is lost to dead processes; loss of power is tried by bench sim.",
		r.placeText(),
	}
	switch {
	case r.scenario.kind().ports == 0:
		limits = append(limits, "The memory target stores nothing on any disk: the run tries the harness, not a log.")
	case !r.scenario.kind().own:
		limits = append(limits, "What an acknowledgement promises is the target's guarantee: "+r.run.Asked.Guarantee+". Targets that promise different things "+
			"are not ranked by speed alone.")
	case r.scenario.Durability == durabilityReplicated:
		limits = append(limits, "Durability is \"replicated\": an acknowledged batch is written on a quorum and not yet synced. A SIGKILL does not lose it, "+
			"a power cut of a quorum does.")
	default:
		limits = append(limits, fmt.Sprintf("Durability is \"persisted\": a quorum has called fdatasync on %s before the acknowledgement. Whether the device keeps what it "+
			"said it had written is not tested.", found.FileSystem))
	}
	return append(limits, found.Warnings()...)
}

// placeText says what it means where nodes and generator run.
func (r *session) placeText() string {
	if r.external() {
		return "The nodes ran elsewhere and were started and killed by commands: what killed means is the command's affair, times around a kill hold the " +
			"command's own, and nothing is known of the nodes' processes, disks and clocks."
	}
	return fmt.Sprintf("Nodes and generator share one machine of %d cores, its clock and its disk: the network between machines is not part of the figures, "+
		"and whoever needs a core takes it from the others.", r.run.Found.Cores)
}

// headerText is one line about durability and where the data lies, before the load.
func (r *session) headerText() string {
	if r.scenario.kind().ports == 0 {
		return "all is kept in this process and gone with it; this tries the harness and says nothing about a log"
	}
	f := &r.run.Found
	if r.external() {
		return "nodes elsewhere, killed by command; where their data lies is not known here"
	}
	if !r.scenario.kind().own {
		return fmt.Sprintf("data on %s (%s); SIGKILL loses no page cache, so this says nothing about power cuts", f.FileSystem, f.DataDir)
	}
	return fmt.Sprintf("durability %s; data on %s (%s); SIGKILL loses no page cache, so this says nothing about power cuts", r.scenario.Durability, f.FileSystem, f.DataDir)
}
