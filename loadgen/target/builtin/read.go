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

// answer is what a replica says about the frames from an offset on.
type answer struct {
	body             []byte
	earliest, commit uint64
	from             uint64 // the offset; a replica that has trimmed its log begins later
	err              error
}

// ReadReplica implements loadgen.Source: frames from the earliest offset to the commit of that very
// replica, none of them by way of another. While an answer is checked and passed on, the next is on its way.
func (t *Target) ReadReplica(ctx context.Context, replica string, yield func(loadgen.ReadBatch) error) (loadgen.ReadEnd, error) {
	node, err := t.nodeNamed(replica)
	if err != nil {
		return loadgen.ReadEnd{}, err
	}
	r := &reader{target: t, link: t.newLink(node.Client)}
	ctx, cancel := context.WithCancel(ctx)
	ahead := fetchAhead{reader: r}
	defer r.link.close()
	defer ahead.wait() // for what nobody takes any more; it has the link until then
	defer cancel()
	for empty := 0; empty < emptyReadsMax; {
		a := ahead.take(ctx, r.next)
		if a.err != nil {
			return loadgen.ReadEnd{}, fmt.Errorf("read %s from offset %d: %w", replica, a.from, a.err)
		}
		r.next, r.earliest, r.commit = a.from, a.earliest, a.commit
		if len(a.body) == 0 {
			if r.next >= r.commit {
				break
			}
			empty++
			continue
		}
		empty = 0
		if end, ok := endOffset(a.body); ok && end < r.commit {
			ahead.begin(ctx, end)
		}
		if err := r.frames(a.body, yield); err != nil {
			return loadgen.ReadEnd{}, fmt.Errorf("read %s: %w", replica, err)
		}
		ahead.spare = a.body
	}
	return loadgen.ReadEnd{EarliestOffset: r.earliest, EndOffset: max(r.commit, r.next)}, nil
}

// endOffset is the offset behind frames, by their headers alone; false where those do not tell.
func endOffset(body []byte) (end uint64, ok bool) {
	for len(body) > 0 {
		h, err := wire.ParseSealed(body)
		if err != nil || len(body)-wire.HeaderBytes < int(h.BodyBytes) {
			return 0, false
		}
		end, body = h.NextOffset(), body[wire.HeaderBytes+int(h.BodyBytes):]
	}
	return end, true
}

// fetchAhead fetches one answer while the one before it is checked. Both lie in memory of their own.
type fetchAhead struct {
	reader *reader
	asked  bool        // for anything: a log that begins later from then on has a hole
	ready  chan answer // of what is under way; nil: nothing is
	spare  []byte      // memory of an answer that nobody needs any more
}

// begin fetches what lies at an offset while the caller does something else.
func (f *fetchAhead) begin(ctx context.Context, from uint64) {
	ready, spare := make(chan answer, 1), f.spare
	f.ready, f.spare = ready, nil
	go func() { ready <- f.reader.fetch(ctx, from, false, spare) }()
}

// take returns what begin has fetched, or fetches it now.
func (f *fetchAhead) take(ctx context.Context, from uint64) answer {
	first := !f.asked
	f.asked = true
	if f.ready == nil {
		spare := f.spare
		f.spare = nil
		return f.reader.fetch(ctx, from, first, spare)
	}
	return f.wait()
}

// wait ends what is under way, if anything is.
func (f *fetchAhead) wait() (a answer) {
	if f.ready != nil {
		a = <-f.ready
		f.ready = nil
	}
	return a
}

// fetch asks for the frames from an offset on, and again while the replica says "not now". A
// read may be repeated freely. The answer lies in memory, or in more where that is too little.
func (r *reader) fetch(ctx context.Context, from uint64, first bool, memory []byte) answer {
	o := r.target.options
	if memory == nil {
		memory = make([]byte, 0, o.ReadBytes)
	}
	deadline := time.Now().Add(o.ReadTimeout)
	for {
		a := answer{from: from, err: ctx.Err()}
		if a.err != nil {
			return a
		}
		path := fmt.Sprintf("%s?offset=%d&max_bytes=%d&consistency=any", r.target.frames, from, o.ReadBytes)
		response, failed := r.link.do(ctx, request{method: fasthttp.MethodGet, path: path,
			answerBytesMax: o.ReadBytes + wire.FrameBytesMax, into: memory}, deadline)
		if failed != nil {
			a.err = failed.err
			return a
		}
		switch status := response.StatusCode(); status {
		case fasthttp.StatusOK:
			a.commit, a.earliest, a.err = extent(response)
			a.body = response.Body()
			return a
		case fasthttp.StatusGone:
			if from, a.err = skipTrimmed(response, from, first); a.err != nil {
				return a
			}
		case fasthttp.StatusServiceUnavailable, fasthttp.StatusTooManyRequests:
			if time.Until(deadline) < readPause {
				a.err = fmt.Errorf("status %d: %s", status, clip(response.Body()))
				return a
			}
			pause(ctx, readPause)
		default:
			a.err = fmt.Errorf("status %d: %s", status, clip(response.Body()))
			return a
		}
	}
}

// extent is the replica's own word on what it holds.
func extent(response *fasthttp.Response) (commit, earliest uint64, err error) {
	for name, into := range map[string]*uint64{headerCommitOffset: &commit, headerEarliestOffset: &earliest} {
		value, err := strconv.ParseUint(string(response.Header.Peek(name)), 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("header %s: %w", name, err)
		}
		*into = value
	}
	return commit, earliest, nil
}

// skipTrimmed returns the earliest offset that the replica keeps, to go on there; only before the first frame,
// later it would be a hole.
func skipTrimmed(response *fasthttp.Response, from uint64, first bool) (uint64, error) {
	var answer struct {
		Earliest *uint64 `json:"earliest_offset"`
	}
	if err := json.Unmarshal(response.Body(), &answer); err != nil || answer.Earliest == nil || *answer.Earliest <= from {
		return from, fmt.Errorf("status 410 that names no later offset: %s", clip(response.Body()))
	}
	if !first {
		return from, fmt.Errorf("the replica trimmed its log up to offset %d while it was read", *answer.Earliest)
	}
	return *answer.Earliest, nil
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
