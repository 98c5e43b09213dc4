package main

import (
	"fmt"
	"slices"
	"time"

	"rejoin/loadgen"
	"rejoin/results"
)

// summarize makes the numbers of summary.json from the ledgers, the events and the status samples.
func (r *session) summarize() (results.Summary, error) {
	s := results.Summary{Target: r.scenario.Target, Scenario: r.scenario.Name}
	s.FrameBytes = r.frameBytes(&s)
	if !r.loaded {
		return s, nil
	}
	m, err := loadgen.Measure(r.outcome.Ledgers)
	if err != nil {
		return s, fmt.Errorf("measure: %w", err)
	}
	events, err := r.folder.ReadEvents()
	if err != nil {
		r.warn("%v", err)
	}
	if events, err = r.addFirstAcks(events, m.Acks); err != nil {
		return s, err
	}
	timeline := results.TimelineOf(events)
	set, err := r.folder.WriteLatencies(r.run.StartedAt, m.Samples, timeline.PhaseAt, r.countReads(&s)...)
	if err != nil {
		return s, fmt.Errorf("write latencies: %w", err)
	}
	if err := r.writeRates(m.Rates()); err != nil {
		return s, err
	}
	r.countBatches(&s, m)
	s.FrameBytes = r.frameBytes(&s)
	s.LatencyNs, s.ServiceNs, s.LateNs = set.Quantiles(results.DueToAck), set.Quantiles(results.SentToAck), set.Quantiles(results.DueToSent)
	if len(r.outcome.Consumers) > 0 {
		s.ReadNs = set.Quantiles(results.DueToRead)
	}
	s.Histogram = set.Health()
	s.PhaseBatches = map[string]int64{}
	for phase, n := range m.ByPhase(&timeline) {
		s.PhaseBatches[string(phase)] = n.OK
	}
	s.Generator = r.generator(m.OwnLate(&timeline))
	s.LoadStopMs = new(float64(r.outcome.StopNs) / 1e6)
	s.MeasuredNs = r.outcome.StopNs - timeline.WarmupEndNs
	if s.MeasuredNs > 0 {
		// By the time of the acknowledgement: under overload all that is acknowledged was due long before.
		acked := m.Acks.Before(r.outcome.StopNs) - m.Acks.Before(timeline.WarmupEndNs)
		s.BatchesPerS = float64(acked) / (float64(s.MeasuredNs) / 1e9)
	}
	seen, err := r.readStatus(timeline)
	if err != nil {
		r.warn("%v", err)
	}
	s.Cost = r.cost(s, &seen.cost)
	r.countRecoveries(&s, events, timeline, m, seen)
	r.describeReplicas(&s, timeline, seen)
	r.primaryFaults = expectedViewChanges(events)
	if len(timeline.Kills) > 0 {
		r.ackedBeforeFaults = m.Acks.Before(timeline.Kills[0].AtNs)
	}
	r.withoutQuorum = timeline.WithoutQuorum(r.scenario.Nodes, r.outcome.StopNs+int64(batchBudget))
	r.excused = m.Excused(r.withoutQuorum)
	r.addVerification(&s)
	r.mergeProfiles(&timeline, m.Acks)
	r.proveLoad(&s, m, &timeline, events)
	return s, nil
}

// frameBytes is the size of a frame, where sizes differ the mean of the acknowledged ones.
func (r *session) frameBytes(sum *results.Summary) int64 {
	s := r.scenario
	payload := int64(s.BatchMessages) * int64(s.PayloadBytes)
	if s.payloadBytesMost() > s.PayloadBytes && sum.AckedBatches > 0 {
		payload = r.outcome.AckedPayloadBytes / sum.AckedBatches
	}
	if !s.kind().own {
		return payload
	}
	return payload + frameBytesOf(s.BatchMessages, 0)
}

func (r *session) writeRates(rates []results.Rate) error {
	out, err := r.folder.AppendRates()
	if err != nil {
		return err
	}
	for _, rate := range rates {
		if err := out.Write(rate); err != nil {
			return err
		}
	}
	return out.Close()
}

func (r *session) countBatches(s *results.Summary, m *loadgen.Measurement) {
	c := m.Counts
	s.OfferedBatches, s.AckedBatches, s.UnknownBatches, s.FailedBatches = c.Due, c.OK, c.Unknown, c.Failed
	s.LateAckedBatches, s.Attempts = c.LateAcked, c.Tries
	for _, producer := range m.Torn {
		r.judge.Invalid("the ledger of producer %d lost its end", producer)
	}
}

func (r *session) generator(late *results.Histogram) results.Generator {
	h := r.outcome.Health
	g := results.Generator{PacerMode: string(r.outcome.PacerMode), LateP50Ns: late.QuantileNs(0.5), LateP99Ns: late.QuantileNs(0.99),
		LateMaxNs: late.MaxNs(), CPUShare: new(h.CPUShare), Nice: r.nice}
	if o := r.outcome.Overshoot; o != nil {
		g.OvershootP50Ns, g.OvershootP99Ns = o.QuantileNs(0.5), o.QuantileNs(0.99)
	}
	return g
}

// strayAfterExit: answers that a dead process had sent may still be read so long after its exit was seen.
const strayAfterExit = 20 * time.Millisecond

// firstAckAfter is the first acknowledgement that a process killed at atNs cannot have given: answers that were under way when it died are
// told by the silence that follows them.
func firstAckAfter(acks loadgen.Acks, exitNs int64) (int64, bool) {
	first, ok := acks.FirstAfter(exitNs)
	for at := first; ok && at < exitNs+int64(strayAfterExit); {
		next, more := acks.FirstAfter(at)
		if !more {
			return first, true // nothing follows: it is an answer like any other
		}
		if next-at > int64(strayAfterExit) {
			return next, true
		}
		at = next
	}
	return first, ok
}

// firstAckOf is the first acknowledgement after a fault that met a node of that role. A backup gives none, so the next one counts. Any other
// may have left answers under way when it was gone, and at a SIGTERM it gives some until then.
func firstAckOf(acks loadgen.Acks, role string, atNs, goneNs int64) (int64, bool) {
	if role == results.RoleBackup {
		return acks.FirstAfter(atNs)
	}
	return firstAckAfter(acks, goneNs)
}

// addFirstAcks writes a first_ack event for each kill and each stop, now that the ledgers tell it exactly.
func (r *session) addFirstAcks(events []results.Event, acks loadgen.Acks) ([]results.Event, error) {
	out, err := r.folder.AppendEvents()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	stops := results.TimelineOf(events).Stops
	for _, e := range events {
		gone := e.TNs
		switch {
		case e.Kind == results.KindKill:
			gone = exitAfter(events, e)
		case e.Kind != results.KindPause || !slices.ContainsFunc(stops, func(s results.Stop) bool { return s.Node == e.Of() && s.AtNs == e.TNs }):
			continue // also what the verifier stops
		}
		at, ok := firstAckOf(acks, e.Role, e.TNs, gone)
		if !ok {
			continue
		}
		ack := results.Event{TNs: at, TMonoNs: r.run.StartMonoNs + at, Source: results.SourceHarness, Kind: results.KindFirstAck, Node: e.Node,
			Signal: e.Signal, DurationNs: new(at - e.TNs)}
		if before, ok := acks.LastBefore(at); ok {
			ack.SilentNs = new(at - before)
		}
		if err := out.Write(ack); err != nil {
			return nil, err
		}
		events = append(events, ack)
	}
	return events, nil
}

// exitAfter is when the exit that belongs to a kill was seen; the kill itself if it was not.
func exitAfter(events []results.Event, kill results.Event) int64 {
	for _, e := range events {
		if e.Kind == results.KindExit && e.Node == kill.Node && e.Pid == kill.Pid && e.TNs >= kill.TNs {
			return e.TNs
		}
	}
	return kill.TNs
}

// describeReplicas fills the list of nodes from the pollers and the status samples.
func (r *session) describeReplicas(s *results.Summary, timeline results.Timeline, seen polledFacts) {
	final := r.finalStatus
	for i := range r.scenario.Nodes {
		rep := results.ReplicaSummary{Node: results.NodeName(i), RssAnonMaxBytes: r.system.rssMaxOf(i), ReadableMs: seen.readableMs[results.NodeName(i)]}
		if i < len(final) {
			rep.HeadOp, rep.CommitOp = final[i].HeadOp, final[i].CommitOp
		}
		if i < len(r.dataBytes) {
			rep.DataBytes = r.dataBytes[i]
		}
		for _, ended := range r.system.surprises() {
			if ended.node == rep.Node && ended.foreign() {
				rep.EndedFromOutside = ended.String()
			}
		}
		for _, k := range timeline.Kills {
			if k.Node != rep.Node || k.RestartNs == nil {
				continue
			}
			rep.Restarts++
			rep.CaughtUpMs = between(k.RestartNs, k.CaughtUpNs)
		}
		s.Replicas = append(s.Replicas, rep)
	}
}

func (r *session) addVerification(s *results.Summary) {
	s.Verification = r.verification()
	s.VerificationWhole = new(r.verified != nil && r.verified.CutShort == "")
	if r.verified == nil {
		return
	}
	v := r.verified
	s.LostBatches, s.UnknownPresentBatches, s.DivergedReplicas = v.LostBatches, v.UnknownPresentBatches, v.DivergedReplicas
	s.DuplicatedBatches, s.ReorderedBatches = v.Count(loadgen.KindDuplicated), v.Count(loadgen.KindReordered)
	s.CorruptedBatches, s.ForeignBatches, s.GapBatches = v.Count(loadgen.KindCorrupted), v.Count(loadgen.KindForeign), v.Count(loadgen.KindGap)
	for i := range s.Replicas {
		rep := &s.Replicas[i]
		for n, read := range v.Replicas {
			if r.verifyTimes[n].node != i {
				continue
			}
			if r.verifyTimes[n].name == roundLive || rep.VerifiedBatches == 0 {
				rep.VerifiedBatches = read.VerifiedBatches
			}
			rep.LostBatches = max(rep.LostBatches, read.Findings[loadgen.KindLost])
			if read.Unreadable != "" && !read.Interrupted && rep.UnreadableReason == "" {
				rep.UnreadableReason = read.Unreadable
			}
		}
	}
}

// between is the time from one moment to another in ms, null if either did not happen.
func between(from, to *int64) *float64 {
	if from == nil || to == nil {
		return nil
	}
	return new(float64(*to-*from) / 1e6)
}
