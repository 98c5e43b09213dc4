package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"rejoin/results"
	"rejoin/server/wire"
)

// cpuTimes is the first line of /proc/stat: what all cores did since boot, in clock ticks.
type cpuTimes struct {
	total, idle, steal int64
	known              bool
}

func readCPUTimes() cpuTimes {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return cpuTimes{}
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return parseCPUTimes(line)
}

// parseCPUTimes reads "cpu user nice system idle iowait irq softirq steal guest guest_nice"; the time of guests is in user already.
func parseCPUTimes(line string) cpuTimes {
	const idle, iowait, steal = 3, 4, 7
	fields := strings.Fields(line)
	if len(fields) < steal+2 || fields[0] != "cpu" {
		return cpuTimes{}
	}
	t := cpuTimes{known: true}
	for i, field := range fields[1 : steal+2] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return cpuTimes{}
		}
		t.total += n
		switch i {
		case idle, iowait:
			t.idle += n
		case steal:
			t.steal = n
		}
	}
	return t
}

func (t cpuTimes) since(before cpuTimes) cpuTimes {
	return cpuTimes{t.total - before.total, t.idle - before.idle, t.steal - before.steal, t.known && before.known && t.total > before.total}
}

// stealShare is nil where the kernel does not tell.
func (t cpuTimes) stealShare() *float64 {
	if !t.known {
		return nil
	}
	return new(float64(t.steal) / float64(t.total))
}

func (t cpuTimes) busyShare() float64 { return float64(t.total-t.idle-t.steal) / float64(t.total) }

// machineWatch reads the machine's CPU times once a second while the load runs.
type machineWatch struct {
	wait   sync.WaitGroup
	cancel context.CancelFunc
	begin  cpuTimes

	// Valid after stop.
	all     cpuTimes // of the whole load
	seconds []results.Machine
	err     error
}

// watchMachine begins with the load; baseNs is the raw CLOCK_MONOTONIC of the run's time 0.
func watchMachine(folder results.Folder, baseNs int64) *machineWatch {
	w := &machineWatch{begin: readCPUTimes()}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	if w.begin.known {
		w.wait.Go(func() { w.err = w.run(ctx, folder, baseNs) })
	}
	return w
}

func (w *machineWatch) run(ctx context.Context, folder results.Folder, baseNs int64) error {
	out, err := folder.AppendMachine()
	if err != nil {
		return err
	}
	defer out.Close()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	last := w.begin
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		now := readCPUTimes()
		if second := now.since(last); second.known {
			line := results.Machine{TNs: wire.MonoNow() - baseNs, StealShare: *second.stealShare(), BusyShare: second.busyShare(),
				DiskFreeBytes: freeBytes(folder.Data())}
			w.seconds = append(w.seconds, line)
			if err := out.Write(line); err != nil {
				return err
			}
		}
		last = now
	}
}

// freeBytes is what is left on the file system of a folder; nil where that cannot be read.
func freeBytes(dir string) *int64 {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return nil
	}
	return new(int64(st.Bavail) * st.Bsize)
}

func (w *machineWatch) stop() {
	w.cancel()
	w.wait.Wait()
	w.all = readCPUTimes().since(w.begin)
}

// proof is what the watch says of the load; nil where the kernel does not tell. own is the part of all cores that this run used.
func (w *machineWatch) proof(own *float64) *results.StealProof {
	if w == nil || !w.all.known {
		return nil
	}
	p := &results.StealProof{Share: *w.all.stealShare(), BusyShare: w.all.busyShare(), OwnShare: own, Seconds: int64(len(w.seconds))}
	for _, s := range w.seconds {
		p.WorstSecondShare = max(p.WorstSecondShare, s.StealShare)
		if s.StealShare > results.StealBurst {
			p.StolenSeconds++
		}
	}
	return p
}

// stolen says whether a time lies in a second in which the hypervisor took more than a burst's share.
func (w *machineWatch) stolen(tNs int64) bool {
	for _, s := range w.seconds {
		if tNs > s.TNs-int64(time.Second) && tNs <= s.TNs {
			return s.StealShare > results.StealBurst
		}
	}
	return false
}

// stealText says in words what was stolen; empty where nothing worth a word was.
func stealText(share *float64) string {
	if share == nil || *share < 0.005 {
		return ""
	}
	return fmt.Sprintf(", %.1f %% of the CPU time stolen by the hypervisor", 100**share)
}
