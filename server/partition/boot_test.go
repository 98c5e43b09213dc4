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
