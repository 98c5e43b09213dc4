package main

import (
	"io/fs"
	"math"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"rejoin/results"
)

// sampleProcess adds to a sample what the kernel tells of a node's process; 0 is no process.
func sampleProcess(sample *results.Status, pid int) {
	if pid == 0 {
		return
	}
	sample.Pid = pid
	sample.RssAnonBytes = rssAnonOf(pid)
	sample.CPUNs = cpuOf(pid)
}

// cpuOf is user and system time of a process, nil if it is gone. The clock of another process has the number that clock_getcpuclockid(3)
// makes of its pid; it counts nanoseconds, where /proc/PID/stat has hundredths of a second.
func cpuOf(pid int) *int64 {
	const schedClock = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|schedClock, &t); err != nil {
		return nil
	}
	return new(t.Nano())
}

// bytesOnDisk is what the files under a directory take on the disk, holes not counted; nil if there is none. A file that goes away meanwhile
// counts nothing.
func bytesOnDisk(dir string) *int64 {
	const block = 512 // of st_blocks, whatever the file system's are
	var sum *int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			if sum == nil {
				sum = new(int64)
			}
			*sum += stat.Blocks * block
		}
		return nil
	})
	return sum
}

// cost is what the run used, for summary.json.
func (r *session) cost(s results.Summary, nodes *results.CostWatch) results.Cost {
	c := results.Cost{NodesCPUNs: nodes.CPUNs(), GeneratorCPUNs: new(r.outcome.Health.CPUNs),
		AckedMessages: int64(math.Round(s.BatchesPerS*float64(s.MeasuredNs)/1e9)) * int64(r.scenario.BatchMessages)}
	c.Roles, c.Uncounted = r.counted.roleCosts()
	c.DeviceWrittenBytes, c.DeviceUnknown = r.device.written()
	if c.GeneratorCPUNs != nil && s.AckedBatches > 0 {
		c.Roles = append(c.Roles, results.RoleCost{Role: results.SourceGenerator, Nodes: 1, Batches: s.AckedBatches,
			CPUNsPerBatch: new(float64(*c.GeneratorCPUNs) / float64(s.AckedBatches))})
	}
	return c
}
