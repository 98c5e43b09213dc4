package shape

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rejoin/cmd/bench/limits/child"
	"rejoin/results"
)

// Options say which shape. All must be given.
type Options struct {
	Dir       string // where the files lie; their file system is what is measured
	Nodes     int    // 1, 3 or 5
	Producers int
	BodyBytes int
	FileBytes int64 // of each node, filled with zeros beforehand and used again when full
	Sync      bool  // false leaves fdatasync out
}

func (o Options) validate() error {
	switch {
	case o.Nodes != 1 && o.Nodes != 3 && o.Nodes != nodesMax:
		return fmt.Errorf("%d nodes: pass 1, 3 or 5", o.Nodes)
	case o.Producers < 1 || o.BodyBytes < 1 || o.BodyBytes > bodyBytesMax:
		return fmt.Errorf("%d producers of %d bytes: pass at least 1 of each, and at most %d bytes", o.Producers, o.BodyBytes, bodyBytesMax)
	case o.FileBytes < int64(o.Producers)*int64(headBytes+o.BodyBytes):
		return fmt.Errorf("a file of %d bytes does not hold one batch of each producer", o.FileBytes)
	}
	return nil
}

// Cluster is nodes and producers, each in its own process.
type Cluster struct {
	options   Options
	nodes     []*child.Process // the primary first
	producers *child.Process
	answered  int64 // batches, of all loads
}

// Start starts all and waits until the files are filled. Close must be called.
func Start(ctx context.Context, launch child.Launcher, o Options) (*Cluster, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	c := &Cluster{options: o}
	if err := c.start(ctx, launch); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, launch child.Launcher) error {
	o := c.options
	for i := range o.Nodes {
		role := RoleBackup
		if i == 0 {
			role = RolePrimary
		}
		p, err := child.Start(ctx, launch, role, NodeSettings{Dir: o.Dir, FileBytes: o.FileBytes, Sync: o.Sync})
		if err != nil {
			return err
		}
		c.nodes = append(c.nodes, p)
		if err := p.Tell("address", nil); err != nil {
			return err
		}
	}
	addresses := make([]string, len(c.nodes))
	for i, p := range c.nodes { // all fill their files at the same time
		if err := p.Hear("address", &addresses[i]); err != nil {
			return err
		}
	}
	if err := c.nodes[0].Ask("connect", addresses[1:], nil); err != nil {
		return err
	}
	var err error
	c.producers, err = child.Start(ctx, launch, RoleProducers, ProducerSettings{Address: addresses[0], Producers: o.Producers, BodyBytes: o.BodyBytes})
	return err
}

// Drive puts load on it: so many batches a second by a timetable, or 0 for as many as are answered.
func (c *Cluster) Drive(duration time.Duration, batchesPerS float64) (results.ShapeLimit, error) {
	before, err := c.counters()
	if err != nil {
		return results.ShapeLimit{}, err
	}
	var d driven
	if err := c.producers.Ask("drive", load{duration, batchesPerS}, &d); err != nil {
		return results.ShapeLimit{}, err
	}
	after, err := c.counters()
	if err != nil {
		return results.ShapeLimit{}, err
	}
	if d.Batches == 0 {
		return results.ShapeLimit{}, errors.New("not one batch was answered")
	}
	c.answered += d.Batches
	if all := uint64(c.answered); d.SequenceMax != all || after[0].Committed != all {
		return results.ShapeLimit{}, fmt.Errorf("%d batches were answered, the highest number is %d, and %d are committed", all, d.SequenceMax, after[0].Committed)
	}
	return c.figures(d, batchesPerS, before, after), nil
}

func (c *Cluster) counters() ([]Counters, error) {
	all := make([]Counters, len(c.nodes))
	for i, p := range c.nodes {
		if err := p.Ask("counters", nil, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (c *Cluster) figures(d driven, asked float64, before, after []Counters) results.ShapeLimit {
	batches := float64(d.Batches)
	f := results.ShapeLimit{Nodes: c.options.Nodes, Producers: c.options.Producers, BodyBytes: int64(c.options.BodyBytes), Synced: c.options.Sync,
		AskedBatchesPerS: asked, MeasuredNs: d.WallNs, Batches: d.Batches, BatchesPerS: batches / (float64(d.WallNs) / 1e9), LatencyNs: d.Latency,
		ProducersCPUNsPerBatch: float64(d.CPUNs) / batches}
	if syncs := after[0].Syncs - before[0].Syncs; syncs > 0 {
		f.BatchesPerSync = float64(after[0].Batches-before[0].Batches) / float64(syncs)
	}
	f.PrimaryCPUNsPerBatch = float64(after[0].CPUNs-before[0].CPUNs) / batches
	if backups := len(c.nodes) - 1; backups > 0 {
		sum := int64(0)
		for i := range backups {
			sum += after[1+i].CPUNs - before[1+i].CPUNs
		}
		f.BackupCPUNsPerBatch = new(float64(sum) / batches / float64(backups))
	}
	return f
}

// ReadBack lets every node read its file from the device and check each batch, and returns what the one with the fewest held. The last
// batch of each must be the last that was answered, and none may be missing that its file has not used again.
func (c *Cluster) ReadBack() (ReadBack, error) {
	var least ReadBack
	for i, p := range c.nodes {
		var r ReadBack
		if err := p.Ask("read_back", c.answered, &r); err != nil {
			return r, err
		}
		if r.Last != uint64(c.answered) || r.Batches != int64(r.Last-r.First)+1 {
			return r, fmt.Errorf("node %d holds %d batches, %d to %d, of %d that were answered", i, r.Batches, r.First, r.Last, c.answered)
		}
		if i == 0 || r.Batches < least.Batches {
			least = r
		}
	}
	return least, nil
}

// Close ends all processes.
func (c *Cluster) Close() error {
	var errs []error
	if c.producers != nil {
		errs = append(errs, c.producers.Close())
	}
	for _, p := range c.nodes {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}
