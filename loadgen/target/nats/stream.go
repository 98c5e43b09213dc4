package nats

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// duplicatesWindow is how long the stream remembers message ids: the server's own default, and longer than any batch is tried.
const duplicatesWindow = 2 * time.Minute

// StreamConfig is the stream, as it is asked for; what is not set is the server's default.
func (t *Target) StreamConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{Name: t.options.Stream, Subjects: []string{t.options.Stream + ".*"}, Storage: jetstream.FileStorage,
		Replicas: len(t.options.Nodes), Duplicates: duplicatesWindow, AllowAtomicPublish: t.options.Batches == Atomic}
}

// Prepare makes the stream unless it is there. It fails while the servers have not yet agreed on who places streams; call it again then. A
// stream of that name with other settings is an error, too: it is not ours.
func (t *Target) Prepare(ctx context.Context) error {
	l := &link{address: t.options.Nodes[0].Client}
	defer l.close()
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(t.options.ReadTimeout)
	}
	if result, ok := l.open(deadline); !ok {
		return result.Err
	}
	if _, err := l.js.CreateStream(ctx, t.StreamConfig()); err != nil {
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return fmt.Errorf("stream %s is there with other settings: %w", t.options.Stream, err)
		}
		return fmt.Errorf("create stream %s: %w", t.options.Stream, err)
	}
	return nil
}

// Remove deletes the stream.
func (t *Target) Remove(ctx context.Context) error {
	l := &link{address: t.options.Nodes[0].Client}
	defer l.close()
	if result, ok := l.open(time.Now().Add(t.options.ReadTimeout)); !ok {
		return result.Err
	}
	return l.js.DeleteStream(ctx, t.options.Stream)
}
