package api

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"rejoin/server/vsr"
)

const (
	readBytesDefault = 1 << 20
	readBytesMax     = 8 << 20
	readWaitMax      = 10 * time.Second

	// readWaitSlice is how long a read waits in one piece, so that a shutdown need not wait longer.
	readWaitSlice = 500 * time.Millisecond

	// barrierTimeout is for a read that asks for the latest.
	barrierTimeout = 2 * time.Second
)

// readRequest is the query of a read.
type readRequest struct {
	offset   uint64
	maxBytes int64
	wait     time.Duration
	latest   bool
}

// parseRead reads the query. Sizes and times above the limits are lowered to them.
func parseRead(query []byte) (readRequest, bool) {
	r := readRequest{maxBytes: readBytesDefault}
	ok := queryValues(query, func(key, value []byte) bool {
		if string(key) == "consistency" {
			r.latest = string(value) == "latest"
			return r.latest || string(value) == "any"
		}
		n, ok := parseUint(value)
		switch string(key) {
		case "offset":
			r.offset = n
		case "max_bytes":
			r.maxBytes = int64(max(1, min(n, readBytesMax)))
		case "wait_ms":
			r.wait = time.Duration(min(n, uint64(readWaitMax/time.Millisecond))) * time.Millisecond
		default:
			return false
		}
		return ok
	})
	return r, ok
}

func (p *ClientPlane) read(ctx *fasthttp.RequestCtx, t target, partition Partition) {
	request, ok := parseRead(t.query)
	if !ok {
		p.answerRefusal(ctx, t, refusedQuery, "")
		return
	}
	if request.wait > 0 {
		if p.longPolls.Add(1) > int64(max(1, p.options.ConnectionsMax/2)) {
			p.longPolls.Add(-1)
			p.answerRefusal(ctx, t, refusedPolls, "")
			return
		}
		defer p.longPolls.Add(-1)
	}
	if request.latest {
		if result := partition.Barrier(time.Now().Add(barrierTimeout)); result.Outcome != vsr.OutcomeCommitted {
			status := partition.Status()
			putHeaders(ctx, &status)
			p.answerResult(ctx, &result, false)
			return
		}
	}
	span, err := p.waitForFrames(partition, request)
	status := partition.Status()
	putHeaders(ctx, &status)
	if err == nil {
		err = p.answerSpan(ctx, span)
	}
	if err != nil {
		p.answerUnread(ctx, &status, err)
		return
	}
	putNextOffset(ctx, request.offset, &span)
}

// putNextOffset tells where to go on reading before the frames have arrived.
func putNextOffset(ctx *fasthttp.RequestCtx, asked uint64, span *Span) {
	next := span.NextOffset
	if span.Bytes == 0 {
		next = asked
	} else if next == 0 {
		return
	}
	var digits [20]byte
	ctx.Response.Header.SetBytesV("Rejoin-Next-Offset", strconv.AppendUint(digits[:0], next, 10))
}

// waitForFrames reads, and waits for frames in slices.
func (p *ClientPlane) waitForFrames(partition Partition, r readRequest) (Span, error) {
	for end := time.Now().Add(r.wait); ; {
		left := max(0, time.Until(end))
		if r.wait == 0 || p.stopping.Load() {
			left = 0
		}
		span, err := partition.Read(r.offset, r.maxBytes, min(left, readWaitSlice))
		if err != nil || span.Bytes > 0 || left == 0 {
			return span, err
		}
		span.release()
	}
}

func (s *Span) release() {
	if s.Release != nil {
		s.Release()
	}
}

// spanCloser lets fasthttp release a span when it is done with the request, however it ended:
// values of a request that have a Close are closed then.
type spanCloser struct{ span Span }

func (c *spanCloser) Close() error {
	c.span.release()
	return nil
}

// answerSpan sends the frames. A plain *io.LimitedReader over an *os.File is what fasthttp and the
// runtime recognise for sendfile; any other wrapping loses it, and neither closes the file.
func (p *ClientPlane) answerSpan(ctx *fasthttp.RequestCtx, span Span) error {
	ctx.SetUserValue("span", &spanCloser{span})
	if span.Bytes == 0 {
		p.answer(ctx, fasthttp.StatusOK, mediaFrame, nil)
		return nil
	}
	stream := &io.LimitedReader{N: span.Bytes}
	if file, ok := span.Source.(*os.File); ok {
		if _, err := file.Seek(span.Offset, io.SeekStart); err != nil {
			return fmt.Errorf("read frames: %w", err)
		}
		stream.R = file
	} else {
		stream.R = io.NewSectionReader(span.Source, span.Offset, span.Bytes)
	}
	p.answer(ctx, fasthttp.StatusOK, mediaFrame, nil)
	ctx.Response.SetBodyStream(stream, int(span.Bytes))
	return nil
}

func (p *ClientPlane) answerUnread(ctx *fasthttp.RequestCtx, s *Status, err error) {
	f := failure{Error: "unreadable", Message: err.Error() + "; try again later, or read from another replica", Primary: s.Primary, View: &s.View, Progress: s.Progress}
	var below ErrBelowEarliest
	if errors.As(err, &below) {
		f.Error, f.Message, f.EarliestOffset = "below_earliest", err.Error(), &below.Earliest
		p.answerFailure(ctx, fasthttp.StatusGone, &f)
		return
	}
	setRetryAfter(ctx, &f, 0)
	p.answerFailure(ctx, fasthttp.StatusServiceUnavailable, &f)
}
