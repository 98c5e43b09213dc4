package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// TestNodesGetNoSecretOfTheUser: REJOIN_TOKEN is set for --http; a node that found it would refuse the load generator, which has none.
func TestNodesGetNoSecretOfTheUser(t *testing.T) {
	for _, name := range []string{envToken, envToken + "_FILE", envSecret, envSecret + "_FILE"} {
		t.Setenv(name, "of-the-user")
	}
	t.Setenv("REJOIN_OTHER", "kept")
	s := newSpawner()
	defer s.close()
	log := filepath.Join(t.TempDir(), "n0.log")
	p, err := startProcess(s, log, "/some/run", program{path: "/usr/bin/env", env: []string{envSecret + "=of-the-run"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.awaitExit(t.Context(), 10*time.Second); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(text); strings.Contains(got, "of-the-user") || !strings.Contains(got, envSecret+"=of-the-run\n") || !strings.Contains(got, "REJOIN_OTHER=kept\n") {
		t.Errorf("the environment of a node:\n%s", got)
	}
}

func TestClosedSpawnerStartsNothing(t *testing.T) {
	s := newSpawner()
	s.close()
	if err := s.start(exec.Command("true")); err == nil {
		t.Error("a closed spawner started a process")
	}
}
