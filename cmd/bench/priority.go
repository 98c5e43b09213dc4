package main

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// The generator shares its cores with the nodes; what it must never be is late by itself, and it needs a few
// per cent of one core. While it drives load it asks for preference, and for a short slice: to the kernel
// that means to run soon after it wakes, not when the slice of whoever runs, about 3 ms, is over.
const (
	generatorNice  = -10
	generatorSlice = 100 * time.Microsecond // the least that Linux takes; before 6.12 it takes none
)

// raisePriority gives every thread of this process the generator's priority, and those it starts later with
// them, and returns the nice value that it reached: 0 where the kernel does not allow it. The spawner's
// thread goes back before it starts a node.
func raisePriority() int {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return 0
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			continue
		}
		if err := setPriority(tid, generatorNice, generatorSlice); err != nil && err != unix.ESRCH {
			return 0
		}
	}
	return generatorNice
}

// ordinaryPriority takes the calling thread back, so that a process it starts is like any other.
func ordinaryPriority() error { return setPriority(0, 0, 0) }

// setPriority is of one thread; a slice of 0 is the kernel's own.
func setPriority(tid, nice int, slice time.Duration) error {
	return unix.SchedSetAttr(tid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Nice: int32(nice), Runtime: uint64(slice)}, 0)
}
