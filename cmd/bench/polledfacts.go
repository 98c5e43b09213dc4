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
	facts := polledFacts{map[string]*float64{}, map[int64]bool{}, results.CostWatch{FromNs: timeline.WarmupEndNs, ToNs: r.outcome.StopNs}}
	highest := int64(0)
	for _, s := range r.finalStatus {
		if s.CommitOp != nil {
			highest = max(highest, *s.CommitOp)
		}
	}
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
		if !s.Up || s.View == nil || s.CommitOp == nil {
			continue
		}
		inRun := s.TNs >= 0 && (r.quietEndNs == 0 || s.TNs <= r.quietEndNs)
		if inRun && s.Role == results.RolePrimary && *s.View != r.firstView {
			facts.views[*s.View] = true
		}
		from := r.readableFrom(s.Node, timeline.Kills)
		if r.quietEndNs > 0 && s.TNs >= from && *s.CommitOp >= highest && facts.readableMs[s.Node] == nil {
			facts.readableMs[s.Node] = new(float64(s.TNs-from) / 1e6)
		}
	}
}

// viewOf is the view of the primary.
func viewOf(all []results.Status) int64 {
	if primary, known := primaryOf(all); known {
		return *all[primary].View
	}
	return 0
}
