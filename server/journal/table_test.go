package journal_test

import (
	"slices"
	"testing"

	"rejoin/server/journal"
)

func (x *fixture) saveTable(op uint64) {
	x.Helper()
	h := &x.frames[op-1].Header
	x.must(x.log.SaveTable(journal.Table{ID: h.ID(), NextOffset: h.NextOffset(), Bytes: payload(100, op)}))
}

func (x *fixture) wantTables(usable uint64, want ...uint64) {
	x.Helper()
	var got []uint64
	for _, t := range x.rec.Tables {
		got = append(got, t.ID.Op)
	}
	if t := x.rec.Table(); !slices.Equal(got, want) || t == nil || t.ID.Op != usable {
		x.Fatalf("tables of ops %v, the one to use is %+v; want %v and %d", got, t, want, usable)
	}
}

// A checkpoint above the end of a damaged log is of no use until the log is there again.
func TestTableAboveDamage(t *testing.T) {
	x := segmented(t)
	x.saveTable(20)
	x.saveTable(39)
	n, off := x.place(37) // of the last segment, which has no index
	x.fs.Rot(n, off+300, 1)
	x.crash()
	x.wantEnd(36, 40)
	x.wantTables(20, 20, 39)
	x.saveTable(30) // now there are two again that are of use
	x.kill()
	x.wantTables(30, 20, 30)
}

// A rotten checkpoint does not count as one of the two that are kept.
func TestRottenTableIsNotKept(t *testing.T) {
	x := segmented(t)
	x.saveTable(10)
	x.saveTable(20)
	x.fs.Rot(dir+"/table-00000000000000000020.tab", 70, 1)
	x.crash()
	x.wantTables(10, 10)
	x.saveTable(30)
	x.kill()
	x.wantTables(30, 10, 30)
}

// A trim leaves what a start replays above the older checkpoint.
func TestRetainKeepsTheFallback(t *testing.T) {
	x := segmented(t)
	retain := func(want uint64) {
		t.Helper()
		if _, err := x.log.Trim(x.log.Expendable(journal.Keep{Bytes: 1, Committed: 40, From: 40})); err != nil || x.log.Start() != want {
			t.Fatalf("the log begins at op %d, want %d: %v", x.log.Start(), want, err)
		}
	}
	retain(1)
	x.saveTable(16)
	retain(1)
	x.saveTable(39)
	retain(15)
	x.fs.Rot(dir+"/table-00000000000000000039.tab", 70, 1)
	x.crash()
	x.wantTables(16, 16)
	x.wantHeld(17, 40)
}

// A checkpoint above the end of a log that damage has cut is none of the two that a trim may rest on.
func TestRetainCountsUsableTables(t *testing.T) {
	x := segmented(t)
	x.saveTable(30)
	x.saveTable(39)
	n, off := x.place(37)
	x.fs.Rot(n, off+300, 1)
	x.crash()
	x.wantTables(30, 30, 39)
	if from := x.log.Expendable(journal.Keep{Bytes: 1, Committed: 30, From: 30}); from != 0 {
		t.Errorf("ops below %d may go, with one checkpoint of use", from)
	}
}
