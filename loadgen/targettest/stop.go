package targettest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Stop stops a process by SIGSTOP and returns when all its threads stand still: the signal is only sent when kill(2) returns, and a thread
// that runs on another processor answers a request or two until it meets it. The process goes on when the test ends.
func Stop(t *testing.T, process *os.Process) {
	t.Helper()
	if err := process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := process.Signal(syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	})
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		runs := running(t, process.Pid)
		if runs == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d is not stopped: %s", process.Pid, runs)
		}
	}
}

// running names a thread that is not stopped, if there is one.
func running(t *testing.T, pid int) string {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		t.Fatalf("threads of process %d: %v", pid, err)
	}
	for _, path := range threads {
		stat, err := os.ReadFile(path)
		if os.IsNotExist(err) { // this thread has ended
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		name := bytes.LastIndexByte(stat, ')') // a name in brackets may hold anything; the state follows it
		if name < 0 || len(stat) < name+3 {
			t.Fatalf("%s holds %q", path, stat)
		}
		if state := stat[name+2]; state != 'T' && state != 't' {
			return fmt.Sprintf("%s is in state %c", path, state)
		}
	}
	return ""
}
