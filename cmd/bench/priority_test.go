package main

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
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

// A slice goes the same way: given to the harness where the kernel has one, never inherited by a node.
func TestSliceOfTheGenerator(t *testing.T) {
	runtime.LockOSThread() // not unlocked: the thread ends with the test
	if err := setPriority(0, 0, generatorSlice); err != nil {
		t.Fatal(err)
	}
	raised, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := ordinaryPriority(); err != nil {
		t.Fatal(err)
	}
	ordinary, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if raised.Runtime != uint64(generatorSlice) {
		t.Skipf("this kernel has no slices of its own for threads: it says %d", raised.Runtime)
	}
	if ordinary.Runtime <= raised.Runtime || ordinary.Nice != 0 {
		t.Errorf("taken back it is %+v", ordinary)
	}
}
