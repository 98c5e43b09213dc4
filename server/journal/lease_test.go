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
	k := journal.Keep{Bytes: 1, From: last, Lease: 9, LeaseBytes: 1 << 30}
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
