package loadgen

import (
	"context"
	"time"
)

// Target is a system under test, seen as narrowly as the load needs it: where one can send a batch,
// and what each replica holds. Everything that is policy (which address, when to try again, when to
// give up, what counts) lives in this package, so that all systems are driven alike.
//
// Methods of a Target may be called from several goroutines; those of one Producer may not.
type Target interface {
	Source

	// Name is the short name of the system, as in `bench run --target NAME`.
	Name() string

	// Guarantee says in words what an acknowledgement of this target promises in the setting used:
	// replicas that hold the batch, and whether it was synced to disk.
	Guarantee() string

	// Addresses is the roster: where a producer may send, in the order in which it asks.
	Addresses() []string

	// OpenProducer makes one producer. It does not speak to the target: [Producer.Register] does.
	OpenProducer(ctx context.Context, options ProducerOptions) (Producer, error)

	// Close releases what the target holds in this process. Producers are closed before.
	Close() error
}

// Source is what can be read back, replica by replica: live, or from files.
type Source interface {
	// Replicas names every replica, in a fixed order.
	Replicas() []string

	// ReadReplica streams what one replica holds itself, from its earliest offset to its end, in
	// offset order and bounded memory, and never by way of another replica. It calls yield for each
	// batch; an error of yield ends the read and is returned. It returns nil only when the replica
	// itself said that there is no more; ReadEnd is then what the replica said of its own extent.
	ReadReplica(ctx context.Context, replica string, yield func(ReadBatch) error) (ReadEnd, error)
}

// ReadBatch is one stored batch.
type ReadBatch struct {
	BaseOffset uint64 // of Messages[0]; message i has BaseOffset + i

	// Identity stands for the whole stored record, header included: the same bytes on two replicas
	// have the same identity, different bytes have different ones. It is compared, never read.
	Identity uint64

	// Damaged: the record's own checksum does not match, yet its messages could still be told apart.
	Damaged bool

	// Apart: the target stores messages one by one, so that this is one, and its batch's others may stand apart from it, with those of other
	// batches between. What such a target promises is a message, not a batch.
	Apart bool

	Messages [][]byte // the payloads; valid until yield returns
}

// ReadEnd is a replica's own word on its extent: offsets [EarliestOffset, EndOffset) are committed
// there and kept.
type ReadEnd struct {
	EarliestOffset uint64
	EndOffset      uint64
}

// ProducerOptions say who the producer is.
type ProducerOptions struct {
	Producer      int    // 0 to Producers-1
	Partition     int    // that it writes to
	Seed          uint64 // for a client id or the like; differs between runs
	BatchMessages int    // messages in each batch
	MessageBytes  int    // bytes of each message at most
}

// Producer is one client with one outstanding request.
type Producer interface {
	// Register makes one try to become known at one address (a session, a producer id). A target
	// without such a notion answers TryAcked. Offset means nothing in its result.
	Register(address int, deadline time.Time) TryResult

	// Try makes exactly one try to append a batch at one address, without a hidden repetition, and
	// returns by the deadline (50 ms of grace). Tries with the same Request carry the same identity
	// and the same bytes, so that the target can tell a repetition. Request numbers rise.
	Try(attempt Attempt) TryResult

	// Close closes the producer's connections.
	Close() error
}

// Placer is a Producer that has places of its own for the messages of a batch, in what it sends: where all
// messages have one size they are made there, and need not be copied.
type Placer interface {
	// Places are as many as ProducerOptions.BatchMessages, each ProducerOptions.MessageBytes long. They are the
	// caller's to write to, but not during Try.
	Places() [][]byte
}

// Attempt is one try of one batch.
type Attempt struct {
	Address  int       // index into Addresses
	Request  uint64    // identity of the batch within this producer; rises, never 0
	Batch    *Batch    // lent for the call
	Deadline time.Time // when the answer must be here
}

// Batch is a batch to send.
type Batch struct {
	Producer int
	Sequence uint64   // counts the producer's batches from 0
	Messages [][]byte // the payloads
}

// TryOutcome is what one try is known to have done.
type TryOutcome uint8

// Outcomes of a try.
const (
	// TryUnknown: the batch may or may not be in the log. It is the zero value: who says nothing
	// has promised nothing.
	TryUnknown TryOutcome = iota
	// TryAcked: the batch is in the log at TryResult.Offset, by the target's guarantee.
	TryAcked
	// TryNotAppended: this try did not and will not append it. An earlier try may have.
	TryNotAppended
)

func (o TryOutcome) String() string {
	switch o {
	case TryAcked:
		return "acked"
	case TryNotAppended:
		return "not_appended"
	default:
		return "unknown"
	}
}

// TryCause is how a try ended.
type TryCause uint8

// Causes of a try's end.
const (
	CauseAnswer  TryCause = iota // the target answered
	CauseTimeout                 // nothing came by the deadline
	CauseRefused                 // no connection was made, nothing was sent
	CauseReset                   // the connection broke after something was sent
)

func (c TryCause) String() string {
	return [...]string{"answer", "timeout", "refused", "reset"}[c]
}

// NoHint is the Hint of an answer that names no address.
const NoHint = -1

// TryResult is the end of one try. Make it with [Acked] or [NotAcked], which set Hint right.
type TryResult struct {
	Outcome TryOutcome
	Cause   TryCause
	Offset  uint64 // of the batch's first message; only with TryAcked
	Hint    int    // address to ask next, or NoHint

	// Final: no further try of this request can change its outcome (malformed, superseded).
	Final bool

	// Unregistered: the target does not know this producer any more. The batch in hand stays as it
	// is; the producer registers before the next one.
	Unregistered bool

	Err error // in words, for the first few reports; nil with TryAcked
}

// Acked is the result of a try that was acknowledged at an offset.
func Acked(offset uint64) TryResult {
	return TryResult{Outcome: TryAcked, Cause: CauseAnswer, Offset: offset, Hint: NoHint}
}

// NotAcked is the result of a try that was not.
func NotAcked(outcome TryOutcome, cause TryCause, err error) TryResult {
	return TryResult{Outcome: outcome, Cause: cause, Hint: NoHint, Err: err}
}
