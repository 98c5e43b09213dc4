package partition

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"rejoin/server/journal"
	"rejoin/server/journal/faultfs"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// TestTableLost: where the log begins later than its first op, only a checkpoint tells which sessions there
// are. Without one a start must not go on with a table of what is left: it would evict live sessions, and
// take a retry for a new request.
func TestTableLost(t *testing.T) {
	f := newFullRig(t, 0)
	for range 3 {
		if left, err := f.perform([]Job{f.job(JobAppend), f.job(JobAppend)}); err != nil || len(left) > 0 {
			t.Fatal(len(left), err)
		}
	}
	if err := f.disk.Log().SaveTable(journal.Table{ID: f.last.ID(), NextOffset: f.last.NextOffset(), Bytes: encodeTable(&vsr.Table{})}); err != nil {
		t.Fatal(err)
	}
	if n, err := f.disk.Log().Trim(3); n == 0 || err != nil {
		t.Fatalf("trimmed %d segments, %v", n, err)
	}
	boot := func() error {
		t.Helper()
		if err := f.disk.Close(); err != nil {
			t.Fatal(err)
		}
		rec := f.open()
		if rec.Start != 3 {
			t.Fatalf("the log begins at op %d", rec.Start)
		}
		_, err := Boot(f.disk.Log(), rec, f.config(true), Past{SameBoot: true})
		return err
	}
	if err := boot(); err != nil {
		t.Errorf("with its checkpoint: %v", err)
	}
	names, err := f.fs.List("topics/t/0")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".tab") {
			if err := f.fs.Remove("topics/t/0/" + name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := boot(); !errors.Is(err, ErrTableLost) {
		t.Errorf("without a checkpoint: %v", err)
	}
	f.close()
}

// newTrimmedRig holds so many ops, two a segment, that retention has trimmed below op 3: checkpoints are those of ops 4 and 10.
func newTrimmedRig(t *testing.T, ops uint64) *fullRig {
	t.Helper()
	f := newFullRig(t, 0)
	f.disk.options.RetentionBytes = 1
	for f.last.Op < ops {
		jobs := []Job{f.job(JobAppend), f.job(JobAppend)}
		if op := f.last.Op; op == 4 || op == 10 {
			jobs = append(jobs, Job{Kind: JobTable, Keep: op, Table: vsr.Table{ID: f.last.ID(), Offset: f.last.NextOffset()}})
		}
		if left, err := f.perform(jobs); err != nil || len(left) > 0 {
			t.Fatal(len(left), err)
		}
	}
	return f
}

// TestRotNearTheNewestTable: one rotten bit below the newest checkpoint, where the log has no index yet, or
// in the checkpoint itself, costs what has to be fetched again. It does not stop the node for good: the
// one before and the log above it are kept for that.
func TestRotNearTheNewestTable(t *testing.T) {
	for _, test := range []struct {
		name, file string
		off        int64
		held       uint64
	}{
		{"log", "00000000000000000009.seg", 1000, 8},
		{"table", "table-00000000000000000010.tab", 10, 10},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newTrimmedRig(t, 10)
			if start := f.disk.Log().Start(); start != 3 {
				t.Fatalf("the log begins at op %d; what is above the checkpoint at op 4 is needed, and no more", start)
			}
			if err := f.disk.Close(); err != nil {
				t.Fatal(err)
			}
			f.fs.Rot("topics/t/0/"+test.file, test.off, 1)
			rec := f.open()
			b, err := Boot(f.disk.Log(), rec, f.config(true), Past{SameBoot: true})
			if err != nil {
				t.Fatal(err)
			}
			if b.Table.ID.Op != 4 || b.Head.Op != test.held || b.Top.Op != 10 {
				t.Errorf("starts with the table of op %d, head %d, top %d; want 4, %d, 10", b.Table.ID.Op, b.Head.Op, b.Top.Op, test.held)
			}
			f.close()
		})
	}
}

// TestACheckpointThatCannotBeReadNow: what the operating system gives no bytes of may be whole. A start that would have
// to give up ops without it gives up nothing, and the next one finds all that there was.
func TestACheckpointThatCannotBeReadNow(t *testing.T) {
	const newest = "table-00000000000000000010.tab"
	for _, test := range []struct {
		name   string
		answer error
		harm   func(f *fullRig)
		starts bool // without it
	}{
		{name: "damage below it", answer: syscall.EIO, harm: func(f *fullRig) { f.fs.Rot("topics/t/0/00000000000000000009.seg", 1000, 1) }},
		{name: "no descriptors", answer: syscall.EMFILE, harm: func(f *fullRig) { f.fs.Rot("topics/t/0/00000000000000000009.seg", 1000, 1) }},
		{name: "it is the only one of a trimmed log", answer: syscall.EIO, harm: func(f *fullRig) { f.fs.Delete("topics/t/0/table-00000000000000000004.tab") }},
		{name: "damage above it", answer: syscall.EIO, harm: func(f *fullRig) { f.fs.Rot("topics/t/0/00000000000000000011.seg", 1000, 1) }, starts: true},
		{name: "all is there", answer: syscall.EIO, harm: func(f *fullRig) {}, starts: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newTrimmedRig(t, 12)
			if err := f.disk.Close(); err != nil {
				t.Fatal(err)
			}
			test.harm(f)
			boot := func() (vsr.Boot, error) {
				rec := f.open()
				return Boot(f.disk.Log(), rec, f.config(true), Past{SameBoot: true})
			}
			f.fs.Inject(faultfs.Fault{Verb: faultfs.VerbOpen, Name: newest, Err: test.answer})
			if _, err := boot(); (err == nil) != test.starts || err != nil && (!errors.Is(err, test.answer) || Untold(err)) {
				t.Fatalf("start without the checkpoint: %v", err)
			}
			if !test.starts {
				if err := f.disk.Close(); err != nil {
					t.Fatal(err)
				}
				b, err := boot()
				if err != nil {
					t.Fatal(err)
				}
				if b.Table.ID.Op != 10 || b.Head.Op != 12 {
					t.Errorf("the next start has the table of op %d and head %d; want 10 and 12", b.Table.ID.Op, b.Head.Op)
				}
			}
			f.close()
		})
	}
}

// TestACutThatEndsLower: a hole without a place leaves a cut into it no place to end in. A replica that runs has committed
// more than what is left, so its disk says so; the next start goes on from there.
func TestACutThatEndsLower(t *testing.T) {
	f := newTrimmedRig(t, 40)
	if err := errors.Join(f.disk.Log().SyncMark(), f.disk.Close()); err != nil {
		t.Fatal(err)
	}
	f.open()
	if err := f.disk.Log().Headers(19, 40, func(*vsr.Header) error { return nil }); err != nil { // more segments than stay loaded
		t.Fatal(err)
	}
	const segment = "topics/t/0/00000000000000000005"
	f.fs.Delete(segment + ".idx")
	f.fs.Rot(segment+".seg", 1000, 1)
	if _, _, err := f.disk.Log().ReadFrame(6, nil); !errors.Is(err, journal.ErrDamaged) {
		t.Fatalf("op 6 is read: %v", err)
	}
	f.posted = nil
	if _, err := f.perform([]Job{{Kind: JobCut, ID: vsr.ID{Op: 5}}}); err == nil || len(f.posted) > 0 {
		t.Errorf("cut to op 5, the log ends at op %d: %v, and %d inputs tell of it", f.disk.Log().Written().Op, err, len(f.posted))
	}
	f.close()
}

// TestReplayBeginsBehindTheCheckpoint: a register that a checkpoint knows already must not come a second time,
// where the table is full it would let another session fall.
func TestReplayBeginsBehindTheCheckpoint(t *testing.T) {
	f := newFullRig(t, 0)
	jobs := []Job{f.register(), f.register()}
	sessions := []vsr.Session{{Session: 1, Last: jobs[0].Frame.Header}, {Session: 2, Last: jobs[1].Frame.Header}}
	jobs = append(jobs, Job{Kind: JobTable, Table: vsr.Table{ID: f.last.ID(), Entries: sessions}}, f.job(JobAppend))
	jobs = append(jobs, Job{Kind: JobState, State: vsr.State{View: 1, LogView: 1}, Commit: f.last.ID()})
	if left, err := f.perform(jobs); err != nil || len(left) > 0 {
		t.Fatal(len(left), err)
	}
	if err := f.disk.Close(); err != nil {
		t.Fatal(err)
	}
	rec, c := f.open(), f.config(true)
	c.SessionsMax = 2
	b, err := Boot(f.disk.Log(), rec, c, Past{SameBoot: true})
	if err != nil {
		t.Fatal(err)
	}
	sessions = []vsr.Session{sessions[1], {Session: 1, Last: f.last}}
	if b.Table.ID != f.last.ID() || !slices.Equal(b.Table.Entries, sessions) {
		t.Errorf("starts with %+v, want sessions 2 and 1 as of op 3", b.Table)
	}
	f.close()
}

// register makes a job with a register, the next frame of the chain.
func (f *fullRig) register() Job {
	b := f.pool.Get(wire.OwnerJournal)
	h := vsr.Header{Kind: vsr.KindRegister, Cluster: rigCluster, Group: rigGroup, View: 1, Op: f.last.Op + 1, Parent: f.last.Sum,
		BaseOffset: f.last.NextOffset(), BodySum: wire.Sum(nil)}
	wire.Seal(&h)
	b.SetFrame(wire.HeaderBytes)
	wire.PutHeader(b.Frame(), &h)
	b.Header, f.last = h, h
	return Job{Kind: JobAppend, Frame: b}
}

// config of a replica on this disk.
func (f *fullRig) config(syncRequired bool) *vsr.Config {
	c := vsr.Default()
	c.RootSum, c.SyncRequired = wire.RootSum(rigCluster, rigGroup), syncRequired
	return &c
}

// TestWhoHasForgotten (trap 21: a SIGKILL takes nothing from a log that is not synced, a power cut does): where acknowledgements rest on writes, a restart of the machine and a fence may have
// taken what they rested on.
func TestWhoHasForgotten(t *testing.T) {
	for _, test := range []struct {
		name                 string
		syncRequired, fenced bool
		past                 Past
		wiped                bool
		kept                 uint64
	}{
		{"replicated, killed", false, false, Past{SameBoot: true}, false, 0},
		{"replicated, power cut", false, false, Past{}, true, 2},
		{"replicated, fenced", false, true, Past{SameBoot: true}, true, 2},
		{"persisted, power cut", true, false, Past{}, false, 0},
		{"persisted, fenced", true, true, Past{SameBoot: true}, false, 0},
		{"lost", true, false, Past{SameBoot: true, Forgotten: true}, true, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFullRig(t, 0)
			if left, err := f.perform([]Job{f.job(JobAppend), f.job(JobAppend), {Kind: JobState, State: vsr.State{View: 1, LogView: 1}}}); err != nil || len(left) > 0 {
				t.Fatal(len(left), err)
			}
			if test.fenced {
				f.disk.Log().Fence(errors.New("the disk has failed"))
			}
			_ = f.disk.Close()                                 // fails where it is fenced
			for _, life := range []string{"first", "second"} { // what the first one found is durable
				rec := f.open()
				b, err := Boot(f.disk.Log(), rec, f.config(test.syncRequired), test.past)
				if err != nil {
					t.Fatal(err)
				}
				if b.State.Wiped != test.wiped || b.State.Kept != test.kept {
					t.Errorf("%s start: wiped %v, kept %d; want %v, %d", life, b.State.Wiped, b.State.Kept, test.wiped, test.kept)
				}
				test.past = Past{SameBoot: true}
				if life == "first" {
					if err := f.disk.Close(); err != nil {
						t.Fatal(err)
					}
				}
			}
			f.close()
		})
	}
}
