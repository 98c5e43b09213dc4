package partition

import (
	"errors"
	"testing"

	"rejoin/server/journal"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// TestFillTellsOfMoreDamage: a hole that the disk finds to be larger than the replica knows when it is to be closed is told
// of whole. Else the replica would ask for ops again and again that have no place before others are there.
func TestFillTellsOfMoreDamage(t *testing.T) {
	f := newFullRig(t, 0)
	var jobs []Job
	for range 24 { // two to a segment: more segments than stay loaded
		jobs = append(jobs, f.job(JobAppend))
	}
	if left, err := f.perform(jobs); err != nil || len(left) > 0 {
		t.Fatalf("%d jobs are left: %v", len(left), err)
	}
	log := f.disk.Log()
	if err := log.SyncMark(); err != nil {
		t.Fatal(err)
	}
	h, whole, err := log.ReadFrame(2, nil)
	if err != nil {
		t.Fatal(err)
	}
	const segment, index = "topics/t/0/00000000000000000001.seg", "topics/t/0/00000000000000000001.idx"
	f.fs.Rot(segment, 300, 1)
	f.fs.Rot(segment, int64(800<<10), 1)
	if _, _, err := log.ReadFrame(2, nil); !errors.Is(err, journal.ErrDamaged) {
		t.Fatal(err)
	}
	for op := uint64(3); op <= 24; op++ { // the first segment is let go
		if _, _, err := log.ReadFrame(op, nil); err != nil {
			t.Fatal(err)
		}
	}
	f.fs.Rot(index, 70, 1)
	b := f.pool.Get(wire.OwnerJournal)
	copy(b.Data(), whole)
	b.SetFrame(len(whole))
	b.Header = h
	f.posted = nil
	if left, err := f.perform([]Job{{Kind: JobFill, Frame: b}}); err != nil || len(left) > 0 {
		t.Fatalf("%d jobs are left: %v", len(left), err)
	}
	if len(f.posted) != 2 || f.posted[0].Kind != vsr.InFilled || f.posted[0].OK ||
		f.posted[1].Kind != vsr.InDamaged || f.posted[1].Hole != (vsr.OpRange{From: 1, To: 2}) {
		t.Errorf("the completions are %+v", f.posted)
	}
	f.close()
}
