package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestNodesRunAtOrdinaryPriority starts a child while the harness is raised: it must not inherit that.
func TestNodesRunAtOrdinaryPriority(t *testing.T) {
	raisePriority()
	s := newSpawner()
	defer s.close()
	var out strings.Builder
	cmd := exec.Command("nice")
	cmd.Stdout = &out
	if err := s.start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if nice := strings.TrimSpace(out.String()); nice != "0" {
		t.Errorf("a child runs at nice %s", nice)
	}
}
