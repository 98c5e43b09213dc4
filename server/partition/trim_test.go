package partition

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"rejoin/server/journal"
	"rejoin/server/journal/faultfs"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// sevenOps is a log of ops 1 to 7, two to a segment.
func sevenOps(t *testing.T) *fullRig {
	t.Helper()
	f := newFullRig(t, 0)
	var jobs []Job
	for range 7 {
		jobs = append(jobs, f.job(JobAppend))
	}
	if left, err := f.perform(jobs); err != nil || len(left) > 0 {
		t.Fatal(len(left), err)
	}
	return f
}

// TestTrimUnderCrashes: whatever a power cut leaves of a log that was told to begin behind a hole, it begins
// where it did or where it was told, and in both cases its client table can be told.
func TestTrimUnderCrashes(t *testing.T) {
	var was [2]int
	for k := 0; ; k++ {
		for seed := range uint64(3) {
			f := sevenOps(t)
			f.posted = nil
			f.fs.StopBefore(k)
			_, err := f.perform([]Job{trimJob(f, 6, 0)})
			if err != nil && !errors.Is(err, faultfs.ErrStopped) {
				t.Fatal(err)
			}
			f.fs.Crash(rand.New(rand.NewPCG(seed, uint64(k))))
			if err := f.pool.Close(); err != nil {
				t.Fatal(err)
			}
			rec := f.open()
			if err := tableReaches(rec); err != nil || rec.Held != f.last.ID() || len(rec.Holes) > 0 {
				t.Fatalf("stopped before operation %d: %v; the log ends at op %d of %d, holes %v", k, err, rec.Held.Op, f.last.Op, rec.Holes)
			}
			switch {
			case rec.Start == 5:
				was[1]++
			case err != nil && (rec.Start == 1 || rec.Start == 3): // segment by segment
				was[0]++
			default:
				t.Fatalf("stopped before operation %d: the log begins at op %d", k, rec.Start)
			}
			if err := f.disk.Close(); err != nil {
				t.Fatal(err)
			}
			if err == nil && seed == 2 {
				if was[0] < 5 || was[1] < 3 {
					t.Errorf("the log began where it did %d times, and where it was told %d times", was[0], was[1])
				}
				return
			}
		}
	}
}

// TestTrimWithinLostFilesUnderCrashes: two files next to one another are gone, and the log is told to begin with the
// second. Whatever a power cut leaves, it begins where it did or there, and the rest of the hole is known.
func TestTrimWithinLostFilesUnderCrashes(t *testing.T) {
	var was [6]int // by where it begins
	for k, done := 0, false; !done; k++ {
		for seed := range uint64(3) {
			f := sevenOps(t)
			if err := f.disk.Close(); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"03.seg", "03.idx", "05.seg", "05.idx"} {
				f.fs.Delete("topics/t/0/000000000000000000" + name)
			}
			if rec := f.open(); rec.Start != 1 || len(rec.Holes) != 1 || rec.Holes[0] != (journal.OpRange{First: 3, Last: 6}) {
				t.Fatalf("the log begins at op %d with holes %v", rec.Start, rec.Holes)
			}
			f.fs.StopBefore(k)
			_, err := f.perform([]Job{trimJob(f, 5, 0)})
			if err != nil && !errors.Is(err, faultfs.ErrStopped) {
				t.Fatal(err)
			}
			f.fs.Crash(rand.New(rand.NewPCG(seed, uint64(k))))
			if err := f.pool.Close(); err != nil {
				t.Fatal(err)
			}
			rec := f.open()
			if rec.Start != 5 && (rec.Start != 1 || err == nil) {
				t.Fatalf("stopped before operation %d: the log begins at op %d", k, rec.Start)
			}
			if e := tableReaches(rec); e != nil || rec.Held != f.last.ID() || len(rec.Holes) != 1 || rec.Holes[0] != (journal.OpRange{First: max(rec.Start, 3), Last: 6}) {
				t.Fatalf("stopped before operation %d: %v; the log begins at op %d and ends at op %d, holes %v", k, e, rec.Start, rec.Held.Op, rec.Holes)
			}
			if err := f.disk.Close(); err != nil {
				t.Fatal(err)
			}
			was[rec.Start]++
			done = err == nil
		}
	}
	if was[1] < 5 || was[5] < 3 {
		t.Errorf("the log began where it did %d times, and where it was told %d times", was[1], was[5])
	}
}

// trimJob lets the log begin at op, with a client table as of its end.
func trimJob(f *fullRig, op, lease uint64) Job {
	j := Job{Kind: JobTrim, ID: vsr.ID{Op: op}, Table: vsr.Table{ID: f.last.ID(), Offset: f.last.NextOffset()}, Lease: &atomic.Uint64{}}
	j.Lease.Store(lease)
	return j
}

// TestTrimLeavesALease: nor what a transfer needs that began since the job was queued, nor anything where no
// client table can be saved.
func TestTrimLeavesALease(t *testing.T) {
	f := newFullRig(t, 0)
	var jobs []Job
	for range 7 {
		jobs = append(jobs, f.job(JobAppend))
	}
	jobs = append(jobs, trimJob(f, 6, 4))
	if left, err := f.perform(jobs); err != nil || len(left) > 0 {
		t.Fatal(len(left), err)
	}
	if start := f.disk.Log().Start(); start != 3 {
		t.Errorf("the log begins at op %d, a transfer needs op 4", start)
	}
	before := f.fs.Ops()
	if left, err := f.perform([]Job{trimJob(f, 4, 0)}); err != nil || len(left) > 0 || f.fs.Ops() != before {
		t.Fatalf("%d jobs are left, %d operations of the disk for nothing to trim: %v", len(left), f.fs.Ops()-before, err)
	}
	f.fs.CapacityBytes = 1
	if left, err := f.perform([]Job{trimJob(f, 6, 0)}); err != nil || len(left) > 0 {
		t.Fatal(len(left), err)
	}
	if start := f.disk.Log().Start(); start != 3 {
		t.Errorf("the log begins at op %d, and no checkpoint tells what was below", start)
	}
	f.close()
}

// TestRetentionLeavesCommittedBytes: ops above the checkpoint may yet be cut, and do not make up for what is
// trimmed.
func TestRetentionLeavesCommittedBytes(t *testing.T) {
	f := newFullRig(t, 0)
	var jobs []Job
	var ends []vsr.Header
	for range 8 { // two to a segment
		jobs = append(jobs, f.job(JobAppend))
		ends = append(ends, f.last)
	}
	f.disk.options.RetentionBytes = 4 * (wire.HeaderBytes + int64(ends[0].BodyBytes))
	for _, h := range ends[4:6] {
		jobs = append(jobs, Job{Kind: JobTable, Keep: h.Op, Table: vsr.Table{ID: h.ID(), Offset: h.NextOffset()}})
	}
	if left, err := f.perform(jobs); err != nil || len(left) > 0 {
		t.Fatal(len(left), err)
	}
	if start := f.disk.Log().Start(); start != 3 {
		t.Errorf("the log begins at op %d, op 3 is the first of the four committed ones to keep", start)
	}
	f.close()
}
