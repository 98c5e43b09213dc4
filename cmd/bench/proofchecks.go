package main

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"rejoin/results"
)

// Budgets of the checks that have no budget elsewhere. docs/measuring.md says what each is for.
const (
	overshootP99Max   = 2 * time.Millisecond
	generatorShareMax = 0.5 // of all cores
	gcPauseMax        = 10 * time.Millisecond
	lateOfLatencyMax  = 0.25 // of the steady p99: two runs of one build differ by more there
	stealShareMax     = 0.02 // of the CPU time of the load
	strangersShareMax = 0.1  // of all cores
	offeredShareMin   = 0.99
	samplesMin        = 100   // batches due outside the warm-up: below, not even a p90
	steadySamplesMin  = 1_000 // acknowledged in steady: below, no p99
)

// checker makes the checks of one run.
type checker struct {
	r      *session
	s      *results.Summary
	checks []results.Check
}

// checks holds the proof against its budgets.
func (r *session) checks(s *results.Summary) []results.Check {
	c := &checker{r: r, s: s}
	c.baseline()
	c.lateness()
	c.offer()
	c.machine()
	c.canaries()
	c.generator()
	c.samples()
	c.drift()
	c.records()
	return c.checks
}

// fact is a check under way: a value and what follows if it is beyond its budget.
type fact struct {
	name, what, unit string
	value            *float64
	relation         results.Relation
	budget           float64
	beyond           results.Judgement
	// load says that the fact is about offering the load in time, which a scenario beyond the machine's capacity does not ask for.
	load   bool
	reason string
	// untold says why there is no value, if there is more to say than that.
	untold string
}

func (c *checker) add(f fact) {
	check := results.Check{Name: f.name, What: f.what, Unit: f.unit, Value: f.value, Relation: f.relation, Budget: f.budget, Judgement: results.JudgedOK}
	switch {
	case f.value == nil:
		check.Judgement, check.Reason = results.NotJudged, cmp.Or(f.untold, "there is no data")
	case f.load && c.r.scenario.Overload:
		check.Judgement, check.Reason = results.NotJudged, "the scenario asks for more than the machine can"
	case f.relation == results.AtMost && *f.value > f.budget, f.relation == results.AtLeast && *f.value < f.budget:
		check.Judgement, check.Reason = f.beyond, f.reason
	}
	c.checks = append(c.checks, check)
}

func (c *checker) baseline() {
	b := c.r.proof.Baseline
	if b == nil {
		b = &results.BaselineProof{}
	}
	var share *float64
	if b.Batches > 0 {
		share = &b.AchievedShare
	}
	advice := fmt.Sprintf("in the last of %d tries%s: the generator is too weak here, whatever the target does; lower the rate or end other programs", b.Tries, stealText(b.StealShare))
	if b.StealShare != nil && *b.StealShare > results.StealBurst {
		advice = fmt.Sprintf("in the last of %d tries%s, which may explain it: %s", b.Tries, stealText(b.StealShare), quieter)
	}
	c.add(fact{name: "baseline_share", what: "generator alone at twice the rate: batches answered in time", unit: "share", value: share, load: true,
		relation: results.AtLeast, budget: baselineShareMin, beyond: results.JudgedInvalid,
		reason: fmt.Sprintf("the generator alone did not reach twice the rate: %.1f %% of the batches were answered in time, %s", 100*b.AchievedShare, advice)})
	late := floatOf(b.LateP99Ns)
	beyond := results.JudgedInvalid
	if own := c.s.Generator.LateP99Ns; own != nil && *own <= int64(c.r.scenario.Demands.LateP99Max) {
		beyond = results.JudgedDoubtful // with the nodes beside it it was in time, and that is what counts
	}
	c.add(fact{name: "baseline_late_p99", what: "generator alone at twice the rate: late by itself, p99", unit: "ns", value: late, load: true,
		relation: results.AtMost, budget: float64(c.r.scenario.baselineLateMax()), beyond: beyond,
		reason: fmt.Sprintf("the generator alone, at twice the rate, was late: p99 %s, its budget is %v, %s", nsText(b.LateP99Ns), c.r.scenario.baselineLateMax(), advice)})
}

func (c *checker) lateness() {
	late, budget, name := c.s.Generator.LateP99Ns, c.r.scenario.Demands.LateP99Max, "p99"
	if late == nil { // too few samples for it; where even p90 is beyond the budget, p99 is too
		late, name = c.r.proof.Lateness.P90Ns, "p90"
	}
	c.add(fact{name: "late_p99", what: "generator late by its own fault, " + name, unit: "ns", value: floatOf(late), load: true, relation: results.AtMost,
		budget: float64(budget), beyond: results.JudgedInvalid,
		reason: fmt.Sprintf("the generator itself was late: %s %s, its budget is %v; %s", name, nsText(late), budget, c.whyLate())})
	c.lateOfLatency()
}

// lateOfLatency asks how much of the figure that people compare, the steady p99, is the generator's own doing. It compares p99 of the same
// batches with and without it: a few late batches of a generator that is otherwise in time are not the ones that make up the p99 of the
// latency, so its own p99 says nothing about that.
func (c *checker) lateOfLatency() {
	l := &c.r.proof.Lateness
	steady := c.s.LatencyNs[string(results.Steady)].P99
	share, unstolen := lateShare(steady, l.SteadyP99WithoutNs), lateShare(l.UnstolenSteadyP99Ns, l.UnstolenSteadyP99WithoutNs)
	f := fact{name: "late_of_latency", what: "part of the steady p99 that the generator itself was late", unit: "share", value: share, load: true,
		relation: results.AtMost, budget: lateOfLatencyMax, beyond: results.JudgedDoubtful}
	if share != nil {
		f.reason = fmt.Sprintf("%.0f %% of the steady p99 is the generator's own lateness: %s with it, %s without%s", 100**share, nsText(steady), nsText(l.SteadyP99WithoutNs), c.lateCause(unstolen))
	}
	c.add(f)
}

// lateShare is which part of a p99 is lateness; nil without data.
func lateShare(with, without *int64) *float64 {
	if with == nil || without == nil || *with <= 0 {
		return nil
	}
	return new(max(1-float64(*without)/float64(*with), 0)) // both are edges of buckets
}

// lateCause says what the part is outside stolen seconds, and so what would help.
func (c *checker) lateCause(unstolen *float64) string {
	const ownFault = "lower the rate or end other programs"
	p := c.r.proof.Steal
	switch {
	case p == nil || p.StolenSeconds == 0:
		return "; " + ownFault
	case unstolen == nil:
		return fmt.Sprintf("; the hypervisor took more than %.0f %% of the CPU time in %d of %d seconds, and too few batches lie outside them to tell by how much that did it: %s",
			100*results.StealBurst, p.StolenSeconds, p.Seconds, quieter)
	}
	text := fmt.Sprintf(" (outside stolen seconds, %d of %d: %.0f %%)", p.Seconds-p.StolenSeconds, p.Seconds, 100**unstolen)
	if *unstolen <= lateOfLatencyMax {
		return text + "; what was stolen explains it: " + quieter
	}
	return text + "; what was stolen does not explain it: " + ownFault
}

// quieter is what helps against a hypervisor that gives the CPU to others.
const quieter = "repeat the run when the host is quieter"

// whyLate names who had the CPU instead.
func (c *checker) whyLate() string {
	p := c.r.proof.Steal
	if p == nil {
		return "the machine is too busy: end other programs or lower the rate"
	}
	own := c.r.proof.Lateness.UnstolenP99Ns
	if p.StolenSeconds > 0 && own != nil && *own <= int64(c.r.scenario.Demands.LateP99Max) {
		return fmt.Sprintf("the hypervisor took more than %.0f %% of the CPU time in %d of %d seconds, %.0f %% in the worst",
			100*results.StealBurst, p.StolenSeconds, p.Seconds, 100*p.WorstSecondShare) +
			fmt.Sprintf("; outside them p99 was %s: %s", nsText(own), quieter)
	}
	text := fmt.Sprintf("the hypervisor took %.1f %% of the CPU time, which does not explain it; the cores were %.0f %% busy%s", 100*p.Share, 100*p.BusyShare, othersText(p))
	return text + ": end other programs or lower the rate"
}

func (c *checker) offer() {
	b := c.r.proof.Books
	asked := c.r.askedBatches()
	var offered, inTime *float64
	if asked > 0 && !c.r.outcome.Interrupted {
		offered = new(float64(c.s.OfferedBatches) / asked)
	}
	if b.SteadyDue > 0 {
		inTime = new(float64(b.SteadyInTime) / float64(b.SteadyDue))
	}
	c.add(fact{name: "offered_share", what: "batches due by the generator's own books, of those that the scenario asks for", unit: "share", value: offered,
		relation: results.AtLeast, budget: c.r.offeredShareMin(), beyond: results.JudgedInvalid,
		reason: fmt.Sprintf("%d batches were due by the generator's own count, the scenario asks for %.0f; this is a fault of the harness, please report it", c.s.OfferedBatches, asked)})
	c.add(fact{name: "steady_in_time", what: "batches of the steady phase that were offered within the lateness budget", unit: "share", value: inTime, load: true,
		relation: results.AtLeast, budget: offeredShareMin, beyond: results.JudgedInvalid,
		reason: fmt.Sprintf("only %d of %d batches of the steady phase were offered within %v of their due time by the generator's own doing; %s", b.SteadyInTime, b.SteadyDue,
			c.r.scenario.Demands.LateP99Max, c.whyLate())})
}

func (c *checker) machine() {
	p := c.r.proof.Steal
	if p == nil {
		p = &results.StealProof{}
	}
	var share *float64
	others := strangers(c.r.proof.Steal)
	if c.r.proof.Steal != nil {
		share = &p.Share
	}
	c.add(fact{name: "steal", what: "CPU time that the hypervisor gave to other machines during the load", unit: "share", value: share, relation: results.AtMost,
		budget: stealShareMax, beyond: results.JudgedDoubtful,
		reason: fmt.Sprintf("the hypervisor took %.1f %% of the CPU time during the load, %.0f %% in the worst second: latencies hold its pauses too; %s",
			100*p.Share, 100*p.WorstSecondShare, quieter)})
	c.add(fact{name: "strangers", what: "CPU time of processes that do not belong to the run", unit: "share", value: others.share, relation: results.AtMost,
		budget: strangersShareMax, beyond: results.JudgedDoubtful, untold: others.untold,
		reason: fmt.Sprintf("other programs used at least %.0f %% of all cores during the load: end them and repeat the run", 100*others.least)})
}

// othersShare is what other programs used of all cores. share is nil, and untold says why, where that cannot be told.
type othersShare struct {
	share       *float64
	least, most float64
	untold      string
}

// strangers takes what this run used from what was used. Whether the CPU time of a process holds what was stolen while it ran depends on the kernel
// (paravirtual time accounting), so what is left for others lies between two figures: this run's time without, and with what was stolen.
func strangers(p *results.StealProof) (o othersShare) {
	if p == nil || p.OwnShare == nil {
		return o
	}
	o.least, o.most = max(p.BusyShare-*p.OwnShare, 0), max(p.BusyShare+p.Share-*p.OwnShare, 0)
	switch {
	case o.least > strangersShareMax:
		o.share = &o.least
	case o.most <= strangersShareMax:
		o.share = &o.most
	default:
		o.untold = fmt.Sprintf("%.0f to %.0f %% of all cores: the kernel may count stolen time to the processes that it was taken from, and so much was stolen that nobody can tell what other programs used",
			100*o.least, 100*o.most)
	}
	return o
}

func (c *checker) canaries() {
	for i, p := range c.r.proof.Canaries {
		var change *float64
		if p.Change != nil && p.Change.P50 != nil {
			change = new(max(*p.Change.P50, 1 / *p.Change.P50))
		}
		beyond, advice := results.JudgedInvalid, "the machine changed during the run"
		if p.Change != nil && p.Change.P50 != nil && *p.Change.P50 < 1 { // what disturbed it was there before the run, and is gone after it
			beyond, advice = results.JudgedDoubtful, "the machine was disturbed before the run"
		}
		before, after := &results.CanaryTimes{}, &results.CanaryTimes{}
		if p.Before != nil && p.After != nil {
			before, after = p.Before, p.After
		}
		c.add(fact{name: "canary_" + p.Name, what: "canary " + p.Name + ": change of its median from before to after the run, in either direction", unit: "factor",
			value: change, relation: results.AtMost, budget: c.r.canaries[i].factorMax, beyond: beyond,
			reason: advice + fmt.Sprintf(": canary %s took %s before and %s after it, in %d tries; repeat the run on a machine at rest", p.Name,
				nsText(before.P50Ns), nsText(after.P50Ns), after.Tries)})
	}
}

func (c *checker) generator() {
	p := &c.r.proof
	var share *float64
	if p.Generator.WallNs > 0 {
		share = &p.Generator.CPUShare
	}
	c.add(fact{name: "pacer_overshoot_p99", what: "pacer " + p.Pacer.Mode + ": a wait ends late by, p99, before the load", unit: "ns", value: floatOf(p.Pacer.OvershootP99Ns),
		relation: results.AtMost, budget: float64(overshootP99Max), beyond: results.JudgedDoubtful,
		reason: fmt.Sprintf("waits of the generator ended late before the load began, p99 %s: the machine is busy, or its timers are coarse", nsText(p.Pacer.OvershootP99Ns))})
	c.add(fact{name: "generator_cpu", what: "CPU time of the generator, of all cores", unit: "share", value: share, load: true, relation: results.AtMost,
		budget: generatorShareMax, beyond: results.JudgedDoubtful, reason: fmt.Sprintf("the generator needs %.0f %% of all cores, which the nodes miss: lower the rate", 100*p.Generator.CPUShare)})
	c.add(fact{name: "generator_gc_pause", what: "longest stop of the generator by its garbage collector", unit: "ns", value: floatOf(p.Generator.GCPauseMaxNs),
		relation: results.AtMost, budget: float64(gcPauseMax), beyond: results.JudgedDoubtful, reason: fmt.Sprintf("the generator's garbage collector stopped it for up to %s, and batches due meanwhile were sent late: on a busy machine end other programs",
			nsText(p.Generator.GCPauseMaxNs))})
	c.add(fact{name: "generator_sched_p99", what: "time that a runnable goroutine of the generator waited for a core, p99", unit: "ns",
		value: floatOf(p.Generator.SchedLatencyP99Ns), load: true, relation: results.AtMost, budget: float64(c.r.scenario.Demands.LateP99Max), beyond: results.JudgedDoubtful,
		reason: fmt.Sprintf("the generator's goroutines waited for a core, p99 %s: the machine is too busy, end other programs", nsText(p.Generator.SchedLatencyP99Ns))})
}

func (c *checker) samples() {
	var measured, steady *float64
	if c.r.proof.Lateness.Batches > 0 || c.s.OfferedBatches > 0 {
		measured = new(float64(c.r.proof.Lateness.Batches))
	}
	if q, ok := c.s.LatencyNs[string(results.Steady)]; ok {
		steady = new(float64(q.Count))
	}
	c.add(fact{name: "samples", what: "batches tried outside the warm-up", unit: "batches", value: measured, load: true, relation: results.AtLeast, budget: samplesMin,
		beyond: results.JudgedInvalid, reason: fmt.Sprintf("%d batches outside the warm-up are too few to tell anything; run longer or at a higher rate", c.r.proof.Lateness.Batches)})
	c.add(fact{name: "steady_samples", what: "acknowledged batches of the steady phase", unit: "batches", value: steady, relation: results.AtLeast,
		budget: steadySamplesMin, beyond: results.JudgedDoubtful, reason: "too few batches of the steady phase for a p99: run longer"})
}

// drift asks whether the steady phase was steady: where a quantile rises or falls all through it, its figure depends on the length of the run.
func (c *checker) drift() {
	for _, d := range []struct {
		quantile string
		drift    *results.Drift
	}{{"p50", c.r.proof.DriftP50}, {"p99", c.r.proof.DriftP99}} {
		f := fact{name: "drift_" + d.quantile, what: "trend of " + d.quantile + " over the steady phase, if it is sure, as a part of its median", unit: "share",
			relation: results.AtMost, budget: results.DriftChangeMax, beyond: results.JudgedDoubtful}
		if d.drift != nil && d.drift.Change != nil {
			f.value = new(0.0)
			if math.Abs(*d.drift.Score) > results.DriftScoreMin {
				f.value = new(math.Abs(*d.drift.Change))
			}
			f.reason = fmt.Sprintf("the steady phase was not steady: %s of the latency changed by %+.0f %% over it; warm up longer, or run longer until it settles",
				d.quantile, 100**d.drift.Change)
		}
		c.add(f)
	}
}

// records holds the record itself: sums that must be, and both tellings of the same thing. Summary.Check gives the verdict's reasons for the
// first two.
func (c *checker) records() {
	s, h := c.s, c.s.Histogram
	none := func(name, what string, n int64, beyond results.Judgement, reason string) {
		c.add(fact{name: name, what: what, unit: "count", value: new(float64(n)), relation: results.AtMost, budget: 0, beyond: beyond, reason: reason})
	}
	none("books", "batches without an outcome, or with two", max(s.OfferedBatches-s.AckedBatches-s.UnknownBatches-s.FailedBatches,
		s.AckedBatches+s.UnknownBatches+s.FailedBatches-s.OfferedBatches), results.JudgedInvalid, "the books of the load do not balance")
	none("histogram", "latencies above the histogram's range, negative, or lost in merging", h.OverflowCount+h.NegativeCount+h.MergeLostCount,
		results.JudgedInvalid, "the latency histograms do not hold every sample")
	none("disagreements", "facts that nodes told otherwise than they look from outside", int64(len(c.r.proof.Disagreements)), results.JudgedDoubtful,
		disagreementsText(c.r.proof.Disagreements))
}

// saidElsewhere tells whether the judge has the reason of a check already: by results.Summary.Check, or by a check that says the same.
func saidElsewhere(checks []results.Check, name string) bool {
	late, _ := results.Proof{Checks: checks}.Check("late_p99")
	return name == "books" || name == "histogram" || name == "steady_in_time" && late.Judgement == results.JudgedInvalid
}
