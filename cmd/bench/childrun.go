package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"rejoin/results"
)

// launch runs one `bench run` to its end and returns its exit code. Each run is a process of its own, so that none inherits another's heap,
// priority or profiles.
type launch func(ctx context.Context, binary string, args []string, out io.Writer) (code int, err error)

// childLimit is how long a run that was told to stop may take: it stops nodes, draws and writes.
const childLimit = 2 * time.Minute

// launchProcess is the launch of production. When ctx ends the child gets one SIGINT, as from a terminal, and writes what it knows.
func launchProcess(ctx context.Context, binary string, args []string, out io.Writer) (int, error) {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Stdout, cmd.Stderr = out, out
	runtime.LockOSThread() // the kernel counts the death of the thread that started the child as the parent's
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM} // the terminal's Ctrl-C reaches this process alone, which passes it on once
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = childLimit
	err := cmd.Run()
	if cmd.ProcessState != nil && cmd.ProcessState.Exited() {
		return cmd.ProcessState.ExitCode(), nil
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return results.ExitInvalid, fmt.Errorf("%s ended by itself: %v", binary, exit)
	}
	return results.ExitUsage, fmt.Errorf("start %s: %w", binary, err)
}

// worseCode is the one of two exit codes that counts for both, by the order of verdicts.
func worseCode(a, b int) int {
	for _, code := range []int{results.ExitInterrupted, results.ExitUsage, results.ExitLoss, results.ExitStuck, results.ExitInvalid, results.ExitMissed} {
		if a == code || b == code {
			return code
		}
	}
	return max(a, b)
}

// withoutFlags are the words of a command line without some flags and their values.
func withoutFlags(args []string, flags ...string) []string {
	var kept []string
	for i := 0; i < len(args); i++ {
		name, _, joined := strings.Cut(args[i], "=")
		drop := false
		for _, f := range flags {
			drop = drop || name == f
		}
		switch {
		case !drop:
			kept = append(kept, args[i])
		case !joined:
			i++ // its value is the next word
		}
	}
	return kept
}

// dropData removes the nodes' data of a run whose verdict does not ask for a look into it.
func dropData(folder results.Folder, code int) {
	if code != results.ExitLoss && code != results.ExitStuck {
		_ = folder.RemoveData() // what stays takes space and does no harm; bench clean finds it
	}
}
