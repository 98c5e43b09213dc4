package profiles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"time"
)

const (
	windowDefault     = 2 * time.Second
	windowMax         = 60 * time.Second // what the admin plane allows
	retryAfterDefault = 200 * time.Millisecond
	// answerGrace is how long after the end of its window an answer may come; a stopped node never answers.
	answerGrace = 5 * time.Second
	// refusalBytesMax bounds what is quoted of a refusal.
	refusalBytesMax = 200
)

// NodeAddress is a node and where its admin plane listens.
type NodeAddress struct {
	Name  string // letters, digits and "_"
	Admin string // host:port
}

// CollectorOptions say whom to ask and where to put the answers.
type CollectorOptions struct {
	Dir   string // the run's profiles folder; must exist
	Nodes []NodeAddress
	Token string // of the admin planes; empty: none
	// Role tells a node's role now; nil: results.RoleUnknown. It and NowNs are called by one goroutine a node.
	Role func(node string) string
	// NowNs is the run's time axis: nanoseconds of the monotonic clock since its start. Required.
	NowNs func() int64
	// Window is the length of one profile, in whole seconds; 0: 2 s. A node that dies takes at most one with it.
	Window time.Duration
	// RetryAfter is the pause after a failed try; 0: 200 ms.
	RetryAfter time.Duration
	// Go is the nodes' Go version; empty: this process's, since nodes are the same binary.
	Go string
}

func (o *CollectorOptions) complete() error {
	if o.Window == 0 {
		o.Window = windowDefault
	}
	if o.RetryAfter == 0 {
		o.RetryAfter = retryAfterDefault
	}
	if o.Go == "" {
		o.Go = runtime.Version()
	}
	if o.Role == nil {
		o.Role = unknownRole
	}
	switch {
	case o.Dir == "":
		return errors.New("profiles collector: it needs a folder")
	case o.NowNs == nil:
		return errors.New("profiles collector: it needs the run's clock")
	case o.Window < time.Second || o.Window > windowMax || o.Window%time.Second != 0:
		return fmt.Errorf("profiles collector: a window is 1 s to %v in whole seconds, not %v", windowMax, o.Window)
	case o.RetryAfter < 0:
		return fmt.Errorf("profiles collector: the pause after a failed try is negative (%v)", o.RetryAfter)
	}
	seen := map[string]bool{}
	for _, n := range o.Nodes {
		if !nodeName.MatchString(n.Name) || seen[n.Name] {
			return fmt.Errorf("profiles collector: the node name %q is used twice or holds more than letters, digits and \"_\"", n.Name)
		}
		seen[n.Name] = true
	}
	return nil
}

// Collector pulls CPU profiles of nodes that may be killed at any time, in windows, back to back and one at a time a process, because the
// runtime has one CPU profile. Each window is on disk before the next begins.
type Collector struct {
	options CollectorOptions
	client  *http.Client
	nodes   []*logbook // in the order of options.Nodes
}

// NewCollector checks the options; Run does the work.
func NewCollector(o CollectorOptions) (*Collector, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	c := &Collector{options: o, client: &http.Client{
		Timeout: o.Window + answerGrace,
		// A connection a window: one that is kept would belong to a process that may have died meanwhile. No proxy: nodes are near.
		Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	for _, n := range o.Nodes {
		c.nodes = append(c.nodes, &logbook{node: n.Name})
	}
	return c, nil
}

// Run captures until ctx is done and returns then, or at once if a window cannot be written: a disk that is full does not become less so.
// End it before nodes are stopped cleanly: a node that is being profiled has a request to finish.
func (c *Collector) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make([]error, len(c.nodes))
	var wait sync.WaitGroup
	for i := range c.nodes {
		wait.Go(func() {
			if failed[i] = c.follow(ctx, c.options.Nodes[i], c.nodes[i]); failed[i] != nil {
				cancel()
			}
		})
	}
	wait.Wait()
	return errors.Join(failed...)
}

// Captured tells what there is by now, by node.
func (c *Collector) Captured() []Captured {
	var all []Captured
	for _, b := range c.nodes {
		all = append(all, b.report())
	}
	return all
}

// follow takes window after window of one node, through its deaths and restarts.
func (c *Collector) follow(ctx context.Context, node NodeAddress, book *logbook) error {
	for ctx.Err() == nil {
		w := Window{FromNs: c.options.NowNs(), Role: c.options.Role(node.Name)}
		data, err := c.pull(ctx, node.Admin, fmt.Sprintf("profile?seconds=%d", c.options.Window/time.Second))
		w.ToNs = c.options.NowNs()
		if after := c.options.Role(node.Name); after != w.Role {
			w.Role = RoleMixed
		}
		var p *Profile
		if err == nil {
			p, err = stamp(data, node.Name, CPU, c.options.Go, w)
		}
		switch {
		case err == nil:
			if err := writeWindow(windowPath(c.options.Dir, node.Name, CPU, w.FromNs), p); err != nil {
				return err
			}
			book.took(p.meta.Windows[0])
			continue
		case ctx.Err() != nil:
			book.cutOff()
			return nil
		case errors.Is(err, errDown): // nothing was under way
		default:
			book.lost(w.FromNs, w.ToNs, err.Error())
		}
		pause(ctx, c.options.RetryAfter)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// errDown: there was no process to ask.
var errDown = errors.New("the node is down")

// errDied stands for the many ways in which a connection can end.
var errDied = errors.New("the node ended while it was profiled")

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
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, refusalBytesMax))
		return nil, fmt.Errorf("the node refused with status %d: %s", answer.StatusCode, strings.TrimSpace(string(text)))
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, fileBytesMax+1))
	if err != nil {
		return nil, c.outcome(err)
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
