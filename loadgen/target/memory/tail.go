package memory

import (
	"context"
	"errors"
	"time"

	"rejoin/loadgen"
)

// tail follows one replica. It looks again every millisecond: this target is for trying the harness.
type tail struct {
	target  *Target
	replica int
	next    int // index of the next record
}

var _ loadgen.Tailer = (*Target)(nil)

const tailPoll = time.Millisecond

var errHangs = errors.New("the replica does not answer")

// OpenTail implements loadgen.Tailer.
func (t *Target) OpenTail(replica string) (loadgen.Tail, error) {
	for i, name := range t.names {
		if name == replica {
			return &tail{target: t, replica: i}, nil
		}
	}
	return nil, errors.New("memory target: no replica " + replica)
}

// Close implements loadgen.Tail.
func (t *tail) Close() error { return nil }

// Next implements loadgen.Tail. A replica whose address refuses or hangs is not read.
func (t *tail) Next(ctx context.Context, deadline time.Time, yield func(loadgen.ReadBatch) error) error {
	for {
		records, mode := t.target.after(t.next, t.replica)
		switch mode {
		case AddressRefuses:
			return errRefused
		case AddressHangs:
			records = nil
		}
		for _, r := range records {
			if err := yield(loadgen.ReadBatch{BaseOffset: r.base, Identity: r.identity, Messages: r.messages}); err != nil {
				return err
			}
			t.next++
		}
		switch {
		case len(records) > 0 || ctx.Err() != nil:
			return ctx.Err()
		case !time.Now().Before(deadline):
			if mode == AddressHangs {
				return errHangs
			}
			return nil
		}
		time.Sleep(tailPoll)
	}
}

// after returns the records from an index on, and how a replica's address treats its callers.
func (t *Target) after(index, replica int) ([]record, AddressMode) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]record(nil), t.log[index:]...), t.addresses[replica]
}
