package partition

import (
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// ring holds the frames of the last ops, to be sent again without the disk: so many ops and so many bytes, and however
// many there are all that the disk has yet to write. Nobody else may have those, and a disk that is full never writes them.
type ring struct {
	slots []*wire.Buffer // by op modulo len; more are made when the disk falls behind
	first uint64         // ops first..last are held; first > last when none is
	last  uint64
	bytes int

	opsMax, bytesMax int

	written uint64 // of the ops held those above are not known to be on the disk: they stay
	passing uint64 // those up to here are of a transfer, which brings more than a ring has: they go once they are written
}

func newRing(ops, bytesMax int) ring {
	return ring{slots: make([]*wire.Buffer, ops), first: 1, opsMax: ops, bytesMax: bytesMax}
}

func (r *ring) slot(op uint64) **wire.Buffer { return &r.slots[op%uint64(len(r.slots))] }

// put retains the frame of the next op, which may only be passing. After a jump (ops known from the disk only) it starts over.
func (r *ring) put(b *wire.Buffer, passing bool) {
	op := b.Header.Op
	if op != r.last+1 {
		r.clear()
		r.first = op
	}
	r.last = op
	if passing {
		r.passing = op
	}
	r.bytes += len(b.Frame())
	b.Retain(wire.OwnerRing)
	if r.letGo(); op-r.first >= uint64(len(r.slots)) {
		r.grow()
	}
	*r.slot(op) = b
}

// wrote takes note of what the disk has written. What it says of an op that is held no more, or is another one by now, is no news.
func (r *ring) wrote(id vsr.ID) {
	if id.Op > r.written && r.find(id) != nil {
		r.written = id.Op
		r.letGo()
	}
}

// letGo releases what is written and too much, the oldest first; the last op stays.
func (r *ring) letGo() {
	for r.first < r.last && r.first <= r.written && r.tooMuch() {
		r.release(r.first)
		r.first++
	}
}

func (r *ring) tooMuch() bool {
	return r.first <= r.passing || r.last-r.first >= uint64(r.opsMax) || r.bytes > r.bytesMax
}

// grow makes room for more ops than are held once they are written. The last one has no slot yet.
func (r *ring) grow() {
	old := r.slots
	r.slots = make([]*wire.Buffer, 2*len(old))
	for op := r.first; op < r.last; op++ {
		*r.slot(op) = old[op%uint64(len(old))]
	}
}

func (r *ring) release(op uint64) {
	s := r.slot(op)
	r.bytes -= len((*s).Frame())
	(*s).Release(wire.OwnerRing)
	*s = nil
}

// cut lets go of every op above op.
func (r *ring) cut(op uint64) {
	for r.last > op && r.last >= r.first {
		r.release(r.last)
		r.last--
	}
	if r.last < r.first {
		r.first, r.last = op+1, op
	}
	r.written, r.passing = min(r.written, op), min(r.passing, op)
}

func (r *ring) clear() {
	for r.first <= r.last {
		r.release(r.first)
		r.first++
	}
	r.written, r.passing = 0, 0
}

func (r *ring) find(id vsr.ID) *wire.Buffer {
	if id.Op < r.first || id.Op > r.last {
		return nil
	}
	if b := *r.slot(id.Op); b.Header.ID() == id {
		return b
	}
	return nil
}
