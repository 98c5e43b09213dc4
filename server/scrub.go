package server

import (
	"context"
	"errors"
	"time"

	"rejoin/server/journal"
	"rejoin/server/wire"
)

// The scrub reads every committed frame again and again, so that rot is found while peers can still
// mend it, not when it is needed. Boot reads only the end of the log.
const (
	scrubBytesPerSecond = 4 << 20
	scrubRound          = time.Hour // at least, from the end of one reading to the next
	scrubPause          = 100 * time.Millisecond
)

// scrub reads the log at its own pace until ctx is done.
func (g *group) scrub(ctx context.Context) {
	op := g.disk.Log().Start()
	for {
		budget := int64(scrubBytesPerSecond * scrubPause / time.Second)
		for budget > 0 && op <= g.committed.Load() && op <= g.disk.Log().Written().Op {
			n, ok := g.scrubOne(op)
			budget -= int64(n)
			if !ok {
				break
			}
			op++
		}
		pause := scrubPause
		if op > g.committed.Load() {
			op, pause = g.disk.Log().Start(), scrubRound
		}
		if !sleep(ctx, pause) {
			return
		}
	}
}

// scrubOne reads one op; false: try it again later.
func (g *group) scrubOne(op uint64) (bytes int, ok bool) {
	b := g.node.pool.Get(wire.OwnerRepair)
	if b == nil {
		return 0, false
	}
	defer b.Release(wire.OwnerRepair)
	_, frame, err := g.disk.Log().ReadFrame(op, b.Data())
	b.SetFrame(min(len(frame), wire.FrameBytesMax)) // the pool gives memory beyond it back
	if errors.Is(err, journal.ErrDamaged) {
		g.damaged(err)
	}
	return len(frame), true
}
