package loadgen

import (
	"context"
	"fmt"
)

// replicaReader holds one replica against the ledgers while it streams by. It keeps one bit a batch.
type replicaReader struct {
	index   *ledgerIndex
	options VerifyOptions
	report  *ReplicaReport
	digest  *replicaDigest

	seen bitmaps
	last []int64 // by producer: the latest sequence seen, or -1

	next    uint64 // offset that must come next; after the reading, that up to which batches were judged
	started bool
	first   uint64 // offset that came first

	open     openBatch
	apart    map[batchID]*apartBatch // batches whose messages stand apart, from the first message to the last
	repeated map[batchID]bool        // of these, what was counted as duplicated
	scatter  bool                    // the record in hand is of a target that stores messages one by one

	stray    batchID // the last batch of which a part was found, so that it is counted once
	hasStray bool
	foreign  bool // the record in hand was counted as foreign
	damaged  bool // the record in hand does not match its own checksum
}

// openBatch is the batch whose messages are passing by.
type openBatch struct {
	id      batchID
	base    uint64
	index   int // of the next message; 0: no batch is open
	damaged bool
}

func newReplicaReader(index *ledgerIndex, replica string, options VerifyOptions) *replicaReader {
	r := &replicaReader{
		index:   index,
		options: options,
		report:  newReplicaReport(replica, options.ExamplesMax),
		digest:  newReplicaDigest(replica, index.head.BatchMessages),
		seen:    index.newBitmaps(),
		last:    make([]int64, len(index.producers)),
	}
	for i := range r.last {
		r.last[i] = -1
	}
	return r
}

// read streams the replica. A read that fails leaves the report inconclusive; it is not an error of
// the verifier.
func (r *replicaReader) read(ctx context.Context, source Source) {
	end, err := source.ReadReplica(ctx, r.report.Replica, r.take)
	r.report.ReadTo = r.next
	if err != nil || r.next < end.EndOffset {
		r.breakOff()
	}
	r.closeOpen()
	r.closeApart()
	switch {
	case err != nil:
		r.report.EarliestOffset = r.first // all that is known of it
		r.report.unreadable(fmt.Sprintf("reading stopped at offset %d: %v", r.report.ReadTo, err))
		return
	case !r.started:
		r.first, r.next = end.EndOffset, end.EndOffset
		r.report.ReadTo = r.next
		if end.EarliestOffset != end.EndOffset {
			r.report.unreadable(fmt.Sprintf("it says that it holds offsets %d to %d and gave none", end.EarliestOffset, end.EndOffset-1))
		}
	case r.next < end.EndOffset:
		r.report.unreadable(fmt.Sprintf("reading ended at offset %d, the replica says that it holds up to %d", r.report.ReadTo, end.EndOffset-1))
	}
	r.report.EarliestOffset, r.report.EndOffset = end.EarliestOffset, end.EndOffset
	if r.started && r.first > end.EarliestOffset {
		r.report.find(KindGap, "offsets %d to %d at the beginning hold nothing", end.EarliestOffset, r.first-1)
	}
}

// take checks one record.
func (r *replicaReader) take(b ReadBatch) error {
	switch {
	case !r.started:
		r.started, r.first = true, b.BaseOffset
	case b.BaseOffset > r.next:
		r.closeOpen()
		r.report.find(KindGap, "offsets %d to %d hold nothing", r.next, b.BaseOffset-1)
	case b.BaseOffset < r.next:
		r.closeOpen()
		r.report.find(KindGap, "offset %d comes after offset %d", b.BaseOffset, r.next-1)
	}
	r.foreign, r.damaged, r.scatter = false, b.Damaged, b.Apart
	if b.Damaged {
		r.report.find(KindCorrupted, "offset %d: the record's own checksum does not match", b.BaseOffset)
	}
	for i, m := range b.Messages {
		r.message(b.BaseOffset+uint64(i), m)
	}
	r.next = b.BaseOffset + uint64(len(b.Messages))
	r.report.Messages += uint64(len(b.Messages))
	r.digest.add(b)
	return nil
}

// message checks one message.
func (r *replicaReader) message(offset uint64, m []byte) {
	id, ours, intact := ParseMessage(m)
	if !intact {
		r.damagedMessage(offset, id, ours)
		return
	}
	batch := batchID{id.Producer, id.Sequence}
	switch {
	case id.RunID != r.index.head.RunID:
		r.foreignMessage(offset, "a message of run %016x, this is run %016x", id.RunID, r.index.head.RunID)
	case r.index.mayBeForgotten(batch):
		r.closeOpen() // the torn end of the ledger may have named it: nothing can be said
	case !r.index.knows(batch) || id.Count != r.index.head.BatchMessages || id.Index >= id.Count:
		r.foreignMessage(offset, "message %d of %d of %v, which the ledger does not know", id.Index, id.Count, batch)
	case r.scatter:
		r.collect(offset, batch, id.Index, false)
	default:
		r.follow(offset, batch, id.Index, false)
	}
}

// damagedMessage counts a message whose checksum fails, once for a batch. Where its place says what it
// must be, the batch goes on; its other words count only if they are possible.
func (r *replicaReader) damagedMessage(offset uint64, id MessageID, ours bool) {
	said := batchID{id.Producer, id.Sequence}
	switch {
	case r.scatter && ours && id.RunID == r.index.head.RunID && r.index.knows(said) && id.Index >= 0 && id.Index < r.index.head.BatchMessages:
		r.collect(offset, said, id.Index, true)
	case r.open.index > 0:
		r.follow(offset, r.open.id, r.open.index, true)
	case ours && id.RunID == r.index.head.RunID && r.index.knows(said) && id.Index == 0:
		r.follow(offset, said, 0, true)
	case r.damaged: // counted with its record
	case ours:
		r.report.find(KindCorrupted, "offset %d: the message's checksum does not match", offset)
	default:
		r.foreignMessage(offset, "not a message of this load generator")
	}
}

// foreignMessage counts what nobody of this run sent, once for a record.
func (r *replicaReader) foreignMessage(offset uint64, format string, args ...any) {
	r.closeOpen()
	if !r.foreign {
		r.foreign = true
		r.report.find(KindForeign, "offset %d: %s", offset, fmt.Sprintf(format, args...))
	}
}

// follow checks that messages come in the order in which their batch holds them.
func (r *replicaReader) follow(offset uint64, batch batchID, index int, damaged bool) {
	if r.open.index > 0 && (batch != r.open.id || index != r.open.index) {
		r.closeOpen()
	}
	if r.open.index == 0 {
		if index != 0 {
			r.part(batch, "offset %d: message %d of %v without those before it", offset, index, batch)
			return
		}
		r.open = openBatch{id: batch, base: offset}
	}
	if damaged && !r.open.damaged && !r.damaged {
		r.report.find(KindCorrupted, "offset %d: message %d of %v does not match its checksum", offset, index, batch)
	}
	r.open.damaged = r.open.damaged || damaged || r.damaged
	r.open.index++
	if r.open.index == r.index.head.BatchMessages {
		done := r.open
		r.open = openBatch{}
		r.whole(done)
	}
}

// breakOff takes back the batch within which the reading stopped, since its other messages may stand behind. What its first message proves counts.
func (r *replicaReader) breakOff() {
	if b := r.open; b.index > 0 {
		r.open = openBatch{}
		r.placed(b)
		r.next = b.base
	}
}

// closeOpen ends a batch that did not come whole.
func (r *replicaReader) closeOpen() {
	if r.open.index > 0 {
		b := r.open
		r.open = openBatch{}
		r.part(b.id, "offset %d: only the first %d of %d messages of %v", b.base, b.index, r.index.head.BatchMessages, b.id)
	}
}

// part counts a batch that is there in part, once.
func (r *replicaReader) part(batch batchID, format string, args ...any) {
	if !r.hasStray || r.stray != batch {
		r.stray, r.hasStray = batch, true
		r.report.find(KindTorn, format, args...)
	}
}

// whole checks a batch that came with all its messages.
func (r *replicaReader) whole(b openBatch) {
	r.placed(b)
	if r.seen.has(b.id) {
		return
	}
	r.seen.set(b.id)
	p := &r.index.producers[b.id.producer]
	outcome := p.owed(b.id.sequence)
	if latest := r.last[b.id.producer]; int64(b.id.sequence) > latest {
		r.last[b.id.producer] = int64(b.id.sequence)
	} else if r.mayComeLate(outcome) {
		r.report.LateUnknownBatches++
	}
	if p.late(b.id.sequence) {
		r.report.UnknownPresentBatches++
	}
	switch {
	case outcome == OutcomeOK && p.offsets[b.id.sequence] == b.base && !b.damaged:
		r.report.VerifiedBatches++
	case outcome == OutcomeUnknown:
		r.report.UnknownPresentBatches++
	}
}

// placed checks what the first message of a batch proves: that it may be there, at this place, and was not there before.
func (r *replicaReader) placed(b openBatch) {
	if r.seen.has(b.id) {
		r.report.find(KindDuplicated, "offset %d: %v once more", b.base, b.id)
		return
	}
	p := &r.index.producers[b.id.producer]
	outcome := p.owed(b.id.sequence)
	if latest := r.last[b.id.producer]; int64(b.id.sequence) <= latest && !r.mayComeLate(outcome) {
		r.report.find(KindReordered, "offset %d: %v comes after batch %d", b.base, b.id, latest)
	}
	switch outcome {
	case OutcomeOK:
		if want := p.offsets[b.id.sequence]; want != b.base {
			r.report.find(KindMoved, "%v stands at offset %d, it was acknowledged at %d", b.id, b.base, want)
		}
	case OutcomeFailed:
		r.report.find(KindRefused, "offset %d: %v, of which every try was answered \"not appended\"", b.base, b.id)
	}
}

// mayComeLate says whether a batch of that outcome may stand behind later ones of its producer.
func (r *replicaReader) mayComeLate(outcome Outcome) bool {
	return outcome == OutcomeUnknown && r.options.AllowLateUnknown
}
