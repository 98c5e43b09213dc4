package journal_test

import (
	"testing"

	"rejoin/server/journal"
)

// What a transfer to a peer still needs stays, as long as that is not more than a lease may hold.
func TestLeaseHoldsBackRetention(t *testing.T) {
	x := segmented(t)
	x.saveTable(38)
	x.saveTable(39)
	last := x.log.Written().Op
	k := journal.Keep{Bytes: 1, Committed: last, From: last, Lease: 9, LeaseBytes: 1 << 30}
	if from := x.log.Expendable(k); from > 9 {
		t.Errorf("ops below %d may go while a transfer needs op 9", from)
	}
	k.LeaseBytes = 0
	if from := x.log.Expendable(k); from <= 9 {
		t.Errorf("only ops below %d may go though the lease may hold nothing", from)
	}
	k.Lease, k.LeaseBytes = 0, 1<<30
	if from := x.log.Expendable(k); from <= 9 {
		t.Errorf("only ops below %d may go though nobody needs them", from)
	}
}

// Retention counts what is committed. What is above may be cut by a later view, and then no longer makes up
// for what has been trimmed.
func TestRetentionCountsCommittedOps(t *testing.T) {
	x := segmented(t)
	x.saveTable(28)
	x.saveTable(30)
	bytesOf := func(from, to uint64) (n int64) {
		for op := from; op <= to; op++ {
			n += int64(len(x.frames[op-1].Bytes))
		}
		return n
	}
	kept := bytesOf(16, 30)
	from := x.log.Expendable(journal.Keep{Bytes: kept, Committed: 30, From: 30})
	if left := bytesOf(from, 30); left < kept {
		t.Errorf("ops below %d may go; %d committed bytes are left, %d are to be kept", from, left, kept)
	}
	if from <= 8 {
		t.Errorf("only ops below %d may go", from)
	}
}
