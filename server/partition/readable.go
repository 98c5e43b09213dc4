package partition

import (
	"math"

	"rejoin/server/vsr"
)

// readable keeps readers off what is about to be cut. A replica that was deposed may hold ops that were
// never committed where others were; it learns of these as committed and drops its own at once, but the
// disk cuts them a little later. Until it has, the log that readers see still holds the old ones, and
// commit already lies above them.
type readable struct {
	cuts  int    // queued
	limit uint64 // what no queued cut touches
	told  uint64 // the last that the outside was told
}

func newReadable(commit uint64) readable { return readable{limit: math.MaxUint64, told: commit} }

func (r *readable) cut(op uint64) {
	r.cuts++
	r.limit = min(r.limit, op)
}

// cutDone lifts the limit when nothing is left to be cut.
func (r *readable) cutDone() {
	if r.cuts--; r.cuts <= 0 {
		r.reset()
	}
}

// reset is for another log in the place of this one: every cut of that was done before.
func (r *readable) reset() { r.cuts, r.limit = 0, math.MaxUint64 }

// tellReadable lets readers see what is committed and is not about to be something else.
func (p *Partition) tellReadable() {
	if op := min(p.commit.Op, p.readable.limit); op > p.readable.told {
		p.readable.told = op
		p.outside.Readable(op)
	}
}

// settleReadable follows what the disk has done.
func (p *Partition) settleReadable(kind vsr.InputKind) {
	if kind == vsr.InCutDone && p.readable.cuts > 0 {
		p.readable.cutDone()
		p.tellReadable()
	}
}
