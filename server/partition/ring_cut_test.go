package partition

import (
	"testing"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// backup is a partition on its own, whose messages and disk the test plays.
type backup struct {
	*testing.T
	pool *wire.Pool
	out  *rigNode
	part *Partition
	ids  []vsr.Header // by op
	jobs []Job
}

const backupRing = 4

func newBackup(t *testing.T) *backup {
	pool, err := wire.NewCheckedPool(ringBuffers)
	if err != nil {
		t.Fatal(err)
	}
	c := vsr.Default()
	c.Self, c.Replicas, c.PipelineOps, c.RingOps, c.Cluster, c.Group = 0, 3, 16, 32, rigCluster, rigGroup
	c.Seal, c.RootSum, c.Incarnation = wire.Seal, wire.RootSum(rigCluster, rigGroup), incarnation(0)
	root := vsr.ID{Sum: c.RootSum}
	boot := vsr.Boot{State: vsr.State{View: 1, LogView: 1}, Commit: root, Head: root, Top: root, Start: 1, Table: vsr.Table{ID: root}}
	out := &rigNode{rig: &rig{t: t}}
	part, err := New(Options{Replica: c, Boot: boot, RingFrames: backupRing, RingBytes: wire.FrameBytesMax, CheckpointBytes: 1 << 30, Outside: out})
	if err != nil {
		t.Fatal(err)
	}
	b := &backup{T: t, pool: pool, out: out, part: part, ids: []vsr.Header{{Sum: c.RootSum}}}
	for peer := uint8(1); peer < 3; peer++ {
		b.do(vsr.Input{Kind: vsr.InHello, Peer: peer, Incarnation: incarnation(int(peer))})
		b.do(vsr.Input{Kind: vsr.InLinkUp, Peer: peer})
	}
	b.do(vsr.Input{Kind: vsr.InAllFormatted})
	return b
}

func (b *backup) do(in vsr.Input) {
	b.part.Handle(&in, nil)
	b.jobs, b.out.jobs = append(b.jobs, b.out.jobs...), nil
}

// prepare brings the next op of view 1.
func (b *backup) prepare(commit uint64) {
	op := uint64(len(b.ids))
	h := vsr.Header{Kind: vsr.KindRegister, Cluster: rigCluster, Group: rigGroup, View: 1, Op: op, Parent: b.ids[op-1].Sum, BodySum: wire.Sum(nil), Client: vsr.Client{Hi: op}}
	wire.Seal(&h)
	b.ids = append(b.ids, h)
	frame := b.pool.Get(wire.OwnerTest)
	wire.PutHeader(frame.Data()[:wire.HeaderBytes], &h)
	frame.SetFrame(wire.HeaderBytes)
	frame.Header = h
	b.part.Handle(&vsr.Input{Kind: vsr.InMessage, Msg: vsr.Message{Kind: vsr.MsgPrepare, From: 1, View: 1, LogView: 1, Incarnation: incarnation(1),
		Commit: b.ids[commit].ID(), Header: h}}, frame)
	frame.Release(wire.OwnerTest)
	b.jobs, b.out.jobs = append(b.jobs, b.out.jobs...), nil
}

// startView is view 2, whose log ends at an op.
func (b *backup) startView(commit, head uint64) {
	b.do(vsr.Input{Kind: vsr.InMessage, Msg: vsr.Message{Kind: vsr.MsgStartViewChange, From: 2, View: 2, LogView: 1, Incarnation: incarnation(2)}})
	for _, j := range b.jobs {
		if j.Kind == JobState { // a raised view is saved before the writes that stand in front of it
			b.do(vsr.Input{Kind: vsr.InStateSaved, State: j.State})
		}
	}
	var slots []vsr.Slot
	for op := commit + 1; op <= head; op++ {
		slots = append(slots, vsr.Slot{Known: true, Header: b.ids[op]})
	}
	b.do(vsr.Input{Kind: vsr.InMessage, Msg: vsr.Message{Kind: vsr.MsgStartView, From: 2, View: 2, LogView: 2, Incarnation: incarnation(2),
		Commit: b.ids[commit].ID(), Head: b.ids[head].ID(), Slots: slots}})
}

// writeAll lets the disk do all jobs, in their order. It tells how many cuts were among them.
func (b *backup) writeAll() (cuts int) {
	for len(b.jobs) > 0 {
		j := b.jobs[0]
		b.jobs = b.jobs[1:]
		switch j.Kind {
		case JobAppend:
			id := j.Frame.Header.ID()
			releaseJob(&j)
			b.do(vsr.Input{Kind: vsr.InWritten, ID: id})
			b.do(vsr.Input{Kind: vsr.InDurable, ID: id})
		case JobCut:
			cuts++
			b.do(vsr.Input{Kind: vsr.InCutDone, ID: j.ID})
		case JobState:
			if j.State.LogView == 2 {
				b.do(vsr.Input{Kind: vsr.InStateSaved, State: j.State})
			}
		}
	}
	return cuts
}

// TestRingLearnsFromACut: what the disk wrote while a cut was queued is told of by the cut alone. A ring that did not hear it would hold a slow
// disk's whole backlog until the next append, and a pull that finds no buffer brings none.
func TestRingLearnsFromACut(t *testing.T) {
	b := newBackup(t)
	const last = 24
	for op := uint64(1); op <= last; op++ {
		b.prepare(max(op, 10) - 10)
	}
	if held := ringBuffers - b.pool.Free(); held != last {
		t.Fatalf("%d frames are held, want all %d: the disk has written none", held, last)
	}
	b.startView(14, last-1)
	if cuts := b.writeAll(); cuts != 1 {
		t.Fatalf("%d cuts, want that of the op that view 2 lacks", cuts)
	}
	if s := b.part.Status(); s.LogView != 2 || s.Head.Op != last-1 {
		t.Fatalf("%+v", s)
	}
	if held := ringBuffers - b.pool.Free(); held != backupRing {
		t.Errorf("%d frames are held; all is written, and the ring holds %d", held, backupRing)
	}
	if b.part.Close(); b.pool.Free() != ringBuffers {
		t.Error(b.pool.Leaks())
	}
}
