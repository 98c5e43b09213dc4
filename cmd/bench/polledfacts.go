package main

import (
	"fmt"
	"io"

	"rejoin/results"
)

// polledFacts is what the status samples of a run tell, seen from outside the nodes.
type polledFacts struct {
	// readableMs is for each node the time from readableFrom to the first poll that shows all that was committed in the end.
	readableMs map[string]*float64

	// views are those, other than the one in which the load began, in which some node was seen as primary before the quiet phase ended.
	views map[int64]bool

	// cost is what the nodes used in the measured phase.
	cost results.CostWatch

	// returns are the ways back of the kills, in their order.
	returns []polledReturn
}

// polledReturn is the way back after one kill as the polls show it.
type polledReturn struct {
	behindOps        *int64 // ops that it lacked at its first answer of what others had committed
	addedOps         int64  // committed by the group from then to caught up
	shownFirst       int64
	repair, transfer polledSpan
	answeredNs       []int64 // every poll that the node answered
}

// polledSpan is from the first poll in which a node fetched to the first poll after it in which it did not; several of them are one.
type polledSpan struct {
	fromNs, toNs *int64
	open         bool
}

func (p *polledSpan) take(in bool, tNs int64, mayBegin bool) {
	switch {
	case in && !p.open && mayBegin:
		p.open, p.toNs = true, nil
		if p.fromNs == nil {
			p.fromNs = new(tNs)
		}
	case !in && p.open:
		p.open, p.toNs = false, new(tNs)
	}
}

// take books one poll of the killed node's new process. Like the activities of a kill, a span that begins after it had caught up is not its.
func (p *polledReturn) take(s results.Status, highest int64, mayBegin bool) {
	p.answeredNs = append(p.answeredNs, s.TNs)
	if p.behindOps == nil && s.HeadOp != nil {
		p.behindOps, p.shownFirst = new(max(highest-*s.HeadOp, 0)), highest
	}
	if mayBegin {
		p.addedOps = highest - p.shownFirst
	}
	p.repair.take(s.Fetching == string(results.Repair), s.TNs, mayBegin)
	p.transfer.take(s.Fetching == string(results.Transfer), s.TNs, mayBegin)
}

// readableFrom is when a node could hold everything at the earliest: load stop, or its last restart if that came later.
func (r *session) readableFrom(node string, kills []results.Kill) int64 {
	from := r.outcome.StopNs
	for _, k := range kills {
		if k.Node == node && k.RestartNs != nil {
			from = max(from, *k.RestartNs)
		}
	}
	return from
}

// readStatus reads the samples once.
func (r *session) readStatus(timeline results.Timeline) (polledFacts, error) {
	kills := timeline.Kills
	facts := polledFacts{readableMs: map[string]*float64{}, views: map[int64]bool{}, returns: make([]polledReturn, len(kills)),
		cost: results.CostWatch{FromNs: timeline.WarmupEndNs, ToNs: r.outcome.StopNs}}
	var highest highestOps // committed in the end, in each partition
	for _, s := range r.finalStatus {
		highest.take(s.PartitionCommits())
	}
	shown := int64(0) // by any node so far; of several partitions the sum
	reader, err := r.folder.OpenStatus()
	if err != nil {
		return facts, fmt.Errorf("read status samples: %w", err)
	}
	defer reader.Close()
	for {
		s, err := reader.Next()
		if err == io.EOF {
			return facts, nil
		}
		if err != nil {
			return facts, fmt.Errorf("read status samples: %w", err)
		}
		facts.cost.Add(s)
		if !s.Up || s.CommitOp == nil {
			continue
		}
		shown = max(shown, *s.CommitOp)
		for i, k := range kills {
			if k.Node == s.Node && k.RestartNs != nil && s.TNs >= *k.RestartNs && s.TNs < nextKillNs(kills, i) {
				facts.returns[i].take(s, shown, k.CaughtUpNs == nil || s.TNs <= *k.CaughtUpNs)
			}
		}
		inRun := s.TNs >= 0 && (r.quietEndNs == 0 || s.TNs <= r.quietEndNs)
		for partition, view := range s.PartitionViews() {
			if inRun && s.Leads(partition) && view != r.firstView {
				facts.views[view] = true
			}
		}
		from := r.readableFrom(s.Node, timeline.Kills)
		if r.quietEndNs > 0 && s.TNs >= from && highest.below(s.PartitionCommits()) < 0 && facts.readableMs[s.Node] == nil {
			facts.readableMs[s.Node] = new(float64(s.TNs-from) / 1e6)
		}
	}
}

// viewOf is the view of the primary; 0 where there is none, or none that is numbered.
func viewOf(all []results.Status) int64 {
	if primary, known := primaryOf(all); known && all[primary].View != nil {
		return *all[primary].View
	}
	return 0
}
