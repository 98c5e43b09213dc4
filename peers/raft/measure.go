package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const nodes = 3

// figures are what the program tells.
type figures struct {
	Batches     int64   `json:"batches"` // acknowledged in the measured time
	Seconds     float64 `json:"seconds"`
	BatchesPerS float64 `json:"batches_per_s"`

	Nodes          int       `json:"nodes"`
	Producers      int       `json:"producers"`
	FrameBytes     int       `json:"frame_bytes"`
	BatchesPerSync float64   `json:"batches_per_sync"` // of the leader, in the measured time
	LatencyNs      quantiles `json:"latency_ns"`

	// CheckedBatches were acknowledged, those of the warm-up too. Each node applied exactly these, and read them back from its files.
	CheckedBatches int64  `json:"checked_batches"`
	Leader         string `json:"leader"` // all the time
	Term           uint64 `json:"term"`

	Settings []setting         `json:"settings"`
	Versions map[string]string `json:"versions"`
}

// measure starts the nodes, loads them, checks them and removes their files.
func measure(ctx context.Context, program string, o options) (found figures, err error) {
	limit := o.load.Warmup + o.load.Duration + o.overtime
	ctx, end := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it was not done within %v", limit))
	defer end()
	dir, err := os.MkdirTemp(o.dir, "hashicorp-raft-")
	if err != nil {
		return found, fmt.Errorf("make a folder for the nodes: %w", err)
	}
	defer func() {
		if err = errors.Join(err, os.RemoveAll(dir)); err != nil && ctx.Err() != nil {
			err = fmt.Errorf("given up, %w: %w", context.Cause(ctx), err)
		}
	}()
	c := cluster{}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.start(ctx, program, dir, o.load.Producers); err != nil {
		return found, err
	}
	leader, err := c.leader()
	if err != nil {
		return found, err
	}
	var d driven
	if err := leader.ask("drive", o.load, &d); err != nil {
		return found, err
	}
	reports, err := c.reports(leader, d.Acknowledged)
	if err != nil {
		return found, err
	}
	if err := check(leader.id, d, reports); err != nil {
		return found, err
	}
	return figuresOf(o.load, leader.id, d), nil
}

func figuresOf(l load, leader string, d driven) figures {
	f := figures{Batches: d.Batches, Seconds: l.Duration.Seconds(), BatchesPerS: float64(d.Batches) / l.Duration.Seconds(),
		Nodes: nodes, Producers: l.Producers, FrameBytes: l.FrameBytes, LatencyNs: d.LatencyNs,
		CheckedBatches: d.Acknowledged.Batches, Leader: leader, Term: d.TermBefore, Settings: settingsOf(l.Producers), Versions: versions()}
	if d.Groups > 0 {
		f.BatchesPerSync = float64(d.Stored) / float64(d.Groups)
	}
	return f
}

// cluster is the nodes.
type cluster struct{ nodes []*process }

// start starts all and lets them know each other.
func (c *cluster) start(ctx context.Context, program, dir string, producers int) error {
	var members []member
	for i := range nodes {
		id := fmt.Sprintf("n%d", i)
		p, err := startNode(ctx, program, nodeSettings{ID: id, Dir: filepath.Join(dir, id), Producers: producers})
		if err != nil {
			return err
		}
		c.nodes = append(c.nodes, p)
		m := member{ID: id}
		if err := p.ask("address", nil, &m.Address); err != nil {
			return err
		}
		members = append(members, m)
	}
	return c.each(func(p *process) error { return p.ask("join", members, nil) })
}

func (c *cluster) each(do func(*process) error) error {
	for _, p := range c.nodes {
		if err := do(p); err != nil {
			return err
		}
	}
	return nil
}

// leader waits for the election, and until the leader can commit.
func (c *cluster) leader() (*process, error) {
	var id string
	if err := c.nodes[0].ask("leader", nil, &id); err != nil {
		return nil, err
	}
	for _, p := range c.nodes {
		if p.id == id {
			return p, p.ask("leader", nil, &id) // by itself
		}
	}
	return nil, fmt.Errorf("node %s leads, and there is none of that name", id)
}

// report is what a node has of the batches.
type report struct {
	id      string
	applied applied
	stored  sum // read from its files
}

// reports waits until each node has applied what was acknowledged, stops all, and lets them read their files.
func (c *cluster) reports(leader *process, acknowledged sum) ([]report, error) {
	reports := make([]report, len(c.nodes))
	for i, p := range c.nodes {
		reports[i].id = p.id
		if err := p.ask("applied", acknowledged, &reports[i].applied); err != nil {
			return nil, err
		}
	}
	stopFirst := append([]*process{leader}, c.nodes...) // so that it finds nobody missing; stopping twice does nothing
	for _, p := range stopFirst {
		if err := p.ask("stop", nil, nil); err != nil {
			return nil, err
		}
	}
	if err := c.each(func(p *process) error { return p.tell("stored", nil) }); err != nil {
		return nil, err
	}
	for i, p := range c.nodes { // all read at the same time
		if err := p.hear("stored", &reports[i].stored); err != nil {
			return nil, err
		}
	}
	return reports, nil
}

// close ends all nodes.
func (c *cluster) close() error {
	var errs []error
	for _, p := range c.nodes { // all end at the same time
		p.end()
	}
	for _, p := range c.nodes {
		errs = append(errs, p.awaitEnd())
	}
	return errors.Join(errs...)
}
