package builtin

import (
	"context"
	"fmt"
	"time"

	"github.com/valyala/fasthttp"

	"rejoin/loadgen"
	"rejoin/server/wire"
)

// tail follows one replica by long polls.
type tail struct {
	target *Target
	link   *link
	reader
}

var _ loadgen.Tailer = (*Target)(nil)

// OpenTail implements loadgen.Tailer.
func (t *Target) OpenTail(replica string) (loadgen.Tail, error) {
	node, err := t.nodeNamed(replica)
	if err != nil {
		return nil, err
	}
	return &tail{target: t, link: t.newLink(node.Client)}, nil
}

// Close implements loadgen.Tail.
func (t *tail) Close() error {
	t.link.close()
	return nil
}

// tailReadBytesMax bounds what a consumer takes at once when it has fallen behind: what it waits for is seldom more than a batch or two.
const tailReadBytesMax = 1 << 20

// tailGrace is how much longer than the poll an answer may take.
const tailGrace = 500 * time.Millisecond

// Next implements loadgen.Tail: one request, which the replica holds until it has something or the time is over.
func (t *tail) Next(ctx context.Context, deadline time.Time, yield func(loadgen.ReadBatch) error) error {
	wait := max(time.Until(deadline), 0)
	most := min(t.target.options.ReadBytes, tailReadBytesMax)
	path := fmt.Sprintf("%s?offset=%d&max_bytes=%d&consistency=any&wait_ms=%d", t.target.frames, t.next, most, wait.Milliseconds())
	response, failed := t.link.do(ctx, request{method: fasthttp.MethodGet, path: path, answerBytesMax: most + wire.FrameBytesMax},
		deadline.Add(tailGrace))
	if failed != nil {
		return failed.err
	}
	switch status := response.StatusCode(); status {
	case fasthttp.StatusOK:
		if _, _, err := extent(response); err != nil {
			return err
		}
		return t.frames(response.Body(), yield)
	case fasthttp.StatusGone:
		next, err := skipTrimmed(response, t.next, !t.chain.begun)
		if err == nil {
			t.next = next
		}
		return err
	default:
		return fmt.Errorf("status %d: %s", status, clip(response.Body()))
	}
}
