package peer

import (
	"context"
	"sync/atomic"
	"testing"

	"rejoin/server/vsr"
	"rejoin/server/wire"
)

// sink is a Handler that counts frames and keeps a window open for the sender.
type sink struct {
	recorder
	frames atomic.Int64
	window chan struct{}
}

func (s *sink) Message(_ vsr.Message, frame *wire.Buffer) {
	if frame != nil {
		s.frames.Add(1)
		<-s.window
	}
}

// BenchmarkPrepare sends frames of 100 messages of 256 bytes over loopback, checksums verified at
// the receiver.
func BenchmarkPrepare(b *testing.B) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var networks [2]*Network
	to := &sink{window: make(chan struct{}, 64)}
	to.changed = make(chan struct{})
	nodes := []Node{{ID: "n0", Dial: "127.0.0.1:17990"}, {ID: "n1", Dial: "127.0.0.1:17991"}}
	done := make(chan error, 2)
	for i, handler := range []Handler{newRecorder(), to} {
		pool, err := wire.NewPool(8)
		if err != nil {
			b.Fatal(err)
		}
		networks[i], err = New(Options{Self: i, Nodes: nodes, Groups: testGroups, Listen: nodes[i].Dial, ClusterID: testCluster,
			Local: Local{Incarnation: vsr.Incarnation{Boot: 1}, Format: FormatUsed}, Pool: pool, Handler: handler})
		if err != nil {
			b.Fatal(err)
		}
		go func() { done <- networks[i].Run(ctx) }()
	}
	from := networks[0]
	eventually(b, "the link is up", func() bool { return from.Stats().Peers[1].ProtocolUp })
	frame := from.options.Pool.Get(wire.OwnerTest)
	sealedFrame(frame, 1, 1, 100*(256+12))
	m := &vsr.Message{Kind: vsr.MsgPrepare, Group: 1, From: 0, To: 1, Incarnation: vsr.Incarnation{Boot: 1}, View: 1}
	b.SetBytes(int64(len(frame.Frame())))
	b.ReportAllocs()
	for b.Loop() {
		to.window <- struct{}{}
		from.SendFrame(1, m, frame)
	}
	eventually(b, "every frame has come", func() bool { return to.frames.Load() >= int64(b.N) })
	b.StopTimer()
	frame.Release(wire.OwnerTest)
	cancel()
	<-done
	<-done
}
