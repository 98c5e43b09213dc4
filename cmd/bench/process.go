package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"rejoin/server/wire"
)

// process is one life of a node: from its start to its exit. It is replaced by another at a restart.
type process struct {
	pid       int
	cmd       *exec.Cmd
	startedNs int64 // raw CLOCK_MONOTONIC, like all times of this file

	// exited is closed once wait(2) returned; exitNs and status are set before.
	exited chan struct{}
	exitNs int64
	status syscall.WaitStatus
}

// startProcess starts a node whose output goes straight to a log file, in a process group of its own, so that a Ctrl-C at the terminal
// reaches the harness alone, and tied to the harness's life.
func startProcess(s *spawner, logPath, mark string, how program) (*process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open node log: %w", err)
	}
	defer log.Close() // the child has its own
	cmd := exec.Command(how.path, how.args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(append(withoutSecrets(os.Environ()), markOfRun+"="+mark), how.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p := &process{cmd: cmd, startedNs: wire.MonoNow(), exited: make(chan struct{})}
	if err := s.start(cmd); err != nil {
		return nil, fmt.Errorf("start node: %w", err)
	}
	p.pid = cmd.Process.Pid
	go p.wait()
	return p, nil
}

func (p *process) wait() {
	_ = p.cmd.Wait() // the status says more than the error
	p.exitNs = wire.MonoNow()
	p.status, _ = p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	close(p.exited)
}

// alive says whether wait(2) has not returned yet.
func (p *process) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// signal sends by the handle that came from the start, never by a bare number: a pid may have been given away.
func (p *process) signal(sig syscall.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("send %s to process %d: %w", unix.SignalName(sig), p.pid, err)
	}
	return nil
}

// awaitExit waits until the process is gone.
func (p *process) awaitExit(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.exited:
		return nil
	case <-timer.C:
		return fmt.Errorf("process %d has not ended within %v", p.pid, limit)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// exitWords say how a process ended.
func (p *process) exitWords() string {
	switch {
	case p.status.Signaled():
		return "killed by " + unix.SignalName(p.status.Signal())
	case p.status.Exited():
		return fmt.Sprintf("exited with code %d", p.status.ExitStatus())
	}
	return "ended"
}
