package profiles

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// answer is what became of a pull.
type answer struct {
	data []byte
	err  error
}

// window takes one CPU window of a node. A border or the end of ctx ends it early; what was sampled until then is kept.
func (c *Collector) window(ctx context.Context, node NodeAddress) ([]byte, Window, error) {
	border := c.options.Borders.wait()
	if c.options.NoCPU {
		awaitEnd(ctx, border, c.options.Window)
		return nil, Window{}, errNotAsked
	}
	w := Window{FromNs: c.options.NowNs(), Role: c.options.Role(node.Name)}
	pulling, stop := endedAfter(ctx, endGrace)
	defer stop()
	pulled := make(chan answer, 1)
	go func() {
		data, err := c.pull(pulling, node.Admin, fmt.Sprintf("profile?seconds=%d", c.options.Window/time.Second))
		pulled <- answer{data, err}
	}()
	var a answer
	w.ToNs = w.FromNs + int64(c.options.Window)
	select {
	case a = <-pulled:
	case <-border:
		a = c.cut(pulling, node, pulled, &w)
	case <-ctx.Done():
		a = c.cut(pulling, node, pulled, &w)
	}
	if now := c.options.NowNs(); a.err != nil || now < w.ToNs {
		w.ToNs = now
	}
	if after := c.options.Role(node.Name); after != w.Role {
		w.Role = RoleMixed
	}
	return a.data, w, a.err
}

// endedAfter is a context that ends so long after its parent.
func endedAfter(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return late, func() {
		stop()
		cancel()
	}
}

// cut asks the node to end the window under way, and waits for its answer. A node that has not begun it yet is asked again. One that does
// not answer is not: it may be stopped, and would find all the questions when it goes on.
func (c *Collector) cut(ctx context.Context, node NodeAddress, pulled <-chan answer, w *Window) answer {
	for {
		asked, cancel := context.WithTimeout(ctx, cutGrace)
		_, err := c.pull(asked, node.Admin, "cut")
		cancel()
		if err == nil {
			w.ToNs = min(w.ToNs, c.options.NowNs())
		}
		if !errors.Is(err, errRefused) {
			return <-pulled
		}
		timer := time.NewTimer(cutAgain)
		select {
		case a := <-pulled: // it ended by itself
			timer.Stop()
			return a
		case <-timer.C:
		}
	}
}

// snapshots pulls what a node holds or has counted since it began. One that is down has none; what else fails is told.
func (c *Collector) snapshots(ctx context.Context, node NodeAddress, book *logbook) error {
	for _, kind := range c.options.Snapshots {
		w := Window{FromNs: c.options.NowNs(), Role: c.options.Role(node.Name)}
		data, err := c.pull(ctx, node.Admin, string(kind))
		w.ToNs = c.options.NowNs()
		switch {
		case errors.Is(err, errDown) || errors.Is(err, errDied):
			return nil
		case err != nil:
			book.lost(w.FromNs, w.ToNs, fmt.Sprintf("%s: %v", kind, err))
			continue
		}
		if err := writeWindow(windowPath(c.options.Dir, node.Name, kind, w), data); err != nil {
			return err
		}
		book.took(kind, w)
	}
	return nil
}

// pull asks an admin plane, over a connection of its own.
func (c *Collector) pull(ctx context.Context, admin, what string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/debug/pprof/"+what, nil)
	if err != nil {
		return nil, fmt.Errorf("ask for a profile: %w", err)
	}
	if c.options.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.options.Token)
	}
	answer, err := c.client.Do(request)
	if err != nil {
		return nil, c.outcome(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, fileBytesMax+1))
	switch {
	case err != nil:
		return nil, c.outcome(err)
	case answer.StatusCode == http.StatusNoContent:
		return nil, nil
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%w with status %d: %s", errRefused, answer.StatusCode, strings.TrimSpace(string(data[:min(len(data), refusalBytesMax)])))
	case len(data) > fileBytesMax:
		return nil, ErrTooLarge
	case !bytes.HasPrefix(data, gzipMagic):
		return nil, fmt.Errorf("%w: the node answered %d bytes that are no gzipped profile", ErrMalformed, len(data))
	}
	return data, nil
}

func (c *Collector) outcome(err error) error {
	var op *net.OpError
	var timeout net.Error
	switch {
	case errors.As(err, &op) && op.Op == "dial":
		return errDown
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("the node did not answer within %v of the end of the window", answerGrace)
	}
	return errDied
}
