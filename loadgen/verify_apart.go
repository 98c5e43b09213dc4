package loadgen

import (
	"cmp"
	"slices"
)

// apartBatch is a batch of a target that stores messages one by one: those of other producers may stand between its own. It is kept from its
// first message to its last.
type apartBatch struct {
	base   uint64   // offset of message 0, once it came
	got    []uint64 // one bit a message
	count  int
	latest int // the highest message that came
	// disordered: a message came after a later one of its batch. Such a target promises nothing about that, so it is counted, not held against it.
	disordered bool
	damaged    bool
}

// collect checks a message of a batch whose messages may stand apart.
func (r *replicaReader) collect(offset uint64, id batchID, index int, damaged bool) {
	if damaged && !r.damaged {
		r.report.find(KindCorrupted, "offset %d: message %d of %v does not match its checksum", offset, index, id)
	}
	if r.seen.has(id) {
		r.again(offset, id, index)
		return
	}
	b := r.apart[id]
	if b == nil {
		if r.apart == nil {
			r.apart = map[batchID]*apartBatch{}
		}
		b = &apartBatch{got: make([]uint64, (r.index.head.BatchMessages+63)/64), latest: -1}
		r.apart[id] = b
	}
	if b.got[index/64]>>(index%64)&1 == 1 {
		r.again(offset, id, index)
		return
	}
	b.got[index/64] |= 1 << (index % 64)
	b.count++
	b.damaged = b.damaged || damaged
	b.disordered = b.disordered || index < b.latest
	b.latest = max(b.latest, index)
	if index == 0 {
		b.base = offset
	}
	if b.count == r.index.head.BatchMessages {
		delete(r.apart, id)
		if b.disordered {
			r.report.DisorderedBatches++
		}
		r.whole(openBatch{id: id, base: b.base, damaged: b.damaged})
	}
}

// again counts a batch of which a message came twice, once.
func (r *replicaReader) again(offset uint64, id batchID, index int) {
	if r.repeated[id] {
		return
	}
	if r.repeated == nil {
		r.repeated = map[batchID]bool{}
	}
	r.repeated[id] = true
	r.report.find(KindDuplicated, "offset %d: message %d of %v once more", offset, index, id)
}

// closeApart judges what came in part: a batch without an acknowledgement may be there in part, one that was refused by every try may not. What
// was acknowledged is judged with the missing.
func (r *replicaReader) closeApart() {
	ids := make([]batchID, 0, len(r.apart))
	for id := range r.apart {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b batchID) int {
		return cmp.Or(cmp.Compare(a.producer, b.producer), cmp.Compare(a.sequence, b.sequence))
	})
	for _, id := range ids {
		b := r.apart[id]
		switch r.index.producers[id.producer].owed(id.sequence) {
		case OutcomeFailed:
			r.report.find(KindRefused, "%d of %d messages of %v, of which every try was answered \"not appended\"", b.count, r.index.head.BatchMessages, id)
		case OutcomeUnknown:
			r.report.PartialBatches++
		}
	}
}
