package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"rejoin/results"
)

// schedule carries out the faults of a scenario: each in its own goroutine, because they may overlap.
type schedule struct {
	system system
	faults []Fault
	first  int // the node that faults call "first"; -1 if none

	mu      sync.Mutex
	met     map[int]int // by fault: the node it met
	killed  map[int]bool
	current map[int]string // what is being done to a node now, for progress lines
	errs    []error
}

func newSchedule(s system, faults []Fault, first int) *schedule {
	return &schedule{system: s, faults: faults, first: first, met: map[int]int{}, killed: map[int]bool{}, current: map[int]string{}}
}

// run carries out all faults; loadStart is closed when the load begins. It returns when every node that shall come back was brought back,
// or when ctx ends. See err for what failed.
func (c *schedule) run(ctx context.Context, loadStart <-chan struct{}) {
	var wait sync.WaitGroup
	for i, f := range c.faults {
		if f.At.Before { // done by before; only the way back is left
			continue
		}
		wait.Go(func() {
			if !await(ctx, loadStart) || !sleep(ctx, f.At.After) {
				return
			}
			node, err := c.begin(ctx, i, f)
			if err == nil {
				err = c.finish(ctx, f, node, f.end().After)
			}
			c.fail(i, err)
		})
	}
	wait.Wait()
}

// before carries out the faults that stand before the load, and starts their way back, which counts from loadStart. Wait for the
// returned group after the load.
func (c *schedule) before(ctx context.Context, loadStart <-chan struct{}) (*sync.WaitGroup, error) {
	var wait sync.WaitGroup
	for i, f := range c.faults {
		if !f.At.Before {
			continue
		}
		node, err := c.begin(ctx, i, f)
		if err != nil {
			return &wait, fmt.Errorf("fault %d: %w", i+1, err)
		}
		wait.Go(func() {
			if await(ctx, loadStart) {
				c.fail(i, c.finish(ctx, f, node, f.end().After))
			}
		})
	}
	return &wait, nil
}

func (c *schedule) fail(i int, err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errs = append(c.errs, fmt.Errorf("fault %d: %w", i+1, err))
}

func (c *schedule) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.errs...)
}

// begin kills or stops the node that the fault means now.
func (c *schedule) begin(ctx context.Context, i int, f Fault) (int, error) {
	node, role, err := c.await(ctx, f.node())
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	c.met[i] = node
	c.mu.Unlock()
	switch f.verb() {
	case faultStop:
		c.show(node, "stopped")
		return node, c.system.pause(node, role)
	case faultRestart:
		c.show(node, "asked to stop")
		return node, c.system.terminate(ctx, node, role)
	case faultWipe:
		c.show(node, "killed and wiped")
		if err := c.system.kill(ctx, node, role); err != nil {
			return node, err
		}
		return node, c.system.wipe(node)
	}
	c.show(node, "killed")
	return node, c.system.kill(ctx, node, role)
}

// finish brings the node back after a while.
func (c *schedule) finish(ctx context.Context, f Fault, node int, after time.Duration) error {
	if f.end().Never {
		return nil
	}
	if !sleep(ctx, after) {
		return ctx.Err()
	}
	c.show(node, "")
	if f.Stop != "" {
		return c.system.resume(node)
	}
	return c.system.restart(node)
}

// roleLimit is how long a fault waits for somebody to have the role that it names; in a view change nobody has.
const roleLimit = 5 * time.Second

// await chooses as soon as the name means a node.
func (c *schedule) await(ctx context.Context, name string) (node int, role string, err error) {
	limit, cancel := context.WithTimeout(ctx, roleLimit)
	defer cancel()
	for {
		node, role, err = c.choose(name)
		if err == nil || !sleep(limit, pollInterval) {
			return node, role, err
		}
	}
}

// choose resolves a node's name or a role.
func (c *schedule) choose(name string) (node int, role string, err error) {
	all := c.system.status()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch name {
	case nodePrimary:
		primary, known := primaryOf(all)
		if !known {
			return 0, "", errors.New("no node is primary at the moment, so none can be killed as one")
		}
		node = primary
	case nodeBackup:
		backups := backupsOf(all)
		node, err = c.pick(all, func(i int) bool { return slices.Contains(backups, i) })
	case nodeUnkilled:
		node, err = c.pick(all, func(i int) bool { return all[i].Up })
	case nodeFirst:
		node = c.first
	default:
		node, err = nodeNumber(name, len(all))
	}
	if err != nil {
		return 0, "", err
	}
	c.killed[node] = true
	return node, roleOf(all, node), nil
}

// pick prefers the lowest-numbered fitting node that no fault has met yet.
func (c *schedule) pick(all []results.Status, fits func(int) bool) (int, error) {
	second := -1
	for i := range all {
		if !fits(i) {
			continue
		}
		if !c.killed[i] {
			return i, nil
		}
		if second < 0 {
			second = i
		}
	}
	if second < 0 {
		return 0, errors.New("no node fits at the moment")
	}
	return second, nil
}

func (c *schedule) show(node int, what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current[node] = what
	if what == "" {
		delete(c.current, node)
	}
}

// now says in words what is being done to which node.
func (c *schedule) now() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	texts := []string{}
	for _, node := range slices.Sorted(maps.Keys(c.current)) {
		texts = append(texts, results.NodeName(node)+" "+c.current[node])
	}
	return texts
}

// next is what the schedule does next; nil when nothing more is planned. A fault that waits for its role is past and not told again.
func (c *schedule) next(elapsed time.Duration) *liveNext {
	c.mu.Lock()
	defer c.mu.Unlock()
	var next *liveNext
	consider := func(at time.Duration, what string) {
		if in := (at - elapsed).Seconds(); in > 0 && (next == nil || in < next.InS) {
			next = &liveNext{What: what, InS: in}
		}
	}
	for i, f := range c.faults {
		if !f.At.Before {
			consider(f.At.After, f.verb()+" "+f.node())
		}
		if end := f.end(); !end.Never {
			name := f.node()
			if node, known := c.met[i]; known {
				name = results.NodeName(node)
			}
			verb := "start"
			if !f.ends() {
				verb = "continue"
			}
			consider(f.endsAt(), verb+" "+name)
		}
	}
	return next
}

// await waits for a channel to close; false if ctx ended first.
func await(ctx context.Context, ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	case <-ctx.Done():
		return false
	}
}

// sleep waits for a duration; false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
