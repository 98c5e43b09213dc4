package loadgen

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// VerifyOptions say what a verification holds the replicas against.
type VerifyOptions struct {
	// Ledgers are the paths of all ledgers of a run, in order of the producers.
	Ledgers []string

	// Partitions of the topic; 0 means 1. With more, sources are PartitionedSources, and offsets in reports are sums over all partitions.
	Partitions int

	// AckedMin is how many batches must have been acknowledged for a pass; 0 means 1.
	AckedMin int64

	// ExamplesMax is how many findings of a kind are kept in words for each replica; 0 means 5.
	ExamplesMax int

	// AllowTrimmed accepts that retention took acknowledged batches, AllowTornLedgers that the harness
	// died: a ledger then lacks up to a second of batches, and may end in a torn block or in a whole one.
	AllowTrimmed     bool
	AllowTornLedgers bool

	// AllowLateUnknown accepts that a batch without an acknowledgement stands behind later ones of its producer. The order that a log promises is that
	// of what it acknowledged. A target with sessions promises more, that a later request ends the earlier ones: do not set it there.
	AllowLateUnknown bool
}

// Verifier holds replicas, one after another, against the ledgers of a run. Time is linear in what is
// read. Memory is nine bytes a batch for the ledgers and, for each reading, one bit a batch and a
// digest of 16 bytes for every 64 offsets or batch, whichever is more; payloads only stream by.
//
// It belongs to one goroutine.
type Verifier struct {
	options VerifyOptions
	index   *ledgerIndex // of all partitions
	logs    []*logVerifier
	reports []*ReplicaReport // of all readings
	named   []string         // replicas of all sources
}

// logVerifier is the verifier of one log, that of a partition.
type logVerifier struct {
	options VerifyOptions
	index   *ledgerIndex
	readers []*replicaReader
}

// NewVerifier reads the ledgers.
func NewVerifier(options VerifyOptions) (*Verifier, error) {
	if len(options.Ledgers) == 0 {
		return nil, errors.New("verify: no ledgers")
	}
	if options.AckedMin == 0 {
		options.AckedMin = 1
	}
	if options.ExamplesMax == 0 {
		options.ExamplesMax = 5
	}
	options.Partitions = max(options.Partitions, 1)
	index, err := indexLedgers(options.Ledgers)
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	index.openEnded = options.AllowTornLedgers
	v := &Verifier{options: options, index: index}
	for p := range options.Partitions {
		v.logs = append(v.logs, &logVerifier{options: options, index: index.only(p, options.Partitions)})
	}
	return v, nil
}

// Read reads one replica to its end; a replica may be read several times, live, alone and from its
// files, and each reading is compared with all others. What is wrong with it, unreadable included, comes out in the
// report of Finish; the harness may stop other replicas around the call. The returned report is
// whole only after Finish.
func (v *Verifier) Read(ctx context.Context, source Source, replica string) *ReplicaReport {
	for _, name := range source.Replicas() {
		v.named = addUnique(v.named, name)
	}
	var parts []*ReplicaReport
	for p, log := range v.logs {
		parts = append(parts, log.read(ctx, partitionOf(source, p, len(v.logs)), replica))
	}
	report := parts[0]
	if len(parts) > 1 {
		report = newReplicaReport(replica, v.options.ExamplesMax)
		report.sumUp(parts)
	}
	v.reports = append(v.reports, report)
	return report
}

func (v *logVerifier) read(ctx context.Context, source Source, replica string) *ReplicaReport {
	reader := newReplicaReader(v.index, replica, v.options)
	reader.read(ctx, source)
	reader.report.Interrupted = reader.report.Unreadable != "" && ctx.Err() != nil
	v.readers = append(v.readers, reader)
	return reader.report
}

// Finish compares the replicas with each other and judges.
func (v *Verifier) Finish() *Report { return v.finish("") }

// FinishEarly judges what was read where the other readings could not be made: why says so. What is broken there is broken, and finding nothing
// proves nothing.
func (v *Verifier) FinishEarly(why string) *Report { return v.finish(why) }

func (v *Verifier) finish(cutShort string) *Report {
	report := &Report{CutShort: cutShort, UnreadReplicas: v.unread(), TrimmedAllowed: v.options.AllowTrimmed,
		AckedBatches: v.index.acked, UnknownBatches: v.index.unknown, FailedBatches: v.index.failed,
		DivergedReplicas: []string{}, BehindReplicas: []string{}, UnreadableReplicas: []string{}, Reasons: []string{}, Replicas: v.reports}
	for _, log := range v.logs {
		log.missing(report, len(report.UnreadReplicas) == 0)
		log.compare(report)
	}
	for n, r := range v.reports {
		if len(v.logs) > 1 {
			var parts []*ReplicaReport
			for _, log := range v.logs {
				parts = append(parts, log.readers[n].report)
			}
			r.sumUp(parts)
		}
		if r.Unreadable != "" && !r.Interrupted {
			report.UnreadableReplicas = addUnique(report.UnreadableReplicas, r.Replica)
		}
	}
	report.judge(v.options, v.index.torn)
	return report
}

// unread are the replicas that are there and were never read.
func (v *Verifier) unread() []string {
	names := []string{}
	for _, name := range v.named {
		if !slices.ContainsFunc(v.reports, func(r *ReplicaReport) bool { return r.Replica == name }) {
			names = append(names, name)
		}
	}
	return names
}

// missing sorts out, for each acknowledged batch and each replica without it, what that means. every says that no replica was left out.
func (v *logVerifier) missing(report *Report, every bool) {
	for producer, p := range v.index.producers {
		for sequence := range p.outcomes {
			id := batchID{producer, uint64(sequence)}
			owed := p.owed(id.sequence)
			if owed == OutcomeOK && v.missingAnywhere(id, p.offsets[sequence], every) {
				report.LostBatches++
			}
			if (owed == OutcomeUnknown || p.late(id.sequence)) && slices.ContainsFunc(v.readers, func(r *replicaReader) bool { return r.seen.has(id) }) {
				report.UnknownPresentBatches++
			}
		}
	}
	for _, r := range v.readers {
		if r.report.BehindBatches > 0 {
			report.BehindReplicas = addUnique(report.BehindReplicas, r.report.Replica)
		}
	}
}

// missingAnywhere books an acknowledged batch on each replica that lacks it and reports whether it
// is lost: missing where its offset was read, or on every replica although all were read.
func (v *logVerifier) missingAnywhere(id batchID, offset uint64, every bool) bool {
	held := slices.ContainsFunc(v.readers, func(r *replicaReader) bool { return r.seen.has(id) })
	allRead := every && !slices.ContainsFunc(v.readers, func(r *replicaReader) bool { return r.report.Unreadable != "" })
	furthest := uint64(0)
	for _, r := range v.readers {
		furthest = max(furthest, r.next)
	}
	lost := false
	for _, r := range v.readers {
		part := r.apart[id]
		switch {
		case r.seen.has(id):
		case part != nil && r.report.Unreadable != "": // what is missing may stand behind where the reading stopped
			r.report.UnreadBatches++
		case part != nil && r.next < furthest:
			r.report.BehindBatches++
		case part != nil:
			lost = true
			r.report.find(KindLost, "%v was acknowledged at offset %d and only %d of its messages are there", id, offset, part.count)
		case offset < r.report.EarliestOffset:
			r.report.TrimmedBatches++
		case offset < r.next:
			lost = true
			r.report.find(KindLost, "%v was acknowledged at offset %d and is not there", id, offset)
		case r.report.Unreadable != "":
			r.report.UnreadBatches++
		case !held && allRead:
			lost = true
			r.report.find(KindLost, "%v was acknowledged at offset %d and no replica holds it", id, offset)
		default:
			r.report.BehindBatches++
		}
	}
	return lost
}

// compare finds replicas that hold other bytes than the rest.
func (v *logVerifier) compare(report *Report) {
	var digests []*replicaDigest
	for _, r := range v.readers {
		digests = append(digests, r.digest)
	}
	for _, d := range diverging(digests) {
		for _, r := range v.readers {
			if r.digest == d.of {
				r.report.find(KindDiverged, "%v", d)
			}
		}
		report.DivergedReplicas = addUnique(report.DivergedReplicas, d.of.replica)
	}
}

// Verify reads all replicas of a source, one after another, and judges.
func Verify(ctx context.Context, source Source, options VerifyOptions) (*Report, error) {
	v, err := NewVerifier(options)
	if err != nil {
		return nil, err
	}
	for _, replica := range source.Replicas() {
		v.Read(ctx, source, replica)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	return v.Finish(), nil
}

// AckedEnd is the offset after the last acknowledged batch, where every replica's committed log
// reaches at least; of several partitions the sum.
func (v *Verifier) AckedEnd() (sum uint64) {
	for _, end := range v.AckedEnds() {
		sum += end
	}
	return sum
}

// Reached is the furthest offset of each partition that any of some readings, told by their number, came to. One replica may have come furthest in
// this partition, and another in that one.
func (v *Verifier) Reached(some func(reading int) bool) []uint64 {
	furthest := make([]uint64, len(v.logs))
	for partition, log := range v.logs {
		for n, r := range log.readers {
			if some(n) {
				furthest[partition] = max(furthest[partition], r.report.ReadTo)
			}
		}
	}
	return furthest
}

// AckedEnds are the offsets after the last acknowledged batch of each partition.
func (v *Verifier) AckedEnds() []uint64 {
	ends := make([]uint64, len(v.logs))
	for partition, log := range v.logs {
		for _, p := range log.index.producers {
			for sequence := range p.outcomes {
				if p.owed(uint64(sequence)) == OutcomeOK {
					ends[partition] = max(ends[partition], p.offsets[sequence]+uint64(v.index.head.BatchMessages))
				}
			}
		}
	}
	return ends
}
