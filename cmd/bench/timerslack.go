package main

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// nodeTimerSlack is how late the kernel may wake a thread of a node that has asked to sleep for a time. Go's monitor asks for 20 µs while a call
// might block, each sync of the disk for instance, and gets 70: with the usual slack of 50 µs these wake-ups and the core's ways in and
// out of idle are a third of the CPU time of a node that has a few hundred batches a second. Nothing of a node's own is due to the millisecond.
const nodeTimerSlack = time.Millisecond

// envTimerSlack tells the second start that it is the second.
const envTimerSlack = "REJOIN_TIMER_SLACK"

// A node wakes late. It runs on the main thread and before anything else, as only init does: execve makes the calling thread the main one, and what
// was the main thread's alone, such as the signal that it gets when its parent dies, would be lost with it; so would a signal that a handler had taken.
func init() {
	if len(os.Args) > 1 && os.Args[1] == "node" {
		wakeLate()
	}
}

// wakeLate starts the program once more in the same process, with a slack that all its threads inherit. The monitor's thread is there before main is,
// and a thread sets its own slack only; execve keeps it. Where it cannot be done the node is as good, and dearer.
func wakeLate() {
	if _, again := os.LookupEnv(envTimerSlack); again {
		os.Unsetenv(envTimerSlack)
		return
	}
	path, err := os.Executable()
	if err != nil || unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(nodeTimerSlack), 0, 0, 0) != nil {
		return
	}
	_ = syscall.Exec(path, os.Args, append(os.Environ(), envTimerSlack+"=1"))
}
