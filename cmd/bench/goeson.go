package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"rejoin/results"
)

// goesOn says whether a run is still under way: it says so, and the process that it names is there and no younger than the run. After a reboot,
// or once numbers have gone round, another process may have the pid.
func goesOn(run results.Run) bool {
	const clocksDiffer = 10 * time.Second // wall time against time since boot
	if run.Status != results.StatusRunning || run.Pid <= 0 {
		return false
	}
	age, err := ageOf(run.Pid)
	return err == nil && time.Now().Add(-age).Before(run.StartedAt.Add(clocksDiffer))
}

// ageOf is how long a process has been there (proc(5), starttime of /proc/PID/stat).
func ageOf(pid int) (time.Duration, error) {
	const (
		ticksPerS = 100 // USER_HZ of Linux on amd64 and arm64
		startTime = 19  // fields after the name, which may hold blanks and brackets itself
	)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) <= startTime {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	ticks, err := strconv.ParseInt(string(fields[startTime]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("/proc/%d/stat: %w", pid, err)
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0, fmt.Errorf("read the time since boot: %w", err)
	}
	return time.Duration(now.Nano()) - time.Duration(ticks)*(time.Second/ticksPerS), nil
}
