package server

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"rejoin/server/api"
	"rejoin/server/journal"
	"rejoin/server/partition"
	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// diskGroup is a group with a log in a file, whose inbox only gathers: what its flusher does is done by hand.
func diskGroup(t *testing.T, durability string) *group {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	g := newGroup(&node{stopping: ctx}, 0, TopicConfig{Name: "orders", Partitions: 1, Durability: durability}, 0)
	disk, _, err := partition.OpenDisk(partition.DiskOptions{Journal: journal.Options{FS: journal.OS(t.TempDir()), Dir: "log", Cluster: 7, SegmentBytes: 1 << 20, Pipeline: 16, SameBoot: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := disk.Close(); err != nil {
			t.Error(err)
		}
	})
	g.disk = disk
	return g
}

// write lets the disk append one message as the next op.
func (g *group) write(t *testing.T, pool *wire.Pool) {
	t.Helper()
	b := pool.Get(wire.OwnerJournal)
	frame := wire.AppendMessage(b.Data()[:wire.HeaderBytes], wire.Message{Payload: []byte("order")})
	wire.SealRequest(frame, vsr.Client{Hi: 1, Lo: 2}, 1, 1, 1)
	h, err := wire.CheckRequest(frame)
	if err != nil {
		t.Fatal(err)
	}
	last := g.disk.Log().Written()
	h.Cluster, h.View, h.Op, h.Parent, h.BaseOffset = 7, 1, last.Op+1, last.Sum, last.Op
	if last.Op == 0 {
		h.Parent = wire.RootSum(7, 0)
	}
	wire.Seal(&h)
	wire.PutHeader(frame, &h)
	b.SetFrame(len(frame))
	b.Header = h
	if _, err := g.disk.Perform([]partition.Job{{Kind: partition.JobAppend, Frame: b}}, g.postDone); err != nil {
		t.Fatal(err)
	}
}

// TestReadWakesWhenWhatIsCommittedIsWritten: where the others have committed an op before it is written here, who waits
// for it is woken by the write. No other commit may follow for long.
func TestReadWakesWhenWhatIsCommittedIsWritten(t *testing.T) {
	for _, durability := range []string{DurabilityPersisted, DurabilityReplicated} {
		synctest.Test(t, func(t *testing.T) {
			pool, err := wire.NewCheckedPool(1)
			if err != nil {
				t.Fatal(err)
			}
			g := diskGroup(t, durability)
			for op := range uint64(3) {
				read := make(chan api.Span, 1)
				go func() {
					span, err := g.Read(op, 1<<20, time.Minute)
					if err != nil {
						t.Error(err)
					}
					read <- span
				}()
				synctest.Wait() // it waits for more
				g.Readable(op + 1)
				synctest.Wait() // it has looked, and waits again
				if len(read) > 0 {
					t.Fatal("answered with what is not written")
				}
				began := time.Now()
				g.write(t, pool)
				span := <-read
				if waited := time.Since(began); waited > 0 || span.Bytes == 0 {
					t.Errorf("%s: message %d: %d bytes after %v more", durability, op, span.Bytes, waited)
				}
				if span.Release != nil {
					span.Release()
				}
			}
		})
	}
}
