package main

import (
	"os"
	"runtime"
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

// asProgram is set by main: this process is the program's own and may begin anew, which a test's may not.
var asProgram bool

// wakeLate starts the program once more in the same process, with a slack that all its threads inherit. The monitor's thread is there before main is,
// and a thread sets its own slack only; execve keeps it. Where it cannot be done the node is as good, and dearer.
func wakeLate() {
	if os.Getenv(envTimerSlack) != "" {
		os.Unsetenv(envTimerSlack)
		return
	}
	runtime.LockOSThread() // the slack is this thread's until there is another program
	defer runtime.UnlockOSThread()
	path, err := os.Executable()
	if !asProgram || err != nil || unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(nodeTimerSlack), 0, 0, 0) != nil {
		return
	}
	_ = syscall.Exec(path, os.Args, append(os.Environ(), envTimerSlack+"=1"))
}
