package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"rejoin/loadgen"
	"rejoin/server/wire"
)

const (
	headerCommitOffset   = "Rejoin-Commit-Offset"
	headerEarliestOffset = "Rejoin-Earliest-Offset"

	// emptyReadsMax is how often a replica may answer "nothing here" below the commit it names
	// itself before the read is over: its commit may have moved between the two.
	emptyReadsMax = 3

	// readPause lies between a "not now" and the next question.
	readPause = 100 * time.Millisecond
)

// reader reads one replica by its own address.
type reader struct {
	target *Target
	link   *link
	chain  chain
	next   uint64 // offset to ask for

	earliest, commit uint64 // as the last answer said
}

// ReadReplica implements loadgen.Source: frames from the earliest offset to the commit of that very
// replica, none of them by way of another.
func (t *Target) ReadReplica(ctx context.Context, replica string, yield func(loadgen.ReadBatch) error) (loadgen.ReadEnd, error) {
	node, err := t.nodeNamed(replica)
	if err != nil {
		return loadgen.ReadEnd{}, err
	}
	r := &reader{target: t, link: t.newLink(node.Client)}
	defer r.link.close()
	for empty := 0; empty < emptyReadsMax; {
		body, err := r.fetch(ctx)
		if err != nil {
			return loadgen.ReadEnd{}, fmt.Errorf("read %s from offset %d: %w", replica, r.next, err)
		}
		if len(body) == 0 {
			if r.next >= r.commit {
				break
			}
			empty++
			continue
		}
		empty = 0
		if err := r.frames(body, yield); err != nil {
			return loadgen.ReadEnd{}, fmt.Errorf("read %s: %w", replica, err)
		}
	}
	return loadgen.ReadEnd{EarliestOffset: r.earliest, EndOffset: max(r.commit, r.next)}, nil
}

// fetch asks for the frames from the next offset on, and again while the replica says "not now". A
// read may be repeated freely.
func (r *reader) fetch(ctx context.Context) ([]byte, error) {
	o := r.target.options
	deadline := time.Now().Add(o.ReadTimeout)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		path := fmt.Sprintf("%s?offset=%d&max_bytes=%d&consistency=any", r.target.frames, r.next, o.ReadBytes)
		response, failed := r.link.do(ctx, request{method: fasthttp.MethodGet, path: path,
			answerBytesMax: o.ReadBytes + wire.FrameBytesMax}, deadline)
		if failed != nil {
			return nil, failed.err
		}
		switch status := response.StatusCode(); status {
		case fasthttp.StatusOK:
			return response.Body(), r.extent(response)
		case fasthttp.StatusGone:
			if err := r.skipTrimmed(response); err != nil {
				return nil, err
			}
		case fasthttp.StatusServiceUnavailable, fasthttp.StatusTooManyRequests:
			if time.Until(deadline) < readPause {
				return nil, fmt.Errorf("status %d: %s", status, clip(response.Body()))
			}
			pause(ctx, readPause)
		default:
			return nil, fmt.Errorf("status %d: %s", status, clip(response.Body()))
		}
	}
}

// extent takes the replica's own word on what it holds.
func (r *reader) extent(response *fasthttp.Response) error {
	for name, into := range map[string]*uint64{headerCommitOffset: &r.commit, headerEarliestOffset: &r.earliest} {
		value, err := strconv.ParseUint(string(response.Header.Peek(name)), 10, 64)
		if err != nil {
			return fmt.Errorf("header %s: %w", name, err)
		}
		*into = value
	}
	return nil
}

// skipTrimmed goes on at the earliest offset that the replica keeps; only before the first frame,
// later it would be a hole.
func (r *reader) skipTrimmed(response *fasthttp.Response) error {
	var answer struct {
		Earliest *uint64 `json:"earliest_offset"`
	}
	if err := json.Unmarshal(response.Body(), &answer); err != nil || answer.Earliest == nil || *answer.Earliest <= r.next {
		return fmt.Errorf("status 410 that names no later offset: %s", clip(response.Body()))
	}
	if r.chain.begun {
		return fmt.Errorf("the replica trimmed its log up to offset %d while it was read", *answer.Earliest)
	}
	r.next = *answer.Earliest
	return nil
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

// pause waits, or until the context is done.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
