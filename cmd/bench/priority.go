package main

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// generatorNice is the priority that the generator asks for while it drives load. It shares its cores
// with the nodes; what it must never be is late by itself, and it needs a few per cent of one core.
const generatorNice = -10

// raisePriority puts every thread of this process at generatorNice, and those it starts later with
// them, and returns what it reached: 0 where the kernel does not allow it. The spawner's thread goes
// back before it starts a node.
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
		if err := unix.Setpriority(unix.PRIO_PROCESS, tid, generatorNice); err != nil && err != unix.ESRCH {
			return 0
		}
	}
	return generatorNice
}

// ordinaryPriority takes the calling thread back, so that a process it starts is like any other.
func ordinaryPriority() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, 0) }
