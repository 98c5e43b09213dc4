package partition

import (
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// ring holds the frames of the last ops, to be sent again without the disk: at most so many ops and
// so many bytes.
type ring struct {
	slots    []*wire.Buffer // by op modulo len
	first    uint64         // ops first..last are held; first > last when none is
	last     uint64
	bytes    int
	bytesMax int
}

func newRing(ops, bytesMax int) ring {
	return ring{slots: make([]*wire.Buffer, ops), first: 1, bytesMax: bytesMax}
}

func (r *ring) slot(op uint64) **wire.Buffer { return &r.slots[op%uint64(len(r.slots))] }

// put retains the frame of the next op. After a jump (ops known from the disk only) it starts over.
func (r *ring) put(b *wire.Buffer) {
	op := b.Header.Op
	if op != r.last+1 {
		r.clear()
		r.first = op
	}
	r.last = op
	r.bytes += len(b.Frame())
	b.Retain(wire.OwnerRing)
	for r.last-r.first >= uint64(len(r.slots)) || (r.bytes > r.bytesMax && r.first < r.last) {
		r.release(r.first)
		r.first++
	}
	*r.slot(op) = b
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
}

func (r *ring) clear() {
	for r.first <= r.last {
		r.release(r.first)
		r.first++
	}
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
