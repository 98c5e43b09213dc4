package server

import (
	"context"
	"time"

	"rejoin/server/events"
	"rejoin/server/wire"
)

// pausesEvery is how often the garbage collector's pauses are read.
const pausesEvery = time.Second

// watchPauses records when the garbage collector stopped this process, at most one event a second: a pause explains a latency, or rules
// itself out.
func (n *node) watchPauses(ctx context.Context) {
	ticker := time.NewTicker(pausesEvery)
	defer ticker.Stop()
	pauses := events.NewPauses()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if p, ok := pauses.Next(); ok {
				n.recorder.Emit(wire.Event{TimeMonoNs: p.AtMonoNs, Kind: wire.EventGC, Rounds: p.Cycles, DurationNs: int64(p.Longest)})
			}
		}
	}
}
