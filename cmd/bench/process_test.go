package main

import (
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestSpawnedProcessSurvivesItsStarter starts a child from a goroutine whose thread ends at once: a parent-death signal tied to that thread
// would kill it.
func TestSpawnedProcessSurvivesItsStarter(t *testing.T) {
	s := newSpawner()
	defer s.close()
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := s.start(cmd); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, pid: cmd.Process.Pid, exited: make(chan struct{})}
	go p.wait()
	if !p.alive() {
		t.Fatal("the child is gone")
	}
	if err := p.signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := p.awaitExit(t.Context(), 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if !p.status.Signaled() || p.status.Signal() != syscall.SIGKILL || p.exitWords() != "killed by SIGKILL" {
		t.Errorf("wait status %x: %s", p.status, p.exitWords())
	}
}

func TestClosedSpawnerStartsNothing(t *testing.T) {
	s := newSpawner()
	s.close()
	if err := s.start(exec.Command("true")); err == nil {
		t.Error("a closed spawner started a process")
	}
}
