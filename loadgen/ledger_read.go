package loadgen

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"rejoin/results"
)

// ErrLedger is wrapped by every error about the contents of a ledger.
var ErrLedger = errors.New("damaged ledger")

// LedgerReader streams one ledger.
type LedgerReader struct {
	head  LedgerHead
	path  string
	file  io.ReadCloser
	in    *bufio.Reader
	block []byte
	rest  []byte // of the block, not yet decoded
	left  uint32 // records in rest
	last  Record // with the last offset known, for the differences
	torn  bool
	at    int64 // offset of the present block in the file
	next  int64 // and of the one after it
}

// OpenLedger opens a ledger for reading.
func OpenLedger(path string) (*LedgerReader, error) {
	file, err := results.OpenRegular(path)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	r, err := newLedgerReader(path, file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return r, nil
}

func newLedgerReader(path string, file io.ReadCloser) (*LedgerReader, error) {
	r := &LedgerReader{path: path, file: file, in: bufio.NewReader(file)}
	if err := r.readBlock(); err != nil {
		if err == io.EOF {
			err = r.damaged("it is empty")
		}
		return nil, err
	}
	le := binary.LittleEndian
	if len(r.rest) != ledgerHeadBytes || r.left != 0 || le.Uint32(r.rest) != ledgerMagic {
		return nil, r.damaged("it does not begin with a ledger's head")
	}
	if v := le.Uint32(r.rest[4:]); v != ledgerVersion {
		return nil, r.damaged(fmt.Sprintf("version %d, this build reads %d", v, ledgerVersion))
	}
	r.head = LedgerHead{
		RunID: le.Uint64(r.rest[8:]), Producer: int(le.Uint32(r.rest[16:])), Producers: int(le.Uint32(r.rest[20:])),
		BatchMessages: int(le.Uint32(r.rest[24:])), MessageBytes: int(le.Uint32(r.rest[28:])),
	}
	return r, nil
}

func (r *LedgerReader) damaged(what string) error {
	return fmt.Errorf("%w %s: block at byte %d: %s", ErrLedger, r.path, r.at, what)
}

// Head says whose ledger it is.
func (r *LedgerReader) Head() LedgerHead { return r.head }

// Torn reports whether the file ended inside a block; known once Next has returned io.EOF.
func (r *LedgerReader) Torn() bool { return r.torn }

// Close closes the file.
func (r *LedgerReader) Close() error { return r.file.Close() }

// Next returns the next record, or io.EOF at the end. Damage that is not a torn end is an error.
func (r *LedgerReader) Next() (Record, error) {
	for r.left == 0 {
		if err := r.readBlock(); err != nil {
			return Record{}, err
		}
		if r.left == 0 {
			return Record{}, r.damaged("a second head")
		}
		r.last = Record{Sequence: ^uint64(0)}
	}
	record, rest, ok := decodeRecord(r.rest, r.last)
	r.left--
	if !ok || (r.left == 0) != (len(rest) == 0) {
		return Record{}, r.damaged("records do not fill it")
	}
	r.rest, r.last = rest, record
	if !record.hasOffset() {
		record.Offset = 0
	}
	return record, nil
}

// readBlock reads the next whole block. A block that the file ends in, or a last one whose checksum
// fails, is what a killed writer leaves: it is the end.
func (r *LedgerReader) readBlock() error {
	r.at = r.next
	var head [ledgerBlockHead]byte
	if _, err := io.ReadFull(r.in, head[:]); err != nil {
		return r.end(err)
	}
	size := binary.LittleEndian.Uint32(head[:])
	if size > ledgerBlockMax {
		return r.damaged(fmt.Sprintf("claims %d bytes", size))
	}
	if need := ledgerBlockHead + int(size); cap(r.block) < need {
		r.block = make([]byte, need)
	}
	r.block = r.block[:ledgerBlockHead+int(size)]
	copy(r.block, head[:])
	if _, err := io.ReadFull(r.in, r.block[ledgerBlockHead:]); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return r.end(err)
	}
	if blockSum(r.block) != binary.LittleEndian.Uint64(head[8:]) {
		if _, err := r.in.Peek(1); err == io.EOF {
			return r.end(io.ErrUnexpectedEOF)
		}
		return r.damaged("its checksum does not match")
	}
	r.next = r.at + int64(len(r.block))
	r.rest, r.left = r.block[ledgerBlockHead:], binary.LittleEndian.Uint32(head[4:])
	return nil
}

func (r *LedgerReader) end(err error) error {
	if err == io.ErrUnexpectedEOF {
		r.torn = true
		return io.EOF
	}
	if err == io.EOF {
		return io.EOF
	}
	return fmt.Errorf("read ledger %s: %w", r.path, err)
}

func decodeRecord(b []byte, last Record) (r Record, rest []byte, ok bool) {
	d := varints{rest: b, ok: len(b) > 0}
	if !d.ok {
		return r, nil, false
	}
	flags := b[0]
	d.rest = b[1:]
	r.Outcome, r.Late = Outcome(flags&flagOutcome), flags&flagLate != 0
	r.Sequence = last.Sequence + 1
	if flags&flagSequence != 0 {
		r.Sequence = d.unsigned()
	}
	r.DueNs = last.DueNs + d.signed()
	r.SentNs = r.DueNs + d.signed()
	r.DoneNs = r.SentNs + d.signed()
	r.OwnLateNs = d.signed()
	r.Tries = int(d.unsigned())
	r.Offset = last.Offset
	if r.hasOffset() {
		r.Offset += uint64(d.signed())
	}
	return r, d.rest, d.ok && r.Outcome <= OutcomeFailed && flags < flagSequence<<1
}

// varints decodes one number after another and remembers whether all were there.
type varints struct {
	rest []byte
	ok   bool
}

func (v *varints) unsigned() uint64 {
	n, size := binary.Uvarint(v.rest)
	return n * v.take(size)
}

func (v *varints) signed() int64 {
	n, size := binary.Varint(v.rest)
	return n * int64(v.take(size))
}

// take skips what was decoded; 0 in place of 1 makes the value of a failed decoding 0.
func (v *varints) take(size int) uint64 {
	if size <= 0 {
		v.ok, v.rest = false, nil
		return 0
	}
	v.rest = v.rest[size:]
	return 1
}
