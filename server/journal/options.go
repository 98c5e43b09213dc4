package journal

import (
	"errors"
	"fmt"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// Defaults of Options.
const (
	SegmentBytesDefault = 64 << 20
	PipelineDefault     = 256
)

// Options say which log to open and how.
type Options struct {
	FS            FS
	Dir           string // of the partition, relative to FS; made when it is missing
	Cluster       uint64
	Group         uint32
	SegmentBytes  int64  // size of a segment file; 0 means SegmentBytesDefault
	SegmentsReady int    // how many whole segments PrepareMore makes ahead of use; up to 1: none but the next, which Prepare makes
	ZerosOnDisk   bool   // zeros ahead of use pass memory by: they would lie there for long
	Pipeline      uint64 // how many of the last ops are read in full at Open and reported as Tail; 0 means PipelineDefault
	SameBoot      bool   // the machine has not restarted since the log was last open
	Base          Base   // where a log begins that does not exist yet; the zero value means op 1
}

// Base is what comes before the first op of a log.
type Base struct {
	ID         vsr.ID // the op before the first; the zero value stands for op 0 and its root sum
	NextOffset uint64 // message offset of the first op
}

func (o *Options) validate() error {
	switch {
	case o.FS == nil:
		return errors.New("journal: Options.FS is missing")
	case o.Dir == "":
		return errors.New("journal: Options.Dir is missing")
	case o.SegmentBytes < 0 || o.SegmentBytes >= 1<<32:
		return fmt.Errorf("journal: a segment of %d bytes is not between 1 byte and 4 GiB", o.SegmentBytes)
	}
	if o.SegmentBytes == 0 {
		o.SegmentBytes = SegmentBytesDefault
	}
	if o.Pipeline == 0 {
		o.Pipeline = PipelineDefault
	}
	if o.Base.ID.Op == 0 {
		o.Base = Base{ID: vsr.ID{Op: 0, Sum: wire.RootSum(o.Cluster, o.Group)}}
	}
	return nil
}

// Frame is a stamped frame: Bytes are its 128 header bytes and its body, Header is their decoded
// form. Append hands Bytes to FS as they are and keeps neither.
type Frame struct {
	Header vsr.Header
	Bytes  []byte
}

// OpRange is a range of ops, both ends included.
type OpRange struct{ First, Last uint64 }

// TailOp is one of the last ops of a recovered log.
type TailOp struct {
	Op       uint64
	Damaged  bool       // known to have been here, not readable
	SumKnown bool       // Header.Sum is right although the op is damaged
	Header   vsr.Header // of an op that is not damaged; else only Op and, if SumKnown, Sum are set
}

// Recovered is what Open found. What it reports as held is durable.
type Recovered struct {
	New        bool  // there was no state: the directory was blank
	State      State // as saved last
	Mark       Mark  // as found, before Open wrote its own
	MarkLost   bool  // there was no readable mark: all damage is a hole
	TopUnknown bool  // the mark was lost and the log ends in damage: ops above Top may have been acknowledged, though Top is no more than what is known
	WasFenced  bool  // the last run fenced itself; what was above the mark is dropped. Stays until Unfence

	Start  uint64    // first op of the log
	Held   vsr.ID    // end of the log: Append goes on at Held.Op+1; holes may be below
	Top    uint64    // the highest op that the log may have contained; ops above Held are damaged
	Tail   []TailOp  // the last Pipeline ops up to Top, rising
	Holes  []OpRange // damaged ops at or below Held, rising, to be filled
	Tables []Table   // readable checkpoints of the client table, rising by op; see Table
	Unread []Unread  // checkpoints that this try could not read, rising by op; see UnreadTable

	RewrittenOps uint64 // ops above the mark that were written again
	CutBytes     int64  // bytes that were not zero beyond the end of the log and were cut: this log may have written some
	Findings     []string
}
