// Package memory is the reference target: a replicated log that is a slice in this process. It
// measures what the load generator itself can do at most, and it misbehaves on demand, so that the
// generator and the verifier can be tried against faults whose outcome is known.
//
// A caller makes a Target with [New], may change its behaviour while load runs (SetPrimary, Stall,
// SetAddress, CutAfterCommit, …) and may plant faults for the time of reading ([Target.Plant]). It
// keeps every payload unless Options.Discard is set. It never drops, repeats or delays anything that
// it was not told to.
//
// It uses only package time for waiting, so it works under testing/synctest.
package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"rejoin/loadgen"
)

// Options of a Target. The zero value is a target of three replicas that answers at once.
type Options struct {
	// Replicas is the number of replicas and of addresses; 0 means 3.
	Replicas int
	// Delay passes between a request and its answer.
	Delay time.Duration
	// ServiceTime is how long one request occupies the target alone: its capacity is
	// 1 / ServiceTime requests a second. 0 is unlimited.
	ServiceTime time.Duration
	// Discard keeps no payload: for long runs that measure the generator. Reading is refused then.
	Discard bool
}

// ErrDiscarded is the answer to a read of a target that keeps no payloads.
var ErrDiscarded = errors.New("memory target: payloads were discarded, there is nothing to read")

// record is one stored batch. Its messages are never written to after it was stored.
type record struct {
	base     uint64
	identity uint64
	messages [][]byte
}

// session is what the log remembers of a producer: its last request and the answer.
type session struct {
	request uint64
	digest  uint64
	offset  uint64
}

// Target is a replicated log in memory. Its methods may be called from any goroutine.
type Target struct {
	options Options
	names   []string

	mu         sync.Mutex
	log        []record
	next       uint64 // offset of the next message
	sessions   map[int]*session
	primary    int
	noHints    bool
	addresses  []AddressMode
	stallUntil time.Time
	busyUntil  time.Time
	cutAfter   int
	cutBefore  int
	loseNext   int
	requests   int
	planted    []planted

	late sync.WaitGroup // appends that outlived their caller's deadline
}

var _ loadgen.Target = (*Target)(nil)

// New makes an empty target whose primary is address 0.
func New(options Options) *Target {
	if options.Replicas == 0 {
		options.Replicas = 3
	}
	t := &Target{
		options:   options,
		sessions:  make(map[int]*session),
		addresses: make([]AddressMode, options.Replicas),
	}
	for i := range options.Replicas {
		t.names = append(t.names, fmt.Sprintf("m%d", i))
	}
	return t
}

// Name implements loadgen.Target.
func (t *Target) Name() string { return "memory" }

// Guarantee implements loadgen.Target.
func (t *Target) Guarantee() string {
	return "none: acknowledged batches live in this process and are gone with it"
}

// Addresses implements loadgen.Target: one address a replica.
func (t *Target) Addresses() []string { return append([]string(nil), t.names...) }

// Replicas implements loadgen.Source.
func (t *Target) Replicas() []string { return append([]string(nil), t.names...) }

// Close waits for appends that outlived their deadline.
func (t *Target) Close() error {
	t.late.Wait()
	return nil
}

// OpenProducer implements loadgen.Target.
func (t *Target) OpenProducer(_ context.Context, options loadgen.ProducerOptions) (loadgen.Producer, error) {
	return &producer{target: t, id: options.Producer}, nil
}

// snapshot is the log as it is now. Records are never changed in place, so sharing them is safe.
func (t *Target) snapshot() ([]record, uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]record(nil), t.log...), t.next
}

// ReadReplica implements loadgen.Source, with the planted faults of that replica.
func (t *Target) ReadReplica(ctx context.Context, replica string, yield func(loadgen.ReadBatch) error) (loadgen.ReadEnd, error) {
	if t.options.Discard {
		return loadgen.ReadEnd{}, ErrDiscarded
	}
	if !t.known(replica) {
		return loadgen.ReadEnd{}, fmt.Errorf("memory target: no replica %q", replica)
	}
	records, end := t.snapshot()
	view := t.misread(replica, records, end)
	for i, r := range view.records {
		if i == view.stopAt {
			return view.end, view.err
		}
		if err := ctx.Err(); err != nil {
			return loadgen.ReadEnd{}, err
		}
		if err := yield(loadgen.ReadBatch{BaseOffset: r.base, Identity: r.identity, Messages: r.messages}); err != nil {
			return loadgen.ReadEnd{}, err
		}
	}
	return view.end, nil
}

func (t *Target) known(replica string) bool {
	for _, name := range t.names {
		if name == replica {
			return true
		}
	}
	return false
}
