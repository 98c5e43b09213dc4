package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"rejoin/cmd/bench/goals"
)

// besideRaft loads three nodes of hashicorp/raft, which check themselves, as the series names it.
func (g *sampler) besideRaft(ctx context.Context, s goals.Series, sample *goals.Sample) error {
	if s.Raft.Duration == 0 {
		return nil
	}
	if _, err := os.Stat(g.raft); err != nil {
		return fmt.Errorf("hashicorp/raft cannot be run: %w; make peers builds the program", err)
	}
	var out bytes.Buffer
	code, err := g.launch(ctx, g.raft, s.Raft.Args(g.dir), &out)
	if err == nil && code != 0 {
		err = errors.New(strings.TrimSpace(out.String()))
	}
	if err != nil {
		return fmt.Errorf("hashicorp/raft gave no figures (exit code %d): %w", code, err)
	}
	sample.Raft, err = goals.ParseRaft(out.Bytes(), s.Raft)
	return err
}
