package partition

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"rejoin/server/journal/faultfs"
	"rejoin/server/vsr"
)

// TestInstallUnderCrashes: whatever a power cut leaves of an install, the next start finds the old log or
// the new one, whole, and the views in both.
func TestInstallUnderCrashes(t *testing.T) {
	var was [2]int // how often each was found
	for k := 0; ; k++ {
		for seed := range uint64(3) {
			f, old, chain := stagedRig(t)
			f.fs.StopBefore(k)
			install := Job{Kind: JobInstall, State: vsr.State{View: 5, LogView: 4}, Table: vsr.Table{ID: chain.ID(), Offset: chain.NextOffset()}}
			left, err := f.perform([]Job{install})
			if err != nil && !errors.Is(err, faultfs.ErrStopped) {
				t.Fatal(err)
			}
			f.fs.Crash(rand.New(rand.NewPCG(seed, uint64(k))))
			if err := f.pool.Close(); err != nil {
				t.Fatal(err)
			}
			rec := f.open()
			switch {
			case rec.State.View != 5 || rec.State.LogView != 4:
				t.Fatalf("stopped before operation %d: views %d and %d are left of 5 and 4", k, rec.State.View, rec.State.LogView)
			case rec.Start == 1 && rec.Held == old.ID() && len(left) > 0:
				was[0]++
			case rec.Start == old.Op+1 && rec.Held == chain.ID():
				was[1]++
			default:
				t.Fatalf("stopped before operation %d: the log holds ops %d to %d, neither 1 to %d nor %d to %d", k, rec.Start, rec.Held.Op, old.Op, old.Op+1, chain.Op)
			}
			if err := f.disk.Close(); err != nil {
				t.Fatal(err)
			}
			if len(left) == 0 && seed == 2 {
				if was[0] < 10 || was[1] < 10 {
					t.Errorf("the old log was found %d times and the new one %d times", was[0], was[1])
				}
				return
			}
		}
	}
}

// TestKilledInAnInstall: a process is killed as it switches logs, and the power is cut while the next one finishes
// what it finds. The name that decides may not be durable then, and the old log must not go before it is.
func TestKilledInAnInstall(t *testing.T) {
	install := func(f *fullRig, chain *vsr.Header) {
		job := Job{Kind: JobInstall, State: vsr.State{View: 5, LogView: 4}, Table: vsr.Table{ID: chain.ID(), Offset: chain.NextOffset()}}
		if _, err := f.perform([]Job{job}); err != nil && !errors.Is(err, faultfs.ErrStopped) {
			t.Fatal(err)
		}
	}
	f, old, chain := stagedRig(t)
	for _, k := range dirSyncs(f.fs, func() { install(f, &chain) }) {
		f, _, _ := stagedRig(t)
		f.fs.StopBefore(k)
		install(f, &chain)
		f.fs.Kill()
		if err := f.pool.Close(); err != nil {
			t.Fatal(err)
		}
		killed := f.fs
		f.fs = killed.Clone()
		for _, j := range dirSyncs(f.fs, func() { f.open() }) {
			next := killed.Clone()
			next.StopBefore(j)
			f.disk.options.Journal.FS = next
			if _, _, err := OpenDisk(f.disk.options); !errors.Is(err, faultfs.ErrStopped) {
				t.Fatal(err)
			}
			for seed := range uint64(8) {
				f.fs = next.Clone()
				f.fs.Crash(rand.New(rand.NewPCG(seed, 1)))
				rec := f.open()
				if rec.State.View != 5 || rec.State.LogView != 4 || rec.Held != old.ID() && rec.Held != chain.ID() {
					t.Fatalf("killed before operation %d, power cut before operation %d: views %d and %d, ops up to %d are left", k, j, rec.State.View, rec.State.LogView, rec.Held.Op)
				}
			}
		}
	}
}

// dirSyncs does something and returns before which of its operations it makes names durable.
func dirSyncs(fs *faultfs.FS, do func()) (at []int) {
	begun := fs.Ops()
	fs.OnOp = func(op int, verb faultfs.Verb, _ string) {
		if verb == faultfs.VerbSyncDir {
			at = append(at, op-begun)
		}
	}
	do()
	fs.OnOp = nil
	return at
}

// stagedRig has a log, and a chain that is staged to take its place; it returns the last ops of both.
func stagedRig(t *testing.T) (f *fullRig, old, chain vsr.Header) {
	f = newFullRig(t, 0)
	jobs := []Job{f.jobOf(JobAppend, 3000), f.jobOf(JobAppend, 3000), {Kind: JobState, State: vsr.State{View: 5, LogView: 4}}}
	old = f.last
	for range 3 {
		jobs = append(jobs, f.jobOf(JobStage, 3000))
	}
	if left, err := f.perform(jobs); err != nil || len(left) > 0 {
		t.Fatal(len(left), err)
	}
	return f, old, f.last
}

// TestALongChainIsIndexedAsItGrows: a segment without an index stays open, and a chain may have more of them than a process may have
// files open.
func TestALongChainIsIndexedAsItGrows(t *testing.T) {
	f := newFullRig(t, 0)
	indexes := 0
	for range 8 { // two to a segment
		if left, err := f.perform([]Job{f.job(JobStage)}); err != nil || len(left) > 0 {
			t.Fatal(len(left), err)
		}
		names, err := f.fs.List(f.disk.stagingDir())
		if err != nil {
			t.Fatal(err)
		}
		segments := 0
		indexes = 0
		for _, name := range names {
			if strings.HasSuffix(name, ".idx") {
				indexes++
			} else if strings.HasSuffix(name, ".seg") && !strings.HasPrefix(name, "next") {
				segments++
			}
		}
		if indexes != segments-1 {
			t.Fatalf("%d segments, the last one is open, and %d indexes", segments, indexes)
		}
	}
	if indexes < 3 {
		t.Errorf("%d indexes of a chain of eight batches, two to a segment", indexes)
	}
	f.close()
}
