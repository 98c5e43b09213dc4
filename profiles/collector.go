package profiles

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	windowDefault     = 2 * time.Second
	windowMax         = 60 * time.Second // what the admin plane allows
	retryAfterDefault = 200 * time.Millisecond
	// answerGrace is how long after the end of its window an answer may come; a stopped node never answers.
	answerGrace = 5 * time.Second
	// endGrace is how long the end of the capture waits for the last window, and cutGrace a cut for its answer.
	endGrace = time.Second
	cutGrace = 250 * time.Millisecond
	cutAgain = 5 * time.Millisecond
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
	// Role tells a node's role now; nil: results.RoleUnknown. It and NowNs are called by several goroutines.
	Role func(node string) string
	// NowNs is the run's time axis: nanoseconds of the monotonic clock since its start. Required.
	NowNs func() int64
	// Window is the length of one profile, in whole seconds; 0: 2 s. A node that dies takes at most one with it.
	Window time.Duration
	// Borders end windows early; nil: there are none.
	Borders *Borders
	// Snapshots (Heap, Mutex, Block, Goroutine) are pulled beside, at the beginning and the end of each window.
	Snapshots []Kind
	// NoCPU leaves the CPU profile to somebody else and pulls only the snapshots.
	NoCPU bool
	// RetryAfter is the pause after a failed try; 0: 200 ms.
	RetryAfter time.Duration
}

func (o *CollectorOptions) complete() error {
	if o.Window == 0 {
		o.Window = windowDefault
	}
	if o.RetryAfter == 0 {
		o.RetryAfter = retryAfterDefault
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
		if !nodeName().MatchString(n.Name) || seen[n.Name] {
			return fmt.Errorf("profiles collector: the node name %q is used twice or holds more than letters, digits and \"_\"", n.Name)
		}
		seen[n.Name] = true
	}
	return checkSnapshots(o.Snapshots)
}

// Collector pulls CPU profiles of nodes that may be killed at any time, in windows, back to back and one at a time a process, because the
// runtime has one CPU profile. Each window is on disk before the next begins, as it came: reading it is left for after the load, because the
// process that pulls is the one that measures.
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

// Run captures until ctx is done, which ends the last windows early and keeps them, or until a window cannot be written: a disk that is
// full does not become less so. It returns a second after ctx is done at the latest, then without the windows of nodes that do not answer.
// End it before nodes are stopped cleanly: a node that is being profiled has a request to finish.
func (c *Collector) Run(ctx context.Context) error {
	if err := makeWindowsDir(c.options.Dir); err != nil {
		return err
	}
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
		if err := c.snapshots(ctx, node, book); err != nil {
			return err
		}
		data, w, err := c.window(ctx, node)
		switch {
		case err == nil:
			w.DurationNs = w.ToNs - w.FromNs
			if err := writeWindow(windowPath(c.options.Dir, node.Name, CPU, w), data); err != nil {
				return err
			}
			book.took(CPU, w)
			continue
		case errors.Is(err, errNotAsked):
			continue
		case ctx.Err() != nil:
			book.cutOff()
		case errors.Is(err, errDown): // nothing was under way
		default:
			book.lost(w.FromNs, w.ToNs, err.Error())
		}
		pause(ctx, c.options.RetryAfter)
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endGrace)
	defer cancel()
	return c.snapshots(ending, node, book)
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

// errRefused: there was an answer, and it was no.
var errRefused = errors.New("the node refused")

// errNotAsked: the CPU profile belongs to somebody else.
var errNotAsked = errors.New("no CPU profile is wanted")

// errDied stands for the many ways in which a connection can end.
var errDied = errors.New("the node ended while it was profiled")
