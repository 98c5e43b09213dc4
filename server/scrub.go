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

// servedOps may wait for the scrub to look at them.
const servedOps = 64

// suspect lets the scrub look at the first op of what is about to be sent unchecked, out of turn.
// Whoever finds that a frame is damaged asks again from there, so the second time it is this op.
func (g *group) suspect(op uint64) {
	select {
	case g.served <- op:
	default: // readers that go on ask for another one soon; one that is stuck comes back
	}
}

// scrub reads the log at its own pace until ctx is done.
func (g *group) scrub(ctx context.Context) {
	op := uint64(0)
	for {
		op = g.scrubSome(ctx, op, scrubBytesPerSecond*int64(scrubPause)/int64(time.Second))
		pause := scrubPause
		if op > g.readable.Load() {
			op, pause = 0, scrubRound
		}
		if !g.scrubServed(ctx, pause) {
			return
		}
	}
}

// scrubSome reads from op on until budget bytes are spent, and returns the op to go on with. What is trimmed by
// now is passed over, and so is what is known to be damaged, but for one op of it: the replica is told of the whole. An
// op costs a header at least: to find that it is gone is work, too.
func (g *group) scrubSome(ctx context.Context, op uint64, budget int64) uint64 {
	for budget > 0 && ctx.Err() == nil {
		log := g.disk.Log()
		op = max(op, log.Start())
		if op > g.readable.Load() || op > log.Written().Op {
			break
		}
		n, ok := g.scrubOne(op)
		if !ok {
			break
		}
		budget -= int64(max(n, wire.HeaderBytes))
		op = log.Sound(op + 1)
	}
	return op
}

// scrubServed reads what was sent unchecked, for as long as pause; false: ctx is done.
func (g *group) scrubServed(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case op := <-g.served:
			g.scrubOne(op)
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
