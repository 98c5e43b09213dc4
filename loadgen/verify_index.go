package loadgen

import (
	"fmt"
	"slices"
)

// ledgerIndex is what the verifier keeps of the ledgers: nine bytes a batch.
type ledgerIndex struct {
	head      LedgerHead
	producers []producerIndex
	acked     int64
	unknown   int64
	failed    int64
	torn      []int // producers whose ledger lost its end
	openEnded bool  // the writer died: each ledger may lack its latest batches, also one that ends with a whole block
}

// producerIndex holds, by sequence, what is owed of each batch and the offset of the acknowledged ones, late or not.
type producerIndex struct {
	outcomes []Outcome // see owed
	offsets  []uint64
	torn     bool
	// elsewhere: it writes to another partition than this index is of, so nothing of it can have been forgotten here.
	elsewhere bool
}

// lateAck marks, in producerIndex.outcomes, a batch that was acknowledged after its budget: unknown for the load, and a promise all the same.
const lateAck Outcome = 1 << 7

// owed is what the target owes of a batch.
func (p *producerIndex) owed(sequence uint64) Outcome {
	if p.late(sequence) {
		return OutcomeOK
	}
	return p.outcomes[sequence]
}

// late says whether a batch is owed although the load counts it as unknown.
func (p *producerIndex) late(sequence uint64) bool { return p.outcomes[sequence]&lateAck != 0 }

// batchID names a batch of the run.
type batchID struct {
	producer int
	sequence uint64
}

func (b batchID) String() string {
	return fmt.Sprintf("batch %d of producer %d", b.sequence, b.producer)
}

// indexLedgers reads all ledgers of a run. They must be complete and of one run.
func indexLedgers(ledgers []string) (*ledgerIndex, error) {
	index := &ledgerIndex{}
	for i, path := range ledgers {
		if err := index.addHead(i, path, len(ledgers)); err != nil {
			return nil, err
		}
		index.producers = append(index.producers, producerIndex{})
		p := &index.producers[i]
		torn, err := eachRecord(path, func(r Record) error { return index.add(p, path, r) })
		if err != nil {
			return nil, err
		}
		if p.torn = torn; torn {
			index.torn = append(index.torn, i)
		}
	}
	return index, nil
}

// only is the index of one partition: it knows the batches of that partition's producers and of nobody else. The counts are the whole index's.
func (x *ledgerIndex) only(partition, partitions int) *ledgerIndex {
	if partitions == 1 {
		return x
	}
	part := &ledgerIndex{head: x.head, openEnded: x.openEnded, producers: slices.Clone(x.producers)}
	for i := range part.producers {
		if PartitionOf(i, partitions) != partition {
			part.producers[i] = producerIndex{elsewhere: true}
		}
	}
	return part
}

func (x *ledgerIndex) addHead(i int, path string, ledgers int) error {
	reader, err := OpenLedger(path)
	if err != nil {
		return err
	}
	defer reader.Close()
	head := reader.Head()
	if i == 0 {
		x.head = head
	}
	if head.RunID != x.head.RunID || head.BatchMessages != x.head.BatchMessages || head.Producers != ledgers || head.Producer != i {
		return fmt.Errorf("%w %s: it is of producer %d of %d of run %016x; wanted producer %d of %d of run %016x",
			ErrLedger, path, head.Producer, head.Producers, head.RunID, i, ledgers, x.head.RunID)
	}
	return nil
}

func (x *ledgerIndex) add(p *producerIndex, path string, r Record) error {
	if r.Sequence != uint64(len(p.outcomes)) {
		return fmt.Errorf("%w %s: batch %d follows batch %d", ErrLedger, path, r.Sequence, len(p.outcomes)-1)
	}
	outcome := r.Outcome
	if r.Late {
		outcome |= lateAck
	}
	p.outcomes = append(p.outcomes, outcome)
	p.offsets = append(p.offsets, r.Offset)
	switch r.Outcome {
	case OutcomeOK:
		x.acked++
	case OutcomeFailed:
		x.failed++
	default:
		x.unknown++
	}
	return nil
}

// knows reports whether the ledgers hold a batch.
func (x *ledgerIndex) knows(b batchID) bool {
	return b.producer >= 0 && b.producer < len(x.producers) && b.sequence < uint64(len(x.producers[b.producer].outcomes))
}

// mayBeForgotten reports whether a batch beyond the ledger may have been in the end that it lost.
func (x *ledgerIndex) mayBeForgotten(b batchID) bool {
	return b.producer >= 0 && b.producer < len(x.producers) && !x.producers[b.producer].elsewhere && (x.openEnded || x.producers[b.producer].torn) &&
		b.sequence >= uint64(len(x.producers[b.producer].outcomes))
}

// bitmaps is one bit for each batch of each producer.
type bitmaps [][]uint64

func (x *ledgerIndex) newBitmaps() bitmaps {
	b := make(bitmaps, len(x.producers))
	for i, p := range x.producers {
		b[i] = make([]uint64, (len(p.outcomes)+63)/64)
	}
	return b
}

func (b bitmaps) has(id batchID) bool { return b[id.producer][id.sequence/64]>>(id.sequence%64)&1 == 1 }
func (b bitmaps) set(id batchID)      { b[id.producer][id.sequence/64] |= 1 << (id.sequence % 64) }
