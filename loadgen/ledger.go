package loadgen

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/zeebo/xxh3"
)

// A ledger is one file per producer that says what became of each of its batches.
//
//	file   = head block, block…
//	block  = u32 payload bytes, u32 records, u64 XXH3-64 of the eight bytes before and the payload,
//	         payload                                                               little-endian
//	head   = a block whose records are 0 and whose payload is: magic u32 "RJL1", version u32,
//	         run id u64, producer u32, producers u32, batch messages u32, message bytes u32
//	record = flags u8          bits 0-1 outcome, 2 late, 3 sequence is not the previous + 1
//	         [sequence uvarint]
//	         due      varint   - due of the record before, ns
//	         sent     varint   - due, ns
//	         done     varint   - sent, ns
//	         own late varint   ns
//	         tries    uvarint
//	         [offset  varint   - offset of the record before]    outcome ok, or late
//
// Differences begin anew with each block, so a block can be read by itself. A killed writer leaves
// at most a torn block at the end, which a reader reports and ignores.
const (
	ledgerMagic      = 0x314c4a52
	ledgerVersion    = 1
	ledgerBlockHead  = 16
	ledgerHeadBytes  = 32
	ledgerBlockBytes = 4 << 10 // flushed when so full, or after ledgerFlushNs
	ledgerFlushNs    = int64(1e9)
	ledgerRecordMax  = 80      // bytes of one record at most: 1 + 7 varints of 10, rounded up
	ledgerBlockMax   = 1 << 20 // bytes a reader accepts before it allocates
)

const (
	flagOutcome  = 3
	flagLate     = 1 << 2
	flagSequence = 1 << 3
)

// Outcome is how a batch ended.
type Outcome uint8

// Outcomes of a batch. Every due batch has exactly one.
const (
	OutcomeUnknown Outcome = iota // may or may not be in the log
	OutcomeOK                     // acknowledged within its budget
	OutcomeFailed                 // every try said "not appended", or none was made
)

func (o Outcome) String() string {
	switch o {
	case OutcomeOK:
		return "ok"
	case OutcomeFailed:
		return "failed"
	default:
		return "unknown"
	}
}

// Record is the story of one batch. Times are ns since the run's base.
type Record struct {
	Sequence uint64
	DueNs    int64
	SentNs   int64 // first try; of a batch without tries the time it was given up
	DoneNs   int64 // when the outcome was known
	// OwnLateNs is how late the first try was by the generator's own fault: counted from when the
	// batch was due and its producer free. The rest of sent - due is waiting for the target.
	OwnLateNs int64
	Tries     int
	Outcome   Outcome
	Late      bool   // acknowledged, but after the budget; the outcome is unknown then
	Offset    uint64 // of the first message, with OutcomeOK or Late
}

func (r Record) hasOffset() bool { return r.Outcome == OutcomeOK || r.Late }

// LedgerHead says whose ledger it is.
type LedgerHead struct {
	RunID         uint64
	Producer      int
	Producers     int
	BatchMessages int
	MessageBytes  int
}

// LedgerPath is where the ledger of a producer lies in a run's ledger directory.
func LedgerPath(dir string, producer int) string {
	return filepath.Join(dir, fmt.Sprintf("p%04d.ledger", producer))
}

// LedgerWriter appends to one ledger. It belongs to one goroutine.
type LedgerWriter struct {
	file    io.WriteCloser
	block   []byte // begins with room for the block's head
	records uint32
	last    Record // with the last offset known, for the differences
	since   int64  // DoneNs of the block's first record
	written int64  // bytes handed to the file
}

// CreateLedger makes a ledger file; it refuses to overwrite one.
func CreateLedger(path string, head LedgerHead) (*LedgerWriter, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, fmt.Errorf("create ledger: %w", err)
	}
	return newLedgerWriter(file, head)
}

func newLedgerWriter(file io.WriteCloser, head LedgerHead) (*LedgerWriter, error) {
	w := &LedgerWriter{file: file, block: make([]byte, ledgerBlockHead, ledgerBlockBytes+2*ledgerRecordMax)}
	le := binary.LittleEndian
	w.block = le.AppendUint32(w.block, ledgerMagic)
	w.block = le.AppendUint32(w.block, ledgerVersion)
	w.block = le.AppendUint64(w.block, head.RunID)
	for _, n := range []int{head.Producer, head.Producers, head.BatchMessages, head.MessageBytes} {
		w.block = le.AppendUint32(w.block, uint32(n))
	}
	if err := w.flush(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return w, nil
}

// Append adds a record. Records come in order of their sequence.
func (w *LedgerWriter) Append(r Record) error {
	if w.records == 0 {
		w.last, w.since = Record{Sequence: ^uint64(0)}, r.DoneNs
	}
	w.block = appendRecord(w.block, w.last, r)
	w.records++
	if !r.hasOffset() {
		r.Offset = w.last.Offset
	}
	w.last = r
	if len(w.block) >= ledgerBlockBytes || r.DoneNs-w.since >= ledgerFlushNs {
		return w.flush()
	}
	return nil
}

func appendRecord(b []byte, last, r Record) []byte {
	flags := byte(r.Outcome)
	if r.Late {
		flags |= flagLate
	}
	if r.Sequence != last.Sequence+1 {
		flags |= flagSequence
	}
	b = append(b, flags)
	if flags&flagSequence != 0 {
		b = binary.AppendUvarint(b, r.Sequence)
	}
	b = binary.AppendVarint(b, r.DueNs-last.DueNs)
	b = binary.AppendVarint(b, r.SentNs-r.DueNs)
	b = binary.AppendVarint(b, r.DoneNs-r.SentNs)
	b = binary.AppendVarint(b, r.OwnLateNs)
	b = binary.AppendUvarint(b, uint64(r.Tries))
	if r.hasOffset() {
		b = binary.AppendVarint(b, int64(r.Offset-last.Offset))
	}
	return b
}

// flush writes the block with one write, so that a kill tears at most this one.
func (w *LedgerWriter) flush() error {
	le := binary.LittleEndian
	le.PutUint32(w.block, uint32(len(w.block)-ledgerBlockHead))
	le.PutUint32(w.block[4:], w.records)
	le.PutUint64(w.block[8:], blockSum(w.block))
	n, err := w.file.Write(w.block)
	w.written += int64(n)
	w.block, w.records = w.block[:ledgerBlockHead], 0
	if err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	return nil
}

func blockSum(block []byte) uint64 {
	return xxh3.Hash(block[:8]) ^ xxh3.Hash(block[ledgerBlockHead:])
}

// Close writes what is left and closes the file.
func (w *LedgerWriter) Close() error {
	var err error
	if w.records > 0 {
		err = w.flush()
	}
	return errors.Join(err, w.file.Close())
}
