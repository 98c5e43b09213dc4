package profiles

import (
	"context"
	"fmt"
)

// Snapshot pulls what a node holds or has counted since it began (Heap, Mutex, Block or Goroutine) and writes it as
// <node>-<kind>-<ns>.pb.gz. Two of one process make a window by Since. A node that is down or dies meanwhile is an error.
func (c *Collector) Snapshot(ctx context.Context, node string, kind Kind) (path string, err error) {
	if !kind.snapshot() || kind == Contention {
		return "", fmt.Errorf("snapshot of %s: there is none of kind %q", node, kind)
	}
	for _, n := range c.options.Nodes {
		if n.Name == node {
			path, err = c.snapshot(ctx, n, kind)
			if err != nil {
				return "", fmt.Errorf("snapshot of %s: %w", node, err)
			}
			return path, nil
		}
	}
	return "", fmt.Errorf("snapshot of %s: there is no node of that name", node)
}

func (c *Collector) snapshot(ctx context.Context, n NodeAddress, kind Kind) (string, error) {
	w := Window{FromNs: c.options.NowNs(), Role: c.options.Role(n.Name)}
	data, err := c.pull(ctx, n.Admin, string(kind))
	if err != nil {
		return "", err
	}
	w.ToNs = c.options.NowNs()
	p, err := stamp(data, n.Name, kind, c.options.Go, w)
	if err != nil {
		return "", err
	}
	path := windowPath(c.options.Dir, n.Name, kind, w.FromNs)
	return path, writeWindow(path, p)
}
