package sample

import (
	"rejoin/results"
)

func (o Options) summary(set *results.LatencySet) results.Summary {
	n := o.Seconds * o.BatchesS
	s := results.Summary{Verdict: results.Pass, Target: "builtin" + o.Name, Scenario: "sample" + o.Name, OfferedBatches: n, AckedBatches: n, Attempts: n + 31,
		LatencyNs: set.Quantiles(results.DueToAck), ServiceNs: set.Quantiles(results.SentToAck), LateNs: set.Quantiles(results.DueToSent), Histogram: set.Health(),
		Cost: results.Cost{NodesCPUNs: new(int64(o.Factor * float64(n*100) * 8000)), DeviceWrittenBytes: new(n * 81_000), AckedMessages: n * 100}, Repairs: 1, Transfers: 2, ViewChanges: 1, BatchesPerS: float64(o.BatchesS), MeasuredNs: (o.Seconds - 5) * sec,
		Generator: results.Generator{PacerMode: "timerfd", OvershootP99Ns: new(int64(200_000)), LateP99Ns: new(int64(230_000)), LateMaxNs: new(4 * ms), CPUShare: new(0.07), GCPauseMaxNs: new(int64(90_000))}}
	if o.Name != "" {
		s.Verdict, s.ExitCode, s.Reasons, s.Warnings = results.Fail, results.ExitMissed, []string{"because" + o.Name}, []string{"careful" + o.Name}
		s.DivergedReplicas = []string{o.Name}
	}
	for i := range 3 {
		s.Replicas = append(s.Replicas, results.ReplicaSummary{Node: results.NodeName(i) + o.Name, VerifiedBatches: n, Restarts: 1, ReadableMs: new(14.5), HeadOp: new(n + 12), CommitOp: new(n + 12),
			RssAnonMaxBytes: new(int64(43_000_000)), UnreadableReason: o.Name})
		s.Verification = append(s.Verification, results.VerifyRound{Name: "live" + o.Name, Replica: results.NodeName(i) + o.Name, Ok: o.Name == "", VerifiedBatches: n, DurationMs: 812, Detail: o.Name})
	}
	for i, k := range o.kills() {
		s.Kills = append(s.Kills, o.killSummary(i, k))
	}
	return s
}

func (o Options) killSummary(i int, k kill) results.KillSummary {
	since := func(ns int64) *float64 { return new(float64(ns-k.atNs) / 1e6) }
	out := results.KillSummary{Node: results.NodeName(k.node) + o.Name, Role: k.role + o.Name, AtMs: float64(k.atNs) / 1e6, DownMs: since(k.restartNs), FirstAckMs: since(k.firstAckNs),
		GapWithoutAckMs: float64(k.firstAckNs-k.atNs)/1e6 + 2, GapAtMs: new(float64(k.atNs)/1e6 - 2), CaughtUpMs: new(float64(k.caught-k.restartNs) / 1e6),
		Repairs: 1, RepairOps: 620, RepairBytes: 21_900_000, RepairMs: new(310.0)}
	r := &results.Recovery{}
	r.Outside = results.RecoveryTimes{ExitSeen: since(k.atNs + 4*ms), Started: since(k.restartNs), PortOpen: since(k.restartNs + 61*ms), FirstAnswer: since(k.restartNs + 74*ms),
		RoleKnown: since(k.restartNs + 95*ms), FirstAck: since(k.firstAckNs), FullRate: since(k.firstAckNs + 40*ms), BacklogDrained: since(k.firstAckNs + 120*ms), CaughtUp: since(k.caught)}
	r.Server = results.RecoveryTimes{Started: since(k.restartNs + 8*ms), RoleKnown: since(k.restartNs + 90*ms), CaughtUp: since(k.caught - 10*ms)}
	switch i {
	case 0:
		r.Outside.RepairBegin, r.Outside.RepairEnd = since(k.restartNs+100*ms), since(k.restartNs+400*ms)
		r.Server.RepairBegin, r.Server.RepairEnd = since(k.restartNs+80*ms), since(k.restartNs+390*ms)
	case 1:
		r.Server.TransferBegin, r.Server.TransferEnd = since(k.restartNs+90*ms), since(k.restartNs+820*ms)
		out.Transfers, out.TransferOps, out.TransferBytes, out.TransferMs = 1, 1190, 42_000_000, new(730.0)
	case 2: // it began and the run ended
		r.Server.TransferBegin, r.Outside.CaughtUp, r.Server.CaughtUp = since(k.restartNs+100*ms), nil, nil
		out.CaughtUpMs = nil
	}
	out.Recovery = r
	return out
}

func (o Options) proof() results.Proof {
	n := o.Seconds * o.BatchesS
	return results.Proof{
		Checks: []results.Check{
			{Name: "baseline_in_time", What: "generator alone at twice the rate: batches answered in time" + o.Name, Unit: "share", Value: new(1.0), Relation: results.AtLeast, Budget: 0.999, Judgement: results.JudgedOK},
			{Name: "late_p99", What: "generator late by its own fault, p99", Unit: "ns", Value: new(26e6), Relation: results.AtMost, Budget: 20e6, Judgement: results.JudgedDoubtful, Reason: "the machine was busy; stop what else runs" + o.Name},
			{Name: "steal", What: "CPU time that the hypervisor took", Unit: "share", Relation: results.AtMost, Budget: 0.02, Judgement: results.NotJudged, Reason: "no data"},
		},
		Canaries: []results.CanaryProof{{Name: results.CanarySync, Before: &results.CanaryTimes{P50Ns: new(int64(170_000)), P99Ns: new(int64(480_000)), Samples: 500},
			After: &results.CanaryTimes{P50Ns: new(int64(181_000)), P99Ns: new(int64(520_000)), Samples: 500}, Change: &results.CanaryChange{P50: new(1.06)}}, {Name: results.CanaryCPU}},
		Samples:       []results.PhaseSamples{{Phase: results.Steady, Samples: n - 700, Highest: 0.999}, {Phase: results.Outage, Samples: 12}},
		Books:         results.BooksProof{Asked: n, Offered: n, Sent: n, Acked: n, Attempts: n + 31},
		Pauses:        []results.PausesProof{{Source: results.SourceHarness, Cycles: 14, LongestNs: new(int64(90_000))}, {Source: "n0" + o.Name, Cycles: 3}},
		Disagreements: []results.Disagreement{{Kill: new(1), Node: "n0" + o.Name, What: "caught_up" + o.Name, Unit: "ms", Server: new(970.0), Outside: new(980.0), Tolerance: 5}, {What: "view_changes", Unit: "count", Server: new(2.0), Outside: new(1.0)}},
		Limits:        []string{"One machine is not three." + o.Name},
	}
}
