package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"rejoin/loadgen"
)

// tail follows one replica by long polls at its own broker.
type tail struct{ reader }

var _ loadgen.Tailer = (*Target)(nil)

// OpenTail implements loadgen.Tailer.
func (t *Target) OpenTail(replica string) (loadgen.Tail, error) {
	broker, err := t.brokerNamed(replica)
	if err != nil {
		return nil, err
	}
	return &tail{reader{options: t.options, link: newLink(broker.Address)}}, nil
}

// Close implements loadgen.Tail.
func (t *tail) Close() error {
	t.link.close()
	return nil
}

// tailGrace is how much longer than the poll an answer may take.
const tailGrace = 500 * time.Millisecond

// Next implements loadgen.Tail: one fetch, which the broker holds until it has something or the time
// is over.
func (t *tail) Next(ctx context.Context, deadline time.Time, yield func(loadgen.ReadBatch) error) error {
	wait := max(time.Until(deadline), 0)
	part, err := fetchOnce(ctx, t.link, t.options, t.next, wait, deadline.Add(tailGrace))
	if err == nil {
		err = kerr.ErrorForCode(part.ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("fetch from offset %d: %w", t.next, err)
	}
	return t.pass(part.RecordBatches, yield)
}
