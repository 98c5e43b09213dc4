package builtin

import (
	"context"
	"fmt"

	"rejoin/loadgen"
	"rejoin/server/wire"
)

// reader checks what comes from one replica by its own address.
type reader struct {
	chain chain
	next  uint64 // offset behind what was passed on
}

// ReadReplica implements loadgen.Source: frames from the earliest offset to the commit of that very
// replica, none of them by way of another. While an answer is checked and passed on, the next is on its way.
func (t *Target) ReadReplica(ctx context.Context, replica string, yield func(loadgen.ReadBatch) error) (loadgen.ReadEnd, error) {
	node, err := t.nodeNamed(replica)
	if err != nil {
		return loadgen.ReadEnd{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	s := t.openStream(ctx, node.Client)
	defer s.drain()
	defer cancel()
	var r reader
	var end loadgen.ReadEnd
	for a := range s.answers {
		if a.err != nil {
			return loadgen.ReadEnd{}, fmt.Errorf("read %s from offset %d: %w", replica, a.from, a.err)
		}
		r.next = a.from
		if err := r.frames(a.body, yield); err != nil {
			return loadgen.ReadEnd{}, fmt.Errorf("read %s: %w", replica, err)
		}
		if a.next > 0 && a.next != r.next {
			return loadgen.ReadEnd{}, fmt.Errorf("read %s: the head of an answer says that it ends before offset %d, its frames end before %d", replica, a.next, r.next)
		}
		end = loadgen.ReadEnd{EarliestOffset: a.earliest, EndOffset: max(a.commit, r.next)}
	}
	if err := ctx.Err(); err != nil {
		return loadgen.ReadEnd{}, fmt.Errorf("read %s from offset %d: %w", replica, r.next, err)
	}
	return end, nil
}

// frames checks and passes on the frames of one answer. A read begins at the first batch that ends
// above the offset asked for, so registers may be missing before the first frame, nowhere else.
func (r *reader) frames(body []byte, yield func(loadgen.ReadBatch) error) error {
	for skipped := true; len(body) > 0; skipped = false {
		h, err := wire.ParseSealed(body)
		if err != nil {
			return fmt.Errorf("after op %d: %w", r.chain.last.Op, err)
		}
		size := wire.HeaderBytes + int(h.BodyBytes)
		if len(body) < size {
			return fmt.Errorf("op %d has %d bytes, the answer ends after %d of them", h.Op, size, len(body))
		}
		if err := r.chain.join(&h, skipped); err != nil {
			return err
		}
		if err := r.chain.yield(&h, body[wire.HeaderBytes:size], yield); err != nil {
			return err
		}
		body = body[size:]
		r.next = r.chain.end
	}
	return nil
}
