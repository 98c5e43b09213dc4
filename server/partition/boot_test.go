package partition

import (
	"errors"
	"strings"
	"testing"

	"rejoin/server/journal"
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
		_, err := Boot(f.disk.Log(), rec, wire.RootSum(rigCluster, rigGroup), 256, 10, false)
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
			f := newFullRig(t, 0)
			f.disk.options.RetentionBytes = 1
			for range 5 {
				jobs := []Job{f.job(JobAppend), f.job(JobAppend)}
				if op := f.last.Op; op == 4 || op == 10 {
					jobs = append(jobs, Job{Kind: JobTable, Keep: op, Table: vsr.Table{ID: f.last.ID(), Offset: f.last.NextOffset()}})
				}
				if left, err := f.perform(jobs); err != nil || len(left) > 0 {
					t.Fatal(len(left), err)
				}
			}
			if start := f.disk.Log().Start(); start != 3 {
				t.Fatalf("the log begins at op %d; what is above the checkpoint at op 4 is needed, and no more", start)
			}
			if err := f.disk.Close(); err != nil {
				t.Fatal(err)
			}
			f.fs.Rot("topics/t/0/"+test.file, test.off, 1)
			rec := f.open()
			b, err := Boot(f.disk.Log(), rec, wire.RootSum(rigCluster, rigGroup), 256, 10, false)
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
