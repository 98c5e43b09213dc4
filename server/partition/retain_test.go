package partition

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"rejoin/server/journal"
	"rejoin/server/journal/faultfs"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// fillUp appends ops, two to a segment and then a checkpoint, until the disk is full.
func (f *fullRig) fillUp(lease *atomic.Uint64) {
	f.t.Helper()
	for {
		headers := []vsr.Header{f.last}
		jobs := []Job{f.job(JobAppend), f.job(JobAppend)}
		headers = append(headers, jobs[0].Frame.Header, jobs[1].Frame.Header)
		left, err := f.perform(append(jobs, f.table(lease)))
		if errors.Is(err, journal.ErrDiskFull) {
			Discard(left)
			f.last = headers[f.disk.Log().Written().Op-headers[0].Op]
			return
		}
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

// table makes a job with a checkpoint as of the last op.
func (f *fullRig) table(lease *atomic.Uint64) Job {
	return Job{Kind: JobTable, Keep: f.last.Op, Table: vsr.Table{ID: f.last.ID(), Offset: f.last.NextOffset()}, Lease: lease}
}

// boot starts from what is on the disk, with so much retention, as a replica that has so many ops in its ring.
func (f *fullRig) boot(retentionBytes int64, ringOps uint64) (vsr.Boot, error) {
	f.t.Helper()
	rec, c := f.open(), f.config(true)
	f.disk.options.RetentionBytes = retentionBytes
	c.PipelineOps, c.RingOps = 2, ringOps
	b, err := f.disk.Boot(rec, c, Past{SameBoot: true})
	if err == nil && (b.Head != f.last.ID() || b.Start != f.disk.Log().Start()) {
		f.t.Fatalf("a start with ops %d to %d, the log begins at op %d and has got to op %d", b.Start, b.Head.Op, f.disk.Log().Start(), f.last.Op)
	}
	return b, err
}

// TestStartTrimsAFullDisk: where the disk is full nothing is committed, and no checkpoint follows after which retention
// would make room. A start with less retention makes it, and no start takes more than retention may.
func TestStartTrimsAFullDisk(t *testing.T) {
	f := newFullRig(t, 10*fullSegmentBytes)
	f.fillUp(nil)
	for _, test := range []struct {
		retained int64
		ringOps  uint64
	}{{0, 2}, {1 << 40, 2}, {2 * fullSegmentBytes, 1 << 20}, {2 * fullSegmentBytes, 2}} {
		if err := f.disk.Close(); err != nil {
			t.Fatal(err)
		}
		retained := test.retained
		b, err := f.boot(retained, test.ringOps)
		if err != nil {
			t.Fatal(err)
		}
		isLess := retained == 2*fullSegmentBytes && test.ringOps == 2
		if isLess != (b.Start > 1) {
			t.Errorf("with %d bytes to keep the log begins at op %d of %d", retained, b.Start, f.last.Op)
		}
		if isLess && int64(b.Commit.Op-b.Start+1)*(700<<10) < retained {
			t.Errorf("ops %d to %d are left, they are less than %d bytes", b.Start, b.Commit.Op, retained)
		}
		last := f.last
		left, err := f.perform([]Job{f.job(JobAppend), f.job(JobAppend), f.job(JobAppend), f.table(nil)})
		if isLess && err != nil || !isLess && !errors.Is(err, journal.ErrDiskFull) {
			t.Errorf("with %d bytes to keep appends ended with %v, %d jobs are left", retained, err, len(left))
		}
		if Discard(left); !isLess {
			if f.disk.Log().Written() != last.ID() {
				t.Fatalf("op %d found room", f.disk.Log().Written().Op)
			}
			f.last = last
		}
	}
	f.close()
}

// TestStartThatTrimsUnderCrashes: wherever a start is cut short while it trims, the next one has all that retention keeps,
// and can tell the client table from either checkpoint.
func TestStartThatTrimsUnderCrashes(t *testing.T) {
	starts := map[uint64]int{}
	for k, done := 0, false; !done; k++ {
		f := newFullRig(t, 8*fullSegmentBytes)
		f.fillUp(nil)
		if err := f.disk.Close(); err != nil {
			t.Fatal(err)
		}
		_, rec, err := OpenDisk(f.disk.options)
		if err != nil {
			t.Fatal(err)
		}
		older := rec.Tables[len(rec.Tables)-2].ID.Op
		f.fs.Kill()
		rec = f.open()
		f.disk.options.RetentionBytes = 1
		f.fs.StopBefore(k)
		c := f.config(true)
		c.PipelineOps, c.RingOps = 2, 2
		_, err = f.disk.Boot(rec, c, Past{SameBoot: true})
		if done = err == nil; !done && !errors.Is(err, faultfs.ErrStopped) {
			t.Fatal(err)
		}
		f.fs.Crash(rand.New(rand.NewPCG(1, uint64(k))))
		b, err := f.boot(0, 2)
		if err != nil || b.Start > older {
			t.Fatalf("stopped before operation %d: the log begins at op %d, the older checkpoint is of op %d: %v", k, b.Start, older, err)
		}
		starts[b.Start]++
		f.close()
	}
	if len(starts) < 4 {
		t.Errorf("the log began at these ops so many times: %v", starts)
	}
}

// TestFullDiskTrimsWhatALeaseHeld: without room no op is committed and no checkpoint comes; what was held for a transfer
// that has ended must not hold the room that appends wait for.
func TestFullDiskTrimsWhatALeaseHeld(t *testing.T) {
	f := newFullRig(t, 8*fullSegmentBytes)
	f.disk.options.RetentionBytes, f.disk.options.LeaseBytes = fullSegmentBytes, 1<<40
	var lease atomic.Uint64
	lease.Store(1)
	f.fillUp(&lease)
	left := f.expectFull([]Job{f.job(JobAppend), f.job(JobAppend)})
	if start := f.disk.Log().Start(); start != 1 {
		t.Fatalf("the log begins at op %d, a transfer needs op 1", start)
	}
	lease.Store(0)
	f.posted = nil
	if left, err := f.perform(left); err != nil || len(left) > 0 {
		t.Fatalf("%d jobs wait for room: %v", len(left), err)
	}
	start := f.disk.Log().Start()
	if in := f.posted[0]; start == 1 || in.Kind != vsr.InTrimmed || in.ID.Op != start {
		t.Errorf("the log begins at op %d, the first input is of kind %d, op %d", start, in.Kind, in.ID.Op)
	}
	f.close()
}

// TestCheckpointWithoutRoomTrims: the earlier checkpoints let older segments go, and then there is room.
func TestCheckpointWithoutRoomTrims(t *testing.T) {
	f := newFullRig(t, 8*fullSegmentBytes)
	f.fillUp(nil)
	f.disk.options.RetentionBytes = 2 * (wire.HeaderBytes + int64(f.last.BodyBytes))
	f.fs.CapacityBytes = 1
	if left, err := f.perform([]Job{f.table(nil)}); err != nil || len(left) > 0 {
		t.Fatal(len(left), err)
	}
	if start := f.disk.Log().Start(); start == 1 || start > f.last.Op-2 {
		t.Errorf("the log begins at op %d of %d", start, f.last.Op)
	}
	f.close()
}

// TestBeginAt: what retention has taken is no hole.
func TestBeginAt(t *testing.T) {
	b := vsr.Boot{Start: 1, Holes: []vsr.OpRange{{From: 1, To: 2}, {From: 4, To: 9}, {From: 12, To: 12}}}
	beginAt(&b, 6)
	if want := []vsr.OpRange{{From: 6, To: 9}, {From: 12, To: 12}}; b.Start != 6 || !slices.Equal(b.Holes, want) {
		t.Errorf("begins at op %d with holes %v, want %v", b.Start, b.Holes, want)
	}
	if beginAt(&b, 13); len(b.Holes) > 0 {
		t.Errorf("holes %v", b.Holes)
	}
}
