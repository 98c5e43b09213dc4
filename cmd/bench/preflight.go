package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"rejoin/loadgen"
	"rejoin/results"
)

// Ports of the harness: below the ephemeral range, so that no outgoing connection can take a dead node's port.
const (
	portFirst = 17000
	portLast  = 17999
)

const (
	openFilesMin   = 1024
	diskSlack      = 2 // beside the frames: preallocated segments, ledgers, plots
	diskSlackBytes = 1 << 30
	// retentionSegments lie beyond what retention keeps: whole segments go, and only behind a checkpoint.
	retentionSegments = 4
)

// preflight looks for what would spoil the run, and says it before anything is started.
func (r *session) preflight(context.Context) error {
	for _, w := range r.run.Found.Warnings() {
		r.warn("%s", w)
	}
	if err := r.checkMemory(); err != nil {
		return err
	}
	kind := r.scenario.kind()
	var err error
	if r.external() {
		r.say.line("preflight: %d cores; %d nodes run elsewhere, at %s", r.run.Found.Cores, r.scenario.Nodes, strings.Join(r.command.Addresses, ", "))
		r.system, err = newExternalSystem(r)
		return err
	}
	if kind.ports == 0 {
		r.system, err = kind.open(r, nil)
		return err
	}
	if err := raiseOpenFiles(); err != nil {
		return err
	}
	if err := r.checkDisk(); err != nil {
		return err
	}
	for _, w := range oldNodes(r.folder) {
		r.warn("%s", w)
	}
	if r.ports, err = reservePorts(kind.ports * r.scenario.Nodes); err != nil {
		return err
	}
	ports := r.ports.numbers
	r.say.line("preflight: %d cores, %s free on %s, ports %s", r.run.Found.Cores, bytesText(r.run.Found.DiskFreeBytes), r.run.Found.FileSystem, portsText(ports))
	r.system, err = kind.open(r, ports)
	return err
}

// diskNeeded is what the nodes will write together, with slack.
func (s Scenario) diskNeeded() int64 {
	batches := s.batchesOffered(0, time.Duration(s.Duration)) * s.kind().diskFactor
	if s.saturates() { // how much then comes is up to the disk, however often a system writes it
		batches = min(batches, closedLoopPerSMax*time.Duration(s.Duration).Seconds())
	}
	each := batches * float64(frameBytesOf(s.BatchMessages, s.payloadBytesMost()))
	segment, logs := max(s.Cluster.SegmentBytes, 64<<20), int64(s.Nodes)*int64(max(s.Partitions, 1))
	if s.trims() {
		each = min(each, float64(max(s.Partitions, 1))*float64(s.Cluster.RetentionBytes+retentionSegments*segment))
	}
	frames := each * float64(s.Nodes)
	return int64(frames) + logs*int64(max(diskSlack, s.Cluster.SegmentsReady+1))*segment + diskSlackBytes
}

func (r *session) checkDisk() error {
	free := r.run.Found.DiskFreeBytes
	need := r.scenario.diskNeeded()
	if free != nil && *free < need {
		return fmt.Errorf("the disk under %s has %s free and the run may write %s: free space, bench clean removes old runs, or pass --results on another disk",
			r.folder.Data(), bytesText(free), bytesText(&need))
	}
	return nil
}

// memoryNeeded is what the harness will hold of the batches when it measures them after the load; as much again is for lists that grow, and for
// copies of the steady phase.
func (s Scenario) memoryNeeded() int64 {
	return int64(s.batchesOffered(0, time.Duration(s.Duration))) * loadgen.MeasureBytes * 2
}

// checkMemory refuses a load that could be driven and not measured. How much a closed loop brings is not known before: that is only warned of.
func (r *session) checkMemory() error {
	memory, need := r.run.Found.MemoryBytes, r.scenario.memoryNeeded()
	if memory == nil || need <= *memory {
		return nil
	}
	why := fmt.Errorf("%.0f batches take about %s of memory when they are measured after the load, and this machine has %s: shorten the run, or put more messages into a batch",
		r.scenario.batchesOffered(0, time.Duration(r.scenario.Duration)), bytesText(&need), bytesText(memory))
	if r.scenario.ClosedLoop {
		r.warn("if the target takes so many, %v", why)
		return nil
	}
	return why
}

func bytesText(n *int64) string {
	if n == nil {
		return "unknown"
	}
	switch v := float64(*n); {
	case v >= 1<<30:
		return fmt.Sprintf("%.1f GiB", v/(1<<30))
	case v >= 1<<20:
		return fmt.Sprintf("%.1f MiB", v/(1<<20))
	}
	return fmt.Sprintf("%d bytes", *n)
}

// raiseOpenFiles lifts the soft limit to the hard one; nodes inherit it.
func raiseOpenFiles() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	if limit.Max < openFilesMin {
		return fmt.Errorf("only %d open files are allowed here and a run needs %d: raise the hard limit (ulimit -Hn)", limit.Max, openFilesMin)
	}
	if limit.Cur < openFilesMin {
		limit.Cur = min(limit.Max, 65536)
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			return fmt.Errorf("raise the limit of open files to %d: %w", limit.Cur, err)
		}
	}
	return nil
}

// markOfRun is in the environment of every node process that a run starts: whose it is, as the absolute path of the run's folder.
const markOfRun = "REJOIN_RUN"

// oldNodes looks for node processes of runs under the same results folder. Orphans are ended, by their own pid and only if they are ours
// beyond doubt; nodes of a run that goes on are reported.
func oldNodes(folder results.Folder) []string {
	root, err := filepath.Abs(filepath.Dir(folder.Dir))
	if err != nil {
		return nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var sentences []string
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() || !isNodeUnder(pid, root) {
			continue
		}
		if parentOf(pid) != 1 {
			sentences = append(sentences, fmt.Sprintf("process %d is a node of a run that goes on: both runs will disturb each other's figures", pid))
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err == nil {
			sentences = append(sentences, fmt.Sprintf("process %d was a node of an earlier run whose harness is gone; it was ended", pid))
		}
	}
	return sentences
}

// isNodeUnder tells a process by its environment: the mark that crew gave it names a run folder under root.
func isNodeUnder(pid int, root string) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(strings.Split(string(text), "\x00"), func(setting string) bool {
		return strings.HasPrefix(setting, markOfRun+"="+root+"/")
	})
}

// parentOf is the parent's pid, -1 if the process is gone.
func parentOf(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "PPid:"); ok {
			if n, err := strconv.Atoi(strings.TrimSpace(rest)); err == nil {
				return n
			}
		}
	}
	return -1
}
