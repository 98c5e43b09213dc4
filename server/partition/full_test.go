package partition

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"rejoin/server/journal"
	"rejoin/server/journal/faultfs"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// fullRig is a disk of a set size, with a log of one partition on it.
type fullRig struct {
	t      *testing.T
	fs     *faultfs.FS
	disk   *Disk
	pool   *wire.Pool
	last   vsr.Header
	posted []vsr.Input
}

const fullSegmentBytes = 2 << 20

func newFullRig(t *testing.T, capacityBytes int64) *fullRig {
	f := &fullRig{t: t, fs: faultfs.New(), last: vsr.Header{Sum: wire.RootSum(rigCluster, rigGroup)}}
	f.fs.CapacityBytes = capacityBytes
	pool, err := wire.NewPool(64)
	if err != nil {
		t.Fatal(err)
	}
	f.pool = pool
	f.open()
	return f
}

func (f *fullRig) open() *journal.Recovered {
	f.t.Helper()
	d, rec, err := OpenDisk(DiskOptions{Journal: journal.Options{FS: f.fs, Dir: "topics/t/0", Cluster: rigCluster, Group: rigGroup, SegmentBytes: fullSegmentBytes, SameBoot: true}})
	if err != nil {
		f.t.Fatal(err)
	}
	f.disk = d
	return rec
}

// job makes one with the next frame of the chain, a large one.
func (f *fullRig) job(kind JobKind) Job { return f.jobOf(kind, 700<<10) }

func (f *fullRig) jobOf(kind JobKind, payloadBytes int) Job {
	b := f.pool.Get(wire.OwnerJournal)
	frame := b.Data()[:wire.HeaderBytes]
	frame = wire.AppendMessage(frame, wire.Message{Payload: make([]byte, payloadBytes)})
	body := frame[wire.HeaderBytes:]
	h := vsr.Header{Kind: vsr.KindBatch, Cluster: rigCluster, Group: rigGroup, View: 1, Op: f.last.Op + 1, Parent: f.last.Sum, Session: 1, Request: f.last.Op + 1,
		BaseOffset: f.last.NextOffset(), MessageCount: 1, BodyBytes: uint32(len(body)), BodySum: wire.Sum(body)}
	wire.Seal(&h)
	wire.PutHeader(frame, &h)
	b.SetFrame(len(frame))
	b.Header, f.last = h, h
	return Job{Kind: kind, Frame: b}
}

func (f *fullRig) perform(jobs []Job) (left []Job, err error) {
	done, err := f.disk.Perform(jobs, func(in vsr.Input) { f.posted = append(f.posted, in) })
	return jobs[done:], err
}

func (f *fullRig) expectFull(jobs []Job) (left []Job) {
	f.t.Helper()
	left, err := f.perform(jobs)
	if !errors.Is(err, journal.ErrDiskFull) {
		f.t.Fatalf("jobs ended with %v, the disk is full", err)
	}
	return left
}

func (f *fullRig) close() {
	f.t.Helper()
	if err := f.disk.Close(); err != nil {
		f.t.Error(err)
	}
	if err := f.pool.Close(); err != nil {
		f.t.Error(err)
	}
}

// TestViewIsSavedOnAFullDisk: a vote does not wait for room, a raised log_view does.
func TestViewIsSavedOnAFullDisk(t *testing.T) {
	f := newFullRig(t, fullSegmentBytes+1<<20)
	jobs := []Job{f.job(JobAppend), f.job(JobAppend), f.job(JobAppend), f.job(JobAppend)}
	jobs = append(jobs, Job{Kind: JobState, State: vsr.State{View: 7}, Commit: f.last.ID()}, Job{Kind: JobState, State: vsr.State{View: 7, LogView: 7}})
	left := f.expectFull(jobs)
	if s, err := journal.ReadState(f.disk.options.Journal); err != nil || s.Commit != (vsr.ID{}) {
		t.Errorf("saved op %d as committed, which is not written, %v", s.Commit.Op, err)
	}
	saved := vsr.State{}
	for _, in := range f.posted {
		if in.Kind == vsr.InStateSaved {
			saved = in.State
		}
	}
	if saved != (vsr.State{View: 7}) {
		t.Errorf("saved %+v, want view 7 alone", saved)
	}
	f.fs.CapacityBytes = 0
	if left, err := f.perform(left); err != nil || len(left) > 0 {
		t.Errorf("%d jobs are left with room: %v", len(left), err)
	}
	if in := f.posted[len(f.posted)-1]; in.Kind != vsr.InStateSaved || in.State.LogView != 7 {
		t.Errorf("the last completion is %+v, want log_view 7", in)
	}
	f.close()
}

// TestViewIsNotSavedAcrossAnInstall: the switch would put the older view back in place, and a crash then
// take a vote back.
func TestViewIsNotSavedAcrossAnInstall(t *testing.T) {
	f := newFullRig(t, 0)
	stage := []Job{f.job(JobStage), f.job(JobStage)}
	if left, err := f.perform(stage); err != nil || len(left) > 0 {
		t.Fatal(len(left), err)
	}
	f.fs.CapacityBytes = f.used()
	table := vsr.Table{ID: f.last.ID(), Offset: f.last.NextOffset()}
	left := f.expectFull([]Job{{Kind: JobInstall, State: vsr.State{View: 5}, Table: table}, {Kind: JobState, State: vsr.State{View: 6}}})
	f.fs.CapacityBytes = 0
	if left, err := f.perform(left); err != nil || len(left) > 0 {
		t.Fatalf("%d jobs are left with room: %v", len(left), err)
	}
	f.close()
	f.pool, _ = wire.NewPool(1)
	if rec := f.open(); rec.State.View != 6 || rec.Held != f.last.ID() {
		t.Errorf("after a restart view %d and op %d, want 6 and %d", rec.State.View, rec.Held.Op, f.last.Op)
	}
	f.close()
}

// TestFullDiskInTheMiddleOfAGroup: what found room is durable and told, and the rest is tried again.
func TestFullDiskInTheMiddleOfAGroup(t *testing.T) {
	for _, kind := range []JobKind{JobAppend, JobStage} {
		f := newFullRig(t, 0)
		if kind == JobStage { // begun already
			if left, err := f.perform([]Job{f.job(kind)}); err != nil || len(left) > 0 {
				t.Fatal(len(left), err)
			}
		}
		before := f.last.Op
		jobs := []Job{f.job(kind), f.job(kind), f.job(kind), f.job(kind), f.job(kind), f.job(kind)} // two to a segment
		f.fs.Inject(faultfs.Fault{Verb: faultfs.VerbRename, Name: "next-1.seg", Err: syscall.EDQUOT, Sticky: true})
		left := f.expectFull(jobs)
		told := f.posted[len(f.posted)-1]
		if n := len(jobs) - len(left); n == 0 || len(left) == 0 || told.ID.Op != before+uint64(n) {
			t.Fatalf("job kind %d: %d of %d are left, and op %d was told last, as input kind %d", kind, len(left), len(jobs), told.ID.Op, told.Kind)
		}
		f.fs.Heal()
		if left, err := f.perform(left); err != nil || len(left) > 0 {
			t.Fatalf("job kind %d: %d jobs are left with room: %v", kind, len(left), err)
		}
		if told := f.posted[len(f.posted)-1]; told.ID != f.last.ID() {
			t.Fatalf("job kind %d: op %d was told last, of %d", kind, told.ID.Op, f.last.Op)
		}
		f.close()
	}
}

// used is the size of all files.
func (f *fullRig) used() int64 {
	f.fs.CapacityBytes = 1 << 40
	free, err := f.fs.FreeBytes()
	if err != nil {
		f.t.Fatal(err)
	}
	return 1<<40 - int64(free)
}

// TestGivenUpStagingMakesRoom: a chain that does not fit beside the log, and that the replica gives up, must
// not hold the room that its own writes wait for.
func TestGivenUpStagingMakesRoom(t *testing.T) {
	f := newFullRig(t, 0)
	if left, err := f.perform([]Job{f.job(JobAppend)}); err != nil || len(left) > 0 {
		t.Fatal(len(left), err)
	}
	f.fs.CapacityBytes = f.used() + fullSegmentBytes + 1<<20
	last := f.last
	var jobs []Job
	for range 6 {
		jobs = append(jobs, f.job(JobStage))
	}
	left := f.expectFull(jobs)
	f.last = last
	left = append(left, Job{Kind: JobStageDrop}, f.job(JobAppend), f.job(JobAppend), f.job(JobAppend))
	if left, err := f.perform(left); err != nil || len(left) > 0 {
		t.Errorf("%d jobs still wait for room: %v", len(left), err)
	}
	if got := f.disk.Log().Written(); got != f.last.ID() {
		t.Errorf("the log ends in op %d, want %d", got.Op, f.last.Op)
	}
	names, err := f.fs.List("topics/t")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, stagingSuffix) {
			t.Errorf("%s is left behind", name)
		}
	}
	f.close()
}

// TestFillWaitsForRoom: a hole that cannot be closed on a full disk waits, as an append does.
func TestFillWaitsForRoom(t *testing.T) {
	f := newFullRig(t, 0)
	if left, err := f.perform([]Job{f.job(JobAppend), f.job(JobAppend), f.job(JobAppend)}); err != nil || len(left) > 0 {
		t.Fatal(len(left), err)
	}
	h, frame, err := f.disk.Log().ReadFrame(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.disk.Close(); err != nil {
		t.Fatal(err)
	}
	f.fs.Delete("topics/t/0/00000000000000000001.seg")
	if rec := f.open(); len(rec.Holes) != 1 {
		t.Fatalf("holes %v", rec.Holes)
	}
	b := f.pool.Get(wire.OwnerJournal)
	copy(b.Data(), frame)
	b.SetFrame(len(frame))
	b.Header = h
	f.fs.CapacityBytes = 1
	left := f.expectFull([]Job{{Kind: JobFill, Frame: b}})
	f.fs.CapacityBytes = 0
	if left, err := f.perform(left); err != nil || len(left) > 0 {
		t.Fatalf("%d jobs are left with room: %v", len(left), err)
	}
	if in := f.posted[len(f.posted)-1]; in.Kind != vsr.InFilled || !in.OK || in.ID != h.ID() {
		t.Errorf("the last completion is %+v", in)
	}
	f.close()
}

// TestCutWithoutRoom: a cut that a full disk keeps from making a lost file anew has failed for good. It says so, and asks for no other try.
func TestCutWithoutRoom(t *testing.T) {
	f := newFullRig(t, 0)
	var ids []vsr.ID
	for range 12 { // more segments than a log keeps open
		jobs := []Job{f.job(JobAppend), f.job(JobAppend)}
		for _, j := range jobs {
			ids = append(ids, j.Frame.Header.ID())
		}
		if left, err := f.perform(jobs); err != nil || len(left) > 0 {
			t.Fatal(err)
		}
	}
	if err := errors.Join(f.disk.Log().SyncMark(), f.disk.Close()); err != nil {
		t.Fatal(err)
	}
	f.open()
	const first = "topics/t/0/00000000000000000001.seg"
	if f.fs.IsOpen(first) {
		t.Fatal("the first file is open: it would not be missed")
	}
	f.fs.Delete(first)
	f.fs.CapacityBytes = f.used()
	done, err := f.disk.Perform([]Job{{Kind: JobCut, ID: ids[0]}}, func(in vsr.Input) { t.Errorf("it told of %d", in.Kind) })
	if err == nil || errors.Is(err, journal.ErrDiskFull) {
		t.Errorf("%d jobs are done, error %v", done, err)
	}
}
